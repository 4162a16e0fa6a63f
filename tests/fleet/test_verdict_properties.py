"""Does what must hold of every verdict hold of histories that nobody has thought of?

Fleets of two to six agents and one to six devices, on vantages and uplinks by chance, with rows by chance.
"""

import io
import random
import tokenize
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.fleet import verdict as module
from agent.fleet.facts import (
    AgentFacts,
    AgentState,
    Facts,
    Observation,
    Params,
    SelfReport,
    agent_target,
    device_target,
)
from agent.fleet.verdict import Fleet, Status, Verdict, verdict
from tests.fleet.pictures import NOW_S, healed, rows_of

EXCLUDED = {Status.UNREACHABLE, Status.UNREACHABLE_FROM}
CELLS = "...........12345XXXXXXo-b?!"
PARAMS = Params()
few = settings(max_examples=60)
seeds = st.integers(0, 2**32)


@dataclass(frozen=True, slots=True)
class Told:
    """What of a verdict is not a sentence with ages."""

    status: Status
    fails: tuple[str, ...]
    sees: tuple[str, ...]
    vantages: tuple[str, ...]
    pair: tuple[str, str] | None


def told(found: Verdict) -> Told:
    """What another verdict is compared with."""
    return Told(found.status, found.fails, found.sees, found.vantages, found.pair)


def everything(fleet: Fleet) -> object:
    """A fleet without its sentences."""
    return (
        {target: told(found) for target, found in fleet.verdicts.items()},
        set(fleet.untrusted),
        set(fleet.split),
    )


def history(seed: int, *, uplink: str | None = None, references: float = 0.0) -> Facts:
    """A fleet by chance; every agent is up and well. `uplink`: one for all, by chance where it is None."""
    rng = random.Random(seed)
    names = [f"a{number}" for number in range(rng.randint(2, 6))]
    targets = [device_target(f"d{number}") for number in range(rng.randint(1, 6))]
    targets += [agent_target(name) for name in names if rng.random() < 0.7]
    agents = tuple(
        AgentFacts(
            name, "now", "site", rng.choice(["", "x", "y"]), rng.choice(["", "u", "v"]) if uplink is None else uplink,
            AgentState.UP, reference=rng.random() < references, heartbeat_s=NOW_S - 3,
        )
        for name in names
    )  # fmt: skip
    rows = [
        row
        for name in names
        for target in targets
        if target != agent_target(name)
        for row in rows_of(name, target, rng.choice(CELLS))
    ]
    # Some pairs are neither well nor dead: each probe by chance.
    flaky = {(name, target) for name in names for target in targets if rng.random() < 0.2}
    rows = [
        replace(row, ok=ok, reason="" if ok else "no_reply") if (row.observer, row.target) in flaky else row
        for row in rows
        for ok in (rng.random() < 0.7,)
    ]
    reports = tuple(
        SelfReport(name, "now", NOW_S - ago_s, ok=True) for name in names for ago_s in (20.0, 140.0)
    )
    return Facts(agents, tuple(rows), reports, targets=frozenset(targets))


@few
@given(seeds)
def test_rows_of_one_observer_never_make_it_unreachable(seed: int) -> None:
    """M9, H11: whatever one observer sees, and whatever its vantage, it excludes nobody."""
    facts = history(seed)
    for agent in facts.agents:
        alone = replace(
            facts, observations=tuple(row for row in facts.observations if row.observer == agent.name)
        )
        assert not {found.status for found in verdict(alone, NOW_S).verdicts.values()} & EXCLUDED


@few
@given(seeds)
def test_one_uplink_is_one_vote(seed: int) -> None:
    """M9: a fleet behind one uplink is one opinion, and excludes nobody by vote."""
    found = verdict(history(seed, uplink="u"), NOW_S).verdicts.values()
    assert not {each.status for each in found} & EXCLUDED


