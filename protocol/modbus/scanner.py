"""Which pieces of a stream are frames, where frames have neither a beginning nor an end of their own?

A frame may begin at any byte; how long it is, its first bytes say (a `Sizer`). Rules:

* Bytes are looked at one by one, so any cutting of a stream gives the same pieces.
* Whatever stands in front of a frame, it is found once its last byte is there: what merely looks like the beginning of
  one is waited for only where it agrees with what is *wanted*, and then at most `size_max` bytes.
* Of two frames that overlap, the one that began earlier counts. A frame inside a wanted one that is not complete yet
  could be its content, so it is held back until that is decided.
* What belongs to no frame comes out as junk, in large pieces. Work is a few looks per byte, memory four frames.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

Sizer = Callable[[bytes], int | None]
"""How many bytes a frame that begins like this has at least; once as many are there, it is whole. None: no frame."""

_KEPT_MAX: Final = 4
"""Frames of the largest size for which bytes are kept before junk is told."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The next bytes of the stream: one frame, or junk."""

    data: bytes
    is_frame: bool


class _Look(NamedTuple):
    """Something to be looked at again: where it began, and how its size is told."""

    start: int
    sizer: Sizer
    wanted: bool


class Scanner:
    """Cuts one stream into pieces. Positions count from the beginning of the stream."""

    def __init__(self, known: tuple[Sizer, ...], sound: Callable[[bytes], bool], size_max: int) -> None:
        """A scanner at the beginning of a stream.

        Args:
            known: frames that are recognised once they are complete.
            sound: whether a complete frame is undamaged.
            size_max: bytes of the longest frame.
        """
        self._known = known
        self._wanted: tuple[Sizer, ...] = ()
        self._sound = sound
        self._size_max = size_max
        self._buffer = bytearray()
        self._base = 0  # the position of the buffer's first byte
        self._due: dict[int, list[_Look]] = {}  # by the position at which a look has the bytes that it needs
        self._held: list[tuple[int, int]] = []  # complete frames, from and to

    @property
    def undecided(self) -> bytes:
        """What came in and is neither frame nor junk yet."""
        return bytes(self._buffer)

    def expect(self, wanted: tuple[Sizer, ...]) -> list[Piece]:
        """From here on these frames are waited for. What came in before belongs to none of them, and is given out."""
        self._due.clear()
        pieces = self._settled()
        pieces += self._junk(len(self._buffer))
        self._wanted = wanted
        return pieces

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that are decided with `data`, in order."""
        pieces: list[Piece] = []
        for byte in data:
            self._buffer.append(byte)
            end = self._base + len(self._buffer)
            for sizer in self._wanted:
                self._look(_Look(end - 1, sizer, wanted=True), end)
            for sizer in self._known:
                self._look(_Look(end - 1, sizer, wanted=False), end)
            for look in self._due.pop(end, ()):
                self._look(look, end)
            if self._held:
                pieces += self._settled()
            if len(self._buffer) >= _KEPT_MAX * self._size_max:
                # Nothing that began so long ago can still end.
                pieces += self._junk(len(self._buffer) - self._size_max)
        return pieces

    def _look(self, look: _Look, end: int) -> None:
        seen = bytes(self._buffer[look.start - self._base :])
        size = look.sizer(seen)
        if size is None or size > self._size_max:
            return
        if size > len(seen):
            self._due.setdefault(look.start + size, []).append(look)
        elif self._sound(seen):
            self._held.append((look.start, end))

    def _settled(self) -> list[Piece]:
        """The held frames that nothing in front of them can claim as its content."""
        pieces: list[Piece] = []
        while self._held:
            start, end = min(self._held)
            if any(look.wanted and look.start < start for looks in self._due.values() for look in looks):
                break
            pieces += self._junk(start - self._base)
            pieces.append(Piece(self._cut(end - self._base), is_frame=True))
            self._held = [held for held in self._held if held[0] >= end]
            kept = {at: [look for look in looks if look.start >= end] for at, looks in self._due.items()}
            self._due = {at: looks for at, looks in kept.items() if looks}
        return pieces

    def _junk(self, size: int) -> list[Piece]:
        return [Piece(self._cut(size), is_frame=False)] if size else []

    def _cut(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._base += size
        return data
