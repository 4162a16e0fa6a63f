"""What came in on a stream that answers nothing, and is it a surprise?

While an earlier answer is owed, or right behind an answer that was waited for, more of them are no surprise. An answer
that nobody asked for means that the line talks by itself, so that none on it could be believed.
"""

from typing import Protocol


class Stray(Protocol):
    """Input that answers nothing asked now; `why` is `answer` where it looks like one."""

    @property
    def why(self) -> str:
        """What it is."""

    @property
    def line(self) -> str:
        """It, for people."""

    @property
    def data(self) -> bytes:
        """Its bytes."""


class Strays:
    """What answered nothing since the last question was asked."""

    def __init__(self) -> None:
        self._all: list[Stray] = []
        self._explained = 0

    def forget(self) -> None:
        """A question is about to leave, or a connection is new."""
        self._all.clear()
        self._explained = 0

    def add(self, stray: Stray, *, owed: bool) -> None:
        """Something came in; `owed`: while an earlier answer was still to come."""
        self._all.append(stray)
        if owed:
            self._explained = len(self._all)

    def beside_an_answer(self) -> list[Stray]:
        """All that came with the answer to the question; none of it is a surprise from now on."""
        self._explained = len(self._all)
        return list(self._all)

    def last(self, why: str | None = None) -> Stray | None:
        """The newest, or the newest of a sort; None where there is none."""
        return next((stray for stray in reversed(self._all) if why in (None, stray.why)), None)

    def unasked(self) -> bool:
        """Whether answers came that belong to no question and were not owed."""
        return any(stray.why == "answer" for stray in self._all[self._explained :])
