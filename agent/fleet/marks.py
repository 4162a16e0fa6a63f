"""What has an operator said about a device or an agent: disabled, or a reference?

An operator's word wins over everything and is no health state: what health excludes comes back by itself, what a
person disabled stays so until a person enables it. So nothing else in the fleet writes these rows, and only what a
person typed calls what writes here. The last word on each mark is kept, also the one that took it back.
"""

from dataclasses import dataclass
from enum import StrEnum

from agent.fleet.damage import making_sense
from agent.service import Service


class Mark(StrEnum):
    """What may be said of a target."""

    DISABLED = "disabled"
    """No work goes there, not even as the last resort."""
    REFERENCE = "reference"
    """Its failing to reach another one counts alone."""


@dataclass(frozen=True, slots=True)
class Word:
    """The last word about one mark of a target (`device:NAME`, `agent:NAME`).

    `holds`: whether it is so, or was taken back. `reason`: as the person gave it. `utc`: when, as `clock.stamp` has it.
    """

    target: str
    mark: Mark
    holds: bool
    by: str
    reason: str | None
    utc: str


class Marks:
    """The operators' words in one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._clock = service.clock

    def disable(self, target: str, *, by: str, reason: str | None) -> None:
        """No work goes to the target any more; what is in flight reaches its word. Durable. Raises StoreError."""
        self._say(target, Mark.DISABLED, holds=True, by=by, reason=reason)

    def enable(self, target: str, *, by: str, reason: str | None) -> None:
        """Take a `disable` back. Durable. Raises StoreError."""
        self._say(target, Mark.DISABLED, holds=False, by=by, reason=reason)

    def reference(self, target: str, *, holds: bool, by: str, reason: str | None) -> None:
        """The target is a reference from now on, or is none any more. Durable. Raises StoreError."""
        self._say(target, Mark.REFERENCE, holds=holds, by=by, reason=reason)

    def _say(self, target: str, mark: Mark, *, holds: bool, by: str, reason: str | None) -> None:
        row = (target, mark.value, holds, by, reason, self._clock.stamp())
        self._db.commit_now(
            lambda cursor: cursor.execute(
                "INSERT INTO fleet_mark (target, mark, holds, by, reason, utc) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (target, mark) DO UPDATE SET holds = excluded.holds, by = excluded.by, "
                "reason = excluded.reason, utc = excluded.utc",
                row,
            )
        )

    def words(self) -> list[Word]:
        """Every last word, by target and mark. Raises StoreError."""
        rows = self._db.read(
            "SELECT target, mark, holds, by, reason, utc FROM fleet_mark ORDER BY target, mark"
        )
        with making_sense(self._db, "its operators' marks"):
            return [
                Word(target, Mark(mark), bool(holds), by, reason, utc)
                for target, mark, holds, by, reason, utc in rows
            ]

    def marked(self, mark: Mark) -> frozenset[str]:
        """The targets of which it holds. Raises StoreError."""
        rows = self._db.read("SELECT target FROM fleet_mark WHERE mark = ? AND holds = 1", (mark.value,))
        return frozenset(target for (target,) in rows)
