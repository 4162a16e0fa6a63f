"""Agents that probe the same equipment: virtual time, links in memory, one real store.

A `Watch` is the equipment and the agents. Each agent is a process of its own to the others; `cut` says which of them
cannot reach what. What was seen is asked of the store, what happened to a device of the device itself.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from agent.address import parse_url
from agent.fleet.agents import Agents
from agent.fleet.duties import Duties
from agent.fleet.endpoint import Endpoint
from agent.fleet.facts import AgentState, Observation, device_target
from agent.fleet.fleet_settings import FleetSettings
from agent.fleet.observations import Observations
from agent.fleet.prober import Prober
from agent.fleet.self_report import ClosedPort
from agent.fleet.verdict import Fleet, verdict
from agent.fleet.watched import Watched
from agent.links.link import Link, PortHeld, Receiver, Unreachable
from agent.processes import Holder, this_process
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from logs.events import Event
from simulator.loop import run
from tests.agent.desk import VirtualClock
from tests.agent.line_desk import Port
from tests.fleet.crew import register
from tests.plans.desk import Site

T = TypeVar("T")


def refused(where: str) -> Unreachable:
    """What a closed port is to whoever dials it."""
    problem = Unreachable(f"{where} refuses connections: nothing listens there")
    problem.__cause__ = ConnectionRefusedError()
    return problem


class Watch:
    """The equipment `site`, lines `ports` by URL, and agents.

    `cut`: pairs of an agent and what it cannot reach, a device's or an agent's name. `dialled`: when who dialled what;
    `began` is set each time. `closed`: a port at which nobody listens; `open_port`: such a one is open all the same.
    `answer_s`: how long agents take to answer.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.site = Site()
        self.ports: dict[str, Port] = {}
        self.cut: set[tuple[str, str]] = set()
        self.dialled: list[tuple[float, str, str]] = []
        self.began = asyncio.Event()
        self.open_port = False
        self.answer_s = 0.02
        self.endpoints: dict[tuple[str, int], Endpoint] = {}
        self.events: list[Event] = []
        self.told: list[str] = []
        self.looks: list[Fleet] = []
        self.services: list[Service] = []
        self.closed = ClosedPort()

    @property
    def targets(self) -> list[Target]:
        """Every device of the site."""
        return [each.target for each in self.site.chosen]

    def agent(self, name: str, *, holder: Holder | None = None) -> Service:
        """A process under an agent's name."""
        settings = Settings(self.home, self.home, None, None, name, "ana")
        service = Service(
            settings, clock=VirtualClock(), dial=self._dial_as(name), holder=holder or this_process(name),
            echo=self.events.append,
        )  # fmt: skip
        self.services.append(service)
        return service

    def _dial_as(self, name: str) -> Callable[[Target], Coroutine[Any, Any, Link]]:
        async def dial(target: Target) -> Link:
            self.began.set()
            self.dialled.append((asyncio.get_running_loop().time(), name, target.name))
            if (name, target.name) in self.cut:
                raise Unreachable(f"no connection to {target.url} within 2 s")
            if (port := self.ports.get(target.url)) is None:
                return await self.site.dial(target)
            if port.link is not None:
                raise PortHeld(f"{target.url} is open in another run of ackonce", ours=True)
            return port.open()

        return dial

    async def reach_as(self, name: str, host: str, port: int) -> Link:
        """How an agent opens a link to another one, or to the port that must be closed."""
        endpoint = self.endpoints.get((host, port))
        if endpoint is None:
            if self.open_port:
                return _Wire(None, 0.0)
            raise refused(f"{host}:{port}")
        if (name, host) in self.cut:
            raise Unreachable(f"no connection to {host} within 2 s")
        return _Wire(endpoint, self.answer_s)

    def prober(
        self,
        service: Service,
        targets: Sequence[Target] | None = None,
        *,
        probe_s: float = 5.0,
        random: Random | None = None,
    ) -> Prober:
        """What probes devices, all of the site's unless others are named, and agents."""
        name = service.holder.agent
        return Prober(
            service, targets if targets is not None else self.targets, probe_s,
            lambda host, port, _: self.reach_as(name, host, port), random=random or Random(name),
        )  # fmt: skip

    def duties(self, service: Service, targets: Sequence[Target] | None = None, **place: Any) -> Duties:
        """Everything that an agent does; it listens at its own name, port 1."""
        watched = tuple(targets if targets is not None else self.targets)
        name = service.holder.agent
        place = {"site": "porto", "advertise": f"tcp://{name}:1"} | place
        self.endpoints[name, 1] = Endpoint(name, service.holder.instance)
        return Duties(
            service, FleetSettings(**place), Watched(watched, {each.name: each.url for each in watched}),
            self.told.append, look=lambda fleet, *_: self.looks.append(fleet), random=Random(name),
            reach=lambda host, port, _: self.reach_as(name, host, port),
        )  # fmt: skip

    @asynccontextmanager
    async def on_duty(self, *names: str, **place: Any) -> AsyncIterator[list[Service]]:
        """Agents with all their duties, meanwhile."""
        services = [self.agent(name) for name in names]
        done = asyncio.Event()

        async def one(service: Service) -> None:
            async with self.duties(service, **place).on():
                await done.wait()

        async with asyncio.TaskGroup() as group:
            for service in services:
                group.create_task(one(service))
            yield services
            done.set()

    def seen(self, observer: str | None = None, device: str | None = None) -> list[Observation]:
        """The rows of the store, by time."""
        rows = Observations(self.services[0]).fresh()
        return sorted(
            (
                row
                for row in rows
                if observer in (None, row.observer)
                and (device is None or row.target == device_target(device))
            ),
            key=lambda row: (row.at_s, row.round),
        )

    def verdicts(self) -> Fleet:
        """The verdicts of now, on every fact of the store."""
        observations = Observations(self.services[0])
        return verdict(observations.facts(), observations.now_s())

    def close(self) -> None:
        """End every process."""
        for service in self.services:
            service.close()
        self.closed.close()


