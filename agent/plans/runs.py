"""Which runs of plans does the store know, and how do they stand?

A run is one plan under one key. Its row pins the text and the options, so that it can be gone on with later; its steps
are rows too. What became of a step is in its operation, in the journal: here is only why a step had none. A run whose
process is gone is unfinished, whatever its row says.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ulid import ULID

from agent.journal import Entry
from agent.plans.course import StepReport, summary
from agent.plans.other_names import counting, pointers, renamed
from agent.plans.run_steps import (
    ASKED,
    STEPS,
    RunStep,
    all_done,
    enter,
    forget_old_names,
    ids_in,
    insist_on_the_same,
    note_all,
    noted,
    steps_in,
    told_of,
)
from agent.processes import Holder, is_gone
from agent.service import Service
from agent.store.database import Cursor, Refused, Row, StoreError

if TYPE_CHECKING:
    from agent.plans.layout import Layout

_COLUMNS = (
    "run", "plan", "key", "path", "text", "digest", "options", "reason", "actor", "agent", "job", "holder", "begun_utc",
    "ended_utc", "state", "summary",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM run"  # noqa: S608 - names of our own columns
FOUND_MAX = 5
"""So many runs are shown where a prefix fits several."""


class RunHeld(Refused):
    """A living process works on the run."""


class RunState(StrEnum):
    """How a run stands. `done`: every step is applied or unchanged; `unfinished`: it may be gone on with."""

    RUNNING = "running"
    DONE = "done"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run.

    `text` and `digest` are those of the plan when it was begun or taken up last, `options` what is needed to go on with
    it. `holder` is None where nobody works on it, `ended_utc` and `summary` where it was cut off.
    """

    run: str
    plan: str
    key: str
    path: str
    text: str
    digest: str
    options: Mapping[str, Any]
    reason: str | None
    actor: str
    agent: str
    job: str | None
    holder: Holder | None
    begun_utc: str
    ended_utc: str | None
    state: RunState
    summary: Mapping[str, int] | None


