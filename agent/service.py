"""What can one process do with devices? Everything a command of the CLI, a plan or a job needs, in one place.

It opens the store, takes the device's lease, settles what was left open, carries the operation out and gives the device
back. What is typed, asked and printed is not its business.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent.clock import Clock
from agent.deadlines import Deadlines
from agent.evidence import NotSent, Person
from agent.executor import Executor
from agent.journal import Case, Entry, Journal
from agent.lease_keeper import LeaseKeeper
from agent.leases import Lease, Leases
from agent.links.link import Link, PortHeld, Unreachable
from agent.narrate import Bystander, Narrator
from agent.operation import Cause, Operation, Outcome, Proof, Result
from agent.owed import Owed
from agent.processes import Holder, this_process
from agent.reckoning import reckon
from agent.recovery import settle, settle_unsettled
from agent.registry import Registry, WrongDevice
from agent.secrets import Veil
from agent.settings import Settings
from agent.station import Identity, Means, ReadAnswer, Station
from agent.stations import Target, moved, open_link, station_for, stream_of
from agent.steady_clock import SteadyClock
from agent.steps import Session
from agent.store.database import Database, Refused, StoreError
from agent.store.sqlite import open_database
from devices.profile import Setting
from logs.events import Event
from logs.place import LOG_FILE
from logs.writer import LogWriter


class KeyClash(Exception):  # noqa: N818 - a caller's mistake, told as it is
    """The key was used for another command on this device."""


@dataclass(frozen=True, slots=True)
class Report:
    """How an operation ended. `recorded` is False where it never came to an entry in the journal.

    `skipped`: nothing was done, because its key had done it or asked for it before. `held_by`: the id of the operation
    in doubt that holds the device, where that is why nothing was sent.
    """

    operation: Operation
    result: Result
    skipped: bool = False
    recorded: bool = True
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """Who answered, and how fast; `round_trip_s` is None where the profile names no question."""

    identity: Identity
    round_trip_s: float | None


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Somebody who looks at a device now and then, and stands in nobody's way.

    `dial` is given what opens a link, and opens it or raises Unreachable. `tell` hears what would be logged, `trace`
    all bytes, with `>` for written and `<` for heard.
    """

    dial: Callable[[Callable[[], Awaitable[Link]]], Awaitable[Link]]
    tell: Callable[[Event], None]
    trace: Callable[[str, bytes], None]


