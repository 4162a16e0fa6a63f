"""Which answers may still come on the streams that opening anew does not cut?

* A request owes its answer from before it leaves until that was seen or can no longer come. The debt is in the store,
  for whatever process comes next.
* It is counted by the steady clock, and nobody waits for longer than the debt ever was.
* A debt is written without a flush: it survives its process, but a power cut only with the next durable write. So right
  after the machine's start every stream may owe an answer that nobody knows of.
"""

from datetime import timedelta

from agent.clock import Clock, moment, stamp
from agent.steady_clock import SteadyClock
from agent.store.database import Database


class Owed:
    """The debts on the streams of one store."""

    def __init__(self, database: Database, steady: SteadyClock, clock: Clock) -> None:
        self._db = database
        self._steady = steady
        self._clock = clock

    def owed_s(self, stream: str, late_s: float = 0.0) -> float:
        """How many seconds long the answer to an earlier request, of whatever process, may still come on a stream.

        A machine that was started with an earlier time does not make it longer than it ever was. What was asked right
        before a power cut may not be on record: for `late_s` after the machine's start, that long after a request on
        this stream its answer may come, nobody knows. Raises StoreError.
        """
        unknown_s = late_s - self._clock.since_start_s()
        rows = self._db.read("SELECT until_utc, late_s FROM stream WHERE stream = ?", (stream,))
        if not rows:
            return max(0.0, unknown_s)
        left_s = (moment(rows[0][0]) - self._steady.now()).total_seconds()
        return max(0.0, unknown_s, min(left_s, float(rows[0][1])))

    def owe(self, stream: str, late_s: float) -> None:
        """A request is about to leave on the stream, whose answer may come until `late_s` from now.

        Survives this process at once, a power cut only with the next durable write. Raises StoreError.
        """
        until = stamp(self._steady.now() + timedelta(seconds=late_s))
        self._db.commit_loosely(
            lambda cursor: cursor.execute(
                "INSERT INTO stream (stream, until_utc, late_s) VALUES (?, ?, ?) ON CONFLICT (stream) "
                "DO UPDATE SET until_utc = excluded.until_utc, late_s = excluded.late_s",
                (stream, until, late_s),
            )
        )

    def paid(self, stream: str) -> None:
        """The last request on the stream was answered, and nothing else is owed on it. Raises StoreError."""
        self._db.commit_loosely(
            lambda cursor: cursor.execute("DELETE FROM stream WHERE stream = ?", (stream,))
        )
