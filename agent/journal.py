"""What did we do, and what did we learn? The durable record of operations; the log is only its shadow.

An operation's row and the facts gathered before its first copy are written together with that copy's intent, in one
flush, before the first byte leaves. Facts that need not survive on their own ride with the next write. A row is
append-only but for its outcome. Every write shows the lease.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.clock import Clock
from agent.evidence import Evidence, Person, Sent, fact_of, fields_of
from agent.leases import Lease, Leases
from agent.operation import Cause, Operation, Outcome, Proof, Result, Terms
from agent.steps import Step, step_text
from agent.store.database import Cursor, Database, Refused, Row, StoreError

FOUND_MAX = 10
"""Operations that begin alike: so many are told."""

_COLUMNS = (
    "op, device, name, command, kind, class, policy, terms, profile, profile_digest, route, engine, key, run, step, "
    "reason, submitted_by, token, created_utc, closed_utc, outcome, proof, cause, message, seq, attempts, before, "
    "expected, value, elapsed_s"
)

_SELECT = f"SELECT {_COLUMNS} FROM operation WHERE "  # noqa: S608 - names of our own columns


@dataclass(frozen=True, slots=True)
class Intent:
    """Proof that a copy is on record. Only the journal makes one, and no changing command is written without one."""

    op: str
    sent: Sent


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation as the journal keeps it: as submitted, and how it ended, if it did."""

    operation: Operation
    device: int
    created_utc: str
    closed_utc: str | None
    result: Result | None

    @property
    def open(self) -> bool:
        """Under way, or cut off by a crash."""
        return self.result is None

    @property
    def done(self) -> bool:
        """It stands on the device: nothing is due under its key."""
        return self.result is not None and self.result.outcome in (Outcome.APPLIED, Outcome.UNCHANGED)

    @property
    def unsettled(self) -> bool:
        """Under way, cut off by a crash, or in doubt."""
        return self.open or (self.result is not None and self.result.outcome is Outcome.IN_DOUBT)


@dataclass(slots=True)
class Case:
    """An operation in hand: its evidence, and what of it is not written yet."""

    operation: Operation
    facts: list[Evidence] = field(default_factory=list)
    begun: bool = False
    _unwritten: list[tuple[int, str | None, Evidence, str]] = field(default_factory=list)

    def note(self, step: Step | None, fact: Evidence, utc: str) -> None:
        """Add a fact and the step that led to it (None: it came from outside); written with the next write."""
        self._unwritten.append((len(self.facts), step_text(step) if step is not None else None, fact, utc))
        self.facts.append(fact)

    def copies(self) -> list[Sent]:
        """The copies that are on record, oldest first."""
        return [fact for fact in self.facts if isinstance(fact, Sent)]

    def withdraw(self, sent: Sent) -> None:
        """The copy was not made durable, so it does not leave and is no fact."""
        if self.facts and self.facts[-1] is sent:
            self.facts.pop()
            self._unwritten.pop()