class Service:
    """The agent in this process.

    `in_hand` are the operations that it is carrying out, by their ids. `settled` hears what became of those that
    somebody had left open.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        echo: Callable[[Event], None] | None = None,
        trace: bool = False,
        clock: Clock | None = None,
        dial: Callable[[Target], Awaitable[Link]] | None = None,
        holder: Holder | None = None,
        database: Database | None = None,
    ) -> None:
        """Open the store. Raises StoreError.

        Args:
            settings: where the store is and who we are.
            echo: shown every log event at once.
            trace: log the bytes too.
            clock: another clock, for tests.
            dial: another way to open links, for tests.
            holder: another process to stand for, for tests.
            database: a store that is open already, for tests; closed with the service.
        """
        self.clock = clock or Clock()
        self.database: Database = database or open_database(settings.home)
        self.holder = holder or this_process(settings.agent)
        self.leases = Leases(self.database, self.holder, self.clock)
        self.registry = Registry(self.database, self.leases)
        self.steady = SteadyClock(self.database, self.holder, self.clock)
        self.owed = Owed(self.database, self.steady, self.clock)
        self.journal = Journal(self.database, self.leases, self.clock)
        self.log = LogWriter(settings.home / LOG_FILE, echo=echo)
        self.deadlines = Deadlines()
        self.executor = Executor(self.journal, self.clock, self.deadlines, self.holder.agent, self.log.write)
        self.in_hand: dict[str, Case] = {}
        self.settled: Callable[[Operation, Result], object] = lambda *_: None
        self._names: dict[tuple[str | None, int], str] = {}
        self._settings = settings
        self._trace = trace
        self._dial = dial or open_link

    def close(self) -> str | None:
        """Give everything back; returns a sentence where the log could not be written."""
        self.log.close()
        self.database.close()
        return self.log.problem

    # --- commands -----------------------------------------------------------------------------------------------------

    async def send(self, target: Target, operation: Operation) -> Report:
        """Carry one command out, after settling what was left open on the device. Raises KeyClash, DialectMissing."""
        try:
            with self.hold(target) as station:
                return await self.send_on(station, operation)
        except Refused as refused:
            return _unrecorded(operation, Cause.HELD, str(refused))
        except StoreError as problem:
            return _unrecorded(operation, Cause.STORE, str(problem))

    @contextmanager
    def hold(self, target: Target) -> Iterator[Station]:
        """Hold a device for several commands in a row. Raises Held, DialectMissing, StoreError."""
        self._find_its_other_name(target)
        lease = self.registry.claim(target.url, target.unit, target.serial)
        keeper = LeaseKeeper(self.leases, self.deadlines, lease)
        try:
            station = self.station(target, lease)
            try:
                yield station
            finally:
                station.close()
        finally:
            keeper.stop()
            self._release(lease)

    def _find_its_other_name(self, target: Target) -> None:
        """A serial port may be known under another name: what is in doubt there is in doubt here. Raises StoreError."""
        if not target.url.startswith("serial:") or self.registry.lookup(
            target.url, target.unit, target.serial
        ):
            return
        stream = stream_of(target.url)
        serial_ports = (url for url in self.registry.addresses(target.unit) if url.startswith("serial:"))
        known = next((url for url in serial_ports if stream_of(url) == stream), None)
        if known is not None:
            self.registry.also_at(target.url, known, target.unit)

    async def send_on(self, station: Station, operation: Operation) -> Report:
        """As `send`, on a device that is held. Raises KeyClash, Held, LeaseLost, StoreError."""
        lease = station.lease
        if not lease.settled:
            stopped = await self._settle_first(station, operation)
            if stopped is not None:
                return stopped
        why = self.two_names(operation.run, lease.device, operation.device)
        if why is not None:
            return _unrecorded(operation, Cause.WRONG_DEVICE, why)
        earlier = self._under_its_key(operation, lease)
        if earlier is not None and earlier.result is not None and earlier.done:
            return Report(earlier.operation, earlier.result, skipped=True)
        if earlier is not None and earlier.unsettled:
            result = await settle(self.executor, self.journal, station, earlier, resend=True)
            if result.outcome not in (Outcome.NOT_APPLIED, Outcome.NOT_SENT):
                still = result.outcome is Outcome.IN_DOUBT and not earlier.open
                return Report(earlier.operation, result, skipped=still)
        lease.settled = False
        self.in_hand[operation.op] = case = Case(operation)
        result = await self.executor.run(station, case)
        del self.in_hand[operation.op]
        lease.settled = result.outcome is not Outcome.IN_DOUBT and result.cause not in (
            Cause.STORE,
            Cause.HELD,
        )
        return Report(operation, result, recorded=case.begun)

    def two_names(self, run: str | None, device: int, name: str) -> str | None:
        """Why a device is not worked with under this name: it has answered under another one in this run already.

        Nobody can tell one device under two names from two that bear one serial.
        """
        other = self._names.setdefault((run, device), name)
        if other == name:
            return None
        return (
            f"{name} says that it is the device which answered as {other} already. One device under two names? Name "
            "it once. Two devices with one serial? Give each its own, or take 'identity' out of the profile"
        )

    def end_run(self, run: str) -> None:
        """A run is over: which of its devices answered under which name matters no longer."""
        self._names = {key: name for key, name in self._names.items() if key[0] != run}

    def may_have_left(self, operation: Operation) -> bool:
        """Whether a copy of an operation that was begun and has no word may have been written."""
        case = self.in_hand.get(operation.op)
        if case is not None:
            return bool(case.copies())
        return operation.key is not None  # an earlier operation of its key may have been taken up

    async def _settle_first(self, station: Station, operation: Operation) -> Report | None:
        """What was left open on the device is settled before anything new; a report where that stops the operation.

        Left alone is what somebody asks for under the operation's own key: that may be sent again.
        """
        lease = station.lease
        if station.tells_who_it_is and not self.registry.is_met(lease):
            # An address never met may lead to a device that we know: ask before the journal is consulted.
            met = await station.connect(Session.NONE, 0)
            if isinstance(met, NotSent):
                return await self._not_sent(station, operation, met)
        earlier = self._under_its_key(operation, lease)
        if earlier is not None and earlier.done:
            return None
        asked = earlier.operation.op if earlier is not None and earlier.unsettled else None
        blocked = await settle_unsettled(self.executor, self.journal, station, tell=self.settled, but=asked)
        if blocked is None:
            return None
        report = await self._not_sent(station, operation, _blocked_by(*blocked))
        return replace(report, held_by=blocked[0].operation.op)

    def _under_its_key(self, operation: Operation, lease: Lease) -> Entry | None:
        """What was done under the operation's key on this device. Raises KeyClash where it was another command."""
        if operation.key is None:
            return None
        entry = self.journal.under_key(operation.key, lease.device)
        if entry is not None and entry.operation.command != operation.command:
            o = entry.operation
            raise KeyClash(f"the key {o.key!r} was used for '{o.command}' on this device (operation {o.op})")
        return entry

    async def _not_sent(self, station: Station, operation: Operation, fact: NotSent) -> Report:
        case = Case(operation)
        stamp = self.clock.stamp()
        case.note(None, fact, stamp)
        result = Result(Outcome.NOT_SENT, None, fact.why, fact.cause)
        await self.journal.close(case, station.lease, result)
        told = Narrator(operation, self.holder.agent).end(result, stamp)
        if told is not None:
            self.log.write(told)
        return Report(operation, result)

    # --- reads --------------------------------------------------------------------------------------------------------

    async def get(self, target: Target, settings: Sequence[Setting]) -> list[ReadAnswer]:
        """The raw answers to reading settings. Raises Unreachable, WrongDevice, DialectMissing, StoreError."""
        station = self.station(target, None)
        answers: list[ReadAnswer] = []
        try:
            for conn, setting in enumerate(settings, 1):
                if not answers or answers[-1] == ReadAnswer(None):
                    await self._reach(
                        station, conn
                    )  # what was not answered is still owed on the old connection
                answers.append(await station.read(setting.read or "", setting.reply))
        finally:
            station.close()
        return answers

    async def _reach(self, station: Station, conn: int) -> None:
        fact = await station.connect(Session.NONE, conn)
        if isinstance(fact, NotSent):
            if fact.cause is Cause.HELD:
                raise PortHeld(fact.why, ours=True)
            raise (WrongDevice if fact.cause is Cause.WRONG_DEVICE else Unreachable)(fact.why)

    async def probe(self, target: Target) -> Probe:
        """Who answers at the target. Raises Unreachable, WrongDevice, DialectMissing, StoreError."""
        station = self.station(target, None)
        try:
            return Probe(*await station.who())
        finally:
            station.close()

    async def take_over(self, target: Target, reason: str) -> Probe:
        """Make a device ours that another store has used. Raises Held, Unreachable, WrongDevice, StoreError."""
        with self.hold(target) as station:
            found = Probe(*await station.who())
            blocked = await settle_unsettled(self.executor, self.journal, station, tell=self.settled)
            if blocked is not None:
                await station.connect(Session.NONE, 1)
            fact = await station.take_over()
            if isinstance(fact, NotSent):
                raise Unreachable(fact.why)
            text = f"taken over by {self._settings.actor}: {reason} (epoch {station.lease.token})"
            Bystander(target.name, self.holder.agent, self.clock, self.log.write).note(text)
            return found

    # --- doubts -------------------------------------------------------------------------------------------------------

    def doubts(self) -> list[Entry]:
        """What is in doubt: operations that ended so, and those whose process is gone. Raises StoreError."""
        return [
            entry
            for entry in self.journal.doubts()
            if entry.result is not None or self.leases.holder_of(entry.device) is None
        ]

    async def check(self, target: Target, entry: Entry) -> Result:
        """Gather evidence about one operation. Raises Held, DialectMissing, StoreError."""
        with self.hold(target) as station:
            return await settle(self.executor, self.journal, station, entry)

    def resolve(self, entry: Entry, *, applied: bool, reason: str) -> Result:
        """A person decides, while nobody else works with the device. Raises Held, StoreError."""
        lease = self.leases.claim(entry.device)
        who = self._settings.actor
        case = self.journal.load(entry.operation)
        before, view = entry.result, reckon(case.facts)
        last = view.copies[-1].seq if view.copies else None
        result = Result(
            outcome=Outcome.APPLIED if applied else Outcome.NOT_APPLIED,
            proof=Proof.PERSON,
            message=f"{who} decided: {reason}",
            seq=before.seq if before is not None else last,
            attempts=before.attempts if before is not None else len(view.copies),
            before=before.before if before is not None else None,
            expected=before.expected if before is not None else None,
        )
        person = Person(applied, who, reason)
        try:
            self.journal.decide(case, lease, person, result)
        finally:
            self._release(lease)
        narrator = Narrator(entry.operation, self.holder.agent)
        for fact in case.facts:
            told = narrator.fact(fact, self.clock.stamp())
            if fact is person and told is not None:
                self.log.write(told)
        return result

    # --- parts --------------------------------------------------------------------------------------------------------

    def station(self, target: Target, lease: Lease | None) -> Station:
        """A station for a target. Raises DialectMissing."""
        veil = Veil()
        told = Bystander(target.name, self.holder.agent, self.clock, self.log.write, veil)
        means = Means(
            registry=self.registry,
            leases=self.leases,
            owed=self.owed,
            steady=self.steady,
            dial=lambda: self._dial(target),
            deadlines=self.deadlines,
            clock=self.clock,
            told=told,
            stopping=self.executor.stopping,
            trace=veil.watch(told.heard_or_written) if self._trace else None,
            veil=veil,
            elsewhere=lambda at: self.station(moved(target, at), None),
        )
        return station_for(target, lease, means)

    def onlooking(self, target: Target, onlooker: Onlooker) -> Station:
        """A station for one look at a target: it tries once, and waits for nothing that is owed to others.

        Raises DialectMissing.
        """
        veil = Veil()
        means = Means(
            registry=self.registry,
            leases=self.leases,
            owed=self.owed,
            steady=self.steady,
            dial=lambda: onlooker.dial(lambda: self._dial(target)),
            deadlines=self.deadlines,
            clock=self.clock,
            told=Bystander(target.name, self.holder.agent, self.clock, onlooker.tell, veil),
            stopping=lambda: True,
            trace=onlooker.trace,
            veil=veil,
        )
        return station_for(target, None, means)

    def _release(self, lease: Lease) -> None:
        try:
            self.leases.release(lease)
        except StoreError:
            return  # the lease lapses by itself, and at once when this process ends


def _unrecorded(operation: Operation, cause: Cause, why: str) -> Report:
    return Report(operation, Result(Outcome.NOT_SENT, None, why, cause), recorded=False)


def _blocked_by(entry: Entry, result: Result) -> NotSent:
    o = entry.operation
    return NotSent(
        Cause.DOUBT,
        f"held by operation {o.op} ('{o.command}'), which is in doubt: {result.message}. "
        f"See: ackonce doubt show {o.op}",
    )
