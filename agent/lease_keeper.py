"""Who keeps a lease alive while a step takes long? A renewal in the background, driven by the deadline sweep."""

import asyncio

from agent.deadlines import Deadlines
from agent.leases import RENEW_S, Lease, LeaseLost, Leases
from agent.store.database import StoreError


class LeaseKeeper:
    """Renews a lease until it is stopped. A lost lease shows at the next write, so failures here say nothing."""

    def __init__(self, leases: Leases, deadlines: Deadlines, lease: Lease) -> None:
        self.deadline_s = lease.renewed_s + RENEW_S
        self._leases = leases
        self._deadlines = deadlines
        self._lease = lease
        self._task: asyncio.Task[None] | None = None
        deadlines.add(self)

    def expire(self) -> None:
        """Called by the sweep: a third of the lease has passed."""
        self._task = asyncio.ensure_future(self._renew())

    async def _renew(self) -> None:
        try:
            await self._leases.renew(self._lease)
        except (LeaseLost, StoreError):
            return
        self.deadline_s = self._lease.renewed_s + RENEW_S
        self._deadlines.add(self)

    def stop(self) -> None:
        """Nothing takes long any more."""
        self._deadlines.remove(self)
        if self._task is not None:
            self._task.cancel()
