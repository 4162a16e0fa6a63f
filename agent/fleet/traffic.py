"""Which streams do commands use now, so that a probe leaves them alone?

A command holds the lease of its device while anything of it may be under way, in whatever process. What counts is the
stream behind the address: units of one line, and two names of one port, share it. Nothing is taken and nothing is
written here.
"""

from agent.service import Service
from agent.stations import Target, stream_of


class Traffic:
    """The use of streams, as the store has it."""

    def __init__(self, service: Service) -> None:
        self._db = service.database
        self._leases = service.leases
        self._owed = service.owed
        self._clock = service.clock
        self._used: frozenset[str] = frozenset()
        self._looked_s: float | None = None

    def in_use(self, max_age_s: float = 0.0) -> frozenset[str]:
        """The streams to devices whose lease somebody holds, as of `max_age_s` ago at most. Raises StoreError."""
        now_s = self._clock.now_s()
        if self._looked_s is None or now_s - self._looked_s >= max_age_s:
            held = self._db.read(
                "SELECT a.url, d.id FROM device d JOIN address a ON a.device = d.id WHERE d.expires_utc IS NOT NULL"
            )
            # The lease of a process that is gone still stands in the store, and holds nobody up.
            self._used = frozenset(
                stream_of(url) for url, device in held if self._leases.holder_of(device) is not None
            )
            self._looked_s = now_s
        return self._used

    def owed_s(self, target: Target, stream: str) -> float:
        """How many seconds long an answer to somebody's earlier request may still come to a target, on its stream.

        0 where opening anew cuts the stream. Raises StoreError.
        """
        if not target.survives_reopen:
            return 0.0
        late_s = max(target.profile.timing.late_s, target.timeout_s)
        # Where answers name their unit, each unit owes its own.
        return max(self._owed.owed_s(each, late_s) for each in (stream, f"{stream} unit {target.unit}"))
