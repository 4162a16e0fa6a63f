"""Would the worlds notice? The product is broken on purpose, and a few worlds have to tell."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent import policy, readback, recovery
from agent.dialects.debts import Debts
from agent.dialects.line import LineStation
from agent.dialects.lsq import LsqStation
from agent.operation import Outcome
from agent.registry import Registry
from agent.service import Service
from agent.steps import Finish
from protocol.native import payload
from protocol.native.frame import Frame
from protocol.native.requester import Ignored, Requester
from worlds.plan import Limits
from worlds.run import run_seed
from worlds.shrink import shrink
from worlds.store import ProcessStore

SEEDS_MAX = 250
"""So many worlds at most until a mutant shows among its faults."""
Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


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
    store = Registry.store_session

    def one_less(self: Registry, cursor: Any, lease: Any) -> None:
        store(self, cursor, lease)
        cursor.execute("UPDATE device SET last_seq = max(0, last_seq - 1) WHERE id = ?", (lease.device,))

    patch.setattr(Registry, "store_session", one_less)


def _intent_not_flushed(patch: Patch) -> None:
    patch.setattr(ProcessStore, "commit", _loosely)


async def _loosely(self: ProcessStore, work: Any) -> Any:
    return self.commit_loosely(work)


def _key_is_not_asked(patch: Patch) -> None:
    patch.setattr(Service, "_under_its_key", lambda *_: None)


def _quiet_time_forgotten(patch: Patch) -> None:
    patch.setattr("agent.registry._quiet", lambda _: None)


def _repeat_refused_is_refused(patch: Patch) -> None:
    decide = policy._unnumbered

    def gullible(t: Any, v: Any) -> Any:
        if type(v.word).__name__ == "Nakked":
            return Finish(Outcome.REFUSED, None, "the device refused")
        return decide(t, v)

    patch.setattr(policy, "_unnumbered", gullible)


def _lease_not_shown(patch: Patch) -> None:
    patch.setattr(Registry, "hold", lambda *_: None)


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
    patch.setattr(Registry, "owed_s", lambda *_: 0.0)


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
    patch.setattr(Registry, "_has_lapsed", lambda *_: True)


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
    mutant(monkeypatch)
    limits = Limits(devices=1, faults=frozenset(faults.split(",")))
    assert any(run_seed(seed, limits).violations for seed in range(SEEDS_MAX))


def test_a_failing_world_is_made_small(monkeypatch: Patch) -> None:
    """What is left of a failing world still fails, and has no more parts than before."""
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
