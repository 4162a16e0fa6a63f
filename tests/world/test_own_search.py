"""Which edits are a help, alone and together, and which only seem to be?"""

from collections import Counter
from dataclasses import replace
from types import MappingProxyType

import pytest

from agent.operation import Outcome
from agent.stations import Target
from devices.profile import Profile
from tests.world.own_profiles import GAUGE, PUMP, profile_of, target_of
from worlds.own.command import _advice
from worlds.own.plays import Tally, Weather
from worlds.own.search import Tried, better, can_be_helped, played, search

PLAYS = 60


def _tally(applied: int, doubts: int, left: int = 0, unsent: int = 0) -> Tally:
    words = {Outcome.APPLIED: applied, Outcome.IN_DOUBT: doubts, Outcome.NOT_SENT: unsent}
    return Tally(Counter(words), left=left)


@pytest.mark.parametrize(
    ("tally", "than", "helps"),
    [
        (_tally(198, 2), _tally(140, 60), True),
        (_tally(142, 58, 58), _tally(140, 60, 60), False),  # chance
        (_tally(140, 60, 0), _tally(140, 60, 60), True),  # the share left alone is enough
        (_tally(198, 2, 2), _tally(180, 20, 0), True),
        (_tally(180, 20, 20), _tally(140, 60, 0), False),  # fewer doubts, more left to a person
        (_tally(110, 90, 0), _tally(150, 50, 50), False),  # fewer left, more doubts
        (_tally(0, 0, 0, 200), _tally(140, 60, 60), False),  # nothing is done any more
        (_tally(100, 0, 0, 100), _tally(140, 60, 60), False),
        (_tally(0, 0), _tally(0, 200), False),
        (_tally(0, 200, 0), _tally(0, 200, 200), False),  # nothing was done before, either
        (_tally(1, 0), _tally(0, 1), False),  # one run proves nothing
    ],
)
def test_a_help_is_beyond_chance_in_one_share_and_harms_in_none(
    tally: Tally, than: Tally, helps: bool
) -> None:
    """The share in doubt and the share left to a person are judged apart, and the work has to be done."""
    assert better(tally, than) is helps


@pytest.mark.parametrize(("doubts", "enough"), [(0, False), (5, False), (6, True)])
def test_so_few_doubts_show_nothing(doubts: int, enough: bool) -> None:
    """Where even none at all would be chance, nothing is tried."""
    assert can_be_helped(_tally(200 - doubts, doubts)) is enough


@pytest.fixture(scope="module")
def pump(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """A profile with gaps."""
    return profile_of(tmp_path_factory.mktemp("own"), PUMP)


@pytest.fixture(scope="module")
def gauge(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """A profile with values that cause doubts."""
    return profile_of(tmp_path_factory.mktemp("own"), GAUGE)


def _tried(target: Target, name: str) -> list[Tried]:
    command, weather = target.profile.command(name), Weather(0.2, PLAYS)
    return list(search(target, command, weather, played(target, command, weather)))


def _words(tried: Tried) -> list[str]:
    return [str(edit).split(":")[0] for edit in tried.edits]


@pytest.fixture(scope="module")
def dose(pump: Profile) -> list[Tried]:
    """What was tried for a command with several gaps."""
    return _tried(target_of(pump), "dose")


def test_what_helps_too_little_alone_is_tried_with_others(dose: list[Tried]) -> None:
    """The best comes first, and leaves fewer doubts than each of its parts."""
    best = dose[0]
    assert best.helps
    assert {"add durable", "add min and max, or clamps"} <= set(_words(best))
    assert best.tally.left == 0
    alone = {_words(each)[0]: each for each in dose if len(each.edits) == 1}
    assert alone["add durable"].helps
    assert not alone["add min and max, or clamps"].helps


def test_two_are_tried_where_none_helps_alone(pump: Profile) -> None:
    """A reading that no restart changes: neither the reading nor the durability says anything by itself."""
    speed = replace(pump.settings["speed"], clamps=False)
    pump = replace(pump, settings=MappingProxyType({**pump.settings, "speed": speed}))
    commands = tuple(each for each in pump.commands if each.name != "speed")  # no absolute form
    tried = _tried(target_of(replace(pump, commands=commands)), "faster")
    assert not any(each.helps for each in tried if len(each.edits) == 1)
    best = tried[0]
    assert (best.helps, _words(best)) == (True, ["add verify", "add durable"])


def test_one_that_helps_enough_ends_the_search(pump: Profile) -> None:
    """No further claim is asked for."""
    assert [_words(each) for each in _tried(target_of(pump), "beep")] == [["add verify"]]
    trim = _tried(target_of(pump), "trim")
    assert sorted(map(_words, trim)) == [["add boot_read"], ["add durable"]]


def test_what_adds_nothing_to_a_part_is_no_help(dose: list[Tried]) -> None:
    """Several together are held against each of them."""
    pairs = [(each, part) for each in dose for part in dose if part.words < each.words]
    assert any(part.helps and not each.helps for each, part in pairs)
    assert all(better(each.tally, part.tally) for each, part in pairs if each.helps)


def test_no_device_is_played_twice(dose: list[Tried]) -> None:
    """Two edits in either order are one."""
    pairs = [frozenset(_words(each)) for each in dose]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("step", "change timing: {settle_s: 0.1} to 0"),
        ("shared", "change other_writers: true to false on 'common'"),
        ("later", "change ack_means: queued to done"),
        ("never", "change policy: no-retry to get-verify"),
    ],
)
def test_values_that_cause_doubts_are_changed(gauge: Profile, name: str, changed: str) -> None:
    """What is there already can be the cause; it is offered as a change, with what it was."""
    tried = _tried(target_of(gauge), name)
    assert any(each.helps and changed in each.words for each in tried)


def test_more_copies_help_where_silence_is_the_cause(gauge: Profile) -> None:
    """The number of attempts stands in the inventory."""
    target = replace(target_of(gauge), attempts=1)
    tried = _tried(target, "set")
    assert any(each.helps and _words(each) == ["change attempts"] for each in tried)
    best = next(each for each in tried if _words(each) == ["change attempts"])
    assert best.edits[0].target.attempts == 2


def test_two_edits_of_one_key_do_not_go_together(gauge: Profile) -> None:
    """A settle time that was dropped is not added again, on whatever link."""
    for each in _tried(target_of(gauge, stays=True), "step"):
        assert len(each.keys) == len(each.edits)


def _said(*tried: Tried) -> str:
    return "\n".join(_advice(tried))


def test_what_leaves_the_work_undone_is_no_help_and_said_so(gauge: Profile) -> None:
    """Not among what makes no difference either: it does make one."""
    [edit, *_] = _tried(target_of(gauge), "step")[0].edits
    undone = Tried((edit,), _tally(0, 0, 0, 200), lazy=True)
    assert _said(undone) == (
        "  tried alone, no help, the command is hardly applied then: change timing: {settle_s: 0.1} to 0"
    )
    vain = Tried((edit,), _tally(140, 60))
    assert "no difference beyond chance: change timing" in _said(vain)
    pair = replace(vain, edits=(edit, edit))
    assert "tried together, no help: 1 combinations" in _said(vain, pair)
    assert "nothing was tried" in _said()
