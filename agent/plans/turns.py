"""What became of each due time of a job? The store's record of it, which also decides who runs it.

A due time belongs to whoever makes its row: the unique key (job, due time) decides, across processes, restarts and
clocks that are set back. So each is run at most once. What was not run has a row too that says why.

* On time is a due time that is not older than `GRACE`. Older ones were missed: nobody was there, the machine slept, or
  its clock was set forward. They are told together; the row of the newest one stands for all of them.
* A job counts only times after it was added or replaced, and after the newest of its rows that is not in the future.
* While a process that lives runs a job, its next due time is not run (`overlap`).
* A turn whose process ended before it began, so that nothing of it was sent, leaves its time as if nobody had claimed
  it: run where it is on time still, else missed. The row changes hands by the same statement that makes one.
* Of a job the newest `KEPT_MAX` due times are kept. No time before the oldest of so many is ever due, so that what
  nobody remembers is not run again by a clock that is set far back.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from agent.clock import moment, stamp
from agent.plans import schedule
from agent.plans.jobs import Job, making_sense
from agent.processes import Holder, is_gone
from agent.service import Service
from agent.store.database import Cursor, Row

GRACE = timedelta(seconds=60)
"""A due time this old, or older, was missed. As due times are whole minutes, one at most is on time."""
MISSED_COUNT_MAX = 1000
"""More missed times are told as more than that."""
KEPT_MAX = 1000
"""So many due times are kept of a job, and so many turns that a person began."""
BY_HAND = "manual-"
"""How the keys of turns begin that a person began. All of them sort after all due times."""


class State(StrEnum):
    """What became of a due time."""

    RUNNING = "running"
    DONE = "done"  # every step is true on its device
    UNFINISHED = "unfinished"  # some are not
    CUT_OFF = "cut_off"  # the process ended while it ran
    NOT_BEGUN = "not_begun"  # the process ended, or the store failed, before it began: nothing of it was sent
    MISSED = "missed"
    OVERLAP = "overlap"  # the run before was still running
    WINDOW = "window"  # outside the plan's maintenance window
    CHANGED = "changed"  # nobody has agreed to the plan as it is now
    UNUSABLE = "unusable"  # the plan cannot be read or does not fit inventory and profiles
    HELD = "held"  # another process works on the same plan under the same key


@dataclass(frozen=True, slots=True)
class Turn:
    """A due time that somebody claimed, or a run that a person began: `key` is the run key.

    `run` is None where it came to none; `note` says why, a sentence. `claimed_utc` is as `clock.stamp` has it.
    """

    job: str
    key: str
    state: State
    claimed_utc: str
    run: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a job's schedule asks for at a moment: a due time that is on time, and those that were missed before.

    `missed` counts up to `MISSED_COUNT_MAX` + 1; `newest` is the newest of them.
    """

    on_time: datetime | None
    missed: int = 0
    newest: datetime | None = None

    def told(self) -> str:
        """How many times were missed, the last one when, as a sentence."""
        count = f"more than {MISSED_COUNT_MAX}" if self.missed > MISSED_COUNT_MAX else str(self.missed)
        last = f", last {nominal(self.newest)}" if self.newest is not None else ""
        return f"missed {count} time{'' if self.missed == 1 else 's'}{last}"


def nominal(due: datetime) -> str:
    """A due time as the run key of its run: `2026-11-29T02:30+00:00`, the same in every process and zone."""
    return due.astimezone(UTC).isoformat(timespec="minutes")


def standing(job: Job, considered: datetime, now: datetime) -> Standing:
    """What is due and what was missed in the time after `considered` and until `now`, both UTC. Pure."""
    old = max(considered, now - GRACE)
    on_time = schedule.latest_due(job.cron, job.tz, old, now)
    missed = schedule.due_between(job.cron, job.tz, considered, old, MISSED_COUNT_MAX + 1)
    newest = schedule.latest_due(job.cron, job.tz, considered, old) if missed else None
    return Standing(on_time, len(missed), newest)


