"""What does the simulated device itself do about a message with a certain fate? The simulator's own faults."""

from collections.abc import Mapping
from types import MappingProxyType

from simulator.fault_kinds import Fault
from simulator.fault_terms import NO_FAULTS, Faults
from simulator.faults import FaultPlan
from tests.exhaustive.fates import Fate

SHOWS_LATE_S = 0.1
ARMED: Mapping[Fate, Faults] = {
    fate: Faults(MappingProxyType({fault: values}))
    for fate, fault, values in (
        (Fate.BOOT_BEGUN, Fault.REBOOT_BEFORE, ()),
        (Fate.CUT_BEFORE, Fault.CUT_BEFORE, ()),
        (Fate.CUT_AFTER, Fault.CUT, ()),
        (Fate.BOOT_INSIDE, Fault.REBOOT_INSIDE, ()),
        (Fate.BOOT_AFTER, Fault.REBOOT_AFTER, ()),
        (Fate.BUSY, Fault.BUSY, (1.2,)),
        (Fate.BUSY_LONG, Fault.BUSY, (7.0,)),
        (Fate.BUSY_FOR_EVER, Fault.BUSY, (150.0,)),
        (Fate.REFUSED, Fault.REFUSE, ()),
        (Fate.REFUSED_UNHEARD, Fault.REFUSE, ()),
        (Fate.DOUBLED, Fault.DUPLICATE_REQUEST, ()),
        (Fate.WATCHDOG, Fault.INDETERMINATE, ()),
    )
} | {
    Fate.WATCHDOG_SLOW: Faults(MappingProxyType({Fault.INDETERMINATE: (), Fault.APPLY_LATE: (SHOWS_LATE_S,)}))
}
"""What the simulated device itself does about a message."""


class OneByOne(FaultPlan):
    """A fault plan for the next message alone."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = NO_FAULTS

    def next(self, kind: str) -> Faults:  # noqa: ARG002 - the world knows what it lets in
        """The faults of the message that comes in now."""
        return self.armed
