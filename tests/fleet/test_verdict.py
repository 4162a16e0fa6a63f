"""Is each case of FLEET.md 1 judged as it is meant, and does each heal by itself?"""

import pytest

from agent.fleet.facts import name_of
from agent.fleet.verdict import Status, verdict
from tests.fleet.pictures import NOW_S, Picture, healed, pictures
from tests.fleet.verdict_table import TABLE

CASES = pictures(TABLE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Picture) -> None:
    """What the picture draws is found, and nothing else."""
    fleet = verdict(case.facts, NOW_S)
    for target, found in fleet.verdicts.items():
        expected = case.verdicts.get(target)
        assert found.status == (expected.status if expected else Status.HEALTHY), (target, found)
        assert found.vantages == (expected.vantages if expected else ()), (target, found)
        assert found.reference == (expected.reference if expected else None), (target, found)
        assert (found.pair is not None) == (found.status is Status.PAIR_MARKED), (target, found)
        if expected is not None:
            assert expected.pair in (None, found.pair), (target, found)
            for words in expected.words:
                assert words in found.reason, (target, found.reason)
    assert set(case.verdicts) <= set(fleet.verdicts)
    assert set(fleet.untrusted) == set(case.untrusted), fleet.untrusted
    for name, words in case.untrusted.items():
        assert words in fleet.untrusted[name]
    assert set(fleet.split) == set(case.split)
    assert len(fleet.alarms) == len(case.alarms), fleet.alarms
    for alarm, parts in zip(fleet.alarms, case.alarms, strict=True):
        for words in parts:
            assert words in alarm


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_heals_by_itself(case: Picture) -> None:
    """M27 to M31: one success of each pair and a good report, and nothing is left of any verdict."""
    facts = healed(case.facts)
    fleet = verdict(facts, NOW_S)
    looked_at = {row.target for row in facts.observations}
    for target, found in fleet.verdicts.items():
        lit = target in looked_at or target.startswith("agent:")
        assert found.status is (Status.HEALTHY if lit else Status.NO_DATA), (target, found)
    assert not fleet.untrusted
    assert not fleet.split
    assert not fleet.alarms


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_pair_is_said_of_both_ends(case: Picture) -> None:
    """M14, M16: where nobody can know who is to blame, both names stand in the sentence, and who sees it."""
    for target, found in verdict(case.facts, NOW_S).verdicts.items():
        if found.status is Status.PAIR_MARKED:
            assert found.pair is not None
            assert found.pair == (found.fails[0], name_of(target))
            for name in (*found.fails, *found.sees, name_of(target)):
                assert name in found.reason
