"""What does a device do when somebody opens a connection to it, or leaves one alone?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Habits:
    """How a device treats its connections.

    Attributes:
        slots: How many it serves at a time; one more is ended as soon as it came. None: no limit of its own.
        idle_close_s: Seconds without a byte from the peer after which it ends a connection; None: never.
        deaf_s: Seconds after an opening in which what comes in is ignored.
        greeting: What it says to everybody who opens a connection.
        opening_boots: An opening boots it, as where DTR is wired to the reset line. The connection survives
            that; where the device is deaf after an opening, banner and greeting come when it hears again. On a
            serial port it has lost what was written before the opening was noticed.
    """

    slots: int | None = None
    idle_close_s: float | None = None
    deaf_s: float = 0.0
    greeting: bytes = b""
    opening_boots: bool = False
