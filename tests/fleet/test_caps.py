"""M24: how much may votes exclude at once?"""

import pytest

from agent.fleet.caps import limit_exclusions
from agent.fleet.facts import Params
from agent.fleet.verdict import Fleet, Status, Verdict

NOW_S = 1000.0


def fleet(**statuses: str) -> Fleet:
    """A fleet of these verdicts: `d1="unreachable:3"` is what three observers say."""
    return Fleet({f"device:{name}": _verdict(text) for name, text in statuses.items()}, {}, (), ())


def _verdict(text: str) -> Verdict:
    status, _, votes = text.partition(":")
    fails = tuple(f"a{number}" for number in range(int(votes or 0)))
    return Verdict(Status(status), "", fails, (), (), (), None, 1.0, stale=False, streaks={})


def devices(bad: int, of: int, status: str = "unreachable") -> Fleet:
    """So many of a fleet are found bad."""
    return fleet(**{f"d{number:02}": status if number < bad else "healthy" for number in range(of)})


def names(excluded: frozenset[str]) -> list[str]:
    """Targets without their kind, in order."""
    return sorted(target.partition(":")[2] for target in excluded)


@pytest.mark.parametrize(
    ("status", "is_excluded"),
    [
        ("healthy", False),
        ("shaky", False),
        ("no_data", False),
        ("pair_marked", False),
        ("unreachable_from", True),
        ("unreachable", True),
        ("unavailable", True),
    ],
)
def test_what_is_excluded_at_all(status: str, is_excluded: bool) -> None:
    """Only what is out of reach or says itself that it is unwell; never a pair, never silence."""
    excluded, alarms = limit_exclusions(fleet(d1=status), {}, {}, NOW_S)
    assert names(excluded) == (["d1"] if is_excluded else [])
    assert alarms == ()


def test_no_more_than_a_part_of_the_fleet_at_once() -> None:
    """60 % fail together: 15 % are excluded, the rest stays in use, and one alarm says so."""
    excluded, alarms = limit_exclusions(devices(24, of=40), {}, {}, NOW_S)
    assert len(excluded) == 6
    assert len(alarms) == 1
    assert "18 of 24 that were found unreachable stay in use" in alarms[0]
    assert "at most 15% of the fleet per 60 s" in alarms[0]


def test_the_next_minute_brings_the_next_part() -> None:
    """What was newly excluded counts for a minute; what was excluded stays so without counting again."""
    found = devices(24, of=40)
    first, _ = limit_exclusions(found, {}, {}, NOW_S)
    before = dict.fromkeys(first, NOW_S)
    again, _ = limit_exclusions(found, before, {}, NOW_S + 59)
    assert again == first
    later, _ = limit_exclusions(found, before, {}, NOW_S + 60)
    assert len(later) == 12
    assert first < later


def test_what_healed_is_free_at_once_and_still_counts_for_its_minute() -> None:
    """No stored exclusion outlives its verdict, and a minute of flapping excludes no more than the limit."""
    before = {f"device:d{number:02}": NOW_S - 30 for number in range(30, 36)}
    excluded, alarms = limit_exclusions(devices(3, of=40), before, {}, NOW_S)
    assert names(excluded) == []
    assert len(alarms) == 1


def test_a_small_fleet_may_lose_one() -> None:
    """15 % of three devices is less than one: one may go all the same."""
    excluded, alarms = limit_exclusions(devices(2, of=3), {}, {}, NOW_S)
    assert names(excluded) == ["d00"]
    assert len(alarms) == 1


def test_what_most_say_goes_first() -> None:
    """Where not all may go, the best supported ones do."""
    found = fleet(d1="unreachable:2", d2="unreachable:4", d3="unreachable_from:3")
    excluded, _ = limit_exclusions(found, {}, {}, NOW_S, Params(fleet_cap=0.7))
    assert names(excluded) == ["d2", "d3"]


@pytest.mark.parametrize(("size", "leaves"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_at_most_half_of_a_route_group(size: int, leaves: int) -> None:
    """A group keeps half, rounded up: a lone route is never excluded by a vote."""
    found = devices(size, of=size)
    excluded, alarms = limit_exclusions(found, {}, {"g": list(found.verdicts)}, NOW_S, Params(fleet_cap=1.0))
    assert size - len(excluded) == leaves
    assert len(alarms) == 1
    assert "50% of a route group" in alarms[0]


def test_a_group_limits_its_own_members_only() -> None:
    """A group that has lost all it may lose is no reason to keep what is not in it."""
    found = fleet(d1="unreachable", d2="unavailable", d3="healthy")
    assert names(limit_exclusions(found, {}, {"g": ["device:d2", "device:d3"]}, NOW_S)[0]) == ["d1", "d2"]


def test_what_is_unwell_itself_counts_for_its_group() -> None:
    """Half of the group says itself that it is unwell: no vote takes from the other half."""
    found = fleet(d1="unavailable", d2="unreachable", d3="healthy")
    excluded, alarms = limit_exclusions(found, {}, {"g": list(found.verdicts)}, NOW_S)
    assert names(excluded) == ["d1"]
    assert "d2" in alarms[0]


def test_own_words_have_no_limit() -> None:
    """Every device says that it is unwell: that is no vote, and all are excluded."""
    found = devices(40, of=40, status="unavailable")
    excluded, alarms = limit_exclusions(found, {}, {"g": list(found.verdicts)}, NOW_S)
    assert len(excluded) == 40
    assert alarms == ()


def test_every_agent_comes_to_the_same() -> None:
    """The order in which targets and groups come means nothing."""
    found = devices(9, of=12)
    turned = Fleet(dict(reversed(list(found.verdicts.items()))), {}, (), ())
    groups = {"g": list(found.verdicts)[:4], "h": list(found.verdicts)[2:6]}
    assert limit_exclusions(found, {}, groups, NOW_S) == limit_exclusions(
        turned, {}, dict(reversed(list(groups.items()))), NOW_S
    )
