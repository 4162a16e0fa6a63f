"""Who may write to a device now, and in which numbers do they count?

* The right to write is a lease in the store, shared by all processes. One that was not renewed in time may be taken,
  and one whose process is gone is free at once.
* Whoever writes anything about a device first shows the lease: a write under a lost lease changes nothing.
* Its token and the LSQ1 epoch are one counter that only grows: a former holder is refused by the store and by the
  device itself.
* The session of the holder before is gone on with only by the same agent, and never where the lease had lapsed.
* A number or an epoch is durable before what uses it leaves.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.clock import Clock, moment, stamp
from agent.evidence import Record
from agent.processes import Holder, is_gone
from agent.store.database import Cursor, Database, Refused, StoreError

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
    `quiet_from`: until then, by `SteadyClock`, a copy without a number that was never answered may still reach the
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

    def become(self, other: "Lease") -> None:
        """The device is another one than was thought: go on with its lease. What may arrive at either is waited for."""
        self.device, self.token, self.session = other.device, other.token, other.session
        self.number, self.renewed_s, self.expires = other.number, other.renewed_s, other.expires
        known = [each for each in (self.quiet_from, other.quiet_from) if each is not None]
        self.quiet_from = max(known, default=None)


class Leases:
    """The leases of one store, as one process takes, holds and gives them back. `agent_id`: the store's own number."""

    def __init__(self, database: Database, holder: Holder, clock: Clock) -> None:
        """Raises StoreError."""
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

    # --- taking, holding, giving back ---------------------------------------------------------------------------------

    def claim(self, device: int) -> Lease:
        """Take the lease of a device of the store. Raises Held, LeaseLost, StoreError.

        A second claim within one process is refused like any other: two tasks would draw the same numbers.
        """
        return self._db.commit_now(lambda cursor: self.take(cursor, device))

    def take(self, cursor: Cursor, device: int) -> Lease:
        """Inside a write: as `claim`."""
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

    def drop(self, cursor: Cursor, lease: Lease) -> None:
        """Inside a write that has shown the lease: nobody holds its device any more."""
        cursor.execute("UPDATE device SET expires_utc = NULL WHERE id = ?", (lease.device,))

    def holder_of(self, device: int) -> Holder | None:
        """Who holds the device now; None where it is free, or its holder is gone or has let the lease lapse."""
        rows = self._db.read(
            "SELECT holder, expires_utc FROM device WHERE id = ? AND expires_utc IS NOT NULL", (device,)
        )
        if not rows:
            return None
        holder = Holder.from_json(rows[0][0])
        return None if is_gone(holder, self._me) or self._has_lapsed(holder, rows[0][1]) else holder

    def _has_lapsed(self, holder: Holder, expires: str) -> bool:
        margin = timedelta(seconds=0 if holder.host == self._me.host else SKEW_S)
        return self._clock.utc() >= moment(expires) + margin

    # --- numbers ------------------------------------------------------------------------------------------------------

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


def _quiet(lease: Lease) -> str | None:
    return stamp(lease.quiet_from) if lease.quiet_from is not None else None


def _record(text: str | None) -> Record | None:
    return Record(*(int(part) for part in text.split())) if text else None


def _record_text(record: Record | None) -> str | None:
    return " ".join(str(part) for part in record) if record is not None else None