class Runs:
    """The runs of one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._journal = service.journal
        self._registry = service.registry
        self._leases = service.leases
        self._clock = service.clock
        self._me = service.holder
        self._unended: dict[str, tuple[RunRow, Sequence[StepReport]]] = {}

    # --- carrying out -------------------------------------------------------------------------------------------------

    def id_of(self, plan: str, key: str) -> str:
        """The id to lay a plan out with: that of its run under this key, or a new one. Raises StoreError."""
        found = self._db.read("SELECT run FROM run WHERE plan = ? AND key = ?", (plan, key))
        return str(found[0][0]) if found else str(ULID())

    def insist_on_the_same(self, layout: "Layout") -> None:
        """Raise FileProblems where steps say something else than when they were asked for in this run; StoreError."""
        insist_on_the_same(self._db.read(ASKED, (layout.run,)), layout)

    def begin(
        self,
        layout: "Layout",
        *,
        options: Mapping[str, Any],
        actor: str,
        reason: str | None = None,
        job: str | None = None,
    ) -> RunRow:
        """Begin a run, or take up the one of the same plan and key; this process works on it from now on.

        Args:
            layout: what is to be done; its run is `id_of` its plan and key.
            options: what `resume` needs, as JSON has it.
            actor: who began it; stays where it is taken up.
            reason: why; one given before stays where this is None.
            job: the job that is the reason; stays likewise.

        Raises:
            RunHeld: a living process works on it.
            FileProblems: steps say something else than when they were asked for in this run.
            StoreError: the store cannot be written.
        """
        self.end_late()
        plan, now = layout.plan, self._clock.stamp()
        pinned = (
            plan.path,
            plan.text,
            plan.digest,
            json.dumps(dict(options)),
            self._me.agent,
            self._me.to_json(),
        )
        earlier = self._journal.of_run(layout.run)
        ids = self._ids(layout) if earlier else {}

        def write(cursor: Cursor) -> None:
            found = cursor.execute(
                "SELECT run, holder FROM run WHERE plan = ? AND key = ?", (plan.name, layout.key)
            ).fetchone()
            if found is None:
                cursor.execute(
                    "INSERT INTO run (path, text, digest, options, agent, holder, run, plan, key, reason, actor, job, "
                    "begun_utc, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')",
                    (*pinned, layout.run, plan.name, layout.key, reason, actor, job, now),
                )
            else:
                self._insist_on_free(layout, *found)
                insist_on_the_same(cursor.execute(ASKED, (layout.run,)).fetchall(), layout)
                cursor.execute(
                    "UPDATE run SET path = ?, text = ?, digest = ?, options = ?, agent = ?, holder = ?, "
                    "reason = COALESCE(?, reason), job = COALESCE(?, job), state = 'running', ended_utc = NULL, "
                    "summary = NULL WHERE run = ?",
                    (*pinned, reason, job, layout.run),
                )
            enter(cursor, layout)
            note_all(cursor, layout.run, pointers(earlier, ids))
            forget_old_names(cursor, layout.run, renamed(earlier, ids))

        self._db.commit_now(write)
        return self.find(layout.run)[0]

    def _insist_on_free(self, layout: "Layout", run: str, holder: str | None) -> None:
        worker = Holder.from_json(holder) if holder is not None else None
        if worker is not None and self._at_work(worker):
            raise RunHeld(f"run {run} of plan {layout.plan.name} is being carried out by {worker}")
        if run != layout.run:
            raise RunHeld(f"run {run} of plan {layout.plan.name} was begun by another process just now")

    def end(self, row: RunRow, reports: Sequence[StepReport]) -> None:
        """This process has stopped working on a run; nothing is changed where another one has taken it up.

        Args:
            row: as `begin` gave it.
            reports: of its steps; none where the work was cut off. The journal is asked about all others.

        Raises:
            StoreError: nothing was entered. `end_late` does so later, else the run counts as cut off once this process
                is gone.
        """
        self._unended[row.run] = (row, reports)
        entries = self._journal.of_run(row.run)
        ids = ids_in(reports, entries)
        notes = noted(reports, entries, ids)
        counts = json.dumps(summary(reports)) if reports else None
        mine = (row.run, self._me.to_json())

        def write(cursor: Cursor) -> None:
            if cursor.execute("SELECT 1 FROM run WHERE run = ? AND holder = ?", mine).fetchone() is None:
                return
            note_all(cursor, row.run, notes)
            forget_old_names(cursor, row.run, renamed(entries, ids))
            with self._making_sense_of(row.run):
                steps = steps_in(cursor.execute(STEPS, (row.run,)).fetchall())
            done = all_done(told_of(steps, entries), reports)
            state = RunState.DONE if done else RunState.UNFINISHED
            cursor.execute(
                "UPDATE run SET state = ?, summary = ?, ended_utc = ?, holder = NULL WHERE run = ?",
                (state.value, counts, self._clock.stamp(), row.run),
            )

        self._db.commit_now(write)
        del self._unended[row.run]

    def end_late(self) -> None:
        """Enter the ends that could not be entered when they came. Raises StoreError."""
        for row, reports in list(self._unended.values()):
            self.end(row, reports)

    # --- looking ------------------------------------------------------------------------------------------------------

    def newest(self, limit: int) -> list[RunRow]:
        """The newest runs, newest first. Raises StoreError."""
        return self._rows("ORDER BY begun_utc DESC, run DESC LIMIT ?", (limit,))

    def find(self, run: str) -> list[RunRow]:
        """Runs whose id is, or begins with, `run`, the first `FOUND_MAX`. Raises StoreError."""
        exact = self._rows("WHERE run = ?", (run,))
        return exact or self._rows(
            "WHERE substr(run, 1, ?) = ? ORDER BY run LIMIT ?", (len(run), run.upper(), FOUND_MAX)
        )

    def unfinished(self) -> RunRow | None:
        """The newest run that may be gone on with and on which nobody works. Raises StoreError."""
        rows = self._rows("WHERE state != 'done' ORDER BY begun_utc DESC, run DESC", ())
        return next((row for row in rows if row.state is RunState.UNFINISHED), None)

    def steps(self, run: str) -> list[RunStep]:
        """The steps of a run, in the order of the plan, device by device. Raises StoreError."""
        rows = self._db.read(STEPS, (run,))
        with self._making_sense_of(run):
            return steps_in(rows)

    def told(self, run: str) -> list[tuple[RunStep, Entry | None]]:
        """As `steps`, each with the operation that counts for it. Raises StoreError."""
        return told_of(self.steps(run), self._journal.of_run(run))

    def counting(self, layout: "Layout") -> dict[tuple[str, str], Entry]:
        """The operations of a run that count for the steps of its layout, by device and step. Raises StoreError."""
        return counting(self._journal.of_run(layout.run), self._ids(layout))

    def _ids(self, layout: "Layout") -> dict[str, int | None]:
        """The devices of a layout by their names, as far as the store has met them."""
        targets = {work.chosen.device.name: work.chosen.target for work in layout.work}
        return {
            name: self._registry.lookup(each.url, each.unit, each.serial) for name, each in targets.items()
        }

    def _rows(self, where: str, params: Sequence[Any]) -> list[RunRow]:
        rows = []
        for row in self._db.read(f"{_SELECT} {where}", params):
            with self._making_sense_of(row[0]):
                rows.append(self._row(row))
        return rows

    def _row(self, row: Row) -> RunRow:
        data = dict(zip(_COLUMNS, row, strict=True))
        state = RunState(data["state"])
        holder = Holder.from_json(data["holder"]) if data["holder"] is not None else None
        if state is RunState.RUNNING and (holder is None or not self._at_work(holder)):
            state, holder = RunState.UNFINISHED, None
        data["options"] = json.loads(data["options"])
        data["summary"] = json.loads(data["summary"]) if data["summary"] is not None else None
        return RunRow(**data | {"state": state, "holder": holder})

    def _at_work(self, holder: Holder) -> bool:
        """Whether a process lives. One of another machine (or of this one under another name) shows it by a lease."""
        if holder.host == self._me.host:
            return holder == self._me or not is_gone(holder, self._me)
        held = self._db.read("SELECT id FROM device WHERE holder = ?", (holder.to_json(),))
        return any(self._leases.holder_of(device) == holder for (device,) in held)

    @contextmanager
    def _making_sense_of(self, run: str) -> Iterator[None]:
        """Rows that mean nothing are a damaged store. Raises StoreError."""
        try:
            yield
        except (ValueError, KeyError, TypeError) as problem:
            what = f"run {run} makes no sense ({type(problem).__name__}: {problem})"
            raise StoreError(
                f"the journal {self._db.place} is damaged: {what}. Restore a backup"
            ) from problem
