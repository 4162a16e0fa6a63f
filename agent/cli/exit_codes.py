"""Which exit code says what? The contract that scripts rely on (CLI.md 3)."""

from collections.abc import Iterable
from enum import IntEnum


class Abandoned(Exception):  # noqa: N818 - it reads as what happened
    """A run that talks to devices was interrupted a second time and did not wait for their word."""


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    REFUSED = 1  # refused, or not applied for sure
    USAGE = 2
    FILE = 3
    NOT_ALLOWED = 4
    IN_DOUBT = 5
    NOT_ALL_DONE = 6
    NOT_SENT = 7
    HELD = 8
    DIFFERENT = 10
    INTERNAL = 70
    INTERRUPTED = 130


_PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.INTERNAL,
    Exit.REFUSED,
    Exit.IN_DOUBT,
    Exit.FILE,
    Exit.NOT_ALL_DONE,
    Exit.HELD,
    Exit.NOT_SENT,
    Exit.NOT_ALLOWED,
    Exit.OK,
)

EPILOG = (
    "Exit codes: 0 all true on the devices · 1 refused or not applied · 2 usage · 3 a file is invalid · 4 not allowed "
    "(needs --yes) · 5 in doubt · 6 not all done · 7 nothing was sent · 8 somebody else holds the device · "
    "70 internal error · 130 interrupted"
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The one code for several operations."""
    found = set(codes)
    return next((code for code in _PRECEDENCE if code in found), Exit.OK)
