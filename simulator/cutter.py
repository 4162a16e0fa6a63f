"""Where does one message end and the next one begin in a stream of bytes?

A cutter gives out every byte that it was fed, in order, cut into messages, however the bytes arrive in pieces.
What belongs to no message comes out as a piece of its own: whoever reads it finds that it says nothing.
"""

import re
from collections.abc import Iterator
from typing import Protocol


class Cutter(Protocol):
    """One direction of one connection."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give out each message as soon as it is complete."""

    def rest(self) -> bytes:
        """What has begun and not ended, which is forgotten."""


class AsRead:
    """Every piece is a message, as it came."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See Cutter."""
        yield data

    def rest(self) -> bytes:
        """Nothing is ever kept."""
        return b""


class EndCutter:
    """Cuts behind each byte of a set."""

    def __init__(self, ends: bytes, longest: int) -> None:
        """Set the rules.

        Args:
            ends: Each of these bytes ends a message.
            longest: A message that has more bytes than this without an end is given out as far as it is there.
        """
        self._ends = ends
        self._longest = longest
        escaped = re.escape(ends)
        self._parts = re.compile(b"[^%b]*[%b]|[^%b]+" % (escaped, escaped, escaped))
        self._begun = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See Cutter; each message has its end with it."""
        for part in self._parts.findall(data):
            self._begun += part
            if part[-1] in self._ends or len(self._begun) > self._longest:
                yield self.rest()

    def rest(self) -> bytes:
        """See Cutter."""
        begun = bytes(self._begun)
        self._begun.clear()
        return begun
