"""How is one turn of a job carried out, and what became of it?

The plan is read when its turn has come. It is not run where nobody agreed to it as it is now, or its maintenance window
is shut. Otherwise it is applied under the turn's key. Runs of one process that share a stream take turns.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent.fleet.errands import Errands
from agent.fleet.notices import Notices
from agent.plans.apply import carry_out
from agent.plans.consent import needed, objection
from agent.plans.course import Listener, StepReport, summary
from agent.plans.jobs import Job
from agent.plans.layout import Layout, lay_out
from agent.plans.plan_file import load_plan
from agent.plans.runs import RunHeld, RunRow, Runs
from agent.plans.turns import State, Turn, Turns, nominal
from agent.plans.window import is_open, opens_next
from agent.service import Service
from agent.settings import Settings
from agent.stations import stream_of
from agent.store.database import StoreError
from devices.problems import FileProblems, UsageProblem


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a server, for people and scripts.

    `event` is `serving`, `waiting`, `started`, `store`, or the state that a turn has come to (`turns.State`). `key` is
    the run key: the due time, or that of a run that a person began. `reports` and `counts` are those of a run that has
    ended.
    """

    ts: str
    event: str
    message: str
    job: str | None = None
    key: str | None = None
    run: str | None = None
    counts: Mapping[str, int] | None = None
    reports: Sequence[StepReport] = ()


Show = Callable[[Layout], AbstractContextManager[Listener]]


