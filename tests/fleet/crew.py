"""Several agents on one store, each as its own process would see it, under a clock that the test moves by hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from agent.clock import Clock
from agent.fleet.agents import Agents
from agent.fleet.facts import AgentState, Observation, SelfReport
from agent.processes import Holder, this_process
from agent.service import Service
from agent.settings import Settings
from agent.store.database import Cursor, Database
from agent.store.sqlite import SqliteDatabase, open_database
from tests.agent.desk import DEAD_PID

T = TypeVar("T")

START = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
UP_S = 86_400.0
"""So long the machine has been up when a test begins."""


class HandClock(Clock):
    """A machine's clocks; `up_s` since its start, `wall` is what they say where nobody has set them."""

    def __init__(self) -> None:
        self.up_s = UP_S
        self.wall = START
        super().__init__(lambda: self.wall, lambda: self.up_s)

    def now_s(self) -> float:
        """Seconds on the clock of timers."""
        return self.up_s

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.up_s += seconds
        self.wall += timedelta(seconds=seconds)


class Meanwhile:
    """A connection to the store that lets something happen between what was read and what is written."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self.happens: Callable[[], object] = lambda: None
        self.place = database.place
        self.read = database.read
        self.commit_now = database.commit_now
        self.commit = database.commit
        self.close = database.close

    def commit_loosely(self, write: Callable[[Cursor], T]) -> T:
        """As the database does, but later."""
        self.happens()
        return self._database.commit_loosely(write)


class Crew:
    """Agents on the store in `home`; every one has a connection of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = HandClock()
        self._machine = this_process().boot
        self._services: list[Service] = []

    def agent(self, name: str, *, holder: Holder | None = None) -> Service:
        """A new process under an agent's name."""
        return self.with_database(open_database(self.home), holder or this_process(name))

    def with_database(self, database: Database, holder: Holder) -> Service:
        """A process that reaches the store in its own way."""
        holder = replace(holder, boot=self._machine) if holder.host == this_process().host else holder
        settings = Settings(self.home, self.home, None, None, holder.agent, "ana")
        service = Service(settings, clock=self.clock, holder=holder, database=database)
        self._services.append(service)
        return service

    def registered(self, name: str, *, holder: Holder | None = None, probe_s: float = 5.0) -> Service:
        """A new process whose agent is up, and leads to `pump`."""
        service = self.agent(name, holder=holder)
        register(service, probe_s=probe_s)
        assert Agents(service).enter(AgentState.UP)
        return service

    def restart_machine(self, wall: datetime) -> None:
        """Every process ends, and the machine starts with this wall clock."""
        self.close()
        self._machine = f"{self._machine}+"
        self.clock.up_s, self.clock.wall = 10.0, wall

    def close(self) -> None:
        """End every process."""
        for service in self._services:
            service.close()
        self._services.clear()


@contextmanager
def crew(home: Path) -> Iterator[Crew]:
    """Agents on the store in `home`, as long as the test needs them."""
    them = Crew(home)
    try:
        yield them
    finally:
        them.close()


def register(service: Service, routes: tuple[str, ...] = ("pump",), *, probe_s: float = 5.0) -> None:
    """Register a process's agent as one that leads to these devices."""
    name = service.holder.agent
    Agents(service).register(
        site=f"site of {name}", vantage="", uplink=f"uplink of {name}", listens=None, probe_s=probe_s,
        routes={device: f"tcp://{device}:1" for device in routes},
    )  # fmt: skip


def elsewhere(name: str) -> Holder:
    """A process of another machine."""
    return replace(this_process(name), host="elsewhere", boot="another")


def gone(name: str) -> Holder:
    """A process of this machine that has ended."""
    return replace(this_process(name), pid=DEAD_PID, started="1")


def seen(
    service: Service, number: int, *, ok: bool = True, target: str = "device:pump", ago_s: float = 0.0
) -> Observation:
    """What an agent saw in a round, now or some time ago."""
    at_s = service.steady.now().timestamp() - ago_s
    return Observation(
        service.holder.agent, service.holder.instance, target, number, at_s, ok, "" if ok else "no_reply"
    )


def report(service: Service, *, ok: bool = True, **metrics: str) -> SelfReport:
    """What an agent says of itself now."""
    at_s = service.steady.now().timestamp()
    return SelfReport(
        service.holder.agent, service.holder.instance, at_s, ok, "" if ok else "no port", metrics
    )


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Another process writes to the store and does not come to an end."""
    other = open_database(home)
    other._db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other._db.execute("ROLLBACK")
        other.close()


@contextmanager
def full(service: Service) -> Iterator[None]:
    """No page more fits into the store."""
    database = service.database
    assert isinstance(database, SqliteDatabase)
    [(pages,)] = database.read("PRAGMA page_count")
    database.read(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        database.read(f"PRAGMA max_page_count = {2**30}")
