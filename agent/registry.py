"""Which device is this, who may write to it, and which of its numbers are used?

A device is known by model and serial once it has told them, before that by its address. Its row carries the one
counter that is both lease token and epoch, the LSQ1 session of this store, and the lease. Whoever writes anything about
a device first shows the lease: a write under a lost lease changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.clock import Clock, moment, stamp
from agent.evidence import Record
from agent.processes import Holder, is_gone
from agent.store.database import Cursor, Database, Refused, StoreError
from logs.text import escape

LEASE_S = 15.0
"""A lease that is not renewed for this long may be taken."""
RENEW_S = 5.0
EARLY_S = 0.1
SKEW_S = 5.0
"""Added where the holder is another machine, whose clock may differ."""
EPOCH_LIMIT = 0xFFFFFFFF
"""Epochs stay below this (WIRE.md 3)."""


class LeaseLost(Refused):
    """Somebody else holds the device now; this process may not write about it any more."""


class Held(Refused):
    """Somebody holds the device: another process, or this one under another name of it."""

    def __init__(self, holder: Holder, since: str | None, me: Holder) -> None:
        if holder.instance == me.instance:
            super().__init__("this very process works with the device under another name of it")
        else:
            super().__init__(f"the device is held by {holder}{f' since {since}' if since else ''}")
        self.holder = holder


class WrongDevice(Refused):
    """Another device answers at this address than the one that was met there first; who, as far as it told."""

    def __init__(self, why: str, serial: str | None = None, model: str | None = None) -> None:
        super().__init__(why)
        self.serial = serial
        self.model = model


@dataclass(slots=True)
class Session:
    """The LSQ1 session that this store may count in. `ours`: opened by this very process."""

    session: int
    boot: int
    last_seq: int
    opening: Record | None
    ours: bool


@dataclass(slots=True)
class Lease:
    """The right to write to one device. `token` only grows; `session` is None where a new one must be opened.

    `settled`: under this lease nothing on the device is open or in doubt any more, nor could anybody else add to it.
    `quiet_from`: until then, by `Registry.steady`, a copy without a number that was never answered may still reach the
    device; None where there is none.
    """

    device: int
    token: int
    session: Session | None
    number: int
    renewed_s: float
    expires: datetime
    settled: bool = False
    quiet_from: datetime | None = None


class Registry:
    """The devices of one store, as one process sees them."""

    def __init__(self, database: Database, holder: Holder, clock: Clock) -> None:
        self._db = database
        self._me = holder
        self._me_text = holder.to_json()
        self._clock = clock
        named = database.read("SELECT value FROM meta WHERE name = 'agent'")
        if not named or not str(named[0][0]).isdigit():
            raise StoreError(
                f"the journal {database.place} is damaged: it does not know its own number. Restore a backup"
            )
        self.agent_id = int(named[0][0])
        self._origin: datetime | None = None

    def lookup(self, url: str, unit: int, serial: str | None) -> int | None:
        """The device that is known at this address, or by this serial; None where neither was met before."""
        known = self._db.read(
            "SELECT d.id, d.serial FROM address a JOIN device d ON d.id = a.device WHERE a.url = ? AND a.unit = ?",
            (url, unit),
        )
        if serial is not None and (not known or known[0][1] != serial):
            named = self._db.read("SELECT id FROM device WHERE serial = ?", (serial,))
            if len(named) == 1:
                return int(named[0][0])
        return int(known[0][0]) if known else None

    def addresses(self, unit: int) -> list[str]:
        """The URLs at which devices with this unit were met. Raises StoreError."""
        return [
            url for (url,) in self._db.read("SELECT url FROM address WHERE unit = ? ORDER BY url", (unit,))
        ]

    def also_at(self, url: str, known: str, unit: int) -> None:
        """An address never met leads to the device that is known at another one. Raises StoreError."""
        device = self.lookup(known, unit, None)
        if device is not None:
            self._db.commit_now(lambda cursor: _point(cursor, url, unit, device))

    def claim(self, url: str, unit: int, serial: str | None) -> Lease:
        """Take the lease of the device at this address. Raises Held, StoreError.

        A second claim within one process is refused like any other: two tasks would draw the same numbers.
        """
        device = self.lookup(url, unit, serial)

        def write(cursor: Cursor) -> Lease:
            number = device
            if number is None:
                number = _insert(cursor, None, None)
                _point(cursor, url, unit, number)
            return self._take(cursor, number)

        return self._db.commit_now(write)

    def claim_known(self, device: int) -> Lease:
        """Take the lease of a device of the store. Raises Held, StoreError."""
        return self._db.commit_now(lambda cursor: self._take(cursor, device))

    def _take(self, cursor: Cursor, device: int) -> Lease:
        row = cursor.execute(
            "SELECT counter, number, session, boot, last_seq, opening, opened_by, holder, held_since, expires_utc, "
            "quiet_utc FROM device WHERE id = ?",
            (device,),
        ).fetchone()
        if row is None:
            raise LeaseLost("the device was merged with another one; try again")
        counter, number, session, boot, last_seq, opening, opened_by, holder_text, since, expires, quiet = row
        before = Holder.from_json(holder_text) if holder_text else None
        lapsed = False
        if before is not None and expires is not None and not is_gone(before, self._me):
            lapsed = self._has_lapsed(before, expires)
            if not lapsed:
                raise Held(before, since, self._me)
        if lapsed or (before is not None and before.agent != self._me.agent):
            counter, session = counter + 1, None
        now = self._clock.utc()
        expires_utc = now + timedelta(seconds=LEASE_S)
        cursor.execute(
            "UPDATE device SET counter = ?, session = ?, holder = ?, token = ?, held_since = ?, expires_utc = ? "
            "WHERE id = ?",
            (
                counter,
                session,
                self._me_text,
                counter,
                stamp(now),
                stamp(expires_utc),
                device,
            ),
        )
        kept = None
        if session is not None:
            kept = Session(session, boot, last_seq, _record(opening), opened_by == self._me.instance)
        quiet_from = moment(quiet) if quiet is not None else None
        return Lease(device, counter, kept, number, self._clock.now_s(), expires_utc, quiet_from=quiet_from)

    def _has_lapsed(self, holder: Holder, expires: str) -> bool:
        margin = timedelta(seconds=0 if holder.host == self._me.host else SKEW_S)
        return self._clock.utc() >= moment(expires) + margin

    def hold(self, cursor: Cursor, lease: Lease) -> None:
        """Inside a write: show the lease, and renew it. Raises LeaseLost."""
        expires = self._clock.utc() + timedelta(seconds=LEASE_S)
        cursor.execute(
            "UPDATE device SET expires_utc = ? WHERE id = ? AND token = ? AND holder = ? AND expires_utc IS NOT NULL",
            (stamp(expires), lease.device, lease.token, self._me_text),
        )
        if cursor.rowcount != 1:
            raise LeaseLost("another process has taken the device over")
        lease.renewed_s, lease.expires = self._clock.now_s(), expires

    def is_fresh(self, lease: Lease) -> bool:
        """Whether nobody can have taken the device over yet; by both clocks: timers stand still in a suspension."""
        return self._clock.now_s() - lease.renewed_s < LEASE_S and self._clock.utc() < lease.expires

    async def renew(self, lease: Lease) -> None:
        """Keep the lease, if a third of its time has passed. Raises LeaseLost, StoreError."""
        # A timer may fire a little early, and must not fire again at once.
        if self._clock.now_s() - lease.renewed_s >= RENEW_S - EARLY_S:
            await self._db.commit(lambda cursor: self.hold(cursor, lease))

    def release(self, lease: Lease) -> None:
        """Give the device back; harmless where the lease is lost already. Raises StoreError."""
        self._db.commit_now(
            lambda cursor: cursor.execute(
                "UPDATE device SET expires_utc = NULL, quiet_utc = ? WHERE id = ? AND token = ? AND holder = ?",
                (_quiet(lease), lease.device, lease.token, self._me_text),
            )
        )

    def meet(self, lease: Lease, url: str, unit: int, model: str, serial: str, *, named: bool) -> None:
        """The device at the address said who it is: pin it, or find that it is one we know from elsewhere.

        `named`: the inventory asks for this serial, so that it may replace the one pinned before.
        Raises WrongDevice, Held, LeaseLost, StoreError.
        """
        here = self._db.read(
            "SELECT d.model, d.serial FROM device d JOIN address a ON a.device = d.id "
            "WHERE d.id = ? AND a.url = ? AND a.unit = ?",
            (lease.device, url, unit),
        )
        if here == [(model, serial)]:
            return

        def write(cursor: Cursor) -> Lease:
            self.hold(cursor, lease)
            pinned = cursor.execute(
                "SELECT model, serial FROM device WHERE id = ?", (lease.device,)
            ).fetchone()
            if pinned == (model, serial):
                _point(cursor, url, unit, lease.device)
                return lease
            found = cursor.execute(
                "SELECT id FROM device WHERE model = ? AND serial = ?", (model, serial)
            ).fetchone()
            provisional = pinned is not None and pinned[1] is None
            if provisional and found is None:
                cursor.execute(
                    "UPDATE device SET model = ?, serial = ? WHERE id = ?", (model, serial, lease.device)
                )
                return lease
            if not provisional and not named:
                raise _wrong(url, model, serial, str(pinned[1]) if pinned is not None else "another one")
            other = found[0] if found is not None else _insert(cursor, model, serial)
            taken = self._take(cursor, other)
            _point(cursor, url, unit, other)
            if provisional:
                cursor.execute("UPDATE operation SET device = ? WHERE device = ?", (other, lease.device))
                cursor.execute("UPDATE address SET device = ? WHERE device = ?", (other, lease.device))
                cursor.execute("DELETE FROM device WHERE id = ?", (lease.device,))
            else:
                cursor.execute("UPDATE device SET expires_utc = NULL WHERE id = ?", (lease.device,))
            return taken

        taken = self._db.commit_now(write)
        lease.device, lease.token, lease.session = taken.device, taken.token, taken.session
        lease.number, lease.renewed_s, lease.expires = taken.number, taken.renewed_s, taken.expires
        known = [each for each in (lease.quiet_from, taken.quiet_from) if each is not None]
        lease.quiet_from = max(known, default=None)

    def compare(self, url: str, unit: int, model: str, serial: str, *, named: bool) -> None:
        """As `meet`, for somebody who only reads: nothing is written. Raises WrongDevice, StoreError."""
        pinned = self._db.read(
            "SELECT d.model, d.serial FROM device d JOIN address a ON a.device = d.id WHERE a.url = ? AND a.unit = ?",
            (url, unit),
        )
        if pinned and pinned[0][1] is not None and pinned[0] != (model, serial) and not named:
            raise _wrong(url, model, serial, pinned[0][1])

    def is_met(self, lease: Lease) -> bool:
        """Whether the device has ever told who it is."""
        return bool(
            self._db.read("SELECT 1 FROM device WHERE id = ? AND serial IS NOT NULL", (lease.device,))
        )

    def address_of(self, device: int) -> tuple[str, int] | None:
        """An address at which the device was met: URL and unit."""
        rows = self._db.read("SELECT url, unit FROM address WHERE device = ? ORDER BY url LIMIT 1", (device,))
        return (rows[0][0], rows[0][1]) if rows else None

    def counter(self, lease: Lease) -> int:
        """The highest epoch that this store has drawn for the device."""
        return int(self._db.read("SELECT counter FROM device WHERE id = ?", (lease.device,))[0][0])

    async def draw_epoch(self, lease: Lease, above: int = 0) -> int:
        """A new epoch, durable before OPEN may leave. Raises LeaseLost, StoreError."""

        def write(cursor: Cursor) -> int:
            self.hold(cursor, lease)
            row = cursor.execute("SELECT counter FROM device WHERE id = ?", (lease.device,)).fetchone()
            epoch = max(row[0] if row else 0, above) + 1
            if epoch >= EPOCH_LIMIT:
                raise LeaseLost("the device's epochs are used up; reset it at the device")
            cursor.execute(
                "UPDATE device SET counter = ?, token = ?, session = NULL WHERE id = ?",
                (epoch, epoch, lease.device),
            )
            return epoch

        lease.token, lease.session = await self._db.commit(write), None
        return lease.token

    def keep(self, lease: Lease) -> None:
        """Write what the lease holds, now. Raises LeaseLost, StoreError."""

        def write(cursor: Cursor) -> None:
            self.hold(cursor, lease)
            self.store_session(cursor, lease)

        self._db.commit_now(write)

    def store_session(self, cursor: Cursor, lease: Lease) -> None:
        """Inside a write: keep the lease's session, its last used number, and until when copies may be under way."""
        kept = lease.session
        if kept is None:
            cursor.execute(
                "UPDATE device SET session = NULL, number = ?, quiet_utc = ? WHERE id = ?",
                (lease.number, _quiet(lease), lease.device),
            )
            return
        cursor.execute(
            "UPDATE device SET session = ?, boot = ?, last_seq = ?, opening = ?, opened_by = ?, number = ? "
            "WHERE id = ?",
            (
                kept.session,
                kept.boot,
                kept.last_seq,
                _record_text(kept.opening),
                self._me.instance if kept.ours else None,
                lease.number,
                lease.device,
            ),
        )

    async def spend(self, lease: Lease) -> None:
        """The lease's session counted one further without a command (a NOP): durable before it leaves."""

        def write(cursor: Cursor) -> None:
            self.hold(cursor, lease)
            self.store_session(cursor, lease)

        await self._db.commit(write)

    # --- streams that opening anew does not cut ---------------------------------------------------------------------

    def steady(self) -> datetime:
        """Now, by a clock that nobody sets while the machine runs: what is still under way is counted by it.

        It is the wall clock as the first process of this store found it since the machine was started, and the seconds
        since. Raises StoreError.
        """
        since = timedelta(seconds=self._clock.since_start_s())
        if self._origin is None:
            self._origin = self._common_origin(self._clock.utc() - since)
        return self._origin + since

    def _common_origin(self, mine: datetime) -> datetime:
        me = self._me
        name = f"start {me.host} {me.boot}"

        def write(cursor: Cursor) -> str:
            cursor.execute(
                "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (name, mine.isoformat()),
            )
            earlier = f"start {me.host} "
            cursor.execute(
                "DELETE FROM meta WHERE substr(name, 1, ?) = ? AND name != ?", (len(earlier), earlier, name)
            )
            row = cursor.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            return str(row[0]) if row is not None else mine.isoformat()

        return datetime.fromisoformat(self._db.commit_loosely(write))

    def owed_s(self, stream: str, late_s: float = 0.0) -> float:
        """How many seconds long the answer to an earlier request, of whatever process, may still come on a stream.

        A machine that was started with an earlier time does not make it longer than it ever was. What was asked right
        before a power cut may not be on record: for `late_s` after the machine's start, that long after a request on
        this stream its answer may come, nobody knows. Raises StoreError.
        """
        unknown_s = late_s - self._clock.since_start_s()
        rows = self._db.read("SELECT until_utc, late_s FROM stream WHERE stream = ?", (stream,))
        if not rows:
            return max(0.0, unknown_s)
        left_s = (moment(rows[0][0]) - self.steady()).total_seconds()
        return max(0.0, unknown_s, min(left_s, float(rows[0][1])))

    def owe(self, stream: str, late_s: float) -> None:
        """A request is about to leave on the stream, whose answer may come until `late_s` from now.

        Survives this process at once, a power cut only with the next durable write. Raises StoreError.
        """
        until = stamp(self.steady() + timedelta(seconds=late_s))
        self._db.commit_loosely(
            lambda cursor: cursor.execute(
                "INSERT INTO stream (stream, until_utc, late_s) VALUES (?, ?, ?) ON CONFLICT (stream) "
                "DO UPDATE SET until_utc = excluded.until_utc, late_s = excluded.late_s",
                (stream, until, late_s),
            )
        )

    def paid(self, stream: str) -> None:
        """The last request on the stream was answered, and nothing else is owed on it. Raises StoreError."""
        self._db.commit_loosely(
            lambda cursor: cursor.execute("DELETE FROM stream WHERE stream = ?", (stream,))
        )

    def holder_of(self, device: int) -> Holder | None:
        """Who holds the device now; None where it is free, or its holder is gone or has let the lease lapse."""
        rows = self._db.read(
            "SELECT holder, expires_utc FROM device WHERE id = ? AND expires_utc IS NOT NULL", (device,)
        )
        if not rows:
            return None
        holder = Holder.from_json(rows[0][0])
        return None if is_gone(holder, self._me) or self._has_lapsed(holder, rows[0][1]) else holder


def _quiet(lease: Lease) -> str | None:
    return stamp(lease.quiet_from) if lease.quiet_from is not None else None


def _wrong(url: str, model: str, serial: str, first: str) -> WrongDevice:
    return WrongDevice(
        f"serial {escape(serial)} ({escape(model)}) answers at {url}, but {first} was met there first "
        f"(if it was replaced on purpose, write serial: {serial!r} into the inventory)",
        serial,
        model,
    )


def _insert(cursor: Cursor, model: str | None, serial: str | None) -> int:
    row = cursor.execute(
        "INSERT INTO device (model, serial) VALUES (?, ?) RETURNING id", (model, serial)
    ).fetchone()
    if row is None:
        raise LookupError("the store returned no id")
    return int(row[0])


def _point(cursor: Cursor, url: str, unit: int, device: int) -> None:
    cursor.execute(
        "INSERT INTO address (url, unit, device) VALUES (?, ?, ?) "
        "ON CONFLICT (url, unit) DO UPDATE SET device = excluded.device",
        (url, unit, device),
    )


def _record(text: str | None) -> Record | None:
    return Record(*(int(part) for part in text.split())) if text else None


def _record_text(record: Record | None) -> str | None:
    return " ".join(str(part) for part in record) if record is not None else None
