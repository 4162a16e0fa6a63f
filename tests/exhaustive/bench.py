"""How is one sequence played? The whole agent against a whole device, in virtual time.

Every play has a device, an address and a world of its own; all plays of a bench share one loop and one store, which
makes them quick. A play is one keyed command. Its process may be stopped at a write; then the next process on the
same store asks for it again under its key, or for another command. Where something is still under way, in doubt or
left by a stopped process, another command is sent in the end; nothing more goes wrong then. At last everything that is
late comes in.
"""

import asyncio
import itertools
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.operation import Cause, Operation, Outcome, Result
from agent.processes import Holder
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.store.database import Database
from agent.store.schema import MIGRATIONS
from agent.store.sqlite import SqliteDatabase
from logs.events import Event
from simulator.loop import VirtualLoop
from tests.crash.crasher import Crash, Crasher, Moment, Stop, stops
from tests.exhaustive.oracle import Fork, Option, Oracle
from tests.exhaustive.points import AGENT, MEANWHILE, THEN
from tests.exhaustive.setup import ATTEMPTS, PATIENCE_S, SILENCE_S, Setup
from tests.exhaustive.truth import Truth, truth_of
from tests.exhaustive.world import World
from worlds.world import WorldClock

DEAD_PID = 2**22 + 7
"""Above every pid of the machine: a holder with it is gone."""
KEY = "k"
ASKED_MAX = 3
"""Who is told that nothing was sent, because the device cannot be reached, asks again so often."""
LONG_S = 200.0
"""After so long whatever was on its way has arrived, and no device is busy any more."""

_GOES_ON = Option("goes on", 0)
_BOOTS = (Option("nothing", 0), Option("the device boots"))
ANOTHER = Option("another command", 0)
_WANTED = (Option("the same key", 0), ANOTHER)
_UNREACHED = (Cause.UNREACHABLE, Cause.WRONG_DEVICE)


class Handle:
    """The store as one process has it open."""

    def __init__(self, shared: Database) -> None:
        self.read = shared.read
        self.commit = shared.commit
        self.commit_now = shared.commit_now
        self.commit_loosely = shared.commit_now  # nothing is flushed to a memory
        self.place = shared.place

    def close(self) -> None:
        """The process has ended; others go on with the store."""


@dataclass(frozen=True, slots=True)
class Told:
    """A word that somebody was told about the command, and what was true at that moment."""

    result: Result
    truth: Truth


@dataclass(slots=True)
class Played:
    """One play that has ended.

    Attributes:
        setup: What was played.
        world: What happened.
        oracle: Its choices.
        told: Every word about the command, oldest first.
        journal: The words about it in the journal at the end, one for each operation; None where it was left open.
        next: The word about the command that was sent afterwards, if one was.
        wanted: Somebody wanted the command done to the last.
        failures: What went wrong in agent or device themselves.
    """

    setup: Setup
    world: World
    oracle: Oracle
    told: list[Told] = field(default_factory=list)
    journal: list[Result | None] = field(default_factory=list)
    next: Result | None = None
    wanted: bool = True
    failures: list[str] = field(default_factory=list)

    @property
    def executed(self) -> int:
        """How often the command took effect up to now."""
        return self.world.device.ledger.count(self.setup.command.effect)


class Bench:
    """One store and one loop for many plays."""

    def __init__(self, home: Path) -> None:
        self.database = store_in_memory()
        self._loop = VirtualLoop()
        self._loop.set_exception_handler(self._failed)
        self._failures: list[str] = []
        self._settings = Settings(home, home, None, None, "desk", "ana")
        self._clock = WorldClock()
        self._numbers = itertools.count(1)

    def close(self) -> None:
        """No more plays."""
        self._loop.close()
        self.database.close()

    def play(self, setup: Setup, script: Mapping[str, str]) -> Played:
        """Play a sequence: at the points that the script names their options, else the first ones. Raises NoSuchWay."""
        oracle = Oracle(script)
        device = setup.device(f"SIM-{self.number()}")
        world = World(device, oracle, setup.fates, setup.late_s, setup.stays, setup.pace_s, setup.overtakes)
        played = Played(setup, world, oracle)
        self._loop.run_until_complete(_Course(self, played).through(script.get(AGENT)))
        oracle.check_done()
        played.failures, self._failures = self._failures, []
        return played

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._failures.append(f"{context['message']}: {context.get('exception')!r}")

    def number(self) -> int:
        """A number that is used for nothing else."""
        return next(self._numbers)

    def process(self, world: World) -> Service:
        """A process of the agent on the store of all plays, without its log."""
        holder = Holder("desk", "host", DEAD_PID, "1", "boot", f"instance-{self.number()}")
        service = Service(
            self._settings, clock=self._clock, dial=world.dial, holder=holder, database=Handle(self.database)
        )
        service.executor.tell = _untold
        service.log.write = _untold  # type: ignore[method-assign, assignment]
        return service


