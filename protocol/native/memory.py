"""What does a device remember, and how much of it survives a boot?

WIRE.md section 3, Memory. Tier 0 keeps nothing; tier 1 the boot counter and the epoch; tier 2 also the open
session, its last number, the stored answer and the record. `LiveMemory` is what the running device works
with, `Memory` the part that survives; it is handed out whole, so that a host replaces what it has in one
write (two checked copies, a transaction).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self

from protocol.native.codes import SESSION_MAX, Status
from protocol.native.messages import Record

TIERS: Final = range(3)
BOOT_ID_MAX: Final = 0xFFFF_FFFF
OPENS_MAX: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Slot:
    """The answer to the last number; `text` is None where it was too long to keep."""

    digest: int
    status: Status
    text: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What survives a boot; fields that the tier does not keep stay at their defaults.

    `boots` is None in blank memory (the counter then starts at random), `session` 0 where none is open.
    """

    tier: int
    boots: int | None = None
    epoch: int = 0
    session: int = 0
    last: int = 0
    slot: Slot | None = None
    record: Record | None = None

    @classmethod
    def blank(cls, tier: int) -> Self:
        """A device fresh from the factory, or after a local reset: the only thing that lowers an epoch."""
        return cls(tier)


class LiveMemory:
    """Epoch, session, last number, slot and record of a device between two boots.

    Rules: a session number is never used again; the record outlives sessions; `last`, `slot` and `record`
    change together, in `consume`.
    """

    def __init__(self, memory: Memory, boot_id: int, draw: Callable[[], int]) -> None:
        """`boot_id` is the boot counter in tiers 1 and 2; `draw` gives a random 32-bit number for tier 0."""
        self.tier = memory.tier
        self.epoch = memory.epoch
        self.session = memory.session
        self.last = memory.last
        self.slot = memory.slot
        self.record = memory.record
        self._boots = boot_id
        self._opens = 0
        self._draw = draw

    def is_open(self, session: int) -> bool:
        """Whether this is the session in which numbers count."""
        return session != 0 and session == self.session

    def open(self, epoch: int) -> None:
        """A new session under a higher epoch; the old one is over."""
        session = self._new_session()
        self.close()
        self.epoch, self.session = epoch, session

    def close(self) -> None:
        """No session is open."""
        self.session = 0
        self.last = 0
        self.slot = None

    def consume(self, seq: int, digest: int, status: Status, text: str | None) -> None:
        """The next number of the open session is spent."""
        self.last = seq
        self.slot = Slot(digest, status, text)
        self.record = Record(self.session, seq, digest, status)

    def surviving(self) -> Memory:
        """What the next boot will find, once it is stored."""
        if not self.tier:
            return Memory(0)
        kept = Memory(self.tier, self._boots, self.epoch)
        if self.tier == 1:
            return kept
        return replace(kept, session=self.session, last=self.last, slot=self.slot, record=self.record)

    def forewarned(self, seq: int, digest: int) -> Memory:
        """As `surviving`, with `seq` consumed as INDETERMINATE: what is true if power fails half way."""
        unknown = Status.INDETERMINATE
        record = Record(self.session, seq, digest, unknown)
        return replace(self.surviving(), last=seq, slot=Slot(digest, unknown, ""), record=record)

    def _new_session(self) -> int:
        """Tiers 1 and 2: boot counter and open counter, 16 bits each; tier 0: random, not 0, another one.

        When a boot has used up its open counter, the boot counter moves on: stored before OPENED leaves.
        """
        if not self.tier:
            drawn = self._draw()
            near = ((drawn + n) & SESSION_MAX for n in range(3))
            return next(session for session in near if session not in {0, self.session})
        self._opens += 1
        if self._opens > OPENS_MAX:
            self._opens = 1
            self._boots = next_boot_id(self._boots)
        return (self._boots << 16 | self._opens) & SESSION_MAX


def next_boot_id(boots: int) -> int:
    """The boot counter after one more boot: 32 bits, never 0."""
    return (boots + 1) & BOOT_ID_MAX or 1