@few
@given(seeds)
def test_old_rows_mean_nothing(seed: int) -> None:
    """M27: rows older than a minute change no verdict, and alone they make none but `no_data`."""
    facts = history(seed)
    old = tuple(replace(row, at_s=row.at_s - 61, round=row.round - 1000) for row in facts.observations)
    both = verdict(replace(facts, observations=facts.observations + old), NOW_S)
    assert everything(both) == everything(verdict(facts, NOW_S))
    for target, found in verdict(replace(facts, observations=old), NOW_S).verdicts.items():
        assert found.status is (Status.HEALTHY if target.startswith("agent:") else Status.NO_DATA)


@few
@given(seeds)
def test_rows_of_an_earlier_boot_and_of_strangers_mean_nothing(seed: int) -> None:
    """H8: a name that comes again, or that nobody knows, has no rows."""
    facts = history(seed)
    before = tuple(
        replace(row, boot="before", ok=not row.ok, round=row.round + 50) for row in facts.observations
    )
    strange = tuple(replace(row, observer="stranger", ok=False) for row in facts.observations)
    more = replace(facts, observations=facts.observations + before + strange)
    assert everything(verdict(more, NOW_S)) == everything(verdict(facts, NOW_S))


@few
@given(seeds, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(seed: int, rng: random.Random) -> None:
    """Agents, rows and reports in any order, and rows that come twice: letter by letter the same."""
    facts = history(seed, references=0.3)
    agents, rows, reports = list(facts.agents), list(facts.observations), list(facts.reports)
    rows += rng.sample(rows, len(rows) // 3)
    for each in (agents, rows, reports):
        rng.shuffle(each)
    shuffled = replace(facts, agents=tuple(agents), observations=tuple(rows), reports=tuple(reports))
    assert verdict(shuffled, NOW_S) == verdict(facts, NOW_S)


@few
@given(seeds)
def test_one_fresh_success_of_each_pair_clears_everything(seed: int) -> None:
    """M27: whatever was found, nothing is left of it."""
    facts = history(seed, references=0.3)
    fleet = verdict(healed(facts), NOW_S)
    seen = {row.target for row in facts.observations} | {agent_target(agent.name) for agent in facts.agents}
    assert {found.status for target, found in fleet.verdicts.items() if target in seen} <= {Status.HEALTHY}
    assert not fleet.untrusted
    assert not fleet.split
    assert not fleet.alarms


@few
@given(seeds)
def test_without_a_streak_nobody_fails(seed: int) -> None:
    """M8: with four misses in a row at most, nothing worse than `shaky` is said, however many fail."""
    facts = history(seed)
    rng = random.Random(seed)
    pairs = sorted({(row.observer, row.target) for row in facts.observations})
    rows = tuple(row for pair in pairs for row in rows_of(*pair, rng.choice(".1234")))
    fleet = verdict(replace(facts, observations=rows), NOW_S)
    assert not any(found.fails for found in fleet.verdicts.values())
    assert {found.status for found in fleet.verdicts.values()} <= {
        Status.HEALTHY,
        Status.SHAKY,
        Status.NO_DATA,
    }


@few
@given(seeds)
def test_silence_excludes_nobody(seed: int) -> None:
    """M26: when every row has grown older than three rounds, only `no_data` is left of it."""
    facts = history(seed)
    old = tuple(replace(row, at_s=row.at_s - PARAMS.stale_probe_s) for row in facts.observations)
    for target, found in verdict(replace(facts, observations=old), NOW_S).verdicts.items():
        assert found.status is (Status.HEALTHY if target.startswith("agent:") else Status.NO_DATA)
        assert not found.fails


def line(text: str) -> Facts:
    """One agent's probes of a lamp, oldest first: `x` is a miss."""
    rows = tuple(
        Observation("a", "now", "device:lamp", number, NOW_S - 5 * (len(text) - number), ok=sign != "x")
        for number, sign in enumerate(text)
    )
    return Facts(
        (AgentFacts("a", "now", "", "", "", AgentState.UP, reference=False, heartbeat_s=NOW_S),), rows
    )


@pytest.mark.parametrize(
    ("text", "streak", "status"),
    [
        ("...xxxx.xxxx", 4, Status.SHAKY),
        ("xxxxxxxxxxx.", 0, Status.HEALTHY),
        ("x.x.x.x.x.x", 1, Status.SHAKY),
        (".xxxxx", 5, Status.PAIR_MARKED),
        ("xxxx", 4, Status.SHAKY),
    ],
)
def test_a_streak_is_the_misses_at_the_end(text: str, streak: int, status: Status) -> None:
    """H4: one answer ends a streak, whatever was before."""
    found = verdict(line(text), NOW_S).verdicts["device:lamp"]
    assert (found.streaks, found.status) == ({"a": streak}, status)


def test_a_late_answer_closes_its_own_round_only() -> None:
    """H3: the answer of round 7 that comes after round 8 was missed does not answer round 8."""
    facts = line(".......x")
    late = replace(facts.observations[6], round=6, at_s=NOW_S)
    rows = (*facts.observations[:6], facts.observations[7], late)
    assert verdict(replace(facts, observations=rows), NOW_S).verdicts["device:lamp"].streaks == {"a": 1}
    said = replace(late, ok=False, reason="device_says: busy")
    found = verdict(replace(facts, observations=(*rows[:-1], said)), NOW_S).verdicts["device:lamp"]
    assert (found.status, found.streaks) == (Status.SHAKY, {"a": 1})


def test_equipment_that_says_that_it_is_unwell_is_reached() -> None:
    """M4: its answer is no miss, and ends a streak like any other."""
    facts = line(".....xxxxx.")
    told = replace(facts.observations[-1], ok=False, reason="device_says")
    found = verdict(replace(facts, observations=(*facts.observations[:-1], told)), NOW_S).verdicts[
        "device:lamp"
    ]
    assert (found.status, found.streaks, found.sees) == (Status.UNAVAILABLE, {"a": 0}, ("a",))
    assert found.reason == "it says itself: it is unwell (to a, 5 s ago)"


@pytest.mark.parametrize(
    ("boot", "at_s", "ok", "status"),
    [
        ("now", NOW_S - 1, False, Status.UNAVAILABLE),
        ("now", NOW_S - 5, False, Status.UNAVAILABLE),
        ("now", NOW_S - 9, False, Status.HEALTHY),
        ("before", NOW_S - 1, False, Status.HEALTHY),
        ("now", NOW_S + 60, False, Status.HEALTHY),
    ],
    ids=["newer", "at the same moment", "older", "of an earlier boot", "from the future"],
)
def test_the_newest_report_of_the_present_boot_counts(
    boot: str, at_s: float, ok: bool, status: Status
) -> None:
    """M28: beside a good report of 5 s ago; of two at one moment the bad one, in either order."""
    reports = (SelfReport("a", "now", NOW_S - 5, ok=True), SelfReport("a", boot, at_s, ok))
    for each in (reports, reports[::-1]):
        assert verdict(replace(line("."), reports=each), NOW_S).verdicts["agent:a"].status is status


def test_a_reference_is_one_by_either_word() -> None:
    """M20: designated where the agent registered, or by a mark on it."""
    facts = replace(line(".......xxxxx"), reports=(SelfReport("a", "now", NOW_S - 5, ok=True),))
    seen = replace(facts.observations[0], target="device:pump", at_s=NOW_S)
    facts = replace(facts, observations=(*facts.observations, seen))
    registered = replace(facts, agents=(replace(facts.agents[0], reference=True),))
    marked = replace(facts, references=frozenset({"agent:a"}))
    for each, status in (
        (facts, Status.PAIR_MARKED),
        (registered, Status.UNREACHABLE),
        (marked, Status.UNREACHABLE),
    ):
        assert verdict(each, NOW_S).verdicts["device:lamp"].status is status


def test_a_device_is_no_reference_by_its_name() -> None:
    """A device that has the name of a reference is judged like any other."""
    first = replace(line(".").agents[0], reference=True)
    facts = Facts((first, replace(first, name="b", reference=False)), tuple(rows_of("b", "device:a", "X")))
    assert verdict(facts, NOW_S).verdicts["device:a"].status is Status.PAIR_MARKED


def test_the_age_of_what_is_known() -> None:
    """M33: the newest row or report tells the age, also one that is too old to have a voice; `stale` says so."""
    facts = line("....")
    lamp = verdict(facts, NOW_S + 3).verdicts["device:lamp"]
    assert (lamp.age_s, lamp.stale) == (8.0, False)
    lamp = verdict(facts, NOW_S + 30).verdicts["device:lamp"]
    assert (lamp.age_s, lamp.stale, lamp.streaks) == (35.0, True, {})
    lamp = verdict(facts, NOW_S + 90).verdicts["device:lamp"]
    assert (lamp.age_s, lamp.stale) == (None, True)
    reports = tuple(SelfReport("a", "now", NOW_S - ago_s, ok=True) for ago_s in (10, 70))
    agent = verdict(replace(facts, reports=reports), NOW_S).verdicts["agent:a"]
    assert (agent.age_s, agent.stale) == (10.0, False)
    seen = Observation("b", "now", "agent:a", 1, NOW_S - 25, ok=True)
    both = replace(facts, agents=(*facts.agents, replace(facts.agents[0], name="b")), observations=(seen,))
    assert verdict(replace(both, reports=reports), NOW_S).verdicts["agent:a"].age_s == 10.0


def test_whose_votes_are_ignored_is_told_with_the_target() -> None:
    """M10, M12: both sides and who does not count stand beside the verdict, with the streaks of all."""
    rows = tuple(
        row
        for name, cell in (("a", "."), ("b", "X"), ("c", "3"), ("d", "X"))
        for row in rows_of(name, "device:lamp", cell)
    )
    first = line(".").agents[0]
    agents = tuple(replace(first, name=name, control_ok=name != "d") for name in "abcd")
    found = verdict(Facts(agents, rows), NOW_S).verdicts["device:lamp"]
    assert (found.sees, found.fails, found.ignored) == (("a",), ("b",), ("d",))
    assert found.streaks == {"a": 0, "b": 12, "c": 3, "d": 12}


def test_an_observer_that_looks_less_often_is_heard_as_long() -> None:
    """Probes every 30 s: its fifth miss in a row is a failure, and two of its rounds are no silence."""
    facts = history(1)
    slow = replace(facts.agents[0], probe_s=30.0)
    rows = tuple(
        Observation(slow.name, "now", "device:lamp", 10 - age, NOW_S - 25 - 30 * age, ok=age >= 5)
        for age in range(8)
    )
    found = verdict(replace(facts, agents=(slow,), observations=rows), NOW_S).verdicts["device:lamp"]
    assert found.status is Status.PAIR_MARKED
    assert found.streaks == {slow.name: 5}


def test_a_row_from_the_future_is_not_believed() -> None:
    """A clock that is ahead does not speak for later; a reader that is a moment behind still hears."""
    facts = history(1)
    name = facts.agents[0].name

    def status(ahead_s: float) -> Status:
        row = Observation(name, "now", "device:lamp", 1, NOW_S + ahead_s, ok=True)
        return verdict(replace(facts, observations=(row,)), NOW_S).verdicts["device:lamp"].status

    assert status(1.0) is Status.HEALTHY
    assert status(60.0) is Status.NO_DATA


@pytest.mark.parametrize(
    "name", ["verdict", "rules", "case", "witnesses", "split", "votes", "pairs", "caps", "facts"]
)
def test_health_knows_no_operator_switch(name: str) -> None:
    """M31: health neither reads nor writes `disabled`, so a mark cannot change a verdict, nor a verdict a mark."""
    text = Path(module.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    words = {token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)}
    assert not words & {"disabled", "disable", "admin_state", "Mark", "marks"}
