"""What does a process of the agent have open, for tests: one store and what stands on it, under virtual time.

`WALL` is the moment at which the virtual clock starts; every desk of one test shares the clock, whatever its store.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent.clock import Clock
from agent.journal import Case, Journal
from agent.leases import Lease, Leases, Session
from agent.operation import Numbering, Operation, Terms
from agent.owed import Owed
from agent.processes import Holder, this_process
from agent.registry import Registry
from agent.steady_clock import SteadyClock
from agent.store.database import Cursor
from agent.store.sqlite import SqliteDatabase, open_database
from devices.kinds import Policy
from simulator.loop import run
from tests.agent.desk import UP_S

WALL = datetime(2026, 11, 29, 22, 48, tzinfo=UTC)
URL = "tcp://10.3.0.31:7000"
OTHER_URL = "tcp://10.3.0.99:7000"
ADJUST = "ADJUST offset +5"


def since_start_s() -> float:
    """Seconds since the machine was started, in virtual time."""
    return UP_S + asyncio.get_running_loop().time()


def wall() -> datetime:
    """UTC on the virtual clock."""
    return WALL + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass(slots=True)
class StoreDesk:
    """One process, as the store sees it."""

    holder: Holder
    database: SqliteDatabase
    registry: Registry
    leases: Leases
    owed: Owed
    steady: SteadyClock
    journal: Journal

    def claim(self, url: str = URL, serial: str | None = None) -> Lease:
        """Take the lease of a device."""
        return self.registry.claim(url, 1, serial)

    def device(self, lease: Lease) -> dict[str, Any]:
        """The device's row."""
        [row] = self.database.read(
            "SELECT counter, token, session, last_seq, opened_by, expires_utc FROM device WHERE id = ?",
            (lease.device,),
        )
        return dict(
            zip(("counter", "token", "session", "last_seq", "opened_by", "expires_utc"), row, strict=True)
        )


def desk(home: Path, holder: Holder | None = None) -> StoreDesk:
    """Open the store in `home` as this process, or as `holder`."""
    holder = holder or this_process("laptop")
    database = open_database(home)
    clock = Clock(wall, since_start_s)
    leases, steady = Leases(database, holder, clock), SteadyClock(database, holder, clock)
    registry, owed = Registry(database, leases), Owed(database, steady, clock)
    journal = Journal(database, leases, clock)
    return StoreDesk(holder, database, registry, leases, owed, steady, journal)


def virtual(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine under virtual time."""
    run(scenario)


def session(number: int = 0x20001, last_seq: int = 0) -> Session:
    """A session that this process opened."""
    return Session(number, 2, last_seq, None, ours=True)


def terms(text: str = ADJUST) -> Terms:
    """The terms of a cumulative command to a device that numbers its commands."""
    return Terms(Policy.RESEND, idempotent=False, numbering=Numbering.LSQ1, text=text)


def operation(op: str = "01JOP1", key: str | None = None, text: str = ADJUST) -> Operation:
    """An operation with id `op`."""
    return Operation(
        op=op,
        device="pump-7",
        command=text,
        kind="relative",
        terms=terms(text),
        profile="demo/controller",
        profile_digest="0" * 16,
        route=URL,
        submitted_by="ana",
        key=key,
        reason="summer",
        run="night",
        step="summer-offset",
    )


def case(op: str = "01JOP1", key: str | None = None) -> Case:
    """A new operation in hand."""
    return Case(operation(op, key))


def other_process(agent: str = "laptop") -> Holder:
    """Another living process of this machine, as far as the store can see."""
    return this_process(agent)


def rows(table: str, process: StoreDesk) -> list[tuple[object, ...]]:
    """A whole table."""
    return process.database.read(f"SELECT * FROM {table}")  # noqa: S608


def put(name: str, value: str = "x") -> Callable[[Cursor], None]:
    """A write that adds one row; a second one of the same name breaks a constraint."""

    def write(cursor: Cursor) -> None:
        cursor.execute("INSERT INTO meta (name, value) VALUES (?, ?)", (name, value))

    return write


def names(database: SqliteDatabase) -> set[str]:
    """What `put` has left."""
    return {row[0] for row in database.read("SELECT name FROM meta WHERE name != 'agent'")}
