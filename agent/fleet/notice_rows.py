"""Which rows has the table of notices, and how does one get in exactly once?

A row is a notice, for whoever looks after the fleet, or an errand, for the one person in `to`. Its key is what it is
about, its kind, and which time of it this is; whoever enters that first has entered it, the others change nothing. What
cannot be written while the store fails is kept in memory and entered later. The newest `KEPT_MAX` rows are kept.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.fleet.damage import making_sense
from agent.service import Service
from agent.store.database import Cursor, Database, StoreError

KEPT_MAX = 5_000
"""So many rows are kept; what is older is forgotten, told or not."""
LATE_MAX = 1_000
"""So many rows wait in memory for a store that cannot be written; the oldest give way."""


class State(StrEnum):
    """What has become of a row."""

    DUE = "due"
    GIVEN = "given"
    UNDELIVERABLE = "undeliverable"
    SHOWN = "shown"


@dataclass(frozen=True, slots=True)
class New:
    """A row that is to be entered. `since`: which time of it this is. `told`: what else is to be kept, JSON-able."""

    about: str
    kind: str
    since: str
    text: str
    utc: str
    to: str | None
    told: Mapping[str, Any]


def enter(cursor: Cursor, row: New) -> bool:
    """Enter a row and forget the oldest one too many; False where it was there already."""
    cursor.execute(
        'INSERT INTO notice (about, kind, since, text, utc, "to", state, told) VALUES (?, ?, ?, ?, ?, ?, ?, ?) '
        "ON CONFLICT (about, kind, since) DO NOTHING",
        (
            row.about,
            row.kind,
            row.since,
            row.text,
            row.utc,
            row.to,
            State.DUE.value,
            json.dumps(dict(row.told)),
        ),
    )
    if cursor.rowcount != 1:
        return False
    cursor.execute("DELETE FROM notice WHERE n <= (SELECT max(n) FROM notice) - ?", (KEPT_MAX,))
    return True


def told_in(database: Database, text: str) -> dict[str, Any]:
    """What a row keeps in `told`. Raises StoreError where that makes no sense."""
    with making_sense(database, "its notices"):
        told = json.loads(text)
        if not isinstance(told, dict):
            raise TypeError("no object")
        return told


def mark(cursor: Cursor, n: int, state: State, told: Mapping[str, Any]) -> None:
    """Write what has become of a row."""
    cursor.execute(
        "UPDATE notice SET state = ?, told = ? WHERE n = ?", (state.value, json.dumps(dict(told)), n)
    )


class LateRows:
    """Enters rows that nobody would find again; whoever calls is not stopped by a store that fails."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._waiting: list[New] = []

    def enter(self, row: New) -> None:
        """Enter a row, durable; at the next call where the store fails now."""
        self._waiting = [*self._waiting, row][-LATE_MAX:]
        try:
            self.flush()
        except StoreError:
            return

    def flush(self) -> None:
        """Enter what is waiting. Raises StoreError: it goes on waiting."""
        if not self._waiting:
            return
        rows = self._waiting
        self._db.commit_now(lambda cursor: [enter(cursor, row) for row in rows])
        self._waiting = []
