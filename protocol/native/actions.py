"""What must a device's host do, in which order?

The responder returns these; the host performs them one after the other. `Store` stands before whatever
depends on it, `HangUp` of the other connections before OPENED.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from protocol.native.memory import Memory


@dataclass(frozen=True, slots=True)
class Reply:
    """Write `data` to the connection."""

    conn: Hashable
    data: bytes


@dataclass(frozen=True, slots=True)
class Execute:
    """Execute the command once, and tell `Responder.finish` what became of it."""

    session: int
    seq: int
    digest: int
    attempt: int
    text: str


@dataclass(frozen=True, slots=True)
class Store:
    """Make `memory` durable before anything that follows."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection; the responder has forgotten it already."""

    conn: Hashable


Action = Reply | Execute | Store | HangUp
