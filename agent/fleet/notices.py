"""What is everybody to be told who looks after the fleet: each change once, whichever agent notices it first?

Every agent looks, from the same rows and at nearly the same moment. What lasts (`occasions.py`) is told once when it
begins: its row follows the one of the time before, and only one can. Who comes with an older look changes nothing. A
doubt is told once per operation, a turn of a job once per due time. How notices leave is in `deliveries.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.fleet.damage import making_sense
from agent.fleet.notice_rows import LateRows, New, State, enter, mark, told_in
from agent.fleet.occasions import LASTING, Key, Kind, Occasion, occasions
from agent.fleet.store_clock import StoreClock
from agent.fleet.verdict import Fleet
from agent.service import Service
from agent.store.database import Cursor
from logs.text import escape

TEXT_MAX = 1_000
BY_TURN = {
    "unfinished": Kind.JOB_FAILED,
    "cut_off": Kind.JOB_FAILED,
    "not_begun": Kind.JOB_FAILED,
    "unusable": Kind.JOB_FAILED,
    "changed": Kind.JOB_FAILED,
    "held": Kind.JOB_FAILED,
    "missed": Kind.JOB_MISSED,
    "overlap": Kind.JOB_MISSED,
    "window": Kind.JOB_MISSED,
}
"""Which states of a job's turn (`plans/turns.py`) are told."""
_CUT_OFF = "its process ended before the device's word was known"


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice as it is kept. `tries`: how often it was sent; `why`: who has not taken it, and why."""

    n: int
    about: str
    kind: Kind
    text: str
    utc: str
    state: State
    tries: int
    why: str | None


@dataclass(frozen=True, slots=True)
class _Last:
    """The newest row of an occasion: at which moment, by the store's clock, it began or was over."""

    n: int
    state: State
    told: dict[str, Any]
    is_over: bool
    at_s: float


class Notices:
    """The notices of one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._db = service.database
        self._clock = StoreClock(service)
        self._late = LateRows(service)
        self._lasting: set[Key] | None = None
        self._doubts: set[str] = set()

    # --- what happens -------------------------------------------------------------------------------------------------

    def look(self, fleet: Fleet, at_s: float, alarms: Sequence[str] = ()) -> list[str]:
        """Enter what has begun, and note what is over.

        Args:
            fleet: the verdicts.
            at_s: the moment that they were computed for, by the store's clock.
            alarms: as `occasions` takes them.

        Returns:
            The texts of the notices that this call has entered: not those that another agent was first with.

        Raises:
            StoreError: nothing is entered; the next look finds the same.
        """
        self._late.flush()
        if self._lasting is None:
            self._lasting = self._known()
        found, now_s = occasions(fleet, alarms), self._clock.now_s()
        doubts = self._untold_doubts()
        keys = found.keys() | self._lasting
        entered: list[str] = []
        if doubts or any(_step(self._newest(key), found.get(key), at_s, now_s) for key in keys):

            def write(cursor: Cursor) -> list[str]:
                texts = [row.text for row in doubts if enter(cursor, row)]
                changes = [self._change(cursor, key, found.get(key), at_s, now_s) for key in sorted(keys)]
                return texts + [text for text in changes if text is not None]

            entered = self._db.commit_now(write)
        self._doubts |= {row.about for row in doubts}
        self._lasting = {key for key in keys if (last := self._newest(key)) is not None and not last.is_over}
        return entered

    def turn(self, job: str, key: str, state: str, message: str) -> None:
        """Enter what a turn of a job has come to, where that is to be told; later where the store fails now.

        Args:
            job: its name.
            key: the turn's key, its due time.
            state: the turn's state, as `plans/turns.py` has it.
            message: the sentence about it.
        """
        kind = BY_TURN.get(state)
        if kind is None:
            return
        word = "failed" if kind is Kind.JOB_FAILED else "was not run"
        self._late.enter(self._new(f"job:{job}", kind, key, f"job {job} of {key} {word}: {message}"))

    def _new(self, about: str, kind: Kind, since: str, text: str, **told: object) -> New:
        return New(about, kind.value, since, escape(text, TEXT_MAX), self._service.clock.stamp(), None, told)

    def _untold_doubts(self) -> list[New]:
        """Rows of the doubts that this process has not seen told."""
        doubts = {entry.operation.op: entry for entry in self._service.doubts()}
        self._doubts &= doubts.keys()
        rows = []
        for op in doubts.keys() - self._doubts:
            entry = doubts[op]
            why = entry.result.message if entry.result is not None else _CUT_OFF
            text = (
                f"in doubt: '{entry.operation.command}' on {entry.operation.device}, asked for by "
                f"{entry.operation.submitted_by}: {why}. It holds back further changes there. "
                f"See: ackonce doubt show {op}"
            )
            rows.append(self._new(op, Kind.IN_DOUBT, entry.created_utc, text))
        return sorted(rows, key=lambda row: (row.since, row.about))

    # --- what lasts ---------------------------------------------------------------------------------------------------

    def _known(self) -> set[Key]:
        """The occasions of which there is a row."""
        marks = ", ".join("?" * len(LASTING))
        rows = self._db.read(f"SELECT DISTINCT about, kind FROM notice WHERE kind IN ({marks})", LASTING)  # noqa: S608
        return {(about, Kind(kind)) for about, kind in rows}

    def _newest(self, key: Key, cursor: Cursor | None = None) -> _Last | None:
        rows = cursor.execute(_NEWEST, key).fetchall() if cursor is not None else self._db.read(_NEWEST, key)
        if not rows:
            return None
        told = told_in(self._db, rows[0][2])
        with making_sense(self._db, "its notices"):
            return _Last(rows[0][0], State(rows[0][1]), told, bool(told["over"]), float(told["at_s"]))

    def _change(
        self, cursor: Cursor, key: Key, now: Occasion | None, at_s: float, now_s: float
    ) -> str | None:
        """Enter the beginning or note the end of an occasion; the text where it is entered here."""
        last = self._newest(key, cursor)
        step = _step(last, now, at_s, now_s)
        if step == "ends" and last is not None:
            mark(cursor, last.n, last.state, last.told | {"over": True, "at_s": at_s})
        if step != "begins" or now is None:
            return None
        row = self._new(*key, str(last.n if last is not None else 0), now.text, over=False, at_s=at_s)
        return row.text if enter(cursor, row) else None

    # --- what is kept -------------------------------------------------------------------------------------------------

    def kept(self, limit: int) -> list[Notice]:
        """The notices, newest first, so many at most. Raises StoreError."""
        rows = self._db.read(
            'SELECT n, about, kind, text, utc, state, told FROM notice WHERE "to" IS NULL ORDER BY n DESC LIMIT ?',
            (limit,),
        )
        notices = []
        for n, about, kind, text, utc, state, told_text in rows:
            told = told_in(self._db, told_text)
            with making_sense(self._db, "its notices"):
                tries, why = told.get("tries", 0), told.get("why")
                notices.append(Notice(n, about, Kind(kind), text, utc, State(state), tries, why))
        return notices


_NEWEST = "SELECT n, state, told FROM notice WHERE about = ? AND kind = ? ORDER BY n DESC LIMIT 1"


def _step(last: _Last | None, now: Occasion | None, at_s: float, now_s: float) -> str | None:
    """`begins`, `ends`, or None where the newest row says so already, or is of a later look."""
    if last is not None and at_s <= last.at_s <= now_s:
        return None
    lasts = last is not None and not last.is_over
    if now is None:
        return "ends" if lasts else None
    return "begins" if now.ripe and not lasts else None
