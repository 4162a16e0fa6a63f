"""What do the numbers of LSQ1 mean, and which of them belong together?

Names, limits and sets of WIRE.md, sections 1 and 2. What a device or an agent does with them stands in
`responder`, in `requester` and in the agent's policy.
"""

from enum import IntEnum
from typing import Final

VERSION: Final = 1
REPLY_BIT: Final = 0x80
"""Set in the type byte of a reply, so that an echoed request is never taken for an answer."""

REPLAYED: Final = 0x01
"""Flag of a reply: the stored answer, nothing was executed."""

UNIT_MIN: Final = 1
UNIT_MAX: Final = 247
ATTEMPT_MAX: Final = 255
"""The attempt field stays here, however many copies follow."""

SESSION_MAX: Final = 0xFFFF_FFFF
SEQ_MAX: Final = 0xFFF0
"""The last number of a session; after it a new session is opened, numbers never wrap."""

ID_MAX: Final = 0xFFFF
"""Correlation ids of HELLO, READ and CLOSE use the whole field."""

EPOCH_MAX: Final = 0xFFFF_FFFE
"""The highest epoch a device takes; 0xFFFFFFFF is refused, or nobody could ever take over again."""

HEADER_SIZE: Final = 11
CRC_SIZE: Final = 4
PSTR_MAX: Final = 255
"""The longest name in HELLO, in UTF-8 bytes."""

MAX_BODY_MIN: Final = 64
MAX_BODY_LIMIT: Final = 512
"""`max_body` (header and payload, without CRC) lies between these two, in bytes."""


class Type(IntEnum):
    """What a request asks for; its reply carries the same number with `REPLY_BIT`."""

    HELLO = 1
    OPEN = 2
    CMD = 3
    READ = 4
    NOP = 5
    QUERY = 6
    CLOSE = 7


class Status(IntEnum):
    """What became of a request. The first five consume its number and are stored."""

    OK = 0
    BAD_ARG = 1
    BAD_COMMAND = 2
    REFUSED = 3
    INDETERMINATE = 4
    IN_PROGRESS = 16
    BUSY = 17
    BAD_SESSION = 18
    MISORDERED = 19
    FALSE_RETRY = 20
    STALE_EPOCH = 21
    DONE_UNCACHED = 22


class State(IntEnum):
    """What QUERY says about a number."""

    NEVER = 32
    RUNNING = 33
    DONE = 34
    GONE = 35


REFUSALS: Final = frozenset({Status.BAD_ARG, Status.BAD_COMMAND, Status.REFUSED})
"""Certainly no effect."""

CONSUMING: Final = frozenset({Status.OK, *REFUSALS, Status.INDETERMINATE})
"""The number is spent and the status stored; every other status leaves the number as it was."""

WAITING: Final = frozenset({Status.IN_PROGRESS, Status.BUSY})
"""Not an answer yet: ask again later."""

LEGAL: Final[dict[Type, frozenset[Status]]] = {
    Type.OPEN: frozenset({Status.OK, Status.BUSY, Status.STALE_EPOCH}),
    Type.CMD: frozenset(Status) - {Status.STALE_EPOCH},
    Type.READ: CONSUMING | {Status.BUSY},
    Type.NOP: frozenset({Status.OK, *WAITING, Status.BAD_SESSION, Status.MISORDERED, Status.FALSE_RETRY}),
    Type.QUERY: frozenset({Status.BAD_SESSION}),
    Type.CLOSE: frozenset({Status.OK, Status.BUSY, Status.BAD_SESSION}),
}
"""Which statuses a reply of each type may carry; others make it malformed. HELLO has none."""
