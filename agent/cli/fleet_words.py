"""How is the fleet said: dots, ages, marks, and what a status means for commands?"""

import os
from collections.abc import Mapping
from types import MappingProxyType

from agent.cli import output
from agent.fleet.marks import Mark, Word
from agent.fleet.verdict import Status

HOW_TO_START = (
    "No agent was ever seen in this store, so nobody has looked at anything. To begin, write a table [fleet] into "
    "ackonce.toml (site, vantage, uplink), then run for each agent: ackonce serve"
)
NOT_HELD_BACK = "`ackonce send`, plans and jobs that name a device are not held back by it"
"""True of marks and of verdicts alike, as long as commands do not choose among routes."""

IN_ROUTES: Mapping[Status, str] = MappingProxyType(
    {
        Status.HEALTHY: "first choice for new work",
        Status.SHAKY: "usable, after healthy ones; nobody is excluded",
        Status.NO_DATA: "usable, after healthy ones: silence is no verdict, nobody is excluded",
        Status.PAIR_MARKED: "usable, after the others; nobody is excluded",
        Status.UNREACHABLE_FROM: "excluded from new work at {vantages}; usable from everywhere else",
        Status.UNREACHABLE: "excluded from new work as long as there is another way",
        Status.UNAVAILABLE: "excluded from new work as long as there is another way",
    }
)
"""What a status means where there are several ways to do a thing (FLEET.md 1)."""
SEVERITY = (
    Status.UNREACHABLE,
    Status.UNREACHABLE_FROM,
    Status.UNAVAILABLE,
    Status.PAIR_MARKED,
    Status.NO_DATA,
    Status.SHAKY,
    Status.HEALTHY,
)
"""What a person wants to see first."""

_FULL, _HALF, _EMPTY = "●", "◐", "○"
_PLAIN = {_FULL: "*", _HALF: "~", _EMPTY: "!"}
"""For terminals that lack the characters."""
_GREEN, _YELLOW, _RED, _DIM = 32, 33, 31, 2
_DOTS = {
    Status.HEALTHY: (_FULL, _GREEN),
    Status.SHAKY: (_HALF, _YELLOW),
    Status.PAIR_MARKED: (_HALF, _YELLOW),
    Status.NO_DATA: (_HALF, _DIM),
    Status.UNREACHABLE_FROM: (_EMPTY, _RED),
    Status.UNREACHABLE: (_EMPTY, _RED),
    Status.UNAVAILABLE: (_EMPTY, _RED),
}
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def dot(status: Status) -> str:
    """The dot of a status, without its colour."""
    shape = _DOTS[status][0]
    return shape if output.can_show("".join(_PLAIN)) else _PLAIN[shape]


def coloured(text: str, status: Status) -> str:
    """A text in the colour of a status, where the terminal has colours and nobody wants none (NO_COLOR)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return text
    return f"\x1b[{_DOTS[status][1]}m{text}\x1b[0m"


def age(seconds: float) -> str:
    """`22 s`, `3 min 05 s`, `2 h 05 min`, `3 d`."""
    whole = round(max(0.0, seconds))
    if whole >= _DAY_S:
        return f"{whole // _DAY_S} d"
    if whole >= _HOUR_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02} min"
    return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s" if whole >= _MINUTE_S else f"{whole} s"


def said(word: Word) -> str:
    """`disabled by ana since 2026-11-29T22:00:00Z: its pump is out`."""
    what = "a reference" if word.mark is Mark.REFERENCE else word.mark.value
    why = f": {word.reason}" if word.reason else ""
    return f"{what} by {word.by} since {word.utc[:19]}Z{why}"


def cause(reason: str) -> str:
    """The reason of a row for people: `no reply` for `no_reply`; what a device says itself stays as it is."""
    word, colon, said_itself = reason.partition(":")
    return word.replace("_", " ") + colon + said_itself


def times(count: int, one: str, many: str) -> str:
    """`1 miss`, `3 misses`."""
    return f"{count} {one if count == 1 else many}"
