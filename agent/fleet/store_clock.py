"""Which moment is it for all agents of a store, and which of their rows are of before the machine's restart?

Rows of the fleet carry seconds of the store's clock (`SteadyClock`): nobody sets it while the machine runs, and all
processes of the machine share it. Over a restart it may jump either way, with the wall clock that the machine started
with. So rows of before mean nothing: the first process after a restart removes them, and every agent of before is down.
"""

from agent.fleet.damage import making_sense
from agent.processes import Holder
from agent.service import Service
from agent.store.database import Cursor


class StoreClock:
    """The clock that the fleet's rows are counted by, as one process reads it."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._steady = service.steady
        self._me = service.holder
        self._begun = False

    def now_s(self) -> float:
        """Seconds of the store's clock; only differences mean anything. Raises StoreError."""
        if not self._begun:
            self._begin()
            self._begun = True
        return self._steady.now().timestamp()

    def _begin(self) -> None:
        """See to it that no row of before this start of the machine is left."""
        name, boot = f"fleet start {self._me.host}", self._me.boot

        def write(cursor: Cursor) -> None:
            if cursor.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone() == (boot,):
                return  # another process was first, and rows of this start are there already
            cursor.execute("DELETE FROM observation")
            cursor.execute("DELETE FROM self_report")
            for agent, text in cursor.execute("SELECT name, holder FROM agent").fetchall():
                with making_sense(self._db, "its agents"):
                    holder = Holder.from_json(text)
                if holder.host == self._me.host and holder.boot != boot:
                    cursor.execute("UPDATE agent SET state = 'down' WHERE name = ?", (agent,))
            cursor.execute(
                "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, boot),
            )

        self._db.commit_loosely(write)