class Journal:
    """The operations of one store. Their order is that in which they were entered: clocks may be set back."""

    def __init__(self, database: Database, leases: Leases, clock: Clock) -> None:
        self._db = database
        self._leases = leases
        self._clock = clock

    # --- writing ------------------------------------------------------------------------------------------------------

    async def intend(self, case: Case, lease: Lease, step: Step, sent: Sent) -> Intent:
        """Make a copy durable, with the number it uses; afterwards it may leave. Raises LeaseLost, StoreError."""
        case.note(step, sent, self._clock.stamp())
        try:
            await self._write(case, lease, lambda cursor: self._leases.store_session(cursor, lease))
        except (StoreError, Refused):
            case.withdraw(sent)
            raise
        return Intent(case.operation.op, sent)

    async def keep(self, case: Case, lease: Lease) -> None:
        """Write what is not written yet. Raises LeaseLost, StoreError."""
        await self._write(case, lease, lambda _: None)

    async def close(self, case: Case, lease: Lease, result: Result) -> None:
        """Write the word at the end. Raises LeaseLost, StoreError."""
        closed = self._clock.stamp()
        await self._write(case, lease, lambda cursor: _close(cursor, case.operation.op, result, closed))

    async def _write(self, case: Case, lease: Lease, also: Callable[[Cursor], Any]) -> None:
        rows = case._unwritten[:]

        def write(cursor: Cursor) -> None:
            self._leases.hold(cursor, lease)
            if not case.begun:
                _begin(cursor, case.operation, lease, self._clock.stamp())
            _append(cursor, case.operation.op, rows)
            also(cursor)

        await self._db.commit(write)
        case.begun = True
        del case._unwritten[: len(rows)]

    def decide(self, case: Case, lease: Lease, person: Person, result: Result) -> None:
        """A person's word: the fact and the outcome in one write, which also leaves the session for good.

        Whatever the person said, an old copy may still be on its way; once the next number asks for a new session, it
        can never run. Raises LeaseLost, StoreError.
        """
        stamp = self._clock.stamp()
        case.note(None, person, stamp)
        rows = case._unwritten[:]
        lease.session = None

        def write(cursor: Cursor) -> None:
            self._leases.hold(cursor, lease)
            _append(cursor, case.operation.op, rows)
            _close(cursor, case.operation.op, result, stamp)
            self._leases.store_session(cursor, lease)

        self._db.commit_now(write)
        case._unwritten.clear()

    # --- reading ------------------------------------------------------------------------------------------------------

    def load(self, operation: Operation) -> Case:
        """An operation with its evidence, to go on with it. Raises StoreError."""
        return Case(operation, [fact for _, fact, _ in self.story(operation.op)], begun=True)

    def story(self, op: str) -> list[tuple[str | None, Evidence, str]]:
        """The evidence with the step that led to each fact and its time, oldest first. Raises StoreError."""
        rows = self._db.read("SELECT step, kind, fields, utc FROM evidence WHERE op = ? ORDER BY n", (op,))
        with self._making_sense_of(op):
            return [(step, fact_of(kind, json.loads(fields)), utc) for step, kind, fields, utc in rows]

    def unsettled(self, device: int) -> list[Entry]:
        """What is open or in doubt on a device, oldest first. Raises StoreError."""
        return self._entries(
            "device = ? AND (outcome IS NULL OR outcome = 'in_doubt') ORDER BY rowid", (device,)
        )

    def unquestioned(self, device: int) -> list[Entry]:
        """What a person decided and the device was not asked about since, oldest first. Raises StoreError."""
        return self._entries(
            "device = ? AND proof = 'person' AND NOT EXISTS (SELECT 1 FROM evidence c WHERE c.op = operation.op "
            "AND c.kind = 'Connected' AND c.n > (SELECT max(p.n) FROM evidence p WHERE p.op = operation.op "
            "AND p.kind = 'Person')) ORDER BY rowid",
            (device,),
        )

    def doubts(self) -> list[Entry]:
        """Everything open or in doubt, oldest first. Raises StoreError."""
        return self._entries("outcome IS NULL OR outcome = 'in_doubt' ORDER BY rowid", ())

    def under_key(self, key: str, device: int) -> Entry | None:
        """The operation of a key that counts on a device. Raises StoreError.

        What stands there already, else what is open or in doubt, else the newest: a device that was met under two names
        has what was asked under each of them.
        """
        found = self._entries(
            "key = ? AND device = ? ORDER BY coalesce(outcome, '') IN ('applied', 'unchanged') DESC, "
            "outcome IS NULL OR outcome = 'in_doubt' DESC, rowid DESC LIMIT 1",
            (key, device),
        )
        return found[0] if found else None

    def of_run(self, run: str) -> list[Entry]:
        """The operations of a run, oldest first. Raises StoreError."""
        return self._entries("run = ? ORDER BY rowid", (run,))

    def find(self, op: str) -> list[Entry]:
        """Operations whose id is, or begins with, `op`: the newest first, `FOUND_MAX` at most. Raises StoreError."""
        exact = self._entries("op = ?", (op,))
        return exact or self._entries(
            "substr(op, 1, ?) = ? ORDER BY rowid DESC LIMIT ?", (len(op), op.upper(), FOUND_MAX)
        )

    def newest(self) -> Entry | None:
        """The operation that was entered last; None where there is none. Raises StoreError."""
        return next(iter(self._entries("TRUE ORDER BY rowid DESC LIMIT 1", ())), None)

    @contextmanager
    def _making_sense_of(self, op: str) -> Iterator[None]:
        """Rows that mean nothing are a damaged store: SQLite keeps no checksum of what it stores. Raises StoreError."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            what = f"operation {op} makes no sense ({type(problem).__name__}: {problem})"
            raise StoreError(
                f"the journal {self._db.place} is damaged: {what}. Restore a backup"
            ) from problem

    def _entries(self, where: str, params: Sequence[Any]) -> list[Entry]:
        entries = []
        for row in self._db.read(_SELECT + where, params):
            with self._making_sense_of(row[0]):
                entries.append(_entry(row))
        return entries


def _begin(cursor: Cursor, o: Operation, lease: Lease, utc: str) -> None:
    cursor.execute(
        "INSERT INTO operation (op, device, name, command, kind, class, policy, terms, profile, profile_digest, route, "
        "engine, key, run, step, reason, submitted_by, token, created_utc) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            o.op, lease.device, o.device, o.command, o.kind, o.effect_class, o.terms.policy.value, o.terms.to_json(),
            o.profile, o.profile_digest, o.route, o.engine, o.key, o.run, o.step, o.reason, o.submitted_by,
            lease.token, utc,
        ),
    )  # fmt: skip


def _append(cursor: Cursor, op: str, rows: Sequence[tuple[int, str | None, Evidence, str]]) -> None:
    cursor.executemany(
        "INSERT INTO evidence (op, n, step, kind, fields, utc) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (op, n, step, type(fact).__name__, json.dumps(fields_of(fact), separators=(",", ":")), utc)
            for n, step, fact, utc in rows
        ],
    )


def _close(cursor: Cursor, op: str, r: Result, utc: str) -> None:
    cursor.execute(
        "UPDATE operation SET outcome = ?, proof = ?, cause = ?, message = ?, seq = ?, attempts = ?, before = ?, "
        "expected = ?, value = ?, elapsed_s = ?, closed_utc = ? WHERE op = ?",
        (
            r.outcome.value, r.proof.value if r.proof else None, r.cause.value if r.cause else None, r.message, r.seq,
            r.attempts, r.before, r.expected, r.value, r.elapsed_s, utc, op,
        ),
    )  # fmt: skip


def _entry(row: Row) -> Entry:
    data = dict(zip(_COLUMNS.replace(" ", "").split(","), row, strict=True))
    operation = Operation(
        op=data["op"],
        device=data["name"],
        command=data["command"],
        kind=data["kind"],
        terms=Terms.from_json(data["terms"]),
        profile=data["profile"],
        profile_digest=data["profile_digest"],
        route=data["route"],
        submitted_by=data["submitted_by"],
        key=data["key"],
        reason=data["reason"],
        run=data["run"],
        step=data["step"],
        engine=data["engine"],
    )
    result = None
    if data["outcome"] is not None:
        result = Result(
            outcome=Outcome(data["outcome"]),
            proof=Proof(data["proof"]) if data["proof"] else None,
            message=data["message"] or "",
            cause=Cause(data["cause"]) if data["cause"] else None,
            seq=data["seq"],
            attempts=data["attempts"],
            before=data["before"],
            expected=data["expected"],
            value=data["value"],
            elapsed_s=data["elapsed_s"],
        )
    return Entry(operation, data["device"], data["created_utc"], data["closed_utc"], result)
