"""What is true of the command at one moment, and what would have proved it? Asked of the device and of the world.

Nothing here asks the agent. `evidence` is what the papers allow as proof and what was there to be had at that moment:
WIRE.md 4.5 and 4.6 for equipment that numbers its commands, CATALOG.md 2 for readings. Where there is none, only a
doubt is left; where there is some, a doubt could have been avoided.
"""

from dataclasses import dataclass

from devices.catalog import Policy
from protocol.native.codes import Status, Type
from protocol.native.frame import NOP_DIGEST, Frame, decode, digest
from simulator.device import SimulatedDevice
from tests.exhaustive.fates import ARRIVES, Fate
from tests.exhaustive.setup import Setup
from tests.exhaustive.world import World

READINGS_MAX = 4
"""So many readings in vain are enough (CATALOG.md 2, settled)."""
UNANSWERED_MAX = 3
"""A device that answers none of so many messages in a row cannot be asked."""
_ACKED = {Fate.ARRIVES, Fate.DOUBLED, Fate.BUSY}


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true at one moment.

    Attributes:
        executed: How often the command took effect so far.
        evidence: What would have proved its fate, if anything.
        copies: What became of the copies of the process that is at work.
        starts: How often the device has started.
    """

    executed: int
    evidence: str | None
    copies: tuple[Fate, ...]
    starts: int


def truth_of(setup: Setup, world: World) -> Truth:
    """What is true now."""
    evidence = None
    if world.sent and not world.busy and world.unanswered < UNANSWERED_MAX:
        if isinstance(world.device, SimulatedDevice):
            evidence = _of_its_record(setup, world, world.device)
        else:
            evidence = _of_an_answer(world)
        evidence = evidence or _of_a_reading(setup, world)
    copies = tuple(world.fates_by_process("copy"))
    return Truth(world.device.ledger.count(setup.command.effect), evidence, copies, world.boots_now)


# --- the device's own word ----------------------------------------------------------------------------------


def _of_an_answer(world: World) -> str | None:
    fates = world.fates_by_process("copy")
    first_refused = fates == [Fate.REFUSED] and world.processes == 1
    return "a copy was answered" if _ACKED & set(fates) or first_refused else None


def _of_its_record(setup: Setup, world: World, device: SimulatedDevice) -> str | None:
    copies = [_frame(data) for data in world.sent]
    numbers = list(dict.fromkeys((copy.session, copy.seq) for copy in copies))
    newest, ours = numbers[-1], digest(Type.CMD, copies[-1].payload)
    live, record = device._responder._live, device._responder._live.record
    only = len(numbers) == 1
    if record is not None and (record.session, record.seq) in numbers:
        ran = record.digest == ours and record.status is Status.OK
        decided = record.digest in (ours, NOP_DIGEST) and record.status is not Status.INDETERMINATE
        if ran or (only and decided):
            return "the device's record shows its number"
    in_vain = sum(fate is not ARRIVES for fate in world.fates_by_process("nop"))
    patient = in_vain < setup.attempts and Fate.BUSY_LONG not in world.said.values()
    if only and patient and live.is_open(newest[0]) and live.last < newest[1]:
        return "the session lives, so that a NOP would have settled it"
    replies = [_frame(heard.data) for heard in world.heard_by_process if heard.after.startswith("copy")]
    if len(copies) == 1 and any(map(_is_bad_session, replies)):
        return "its only copy met no session"
    return None


def _is_bad_session(reply: Frame) -> bool:
    return reply.type is Type.CMD and reply.payload[:1] == bytes((Status.BAD_SESSION,))


def _frame(data: bytes) -> Frame:
    return decode(data.strip(b"\0"))


# --- readings -----------------------------------------------------------------------------------------------


def _of_a_reading(setup: Setup, world: World) -> str | None:
    policy, setting = setup.terms.policy, setup.command.setting
    blind = policy is Policy.NO_RETRY or (policy is Policy.RESEND and not setup.terms.idempotent)
    if (
        setting is None
        or blind
        or setup.command.void
        or setup.command.stop_unknown
        or _read_in_vain(setup, world)
    ):
        return None
    if setup.command.volatile and _start_may_hide(setup, world):
        return None
    value = world.device.values()[setting]
    if value == setup.command.target:
        return f"{setting} shows the target"
    if value == setup.command.before and policy is not Policy.RESEND:
        return f"{setting} is as before"
    return None


def _read_in_vain(setup: Setup, world: World) -> bool:
    """Whether it was read as often as one may, on the quiet path if it is quiet by now."""
    if setup.late_s is None:
        return False
    quiet_s = world.copied_s + setup.late_s
    since_s = quiet_s if world.now_s >= quiet_s else world.copied_s
    query = f"GET {setup.command.setting}\n".encode()
    asked = [ask for ask in world.asked if ask.at_s >= since_s]
    taken = [ask for ask in asked if ask.data == query or ask.fate is not ARRIVES]
    return len(taken) >= READINGS_MAX


def _start_may_hide(setup: Setup, world: World) -> bool:
    """Whether a start of the device lies since the baseline, or one would not have been noticed."""
    if world.boots_now != world.boots_at_baseline:
        return True
    heard = setup.named and not setup.stays and world.dialled == world.dialled_at_copy
    return setup.profile.boot_read is None and not heard
