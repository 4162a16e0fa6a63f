"""Where does one message end and the next one begin in a stream of bytes?"""

import re
from collections.abc import Iterator


class Cutter:
    """Cuts a stream behind each byte of a set, however it arrives in pieces."""

    def __init__(self, ends: bytes, longest: int) -> None:
        """Set the rules.

        Args:
            ends: Each of these bytes ends a message; none: every piece is one, as it came.
            longest: A message that has more bytes than this without an end is given out as far as it is there.
        """
        self._ends = ends
        self._longest = longest
        escaped = re.escape(ends)
        self._parts = re.compile(b"[^%b]*[%b]|[^%b]+" % (escaped, escaped, escaped)) if ends else None
        self._begun = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give out each message as soon as it is complete, with its end."""
        if self._parts is None:
            yield data
            return
        for part in self._parts.findall(data):
            self._begun += part
            if part[-1] in self._ends or len(self._begun) > self._longest:
                yield self.rest()

    def rest(self) -> bytes:
        """What has begun and not ended, which is forgotten."""
        begun = bytes(self._begun)
        self._begun.clear()
        return begun
