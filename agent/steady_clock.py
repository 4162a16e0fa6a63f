"""Which moment is it, by a clock that nobody sets while the machine runs?

It is the wall clock as the first process of the store found it since the machine was started, and the seconds since.
All processes of the machine share it: the store remembers where it began. Over a restart it may jump either way.
"""

from datetime import datetime, timedelta

from agent.clock import Clock
from agent.processes import Holder
from agent.store.database import Cursor, Database


class SteadyClock:
    """The clock by which one process counts what is still under way for whoever comes next."""

    def __init__(self, database: Database, holder: Holder, clock: Clock) -> None:
        self._db = database
        self._me = holder
        self._clock = clock
        self._origin: datetime | None = None

    def now(self) -> datetime:
        """Now; only differences mean anything. Raises StoreError."""
        since = timedelta(seconds=self._clock.since_start_s())
        if self._origin is None:
            self._origin = self._common_origin(self._clock.utc() - since)
        return self._origin + since

    def _common_origin(self, mine: datetime) -> datetime:
        me = self._me
        name = f"start {me.host} {me.boot}"

        def write(cursor: Cursor) -> str:
            cursor.execute(
                "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (name, mine.isoformat()),
            )
            earlier = f"start {me.host} "
            cursor.execute(
                "DELETE FROM meta WHERE substr(name, 1, ?) = ? AND name != ?", (len(earlier), earlier, name)
            )
            row = cursor.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            return str(row[0]) if row is not None else mine.isoformat()

        return datetime.fromisoformat(self._db.commit_loosely(write))
