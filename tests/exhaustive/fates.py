"""What may become of a message between the agent and a device, and of the device meanwhile?

Every message that the agent writes meets one fate: copies of the command one of their own list, other messages (HELLO,
OPEN, NOP, readings, the opening of a link) one that means something there. How often is a matter of `setup.Bounds`.

What is late stays under way. Before each later message of the agent the world is asked how much of it comes in now,
oldest first, or in some setups a younger one alone (`Setup.overtakes`); so bytes arrive after a timeout, behind newer
bytes, after a reconnect and after a boot. At the latest they arrive when the profile says so (`late_max_s`; equipment
without numbers relies on that) or, on equipment that numbers its commands, at the end of everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.exhaustive.oracle import Option


class Fate(Enum):
    """What becomes of one message; the value is an option of the oracle."""

    ARRIVES = Option("arrives", 0)
    LOST = Option("lost")
    REPLY_LOST = Option("effect, ack lost")
    REPLY_LATE = Option("effect, ack late")
    LATE = Option("late")
    CUT_BEFORE = Option("cut before")
    CUT_AFTER = Option("effect, then cut")
    BOOT_BEFORE = Option("boot before")
    BOOT_BEGUN = Option("begun, boot before the effect")
    BOOT_INSIDE = Option("effect, boot before it is recorded")
    BOOT_AFTER = Option("effect, then boot")
    BUSY = Option("busy for a while")
    BUSY_LONG = Option("busy for longer than patience")
    BUSY_FOR_EVER = Option("busy for much longer than patience")
    REFUSED = Option("refused")
    REFUSED_UNHEARD = Option("refused, answer lost")
    DOUBLED = Option("arrives twice")
    WATCHDOG = Option("effect, but the device does not know")
    WATCHDOG_SLOW = Option("the device does not know, the effect shows a little later")


BY_WORDS: Mapping[str, Fate] = {fate.value.words: fate for fate in Fate}

ARRIVES = Fate.ARRIVES

COPIES_MAX = 3
"""So many copies of a play meet fates. Where a busy device is asked more often, the others arrive."""

_CORE = (
    Fate.ARRIVES,
    Fate.LOST,
    Fate.REPLY_LOST,
    Fate.LATE,
    Fate.CUT_BEFORE,
    Fate.BOOT_BEFORE,
    Fate.BOOT_AFTER,
)
_CORE_COPIES = {"lsq": (*_CORE, Fate.REFUSED, Fate.WATCHDOG), "line": (*_CORE, Fate.REFUSED)}
_LEAN_COPIES = (
    Fate.ARRIVES, Fate.LOST, Fate.REPLY_LOST, Fate.LATE, Fate.BOOT_BEFORE, Fate.BOOT_AFTER, Fate.REFUSED,
)  # fmt: skip
_MORE_COPIES = (Fate.REPLY_LATE, Fate.CUT_AFTER)
_BUSY = {"lsq": (Fate.BUSY, Fate.BUSY_LONG), "line": (Fate.BUSY, Fate.BUSY_FOR_EVER)}
_READS = (Fate.ARRIVES, Fate.LOST, Fate.REPLY_LATE, Fate.CUT_BEFORE, Fate.BOOT_BEFORE)
_OTHERS = {
    "hello": _READS,
    "read": _READS,
    "open": (*_CORE[:5], Fate.REPLY_LATE, Fate.CUT_AFTER, Fate.BOOT_BEFORE),
    "nop": (*_CORE, Fate.REPLY_LATE, Fate.CUT_AFTER),
    "dial": (Fate.ARRIVES, Fate.LOST),
}


_SAME_AS = {Fate.LOST: Fate.LATE, Fate.REPLY_LOST: Fate.REPLY_LATE}
"""What is lost is what is late and comes in only when everything is over: until then nobody can tell the two apart."""


class Depth(Enum):
    """Which fates the copies meet: `CORE` the core, `FIRST` the first one all and the others the core, `ALL` all.

    `LEAN` is the core without what only ends a connection or a command early.
    """

    LEAN = -1
    CORE = 0
    FIRST = 1
    ALL = 3


@dataclass(frozen=True, slots=True)
class Fates:
    """What may become of each kind of message on one kind of equipment; some things only become of a first copy.

    `more`: what else may become of it there. Of later copies what is in `_SAME_AS` is no case of its own where what is
    late may come in at the end of everything.
    """

    dialect: str
    depth: Depth
    more: tuple[Fate, ...] = ()

    def options(self, kind: str, number: int) -> Sequence[Option]:
        """The options of the message of a kind with this number, counted from 1."""
        fates = _OTHERS.get(kind) or self._of_a_copy(number)
        return [fate.value for fate in fates]

    def _of_a_copy(self, number: int) -> tuple[Fate, ...]:
        if number > COPIES_MAX:
            return (ARRIVES,)
        core = _LEAN_COPIES if self.depth is Depth.LEAN else _CORE_COPIES[self.dialect]
        if number == 1:
            core = (*core, Fate.REFUSED_UNHEARD, *self.more)
        if number <= self.depth.value:
            core = (*core, *_MORE_COPIES, *(_BUSY[self.dialect] if number == 1 else ()))
        if number == 1 or self.dialect != "lsq":
            return core
        return tuple(fate for fate in core if _SAME_AS.get(fate) not in core)
