"""When did a verdict change? The history of each target, a row per change, whoever of the agents notices it first.

Verdicts are computed by every agent, from the same rows. So many notice one change at the same time, and one of them
enters it: a row names the row that it follows, and only one may follow a row. Agents also compute at different moments:
a verdict that is older than the newest row of its target changes nothing, else a slow agent would turn the history
back. A change is another status, other vantages from which a target is unreachable, another pair, or another reference
on whose word it is; a reason that merely counts otherwise is none.
"""

from dataclasses import dataclass

from agent.fleet.damage import making_sense
from agent.fleet.store_clock import StoreClock
from agent.fleet.verdict import Fleet, Status, Verdict
from agent.service import Service
from agent.store.database import Cursor

HISTORY_MAX = 200
"""So many changes are kept of each target, the newest."""


@dataclass(frozen=True, slots=True)
class Change:
    """From `utc` on (`at_s` by the store's clock) the verdict on a target was this one.

    `detail`: the names that the status is about: vantages, both ends of a pair, or the reference; else empty. `reason`:
    the verdict's sentence when it changed. `before`: the status until then; None for the first verdict, and for the
    oldest one kept.
    """

    target: str
    status: Status
    detail: str
    reason: str
    at_s: float
    utc: str
    before: Status | None


class Changes:
    """The history of one store's verdicts, as one process sees it."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._clock = service.clock
        self._store_clock = StoreClock(service)

    def note(self, fleet: Fleet, at_s: float) -> list[Change]:
        """Enter what has changed.

        Args:
            fleet: the verdicts. A target that they no longer speak of, as nobody sees it, counts as `no_data`.
            at_s: the moment that they were computed for, by the store's clock.

        Returns:
            The changes that this call has entered: not those that another agent was first with.

        Raises:
            StoreError: nothing is entered; the next call finds the same changes.
        """
        newest, now_s, utc = self._newest(), self._store_clock.now_s(), self._clock.stamp()
        told = {target: (each.status, _detail(each), each.reason) for target, each in fleet.verdicts.items()}
        silent = {target: _SILENT for target in newest if target not in told}
        found = []
        for target, (status, detail, reason) in (told | silent).items():
            last = newest.get(target)
            if last is not None and (last.says(status, detail) or at_s <= last.at_s <= now_s):
                continue
            before = last.status if last is not None else None
            change = Change(target, status, detail, reason, at_s, utc, before)
            found.append((change, last.n if last is not None else 0))
        if not found:
            return []
        return self._db.commit_loosely(
            lambda cursor: [change for change, follows in found if _enter(cursor, change, follows)]
        )

    def history(self, target: str, limit: int) -> list[Change]:
        """The changes of a target, newest first, so many at most. Raises StoreError."""
        rows = self._db.read(
            "SELECT target, status, detail, reason, at, utc FROM change WHERE target = ? ORDER BY follows DESC LIMIT ?",
            (target, limit + 1),
        )
        with making_sense(self._db, "its verdicts of before"):
            statuses = [Status(row[1]) for row in rows] + [None]
            return [
                Change(target, Status(status), detail, reason, at, utc, before)
                for (_, status, detail, reason, at, utc), before in zip(rows, statuses[1:], strict=True)
            ][:limit]

    def _newest(self) -> dict[str, "_Last"]:
        """The newest row of each target."""
        rows = self._db.read(
            "SELECT target, n, status, detail, at FROM change "
            "WHERE (target, follows) IN (SELECT target, max(follows) FROM change GROUP BY target)"
        )
        with making_sense(self._db, "its verdicts of before"):
            return {target: _Last(n, Status(status), detail, at) for target, n, status, detail, at in rows}


@dataclass(frozen=True, slots=True)
class _Last:
    """The newest row of a target."""

    n: int
    status: Status
    detail: str
    at_s: float

    def says(self, status: Status, detail: str) -> bool:
        return (self.status, self.detail) == (status, detail)


_SILENT = (Status.NO_DATA, "", "nobody has seen it for a while")


def _detail(verdict: Verdict) -> str:
    return ", ".join(verdict.vantages or verdict.pair or filter(None, [verdict.reference]))


def _enter(cursor: Cursor, change: Change, follows: int) -> bool:
    """Enter a change, and forget the oldest one too many; False where another row follows that one already."""
    cursor.execute(
        "INSERT INTO change (target, follows, status, detail, reason, at, utc) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (target, follows) DO NOTHING",
        (change.target, follows, change.status.value, change.detail, change.reason, change.at_s, change.utc),
    )
    if cursor.rowcount != 1:
        return False
    cursor.execute(
        "DELETE FROM change WHERE target = ? AND follows <= "
        "(SELECT follows FROM change WHERE target = ? ORDER BY follows DESC LIMIT 1 OFFSET ?)",
        (change.target, change.target, HISTORY_MAX),
    )
    return True
