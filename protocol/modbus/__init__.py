"""Modbus, the agent's and the device's side, without I/O or clocks (Application Protocol 1.1b3, Serial Line 1.02).

`requests` is the text form of a request, its values are `cells` (over `contents` and `numbers`); `pdu` turns requests
and answers into bytes, `sizes` knows how long they are, `framing` cuts streams of TCP and RTU into frames (by way of
`scanner`); `requester` is the agent's side of one stream.
"""