class Turns:
    """The turns of the jobs of one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._me = service.holder
        self._clock = service.clock

    def considered(self, job: Job, now: datetime) -> datetime:
        """The moment up to which a job's due times are settled: what is later and not later than `now` is open.

        It is later than `now` where the clock shows a time before the job was added, or before all that is kept of it.
        """
        [(newest,)] = self._db.read(
            "SELECT max(due_utc) FROM due WHERE job = ? AND due_utc <= ? AND state != 'not_begun'",
            (job.name, nominal(now)),
        )
        oldest_kept = self._db.read(_OLDEST_KEPT, (job.name, *_kind_of(nominal(now)), KEPT_MAX - 1))
        with making_sense():
            settled = [moment(due) for (due,) in ((newest,), *oldest_kept) if due is not None]
            return max([job.added, *settled])

    def claim(self, job: Job, key: str) -> Turn | None:
        """Take a turn of a job: a due time (`nominal`), or a key of one's own.

        Returns:
            The turn, durable: `running` where it is to be run now, `overlap` where the job is still running. None
            where the due time was claimed before and begun, or is older than all that is kept, or the job has been
            removed or replaced meanwhile.

        Raises:
            StoreError: nothing is claimed.
        """

        def write(cursor: Cursor) -> Turn | None:
            known = cursor.execute("SELECT added_utc FROM job WHERE job = ?", (job.name,)).fetchone()
            if known is None or known[0] != stamp(job.added):
                return None
            former = self._still_running(cursor, job)
            state = State.RUNNING if former is None else State.OVERLAP
            return self._enter(cursor, Turn(job.name, key, state, self._clock.stamp(), note=former))

        return self._db.commit_now(write)

    def pass_over(self, job: Job, due: datetime, note: str) -> bool:
        """Record missed times at the newest of them; False where somebody else has done so. Raises StoreError."""
        turn = Turn(job.name, nominal(due), State.MISSED, self._clock.stamp(), note=note)
        return self._db.commit_now(lambda cursor: self._enter(cursor, turn)) is not None

    def record(self, turn: Turn) -> None:
        """Record what became of a claimed turn. Raises StoreError."""
        self._db.commit_now(
            lambda cursor: (
                cursor.execute(
                    "UPDATE due SET state = ?, run = ?, note = ? WHERE job = ? AND due_utc = ?",
                    (turn.state.value, turn.run, turn.note, turn.job, turn.key),
                ).rowcount
            )
        )

    def orphans(self) -> list[Turn]:
        """Turns whose process has gone before it said what became of them, each told to one caller only.

        Returns:
            Them with their states now: `not_begun`, `cut_off`, or `done` where the end of the run is on record.

        Raises:
            StoreError: nobody was told.
        """

        def write(cursor: Cursor) -> list[Turn]:
            gone = [
                replace(turn, state=_left_as(cursor, turn))
                for turn, holder in _running(cursor)
                if self._is_gone(holder)
            ]
            for turn in gone:
                cursor.execute(
                    "UPDATE due SET state = ? WHERE job = ? AND due_utc = ?",
                    (turn.state.value, turn.job, turn.key),
                )
            return gone

        return self._db.commit_now(write)

    def last(self, name: str) -> Turn | None:
        """The turn of a job that was claimed last; None where it had none. Raises StoreError."""
        rows = self._db.read(
            f"SELECT {_TURN} FROM due WHERE job = ? ORDER BY claimed_utc DESC, due_utc DESC LIMIT 1",  # noqa: S608
            (name,),
        )
        with making_sense():
            return _turn(rows[0]) if rows else None

    def _enter(self, cursor: Cursor, turn: Turn) -> Turn | None:
        """Make the row of a turn, or take over that of one that never began; None where it is somebody else's."""
        of_its_kind = (turn.job, *_kind_of(turn.key))
        oldest_kept = cursor.execute(_OLDEST_KEPT, (*of_its_kind, KEPT_MAX - 1)).fetchone()
        if oldest_kept is not None and turn.key < oldest_kept[0] and not turn.key.startswith(BY_HAND):
            return None
        cursor.execute(
            _ENTER, (turn.job, turn.key, turn.state.value, self._me.to_json(), turn.claimed_utc, turn.note)
        )
        if cursor.rowcount != 1:
            return None
        cursor.execute(_FORGET_OLD, (*of_its_kind, *of_its_kind, KEPT_MAX - 1))
        return turn

    def _still_running(self, cursor: Cursor, job: Job) -> str | None:
        """Who runs a job now, a sentence; None where nobody does."""
        for key, holder_text, since_utc in cursor.execute(_STILL_RUNNING, (job.name, job.name)).fetchall():
            with making_sense():
                holder = Holder.from_json(holder_text)
            # Nobody can ask whether a process of another machine lives; replacing the job ends the wait for it.
            given_up = holder.host != self._me.host and since_utc < stamp(job.added)
            if not given_up and not self._is_gone(holder):
                return f"its run of {key} is still running ({holder})"
        return None

    def _is_gone(self, holder: Holder) -> bool:
        return holder != self._me and is_gone(holder, self._me)


_TURN = "job, due_utc, state, claimed_utc, run, note"
_RUNNING = f"SELECT {_TURN}, claimed_by FROM due WHERE state = 'running' ORDER BY claimed_utc"  # noqa: S608
_STILL_RUNNING = """
    SELECT due_utc, claimed_by, claimed_utc FROM due WHERE job = ? AND state = 'running'
    UNION ALL SELECT key, holder, begun_utc FROM run WHERE job = ? AND state = 'running' AND holder IS NOT NULL"""
"""Who works on a job: on its turns, or on runs of it that are gone on with."""
_ENTER = """
    INSERT INTO due (job, due_utc, state, claimed_by, claimed_utc, note) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (job, due_utc) DO UPDATE SET state = excluded.state, claimed_by = excluded.claimed_by,
    claimed_utc = excluded.claimed_utc, note = excluded.note WHERE due.state = 'not_begun'"""
_OLDEST_KEPT = """
    SELECT due_utc FROM due WHERE job = ? AND due_utc >= ? AND due_utc < ? ORDER BY due_utc DESC LIMIT 1 OFFSET ?"""
_FORGET_OLD = f"""
    DELETE FROM due WHERE job = ? AND due_utc >= ? AND due_utc < ? AND state != 'running'
    AND due_utc < ({_OLDEST_KEPT})"""  # noqa: S608


def _kind_of(key: str) -> tuple[str, str]:
    """The first key of the kind of a key, and the first one after them all: due times, or turns begun by hand."""
    return (BY_HAND, BY_HAND + "~") if key.startswith(BY_HAND) else ("", BY_HAND)


def _turn(row: Row) -> Turn:
    job, key, state, claimed_utc, run, note = row
    return Turn(job, key, State(state), claimed_utc, run, note)


def _left_as(cursor: Cursor, turn: Turn) -> State:
    """What a turn has come to whose process has gone. Its run is on record before anything is sent."""
    if turn.run is None:
        return State.NOT_BEGUN
    ended = cursor.execute("SELECT state FROM run WHERE run = ?", (turn.run,)).fetchone()
    return State.DONE if ended == ("done",) else State.CUT_OFF


def _running(cursor: Cursor) -> list[tuple[Turn, Holder]]:
    """The turns that count as running, each with the process that claimed it."""
    with making_sense():
        return [(_turn(row[:-1]), Holder.from_json(row[-1])) for row in cursor.execute(_RUNNING).fetchall()]