class _Wire(Link):
    """A connection to another agent's endpoint; None: to something that says nothing."""

    def __init__(self, endpoint: Endpoint | None, answer_s: float) -> None:
        self._receiver: Receiver | None = None
        self._client = _Client(self, answer_s)
        self._protocol = endpoint.client() if endpoint is not None else None
        if self._protocol is not None:
            self._protocol.connection_made(self._client)

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        if self._protocol is not None:
            self._protocol.data_received(data)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - nothing is under way in a driver
        self._receiver = None
        if self._protocol is not None:
            self._protocol.connection_lost(None)
            self._protocol = None

    def heard(self, data: bytes) -> None:
        """The endpoint's answer arrives."""
        if self._receiver is not None:
            self._receiver.heard(data)

    def lost(self) -> None:
        """The endpoint ends the connection."""
        if self._receiver is not None:
            self._receiver.lost("the connection was closed")


class _Client(asyncio.Transport):
    """The endpoint's side of such a connection."""

    def __init__(self, wire: _Wire, answer_s: float) -> None:
        super().__init__()
        self._wire, self._answer_s = wire, answer_s

    def write(self, data: Any) -> None:
        asyncio.get_running_loop().call_later(self._answer_s, self._wire.heard, bytes(data))

    def close(self) -> None:
        asyncio.get_running_loop().call_later(
            self._answer_s + 0.001, self._wire.lost
        )  # timers of one moment have no order

    def abort(self) -> None:
        asyncio.get_running_loop().call_soon(self._wire.lost)


def watch(home: Path, play: Callable[[Watch], Coroutine[Any, Any, T]]) -> T:
    """Run `play` with empty equipment and no agents, in virtual time."""

    async def main() -> T:
        them = Watch(home)
        try:
            return await play(them)
        finally:
            them.close()

    return run(main, limit_s=None)


@asynccontextmanager
async def running(*probers: Prober) -> AsyncIterator[None]:
    """Probers, meanwhile."""
    tasks = [asyncio.create_task(prober.run()) for prober in probers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def at(target: Target, url: str, **changes: Any) -> Target:
    """The target at another address, on a stream that reopening does not cut."""
    return replace(target, url=parse_url(url).url, survives_reopen=True, **changes)


def up(service: Service) -> Service:
    """The agent of a process, registered and up."""
    register(service, ())
    assert Agents(service).enter(AgentState.UP)
    return service


def reasons(rows: Sequence[Observation]) -> Counter[str]:
    """How often each result came."""
    return Counter(row.reason or ("ok" if row.ok else "?") for row in rows)