def store_in_memory() -> SqliteDatabase:
    """A new store as `open_database` makes it, but for the file."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys=ON")
    for migration in MIGRATIONS:
        for statement in migration:
            connection.execute(statement)
    connection.execute("INSERT INTO meta (name, value) VALUES ('agent', '1')")
    return SqliteDatabase(connection, Path(":memory:"))


class _Course:
    """The course of one play."""

    def __init__(self, bench: Bench, played: Played) -> None:
        setup = played.setup
        self._bench = bench
        self._played = played
        self._setup = setup
        self._world = played.world
        self._url = f"tcp://device-{bench.number()}:1"
        self._target = Target(
            "d", self._url, 1, None, setup.profile, SILENCE_S, ATTEMPTS, PATIENCE_S, 0.0, setup.stays
        )
        self._service = bench.process(self._world)
        self._ops: list[str] = []

    async def through(self, stop: str | None) -> None:
        """From the command to the end of everything. `stop`: where its process ends, as a `Stop` says it."""
        oracle, world = self._played.oracle, self._world
        crasher = Crasher(self._service, _stop(stop) if stop is not None else None)
        oracle.writes = lambda: len(crasher.points)
        with suppress(Crash):
            await self._ask()
        if crasher.dead:
            assert stop is not None
            oracle.choose(AGENT, (_GOES_ON, Option(stop)))
            await self._go_on()
        elif stop is None and oracle.done:
            oracle.forks.append(Fork(AGENT, [Option(str(each)) for each in self._stops(crasher)]))
        world.calm = True
        if world.busy:
            await self._service.clock.sleep(LONG_S)
        if world.processes > 1 or world.under_way or not oracle.taken or self._in_doubt():
            self._played.next = await self._send(self._setup.command.next_words, None)
        world.finish()
        await self._service.clock.sleep(LONG_S)
        self._read_the_journal()

    def _stops(self, crasher: Crasher) -> list[Stop]:
        """Where the process could have ended after the last choice."""
        first = self._played.oracle.last_write
        found = stops(crasher.points, max(1, first))
        return [stop for stop in found if stop.point > first or stop.moment is Moment.AFTER]

    async def _go_on(self) -> None:
        """The next process on the same store."""
        oracle, world = self._played.oracle, self._world
        if oracle.choose(MEANWHILE, _BOOTS) is not _BOOTS[0]:
            world.boot()
        self._service = self._bench.process(world)
        world.new_process()
        if oracle.choose(THEN, _WANTED) is ANOTHER:
            self._played.wanted = False
        else:
            await self._ask()

    async def _ask(self) -> None:
        """Somebody asks for the command under its key."""
        result = await self._send(self._setup.command.words, KEY)
        self._played.told.append(Told(result, truth_of(self._setup, self._world)))

    def _in_doubt(self) -> bool:
        return any(told.result.outcome is Outcome.IN_DOUBT for told in self._played.told)

    async def _send(self, words: str, key: str | None) -> Result:
        """Send a command, again where the device could not be reached."""
        setup = self._setup
        terms = setup.terms if words == setup.command.words else setup.next_terms
        for _ in range(ASKED_MAX):
            op = f"OP{self._bench.number():08}"
            if words == setup.command.words:
                self._ops.append(op)
            operation = Operation(
                op=op, device="d", command=words, kind="command", terms=terms,
                profile=setup.profile.name, profile_digest="", route=self._url, submitted_by="ana", key=key,
            )  # fmt: skip
            result = (await self._service.send(self._target, operation)).result
            if result.outcome is not Outcome.NOT_SENT or result.cause not in _UNREACHED:
                break
        return result

    def _read_the_journal(self) -> None:
        for op in self._ops:
            self._played.journal += [entry.result for entry in self._service.journal.find(op)]


def _stop(text: str) -> Stop:
    """The inverse of a stop's text. Raises ValueError."""
    _, moment, _, point = text.split()
    return Stop(int(point), Moment[moment.upper()])


def _untold(_: Event) -> None:
    """Nobody reads the log."""
