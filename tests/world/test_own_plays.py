"""Are plays what they say: the whole agent, under losses from a seed, judged by the ledger?"""

import asyncio
import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from agent.operation import Cause, Numbering, Outcome, Result, Terms
from devices.kinds import Policy
from devices.loader import find
from devices.profile import Profile
from simulator.fault_kinds import Fault
from tests.world.own_profiles import PUMP, SCOPE, profile_of, target_of
from worlds.own.plays import Stage, Tally, Weather, judged, samples


def _played(profile: Profile, name: str, weather: Weather, *, stays: bool = False) -> Tally:
    stage = Stage()
    try:
        return stage.play_all(target_of(profile, stays=stays), profile.command(name), weather)
    finally:
        stage.close()


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("text", [PUMP, SCOPE])
def test_without_losses_everything_is_applied(tmp_path: Path, text: str, stays: bool) -> None:
    """Whatever a line profile may say, the machine behaves so that the agent understands it."""
    profile = profile_of(tmp_path, text)
    for command in profile.commands:
        tally = _played(profile, command.name, Weather(0.0, 3), stays=stays)
        assert tally.words == {Outcome.APPLIED: 3}, command.name
        assert tally.wrong == []


@pytest.mark.parametrize("name", ["demo/controller", "demo/controller-line"])
@pytest.mark.parametrize("stays", [False, True])
def test_losses_lead_to_doubts_and_never_to_a_false_word(name: str, stays: bool) -> None:
    """Both dialects, both sorts of links."""
    for command in ("ADJUST offset", "BEEP"):
        tally = _played(find(name, []), command, Weather(0.2, 40), stays=stays)
        assert tally.wrong == []
        assert tally.words[Outcome.APPLIED] > 20


def test_one_seed_is_one_course(tmp_path: Path) -> None:
    """The same plays end in the same words."""
    profile = profile_of(tmp_path, PUMP)
    first, again = (_played(profile, "dose", Weather(0.3, 20)) for _ in range(2))
    assert first == again
    assert first.words[Outcome.IN_DOUBT] > 0


def test_more_losses_are_more_doubts(tmp_path: Path) -> None:
    """A command that cannot be read back ends in doubt about as often as its messages are lost."""
    profile = profile_of(tmp_path, PUMP)
    few, many = (_played(profile, "beep", Weather(loss, 100)).doubt_percent for loss in (0.05, 0.4))
    assert 1 <= few <= 20
    assert 40 <= many <= 80


def test_a_doubt_of_one_play_does_not_hold_up_the_next(tmp_path: Path) -> None:
    """Each play has a device of its own, also where the inventory names a serial number."""
    tally = _played(profile_of(tmp_path, SCOPE), "pop", Weather(0.3, 30))
    assert tally.words[Outcome.IN_DOUBT] > 3
    assert not any("in doubt" in why for why in tally.unsent)


def test_what_a_check_can_settle_is_not_left_to_a_person() -> None:
    """A doubt that came only from lost readings is settled once nothing is lost any more."""
    tally = _played(find("demo/controller-line", []), "ROTATE log", Weather(0.3, 40))
    assert tally.words[Outcome.IN_DOUBT] > 0
    assert tally.left == 0


def test_what_takes_effect_twice_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The ledger shows it, whoever's fault it is, and the play is named."""
    monkeypatch.setattr("worlds.own.equipment.SHARES", {Fault.DUPLICATE_REQUEST: 1.0})
    wrong = _played(profile_of(tmp_path, PUMP), "beep", Weather(0.5, 10)).wrong
    assert any(problem.endswith("'BEEP': it took effect 2 times") for problem in wrong)
    assert wrong[0].startswith("play ")


def test_what_never_left_is_not_counted_among_the_doubts() -> None:
    """Else more refusals to send would look like fewer doubts."""
    tally = Tally(Counter({Outcome.IN_DOUBT: 2, Outcome.APPLIED: 2, Outcome.NOT_SENT: 6}), left=1)
    assert (tally.plays, tally.doubt_percent, tally.left_percent) == (10, 50.0, 25.0)
    assert Tally(Counter({Outcome.NOT_SENT: 3})).doubt_percent == 0.0


def test_samples_are_those_whose_effect_shows(tmp_path: Path) -> None:
    """No argument that changes nothing or runs into a stop, as long as there are others."""
    profile = profile_of(tmp_path, SCOPE)
    assert "X 1" in [call.text for call in samples(profile, profile.command("less"))]
    texts = [call.text for call in samples(profile, profile.command("nudge"))]
    assert "G+ +0.00" not in texts
    assert texts


TERMS = Terms(Policy.GET_VERIFY, False, Numbering.NONE, "X")


@pytest.mark.parametrize(
    ("outcome", "ran", "changes", "moves", "wrong"),
    [
        (Outcome.APPLIED, 1, {}, True, 0),
        (Outcome.APPLIED, 2, {}, True, 1),
        (Outcome.APPLIED, 0, {}, False, 1),
        (Outcome.APPLIED, 2, {"idempotent": True}, True, 0),
        (Outcome.APPLIED, 2, {"policy": Policy.READ_THEN_SET}, True, 0),
        (Outcome.APPLIED, 0, {"idempotent": True}, True, 1),
        (Outcome.APPLIED, 0, {"idempotent": True}, False, 0),
        (Outcome.NOT_APPLIED, 0, {}, True, 0),
        (Outcome.NOT_APPLIED, 1, {}, True, 1),
        (Outcome.NOT_SENT, 1, {}, True, 1),
        (Outcome.REFUSED, 1, {}, True, 1),
        (Outcome.IN_DOUBT, 1, {}, True, 0),
        (Outcome.IN_DOUBT, 2, {}, True, 1),
    ],
)
def test_a_word_is_judged_by_the_ledger(
    outcome: Outcome,
    ran: int,
    changes: dict[str, object],
    moves: bool,
    wrong: int,
) -> None:
    """Twice is wrong unless it does no harm; applied needs an effect; what was not applied must not have any."""
    terms = replace(TERMS, **changes)  # type: ignore[arg-type]
    result = Result(outcome, None, "", Cause.UNREACHABLE)
    assert len(list(judged(result, terms, ran, moves=moves))) == wrong


def test_an_interrupted_play_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the middle of one: nothing of it goes on when the stage is closed."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    def leaves(*_: object) -> None:
        asyncio.get_running_loop().call_soon(interrupted)

    target = target_of(find("demo/controller-line", []))
    stage = Stage()
    monkeypatch.setattr("worlds.own.equipment._Wire.leaves", leaves)
    with pytest.raises(KeyboardInterrupt):
        stage.play_all(target, target.profile.command("ROTATE log"), Weather(0.2, 1))
    assert asyncio.all_tasks(stage._loop)
    stage.close()
    gc.collect()
    assert capsys.readouterr().err == ""