class JobRuns:
    """Carries out turns of jobs, any number side by side."""

    def __init__(
        self, service: Service, settings: Settings, tell: Callable[[Told], None], show: Show | None = None
    ) -> None:
        """Nothing runs yet.

        Args:
            service: the agent in this process.
            settings: of this process; each job has its own project, inventory and patience.
            tell: hears of every event.
            show: makes the listener that shows a run's steps; None: they are in the log only, and whoever wants the
                run is not looking on, so that what fails is kept for them.
        """
        self._turns = Turns(service)
        self._service = service
        self._clock = service.clock
        self._runs = Runs(service)
        self._settings = settings
        self._tell = tell
        self._show = show or _show_nothing
        self._notices = Notices(service)
        self._errands = Errands(service) if show is None else None
        self._streams: dict[str, asyncio.Lock] = {}
        self._unrecorded: list[Turn] = []

    async def take(
        self, job: Job, turn: Turn, *, actor: str | None = None, reason: str | None = None
    ) -> Turn:
        """Carry a claimed turn out, unless the job is still running, and record and tell what became of it.

        Args:
            job: whose turn it is.
            turn: as `Turns.claim` gave it.
            actor: who wants it now; None: whoever added the job.
            reason: why now; None: the reason of the job.
        """
        if turn.state is State.OVERLAP:
            self._keep_for(actor or job.added_by, turn, f"not run: {turn.note}", ())
            self.say_turn(turn, f"not run: {turn.note}")
            return turn
        settings = replace(
            self._settings,
            project=Path(job.project),
            inventory=Path(job.inventory),
            timeout_s=job.timeout_s,
            actor=actor or job.added_by,
        )
        reports: Sequence[StepReport] = ()
        try:
            layout = self._lay_out(job, turn, settings, reason or job.reason)
            turn = self._stand_in_the_way(job, turn, layout) or turn
            if turn.state is State.RUNNING:
                turn, reports = await self._carry_out(job, turn, layout, settings.actor, reason or job.reason)
        except (FileProblems, UsageProblem) as problem:
            told = "; ".join(str(problem).splitlines())
            turn = replace(turn, state=State.UNUSABLE, note=f"the plan cannot be carried out: {told}")
        except RunHeld as held:
            turn = replace(turn, state=State.HELD, note=str(held))
        except StoreError as problem:
            turn = replace(turn, state=State.NOT_BEGUN, note=f"{problem}. Nothing was sent")
        self._record(turn)
        self._keep_for(settings.actor, turn, turn.note or _told(turn, reports), reports)
        self.say_turn(turn, turn.note or _told(turn, reports), reports)
        return turn

    def _keep_for(self, person: str, turn: Turn, note: str, reports: Sequence[StepReport]) -> None:
        """Keep what failed for whoever wants the turn, unless they look on."""
        if self._errands is None:
            return
        steps = [
            (each.operation, each.result) for each in reports if each.result is not None and not each.skipped
        ]
        self._errands.turn(turn.job, turn.key, turn.state.value, note, to=person, run=turn.run, steps=steps)

    def _lay_out(self, job: Job, turn: Turn, settings: Settings, reason: str | None) -> Layout:
        """The plan as its file says now. Raises FileProblems, UsageProblem, StoreError."""
        plan = load_plan(Path(job.path))
        if plan.reason_required and not reason:
            raise UsageProblem("it wants a reason", f"ackonce job add {job.name} ... --replace --reason TEXT")
        run = self._runs.id_of(plan.name, turn.key)
        return lay_out(settings, plan, run=run, key=turn.key, reason=reason)

    def _stand_in_the_way(self, job: Job, turn: Turn, layout: Layout) -> Turn | None:
        """The turn with the reason why it may not be run; None where it may."""
        plan = layout.plan
        against = objection(job.agreed, job.digest, plan.digest, needed(layout.operations()))
        if against is not None:
            note = f"not run: {against}. Look at it, then: ackonce job add {job.name} ... --replace"
            return replace(turn, state=State.CHANGED, note=note)
        now = self._clock.utc()
        if plan.window is not None and not is_open(plan.window, now):
            opens = nominal(opens_next(plan.window, now))
            note = f"not run: the maintenance window is shut ({plan.window}); it opens at {opens}"
            return replace(turn, state=State.WINDOW, note=note)
        return None

    async def _carry_out(
        self, job: Job, turn: Turn, layout: Layout, actor: str, reason: str | None
    ) -> tuple[Turn, Sequence[StepReport]]:
        """Apply the plan under the key of the turn. Raises RunHeld, FileProblems, StoreError."""
        options = {
            "project": job.project,
            "inventory": job.inventory,
            "timeout_s": job.timeout_s,
        }
        streams = {stream_of(work.chosen.target.url) for work in layout.work}
        async with AsyncExitStack() as waits:
            for stream in sorted(streams):  # in one order, so that no two runs wait for each other
                await waits.enter_async_context(self._streams.setdefault(stream, asyncio.Lock()))
            former = next(iter(self._runs.find(layout.run)), None)
            whose = former.job if former is not None and former.job is not None else job.name
            row = self._runs.begin(layout, options=options, actor=actor, reason=reason, job=whose)
            turn = replace(turn, run=row.run)
            self._record_beginning(turn, row)
            what = f"plan {layout.plan.name} on {len(layout.work)} device{'s'[: len(layout.work) != 1]}"
            self.say("started", what, job.name, turn.key, row.run)
            with self._show(layout) as listen:
                reports = await carry_out(
                    self._service, self._runs, row, layout, clock=self._clock, listen=listen
                )
        if not all(report.done for report in reports):
            return replace(turn, state=State.UNFINISHED), reports
        nothing_left = all(report.skipped for report in reports)
        note = _done_by(former) if former is not None and nothing_left else None
        return replace(turn, state=State.DONE, note=note), reports

    def _record_beginning(self, turn: Turn, row: RunRow) -> None:
        """Keep the run of a turn, before anything of it is sent; else nobody works on that run. Raises StoreError."""
        try:
            self._turns.record(turn)
        except StoreError:
            with suppress(StoreError):
                self._runs.end(row, ())
            raise

    def _record(self, turn: Turn) -> None:
        """Keep what became of a turn; as long as that fails it counts as running, and is tried again at each look."""
        try:
            self._turns.record(turn)
        except StoreError as problem:
            self._unrecorded.append(turn)
            self.say("store", str(problem), turn.job, turn.key, turn.run)

    def record_late(self) -> None:
        """Keep what could not be kept before, of runs and of turns. Raises StoreError."""
        self._runs.end_late()
        if self._errands is not None:
            self._errands.flush()
        while self._unrecorded:
            self._turns.record(self._unrecorded[-1])
            self._unrecorded.pop()

    def say_turn(self, turn: Turn, message: str, reports: Sequence[StepReport] = ()) -> None:
        """Tell what a turn has come to."""
        self.say(turn.state.value, message, turn.job, turn.key, turn.run, reports)

    def say(
        self,
        event: str,
        message: str,
        job: str | None = None,
        key: str | None = None,
        run: str | None = None,
        reports: Sequence[StepReport] = (),
    ) -> None:
        """Tell an event."""
        if job is not None and key is not None:
            self._notices.turn(job, key, event, message)
        counts = summary(reports) if reports else None
        self._tell(Told(self._clock.stamp(), event, message, job, key, run, counts, reports))


def _told(turn: Turn, reports: Sequence[StepReport]) -> str:
    """How a run ended, a sentence with what to type next."""
    counts = ", ".join(
        f"{count} {kind.replace('_', ' ')}" for kind, count in summary(reports).items() if count
    )
    if turn.state is State.DONE:
        return counts
    return f"{counts}. See: ackonce runs {turn.run}; go on with it: ackonce resume {turn.run}"


def _done_by(former: RunRow) -> str:
    """Who has done a run of which nothing was left to do."""
    who = f"job {former.job}" if former.job is not None else former.actor
    return f"done already by {who} (run {former.run})"


class _Silent:
    """A listener that says nothing."""

    def begun(self, device: str) -> None:
        """Nothing."""

    def step(self, report: StepReport) -> None:
        """Nothing."""

    def device(self, device: str, reports: Sequence[StepReport]) -> None:
        """Nothing."""

    def wave(self, number: int, of: int, devices: Sequence[str]) -> None:
        """Nothing."""


def _show_nothing(_: Layout) -> AbstractContextManager[Listener]:
    return nullcontext(_Silent())
