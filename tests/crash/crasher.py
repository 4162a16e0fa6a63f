"""At which writes can a process end, and how is it ended there?

A `Crasher` watches one process of the agent: every write to its store and to its links is a `Point`, counted from 1.
Once ended, the process writes nothing any more, whatever its code still does on the way out. Another process on the
same store is not concerned.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from agent.links.link import Link
from agent.service import Service
from agent.stations import Target
from agent.store.database import Cursor

T = TypeVar("T")
POINTS_MAX = 400
"""A run with more writes than this does not end."""


class Crash(BaseException):
    """The process is gone."""


class Moment(Enum):
    """Where in a write the process ends. Half of a transaction is undone, half of a line has left."""

    BEFORE = auto()
    HALF = auto()
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a process: at its write number `point`, counted from 1."""

    point: int
    moment: Moment

    def __str__(self) -> str:
        return f"stopped {self.moment.name.lower()} write {self.point}"


@dataclass(frozen=True, slots=True)
class Point:
    """One write of a run. `sent`: the bytes, where it went to a link; None where it went to the store."""

    sent: bytes | None
    at_s: float


class Crasher:
    """Ends the process of a service at a stop; without one it only takes down what the points are."""

    def __init__(self, service: Service, stop: Stop | None) -> None:
        """Watch a process from its start, under the running loop's clock."""
        self.points: list[Point] = []
        self.dead = False
        self._stop = stop
        self._now_s = service.clock.now_s
        database, dial = service.database, service._dial
        commit, commit_now, commit_loosely = database.commit, database.commit_now, database.commit_loosely

        async def crashing_commit(work: Callable[[Cursor], T]) -> T:
            self._before(None, lambda: commit_now(_torn(work)))
            result = await commit(work)
            self._after()
            return result

        def crashing_commit_now(work: Callable[[Cursor], T]) -> T:
            self._before(None, lambda: commit_now(_torn(work)))
            result = commit_now(work)
            self._after()
            return result

        def crashing_commit_loosely(work: Callable[[Cursor], T]) -> T:
            self._before(None, lambda: commit_loosely(_torn(work)))
            result = commit_loosely(work)
            self._after()
            return result

        async def dial_crashing(target: Target) -> Link:
            link = await dial(target)
            self._watch(link)
            return link

        database.commit = crashing_commit  # type: ignore[method-assign, assignment]
        database.commit_now = crashing_commit_now  # type: ignore[method-assign, assignment]
        database.commit_loosely = crashing_commit_loosely  # type: ignore[method-assign, assignment]
        service._dial = dial_crashing

    def _watch(self, link: Link) -> None:
        write = link.write

        def crashing_write(data: bytes) -> None:
            self._before(data, lambda: write(data[: len(data) // 2]))
            write(data)
            self._after()

        link.write = crashing_write  # type: ignore[method-assign]

    def _before(self, sent: bytes | None, half: Callable[[], object]) -> None:
        """A write begins: it is counted, and where it is the stop it does not get through, or half of it does."""
        if self.dead:
            raise Crash
        self.points.append(Point(sent, self._now_s()))
        assert len(self.points) < POINTS_MAX
        if self._stop is None or self._stop.point != len(self.points) or self._stop.moment is Moment.AFTER:
            return
        self.dead = True
        if self._stop.moment is Moment.HALF:
            half()
        raise Crash

    def _after(self) -> None:
        """A write has got through."""
        if self._stop is not None and self._stop.point == len(self.points):
            self.dead = True
            raise Crash


def _torn(work: Callable[[Cursor], object]) -> Callable[[Cursor], object]:
    """A write whose process ends before its transaction is committed."""

    def write(cursor: Cursor) -> None:
        work(cursor)
        raise Crash

    return write


def stops(points: Sequence[Point], first: int = 1) -> Iterator[Stop]:
    """Every way to end a run at a point from `first` on that leaves behind what no other way does.

    Half a transaction is undone, so where no time passes it leaves what the end after the write before it leaves. So
    does the end before a line is written.
    """
    for number, point in enumerate(points, 1):
        if number < first:
            continue
        before, after = points[number - 2 : number - 1], points[number : number + 1]
        if point.sent is not None and not any(same.at_s == point.at_s for same in before):
            yield Stop(number, Moment.BEFORE)
        yield Stop(number, Moment.HALF)
        if not any(same.sent is None and same.at_s == point.at_s for same in after):
            yield Stop(number, Moment.AFTER)
