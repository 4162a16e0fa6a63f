"""Could a doubt have been avoided? Decided by what the device really is, once everything is quiet.

What the papers allow as evidence, for whom:

Everybody: 0. no copy left, and no process that had it in hand has died, or stood still for so long that it lost the
  lease (it may not write to the journal then): there is nothing to doubt.

Equipment that numbers its commands (WIRE.md 4.5, 4.6), for the operation's newest number (session, seq):
  1. the session lives: a NOP with the number settles it, unless the number was spent as INDETERMINATE;
  2. the device's record shows (session, seq) with our digest and another status than INDETERMINATE, or NOP's digest;
  3. the session is over on the same boot (tier 2: on any), the record shows (session, seq - 1), or for seq 1 what
     OPENED of the session showed: it never ran. Earlier numbers of the operation must have been turned away or unused.
Read-backs (CATALOG.md 2), where the policy has them and nobody else writes the setting:
  4. the setting shows the expected value, and it differs from the baseline: applied;
  5. it shows the baseline (get-verify: and the profile rules out a stop that looks the same; read-then-set always):
     not applied. The policy `resend` has no baseline.
  No reading counts where expected is the baseline (void), nor of a setting that does not survive a boot when the device
  has booted since the baseline, or when nobody could notice (no boot count was read before the first copy, and a
  reconnect lies between: here one always does).
Everything else needs a person: `no-retry` without numbers; INDETERMINATE; a session lost with a boot below tier 2; a
command that was only taken (`queued`) and shows the baseline; a setting that shows neither.
An answer that the journal holds (an ack, a refusal) leaves no doubt at all.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.evidence import Owner
from protocol.native.codes import Status, Type
from protocol.native.frame import NOP_DIGEST, digest
from protocol.native.messages import HelloReply, QueryReply
from protocol.native.requester import Answered, Requester
from simulator.device import SimulatedDevice
from worlds.sorts import Machine
from worlds.targets import number_of, target_of

if TYPE_CHECKING:
    from worlds.world import World

LEASE_S = 15.0
"""After so long another process may take a device over from one that does nothing (CATALOG.md 2)."""
_FINAL = (Status.OK, Status.BAD_ARG, Status.BAD_COMMAND, Status.REFUSED)


@dataclass(frozen=True, slots=True)
class Journaled:
    """An operation as the journal holds it: its words, its terms, and its facts as (kind, fields)."""

    op: str
    device: str
    command: str
    terms: dict[str, Any]
    facts: list[tuple[str, dict[str, Any]]]

    def last(self, kind: str) -> dict[str, Any] | None:
        """The last fact of a kind."""
        return next((fields for each, fields in reversed(self.facts) if each == kind), None)


def avoidable(world: "World", op: str) -> str | None:
    """The evidence that would settle a doubt now, by rule; None where the papers leave none."""
    [(device, command, terms)] = world.disk.rows(
        "SELECT name, command, terms FROM operation WHERE op = ?", (op,)
    )
    facts = world.disk.rows("SELECT kind, fields FROM evidence WHERE op = ? ORDER BY n", (op,))
    case = Journaled(
        op, device, command, json.loads(terms), [(kind, json.loads(fields)) for kind, fields in facts]
    )
    simulated = world.roads[device].device
    if _nothing_left(world, op):
        return "rule 0: no byte of it ever left"
    if isinstance(simulated, SimulatedDevice):
        found = _by_number(case, simulated)
        if found is not None:
            return found
        if not case.terms["idempotent"] and _others_count(case):
            return None  # whoever counts in our session writes the settings too
    elif (answered := _answer(case)) is not None:
        return answered
    return _by_reading(case, world.machines[device])


def _others_count(case: Journaled) -> bool:
    return any(kind == "Spent" and fields["by"] == Owner.OTHER.value for kind, fields in case.facts)


def _nothing_left(world: "World", op: str) -> bool:
    gone = {process.name for process in world.processes if process.killed or process.slept_s > LEASE_S}
    return not any(copy.op == op for copy in world.history.copies) and not world.history.hands[op] & gone


def _answer(case: Journaled) -> str | None:
    """What the journal itself holds of equipment without numbers."""
    kinds = Counter(kind for kind, _ in case.facts)
    taken = kinds["Sent"] - kinds["Unsent"] - kinds["Declined"]
    if case.last("Acked") is not None and not _queued(case):
        return "the journal holds an ack"
    if case.terms["nak_may_follow_effect"]:
        return None
    if not taken and kinds["Declined"]:
        return "the journal holds that the device was too busy for every copy"
    if case.last("Nakked") is not None and taken == 1:
        return "the journal holds a refusal of the only copy that was taken"
    return None


def _queued(case: Journaled) -> bool:
    """Whether the device has said that it took the command, and not that it is done."""
    acked = case.last("Acked")
    return acked is not None and (case.terms["queued"] or acked["queued"])


# --- numbers ----------------------------------------------------------------------------------------------------------


def _by_number(case: Journaled, device: SimulatedDevice) -> str | None:
    numbers = {(sent["session"], sent["seq"]) for kind, sent in case.facts if kind == "Sent"}
    newest = case.last("Sent")
    if newest is None:
        return "no copy was ever sent"
    session, seq = newest["session"], newest["seq"]
    ours = digest(Type.CMD, newest["text"].encode())
    query, hello = _ask(device, session, seq)
    if query.state is not None and len(numbers) == 1 and query.status is not Status.INDETERMINATE:
        return "rule 1: the session lives"
    record = hello.record
    if record is None or (record.session, record.seq) != (session, seq):
        return _never_ran(case, hello, session, seq) if len(numbers) == 1 and query.state is None else None
    if record.digest == ours and (
        record.status is Status.OK or (record.status in _FINAL and len(numbers) == 1)
    ):
        return "rule 2: the record shows it"
    if record.digest == NOP_DIGEST and len(numbers) == 1:
        return "rule 2: the record shows that its number was burnt"
    return None


def _never_ran(case: Journaled, hello: HelloReply, session: int, seq: int) -> str | None:
    """Rule 3."""
    life = next(
        (
            fields
            for kind, fields in reversed(case.facts)
            if kind == "Connected" and fields["session"] == session
        ),
        None,
    )
    if life is None or not (hello.nv_tier >= 2 or life["boot"] == hello.boot_id):
        return None
    record = hello.record
    shown = [record.session, record.seq, record.digest, int(record.status)] if record is not None else None
    if (shown is not None and shown[:2] == [session, seq - 1]) or (seq == 1 and shown == life["opening"]):
        return "rule 3: the record shows that its number was never used"
    return None


def _ask(device: SimulatedDevice, session: int, seq: int) -> tuple[QueryReply, HelloReply]:
    """Ask the device itself, as any client may."""
    heard: list[bytes] = []
    conn = device.connect(heard.append, lambda: None)
    requester = Requester()

    def answer(request: bytes) -> Any:  # noqa: ANN401 - the reply of that request
        heard.clear()
        conn.feed(request)
        events = [event for data in heard for event in requester.receive(data)]
        return next(event.reply for event in events if isinstance(event, Answered))

    query, hello = answer(requester.query(session, seq)), answer(requester.hello(1))
    conn.closed()
    return query, hello


# --- readings ---------------------------------------------------------------------------------------------------------


def _by_reading(case: Journaled, machine: Machine) -> str | None:
    terms, back = case.terms, case.terms["readback"]
    has_baseline = terms["policy"] in ("get-verify", "read-then-set")
    if back is None or not (has_baseline or (terms["idempotent"] and terms["policy"] == "resend")):
        return None
    setting = back["setting"]
    before = _baseline(case, setting)
    if has_baseline and before is None:
        return None
    expected = target_of(case.command, before, stops="clamp(" in back["expect"])
    now = machine.values()[setting]
    if (has_baseline and expected == before) or (not back["durable"] and _start_may_hide(case, machine)):
        return None
    if now == expected:
        return f"rule 4: {setting} shows {now}"
    if has_baseline and now == before and (terms["policy"] == "read-then-set" or _no_stop(back, expected)):
        return None if _queued(case) else f"rule 5: {setting} is as before"
    return None


def _baseline(case: Journaled, setting: str) -> int | None:
    """The last reading before the first copy."""
    before = None
    for kind, fields in case.facts:
        if kind == "Sent":
            break
        if kind == "Reading" and fields["setting"] == setting and fields["value"] is not None:
            before = number_of(fields["value"])
    return before


def _no_stop(back: dict[str, Any], expected: int | None) -> bool:
    """Whether the profile rules out that an unchanged value has run into a stop."""
    if back["type"] == "bool" or back["clamps"] is False or "clamp(" in back["expect"]:
        return True
    low, high = back["min"], back["max"]
    return low is not None and high is not None and expected is not None and int(low) <= expected <= int(high)


def _start_may_hide(case: Journaled, machine: Machine) -> bool:
    counted = _baseline(case, "(boot)")
    return counted is None or counted != machine.values()["boots"]
