"""Would the worlds notice a false figure beside a true word, a person misquoted, a stop overlooked?"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent import executor, journal, policy
from agent.dialects.lsq_facts import meaning_of
from agent.evidence import Acked
from agent.operation import Outcome, Proof, Result
from agent.service import Service
from agent.steps import Finish
from protocol.native.messages import CommandReply
from worlds.plan import Limits
from worlds.run import run_seed
from worlds.sorts import sorts

SEEDS_MAX = 60
Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def _figures(falsified: Callable[[Result], Result]) -> Mutant:
    def mutant(patch: Patch) -> None:
        true = executor._Walk._result
        patch.setattr(executor._Walk, "_result", lambda self, finish: falsified(true(self, finish)))

    return mutant


def _reads_something_else(result: Result) -> Result:
    read = result.value is not None and result.outcome is Outcome.IN_DOUBT
    return replace(result, value="97") if read else result


def _proof_swapped(patch: Patch) -> None:
    swapped = {Proof.ACK: Proof.DUPLICATE_ACK, Proof.DUPLICATE_ACK: Proof.ACK}
    _finishes(patch, lambda finish: replace(finish, proof=swapped.get(finish.proof, finish.proof)))  # type: ignore[arg-type]


def _uncached_is_a_first_answer(patch: Patch) -> None:
    def meaning(reply: CommandReply, ours: int | None) -> Any:
        fact = meaning_of(reply, ours)
        return replace(fact, duplicate=reply.replayed) if isinstance(fact, Acked) else fact

    patch.setattr("agent.dialects.lsq.meaning_of", meaning)


def _settled_is_verified(patch: Patch) -> None:
    swapped = {Proof.SETTLED: Proof.VERIFIED}
    _finishes(patch, lambda finish: replace(finish, proof=swapped.get(finish.proof, finish.proof)))  # type: ignore[arg-type]


def _finishes(patch: Patch, falsified: Callable[[Finish], Finish]) -> None:
    decide = policy.next_step

    def next_step(terms: Any, facts: Any) -> Any:
        step = decide(terms, facts)
        return falsified(step) if isinstance(step, Finish) else step

    patch.setattr(executor, "next_step", next_step)


def _person_recorded_the_other_way(patch: Patch) -> None:
    resolve = Service.resolve
    patch.setattr(
        Service,
        "resolve",
        lambda self, entry, *, applied, reason: resolve(self, entry, applied=not applied, reason=reason),
    )


def _person_read_the_other_way(patch: Patch) -> None:
    decide = policy._after_a_person
    patch.setattr(
        policy,
        "_after_a_person",
        lambda t, v, person: decide(t, v, replace(person, applied=not person.applied)),
    )


def _stops_forgotten(patch: Patch) -> None:
    patch.setattr(policy, "_baseline_authorises", lambda *_: True)


def _journal_counts_otherwise(patch: Patch) -> None:
    close = journal._close
    patch.setattr(
        journal,
        "_close",
        lambda cursor, op, r, utc: close(cursor, op, replace(r, attempts=r.attempts + 1), utc),
    )


@dataclass(frozen=True, slots=True)
class Hunt:
    """What is broken, the faults and the sorts among which it shows soonest, and what the checker says of it."""

    mutant: Mutant
    says: str
    faults: str = "drop_ack"
    among: tuple[str, ...] = ("lsq", "line")


HUNTS = {
    "value": Hunt(_figures(lambda r: replace(r, value="999")), "the value 999"),
    "value of the ack kept back": Hunt(_figures(lambda r: replace(r, value=None)), "the value None"),
    "before": Hunt(_figures(lambda r: replace(r, before="999")), "999 before"),
    "before kept back": Hunt(_figures(lambda r: replace(r, before=None)), "no value from before"),
    "expected": Hunt(_figures(lambda r: replace(r, expected="999")), "999 expected"),
    "expected kept back": Hunt(_figures(lambda r: replace(r, expected=None)), "None expected"),
    "attempts plus 3": Hunt(_figures(lambda r: replace(r, attempts=r.attempts + 3)), "attempts, and"),
    "attempts plus 1": Hunt(_figures(lambda r: replace(r, attempts=r.attempts + 1)), "attempts, and"),
    "attempts never more than 1": Hunt(
        _figures(lambda r: replace(r, attempts=min(r.attempts, 1))), "1 attempts"
    ),
    "seq": Hunt(_figures(lambda r: replace(r, seq=4711)), "seq 4711"),
    "seq of the one before": Hunt(
        _figures(lambda r: replace(r, seq=r.seq - 1 if r.seq else None)), "and the last copy had"
    ),
    "ack and duplicate ack swapped": Hunt(_proof_swapped, "the proof 'duplicate_ack'"),
    "an answer too long to keep taken for a first one": Hunt(
        _uncached_is_a_first_answer, "the proof 'ack', and the wire has", "drop_ack,long_reply"
    ),
    "value read back": Hunt(
        _figures(_reads_something_else), "the value 97, and it read", among=("line-stop",)
    ),
    "settled called verified": Hunt(_settled_is_verified, "the proof 'verified'", "drop_ack,cut"),
    "person recorded the other way": Hunt(_person_recorded_the_other_way, "the person saw"),
    "person read the other way": Hunt(_person_read_the_other_way, "the person saw", "indeterminate"),
    "undeclared stop": Hunt(_stops_forgotten, "which took effect", among=("line-stop",)),
    "journal and result differ": Hunt(_journal_counts_otherwise, "with 2 attempts, and 1 left"),
}


@pytest.mark.parametrize("what", HUNTS)
def test_worlds_notice(what: str, monkeypatch: Patch) -> None:
    """Each falsehood shows within SEEDS_MAX small worlds."""
    hunt = HUNTS[what]
    monkeypatch.setattr(
        "worlds.plan.sorts", lambda: tuple(each for each in sorts() if each.name in hunt.among)
    )
    limits = Limits(devices=1, agents=1, faults=frozenset(hunt.faults.split(",")))
    hunt.mutant(monkeypatch)
    found = (violation for seed in range(SEEDS_MAX) for violation in run_seed(seed, limits).violations)
    assert any(hunt.says in violation for violation in found)


def test_a_violation_tells_its_story(monkeypatch: Patch) -> None:
    """Beside it stand the command as it was typed, what was sent for it, and what struck meanwhile."""
    HUNTS["undeclared stop"].mutant(monkeypatch)
    monkeypatch.setattr(
        "worlds.plan.sorts", lambda: tuple(each for each in sorts() if each.name == "line-stop")
    )
    limits = Limits(devices=1, agents=1, faults=frozenset({"drop_ack"}))
    found = next(
        run.violations[0] for run in (run_seed(seed, limits) for seed in range(SEEDS_MAX)) if run.violations
    )
    assert "(asked for: 'ADJUST level " in found
    assert "; sent: 'ADJUST level " in found
    assert " d0 fault drop_ack at cmd " in found
