"""Would the worlds notice? The product is broken on purpose, and a few worlds have to tell."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent import policy, readback, reckoning, recovery
from agent.dialects.debts import Debts
from agent.dialects.line import LineStation
from agent.dialects.lsq import LsqStation
from agent.dialects.stream import StreamStation
from agent.leases import Leases
from agent.operation import Outcome
from agent.owed import Owed
from agent.service import Service
from agent.steps import Finish
from protocol.modbus import requester as modbus
from protocol.native import payload
from protocol.native.frame import Frame
from protocol.native.requester import Ignored, Requester
from worlds.plan import Limits
from worlds.run import run_seed
from worlds.shrink import shrink
from worlds.sorts import sorts
from worlds.store import ProcessStore

SEEDS_MAX = 250
"""So many worlds at most until a mutant shows among its faults."""
Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def _only(patch: Patch, wanted: Callable[[str], bool]) -> None:
    """Only some sorts of equipment stand in the worlds."""
    patch.setattr("worlds.plan.sorts", lambda: [each for each in sorts() if wanted(each.name)])


def _no_settling(patch: Patch) -> None:
    patch.setattr(policy, "_may_settle", lambda *_: False)


def _anew_after_a_lost_session(patch: Patch) -> None:
    wants_more = policy._wants_more
    patch.setattr(
        policy,
        "_may_take_a_new_number",
        lambda t, v: v.opening_failed is None and not v.same_session and v.numbers < 3 and wants_more(t, v),
    )


def _doubt_does_not_block(patch: Patch) -> None:
    async def settled(*_: Any, **__: Any) -> None:
        return None

    patch.setattr("agent.service.settle_unsettled", settled)


def _numbers_are_used_again(patch: Patch) -> None:
    store = Leases.store_session

    def one_less(self: Leases, cursor: Any, lease: Any) -> None:
        store(self, cursor, lease)
        cursor.execute("UPDATE device SET last_seq = max(0, last_seq - 1) WHERE id = ?", (lease.device,))

    patch.setattr(Leases, "store_session", one_less)


def _intent_not_flushed(patch: Patch) -> None:
    patch.setattr(ProcessStore, "commit", _loosely)


async def _loosely(self: ProcessStore, work: Any) -> Any:
    return self.commit_loosely(work)


def _key_is_not_asked(patch: Patch) -> None:
    patch.setattr(Service, "_under_its_key", lambda *_: None)


def _quiet_time_forgotten(patch: Patch) -> None:
    patch.setattr("agent.leases._quiet", lambda _: None)


def _repeat_refused_is_refused(patch: Patch) -> None:
    decide = policy._unnumbered

    def gullible(t: Any, v: Any) -> Any:
        if type(v.word).__name__ == "Nakked":
            return Finish(Outcome.REFUSED, None, "the device refused")
        return decide(t, v)

    patch.setattr(policy, "_unnumbered", gullible)


def _lease_not_shown(patch: Patch) -> None:
    patch.setattr(Leases, "hold", lambda *_: None)


def _late_ack_of_another_command(patch: Patch) -> None:
    event = Requester._event

    def gullible(self: Requester, item: Any) -> Any:
        match event(self, item):
            case Ignored(why="late", frame=Frame() as late) if late.type == self.outstanding:
                return self._answer(payload.parse_reply(late))
            case found:
                return found

    patch.setattr(Requester, "_event", gullible)


def _copies_under_way_forgotten(patch: Patch) -> None:
    wait = Debts.wait_until_quiet

    async def hasty(self: Debts, lease: Any) -> None:
        if lease is not None:
            lease.quiet_from = None
        await wait(self, lease)

    patch.setattr(Debts, "wait_until_quiet", hasty)


def _owed_answers_of_others_forgotten(patch: Patch) -> None:
    patch.setattr(Owed, "owed_s", lambda *_: 0.0)


def _owed_answers_on_the_open_stream_forgotten(patch: Patch) -> None:
    patch.setattr(Debts, "stand", False)


def _connection_that_owes_stays(patch: Patch) -> None:
    patch.setattr(LineStation, "_may_stay", LineStation.alive)


def _session_of_another_process_is_ours(patch: Patch) -> None:
    async def through(_: LsqStation, kept: Any) -> None:
        kept.ours = True

    patch.setattr(LsqStation, "_through_the_gate", through)


def _refusal_after_effect_believed(patch: Patch) -> None:
    decide = policy._unnumbered
    patch.setattr(policy, "_unnumbered", lambda t, v: decide(replace(t, nak_may_follow_effect=False), v))


def _earlier_numbers_forgotten(patch: Patch) -> None:
    patch.setattr(policy, "_had_no_effect", lambda t, v, outcome, proof, why: Finish(outcome, proof, why))  # noqa: ARG005


def _frozen_copy_keeps_its_date(patch: Patch) -> None:
    patch.setattr("agent.dialects.unnumbered.DATED_S", 1e9)


def _void_reading_counts(patch: Patch) -> None:
    patch.setattr(readback, "is_void", lambda *_: False)


def _held_device_is_taken(patch: Patch) -> None:
    patch.setattr(Leases, "_has_lapsed", lambda *_: True)


def _the_echo_of_a_write_is_its_ack(patch: Patch) -> None:
    is_echo = modbus.ModbusRequester._is_echo
    patch.setattr(
        modbus.ModbusRequester,
        "_is_echo",
        lambda self, adu: adu.pdu[0] not in modbus._ACK_IS_REQUEST and is_echo(self, adu),
    )


def _any_transaction_is_ours(patch: Patch) -> None:
    patch.setattr(modbus.ModbusRequester, "_is_current", lambda *_: True)


def _any_unit_is_ours(patch: Patch) -> None:
    for name in ("adu_of_mbap", "adu_of_rtu"):
        true = getattr(modbus, name)
        patch.setattr(modbus, name, lambda frame, true=true: replace(true(frame), unit=1))


def _busy_once_is_busy_always(patch: Patch) -> None:
    """That the device took nothing of one copy says nothing of the others."""
    patch.setattr(reckoning.View, "taken", property(lambda self: 0 if self.declined else len(self.copies)))


def _exception(code: int, proves: modbus.How) -> Mutant:
    return lambda patch: patch.setattr(modbus, "_PROVES", {**modbus._PROVES, code: proves})


def _nothing_comes_behind_an_exception(patch: Patch) -> None:
    """What the device has accepted, or a gateway has passed on, may still be under way."""
    word = StreamStation._word

    async def hasty(self: StreamStation, sent: Any, said: Any, others: Any) -> Any:
        if said.how in ("queued", "unknown"):
            self._answered()
        return await word(self, sent, said, others)

    patch.setattr(StreamStation, "_word", hasty)


MODBUS_MUTANTS: dict[str, tuple[Mutant, str, str]] = {
    "the echo of a write is its ack": (_the_echo_of_a_write_is_its_ack, "modbus-rtu-echo", "drop_request"),
    "any transaction is ours": (_any_transaction_is_ours, "modbus-tcp", "foreign,stale_reply"),
    "any unit is ours": (_any_unit_is_ours, "modbus-rtu", "wrong_unit"),
    "busy once is busy always": (_busy_once_is_busy_always, "modbus-rtu", "exception_6,drop_ack"),
    "accepted is done": (_exception(5, "done"), "modbus-tcp", "exception_5_late"),
    "failed is refused": (_exception(4, "refused"), "modbus-rtu", "exception_4_after"),
    "a gateway without an answer asked nobody": (_exception(11, "unreached"), "modbus-tcp", "exception_11_after"),
    "nothing comes behind an exception": (
        _nothing_comes_behind_an_exception, "modbus-rtu", "exception_5_late,exception_11_late",
    ),
    "quiet time not kept": (_copies_under_way_forgotten, "modbus-tcp", "late_request"),
}  # fmt: skip
"""What is broken of Modbus, and the sort and the faults among which it shows soonest."""


@pytest.mark.parametrize("what", MODBUS_MUTANTS)
def test_worlds_notice_what_is_broken_of_modbus(what: str, monkeypatch: Patch) -> None:
    """A broken rule of Modbus shows within a few worlds of Modbus."""
    mutant, among, faults = MODBUS_MUTANTS[what]
    _only(monkeypatch, lambda name: name == among)
    mutant(monkeypatch)
    limits = Limits(devices=1, faults=frozenset(faults.split(",")))
    assert any(run_seed(seed, limits).violations for seed in range(SEEDS_MAX))


MUTANTS: list[tuple[Mutant, str]] = [
    (_no_settling, "drop_request,cut_before"),
    (_anew_after_a_lost_session, "reboot_after,boot"),
    (_doubt_does_not_block, "drop_ack,reboot_after"),
    (_numbers_are_used_again, "crash"),
    (_intent_not_flushed, "power_cut"),
    (_key_is_not_asked, "crash"),
    (_quiet_time_forgotten, "late_request"),
    (_repeat_refused_is_refused, "refuse,delay"),
    (_lease_not_shown, "standstill"),
    (_late_ack_of_another_command, "delay"),
    (_copies_under_way_forgotten, "late_request"),
    (_owed_answers_of_others_forgotten, "delay,late_request,crash"),
    (_owed_answers_on_the_open_stream_forgotten, "delay"),
    (_connection_that_owes_stays, "late_request,delay"),
    (_session_of_another_process_is_ours, "restore"),
    (_refusal_after_effect_believed, "nak_after_effect"),
    (_earlier_numbers_forgotten, "indeterminate,refuse"),
    (_frozen_copy_keeps_its_date, "standstill,stall"),
    (_void_reading_counts, "drop_request,cut_before"),
    (_held_device_is_taken, "rival"),
]
"""What is broken, and the faults among which it shows soonest."""


@pytest.mark.parametrize(
    ("mutant", "faults"), MUTANTS, ids=[mutant.__name__.strip("_") for mutant, _ in MUTANTS]
)
def test_worlds_notice(mutant: Mutant, faults: str, monkeypatch: Patch) -> None:
    """A broken rule shows within a few worlds."""
    _only(monkeypatch, lambda name: not name.startswith("modbus"))
    mutant(monkeypatch)
    limits = Limits(devices=1, faults=frozenset(faults.split(",")))
    assert any(run_seed(seed, limits).violations for seed in range(SEEDS_MAX))


def test_a_failing_world_is_made_small(monkeypatch: Patch) -> None:
    """What is left of a failing world still fails, and has no more parts than before."""
    _only(monkeypatch, lambda name: not name.startswith("modbus"))
    _no_settling(monkeypatch)
    limits = Limits(faults=frozenset({"drop_request", "cut_before", "delay", "split"}))
    seed = next(seed for seed in range(SEEDS_MAX) if run_seed(seed, limits).violations)
    whole = run_seed(seed, limits)
    cut, run = shrink(seed, limits)
    assert run.violations
    assert len(run.hits) < len(whole.hits)
    assert run.trace == run_seed(seed, limits, cut).trace
    assert any(line.what == "VIOLATION" for line in run.lines)


def test_a_true_world_cannot_be_made_small() -> None:
    """There is nothing to look for in a world without violations."""
    with pytest.raises(ValueError, match="does not fail"):
        shrink(0, Limits())


def test_recovery_is_part_of_the_worlds() -> None:
    """The patched names exist: a mutant that patches nothing proves nothing."""
    assert recovery.settle_unsettled is Service._settle_first.__globals__["settle_unsettled"]
