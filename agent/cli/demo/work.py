"""What is asked of every device of the demo, and how patiently?

Each command of the same text counts: `ADJUST offset +5` is asked for twice and has to take effect twice. The times are
short because everything is on this machine; real equipment gets those of its profile.
"""

WORK = (
    "SET interval 30",
    "ADJUST offset +5",
    "ADJUST offset +5",
    "ROTATE log",
    "RESET counter",
    "ADJUST offset -2",
    "ROTATE log",
    "BEEP",
)
"""In this order. BEEP comes last, because a doubt holds back whatever follows it."""

COPIES_MAX = 4
"""Copies of one command that may end in silence, for the naive client and for the agent."""

SILENCE_S, SILENCE_MAX_S = 0.15, 60.0
"""How long one answer may take; `--timeout` says otherwise, up to the second."""

LATE_S = 0.4
"""How long after a request its answer may still come."""
