"""What does an agent do for the fleet while it runs? It registers, probes, answers, reports, and judges what all saw.

The life of its name: `starting` until its own check passes, `up`, `draining` as soon as a person wants it to stop,
`down` when what was in flight has its word. Rules:

* The name comes first: where another process has it, nothing else begins.
* Who loses the name to another process, after a long suspension say, stops all this and says so; its jobs go on.
* A store that fails is told once, until it works again. It ends nothing here.
* One line for each change of a verdict, by whichever agent notices it first; a first verdict that is good is no news.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from random import Random

from agent.fleet.agents import Agents
from agent.fleet.changes import Change, Changes
from agent.fleet.endpoint import Endpoint, Reach
from agent.fleet.facts import AgentState, Params, SelfReport, name_of
from agent.fleet.fleet_settings import FleetSettings
from agent.fleet.observations import Observations
from agent.fleet.prober import Prober
from agent.fleet.self_report import ClosedPort, SelfCheck, ports_of
from agent.fleet.verdict import Fleet, Status, verdict
from agent.fleet.watched import Watched
from agent.links.tcp import open_tcp
from agent.service import Service
from agent.store.database import StoreError
from devices.problems import UsageProblem
from logs.events import Event, Level

NAP_S = 1.0
"""How long nobody notices that a person wants this to stop."""
JUDGE_S = 5.0
"""The time between two verdicts."""
JUDGING_SHARE = 0.05
"""Judging takes no more than this part of the time: a fleet so large that it takes long is judged less often."""
CHECK_AGAIN_S = 10.0
"""How soon an agent looks at itself again that is not up yet, or could not write what it found."""
PRUNE_S = 60.0
REPORTS_MAX = 10
"""So many own reports wait for a store that cannot be written."""

Look = Callable[[Fleet, float, Sequence[str]], object]
"""Hears of each judgement: the verdicts, the moment, and sentences about the agents together. May raise StoreError."""


class Duties:
    """What one agent does for the fleet."""

    def __init__(
        self,
        service: Service,
        place: FleetSettings,
        watched: Watched,
        tell: Callable[[str], None],
        *,
        look: Look = lambda *_: None,
        params: Params = Params(),  # noqa: B008 - it is frozen
        reach: Reach = open_tcp,
        random: Random | None = None,
    ) -> None:
        """Duties that have not begun.

        Args:
            service: the agent in this process.
            place: where it stands.
            watched: what it leads to.
            tell: hears sentences for people.
            look: hears of each judgement.
            params: the numbers of health.
            reach: opens links to other agents, and to the port that must be closed.
            random: draws the jitter of probes.
        """
        self._service = service
        self._clock = service.clock
        self._place = place
        self._watched = watched
        self._say = tell
        self._look = look
        self._params = params
        self._reach = reach
        self._agents = Agents(service, params)
        self._observations = Observations(service, params)
        self._changes = Changes(service)
        self._prober = Prober(service, watched.targets, place.probe_s, reach, params=params, random=random)
        self._endpoint = Endpoint(service.holder.agent, service.holder.instance)
        self._reports: list[SelfReport] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_up = False
        self._was_well = True
        self._store_fails = False

    @asynccontextmanager
    async def on(self) -> AsyncIterator[None]:
        """Do the duties meanwhile.

        Raises:
            NameTaken: a process that lives has the agent's name; nothing has begun.
            UsageProblem: the address of `listen` cannot be listened at.
            StoreError: the store cannot be written.
        """
        place = self._place
        self._agents.register(
            site=place.site, vantage=place.vantage, uplink=place.uplink, listens=place.advertise,
            probe_s=place.probe_s, routes=self._watched.routes,
        )  # fmt: skip
        control = ClosedPort()
        try:
            await self._listen()
            for sentence in self._watched.unprobed:
                self._tell(sentence)
            check = SelfCheck(
                self._service, ports_of(self._watched.targets), self._prober, control, self._reach
            )
            async with asyncio.TaskGroup() as group:
                duties = (self._live(), self._prober.run(), self._report(check), self._judge(), self._prune())
                self._tasks = [group.create_task(duty) for duty in duties]
                try:
                    yield
                finally:
                    self._stop()
        finally:
            self._endpoint.close()
            control.close()
            with suppress(StoreError):
                self._agents.enter(AgentState.DOWN)

    async def _listen(self) -> None:
        at = self._place.listen
        if at is None:
            return
        try:
            await self._endpoint.open(at.host, at.port)
        except OSError as problem:
            raise UsageProblem(
                f"cannot listen at {at.url}: {problem.strerror or problem}",
                "Change listen in the table [fleet] of ackonce.toml",
            ) from problem

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    # --- the duties ---------------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        """Say that this agent lives, and when it begins nothing new any more."""
        beat_s = self._clock.now_s() + self._params.heartbeat_s
        draining = False
        while True:
            await self._clock.sleep(NAP_S)
            with self._minding_the_store():
                if self._service.executor.stopping() and not draining:
                    draining = self._agents.enter(AgentState.DRAINING)
                if self._clock.now_s() < beat_s:
                    continue
                beat_s = self._clock.now_s() + self._params.heartbeat_s
                has_name = self._agents.heartbeat()
                self._store_fails = False  # it was written, which a turn that only reads does not show
                if not has_name:
                    self._tell(
                        f"another process has the agent name {self._service.holder.agent} now. This one probes and "
                        "judges no more; its jobs go on. Stop one of them, or give it a name of its own: ACKONCE_AGENT",
                        "WARN",
                    )
                    self._endpoint.close()
                    self._stop()
                    return

    async def _report(self, check: SelfCheck) -> None:
        """Look at this agent itself; the first look that finds it well makes it `up`."""
        while True:
            with self._minding_the_store():
                report = await check.look()
                self._reports = [*self._reports, report][-REPORTS_MAX:]
                self._observations.write((), self._reports)
                self._reports.clear()
                if report.ok and not self._is_up:
                    self._is_up = self._agents.enter(AgentState.UP)
                self._say_how_it_is(report)
            is_settled = self._is_up and not self._reports
            await self._clock.sleep(self._params.self_s if is_settled else CHECK_AGAIN_S)

    def introduction(self) -> str:
        """What somebody who starts an agent wants to see."""
        place = self._place
        where = ", ".join(
            f"{word} {value}"
            for word, value in (("site", place.site), ("vantage", place.vantage), ("uplink", place.uplink))
            if value
        )
        listens = f", answers at {place.advertise}" if place.advertise else ", answers no other agent"
        count = len(self._watched.targets)
        devices = f"{count} device{'' if count == 1 else 's'}"
        name = f"agent {self._service.holder.agent} ({where or 'no site'})"
        return f"{name} probes {devices} every {place.probe_s:g} s{listens}"

    def _say_how_it_is(self, report: SelfReport) -> None:
        if report.ok != self._was_well:
            self._was_well = report.ok
            told = "well again" if report.ok else f"unwell: {report.reason}"
            self._tell(f"this agent is {told}", "INFO" if report.ok else "WARN")

    async def _judge(self) -> None:
        """Judge what all agents saw; the first time when everything has been probed once."""
        await self._clock.sleep(max(JUDGE_S, self._place.probe_s * (1 + self._params.jitter) + 1.0))
        while True:
            begun_s = self._clock.since_start_s()
            with self._minding_the_store():
                facts = self._observations.facts()
                at_s = self._observations.now_s()
                fleet = verdict(facts, at_s, self._params)
                for change in self._changes.note(fleet, at_s):
                    self._tell_change(change)
                alarm = self._agents.lapses().alarm
                self._look(fleet, at_s, [alarm] if alarm is not None else [])
            took_s = self._clock.since_start_s() - begun_s
            await self._clock.sleep(max(JUDGE_S, took_s / JUDGING_SHARE))

    async def _prune(self) -> None:
        while True:
            await self._clock.sleep(PRUNE_S)
            with self._minding_the_store():
                self._observations.prune()

    # --- what is told -------------------------------------------------------------------------------------------------

    def _tell_change(self, change: Change) -> None:
        if change.before is None and change.status in (Status.HEALTHY, Status.NO_DATA):
            return
        before = f" (was {change.before})" if change.before is not None else ""
        kind, _, _ = change.target.partition(":")
        name = name_of(change.target)
        about = name if kind == "device" else f"agent {name}"
        self._tell(
            f"{about} is {change.status}{before}: {change.reason}", device=name if kind == "device" else None
        )

    def _tell(self, text: str, level: Level = "INFO", device: str | None = None) -> None:
        me = self._service.holder.agent
        event = Event(ts=self._clock.stamp(), level=level, device=device, agent=me, event="note", text=text)
        self._service.log.write(event)
        self._say(text)

    @contextmanager
    def _minding_the_store(self) -> Iterator[None]:
        """Within it a store that fails ends the turn, and is told, once until a heartbeat is written again."""
        try:
            yield
        except StoreError as problem:
            if not self._store_fails:
                self._tell(f"{problem}. The duties for the fleet go on when it works again", "WARN")
            self._store_fails = True
