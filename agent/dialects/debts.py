"""Which requests may still be answered, or still arrive, and how long must others wait for that?

A request on a stream owes its answer until the answer is seen or can no longer come. Where opening anew cuts the
stream, the debt ends with the connection; where it does not, it is in the store before the request leaves, for
whichever process comes next. A copy may moreover arrive late on any way; the lease knows until when.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.evidence import Sent
from agent.leases import Lease
from agent.links.link import Unreachable
from agent.narrate import WORTH_TELLING_S
from agent.station import Means

WAIT_MAX_S = 600.0
"""A machine that was started with an earlier time makes nobody wait for longer."""


@dataclass(slots=True)
class Debt:
    """Until when, on the loop's clock, something unanswered may still come in, and the copy that it may answer."""

    until_s: float = 0.0
    copy: Sent | None = None


@dataclass(frozen=True, slots=True)
class Loose:
    """What held before a copy left, and holds again once it is answered."""

    owed: Debt
    quiet_from: datetime | None


class Debts:
    """What is owed on one stream; `stream` is its name where opening anew does not cut it, else None."""

    def __init__(self, means: Means, stream: str | None, late_s: float) -> None:
        self._owed = means.owed
        self._steady = means.steady
        self._leases = means.leases
        self._clock = means.clock
        self._told = means.told
        self._stopping = means.stopping
        self.stream = stream
        self.late_s = late_s
        self.now = Debt()

    @property
    def stand(self) -> bool:
        """Whether something is owed."""
        return self._clock.now_s() < self.now.until_s

    def owe(self, copy: Sent | None = None, late_s: float = 0.0) -> Debt:
        """A request is about to leave. Returns what was owed before. Raises StoreError.

        Args:
            copy: it, where it is one; a read leaves the copy that was owed before.
            late_s: how long its answer may take, where that is longer than usual.
        """
        before, late_s = self.now, max(late_s, self.late_s)
        self.now = Debt(self._clock.now_s() + late_s, copy or before.copy)
        if self.stream is not None:
            self._owed.owe(self.stream, late_s)
        return before

    def pay(self, before: Debt) -> None:
        """The last request was answered: only what was owed before it is owed now. Raises StoreError."""
        self.now = before
        if self.stream is None:
            return
        left_s = before.until_s - self._clock.now_s()
        if left_s > 0:
            self._owed.owe(self.stream, left_s)
        else:
            self._owed.paid(self.stream)

    def cut(self) -> None:
        """A new connection was opened on a quiet stream, or cut it: nothing is owed on it."""
        self.now = Debt()

    async def wait_until_quiet(self, lease: Lease | None) -> None:
        """Wait for answers to earlier requests, of whatever process, and with a lease for its copies to arrive.

        Raises Unreachable where a person interrupts, StoreError.
        """
        owed_s = self._owed.owed_s(self.stream, self.late_s) if self.stream is not None else 0.0
        quiet = lease.quiet_from if lease is not None else None
        under_way_s = (quiet - self._steady.now()).total_seconds() if quiet is not None else 0.0
        wait_s = max(owed_s, min(under_way_s, max(self.late_s, WAIT_MAX_S)))
        if wait_s >= WORTH_TELLING_S:
            what = "request may still be answered" if owed_s >= wait_s else "copy may still arrive"
            self._told.waiting(wait_s, f"an earlier {what} until then")
        if not await self._clock.wait(wait_s, self._stopping):
            raise Unreachable("interrupted while waiting for the line to be quiet")
        if lease is not None:
            lease.quiet_from = None

    def copy_leaves(self, lease: Lease, sent: Sent, late_s: float) -> Loose:
        """A copy is about to leave, and may be under way until `late_s` from now. Raises StoreError."""
        loose = Loose(self.owe(sent, late_s), lease.quiet_from)
        lease.quiet_from = self._steady.now() + timedelta(seconds=late_s)
        return loose

    def date_anew(self, lease: Lease, late_s: float) -> None:
        """The copy that was about to leave leaves only now. Raises LeaseLost, StoreError."""
        self.owe(self.now.copy, late_s)
        lease.quiet_from = self._steady.now() + timedelta(seconds=late_s)
        self._leases.keep(lease)

    def copy_answered(self, lease: Lease, loose: Loose) -> None:
        """Nothing of that copy is under way, and nothing will come back. Raises StoreError."""
        lease.quiet_from = loose.quiet_from
        self.pay(loose.owed)
