"""LSQ1, the last-seq protocol of ackonce (WIRE.md): both sides, without I/O, clocks or randomness.

`frame` cuts a byte stream into frames, `payload` turns them into the `messages`; `requester` is the agent's
side, `responder` the device's (over `memory`, `numbers`, `identity` and `actions`); `codes` has the numbers
that all of them share.
"""
