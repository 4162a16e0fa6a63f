"""Does a claimed machine do what its profile says, and in lines that the profile takes?"""

from decimal import Decimal
from pathlib import Path

import pytest

from devices.calls import resolve
from devices.kinds import EffectClass, Kind
from devices.loader import find
from devices.profile import Command, Line, Profile, Setting
from simulator.equipment import Verdict
from simulator.faults import FaultPlan
from simulator.loop import run
from tests.world.own_profiles import PUMP, SCOPE, profile_of, target_of
from worlds.own.answers import answer
from worlds.own.equipment import device_of
from worlds.own.machine import ClaimedMachine, command_of, start_values


@pytest.fixture
def pump(tmp_path: Path) -> Profile:
    """A profile with gaps."""
    return profile_of(tmp_path, PUMP)


@pytest.fixture
def scope(tmp_path: Path) -> Profile:
    """A profile with oddities."""
    return profile_of(tmp_path, SCOPE)


def _machine(profile: Profile, **start: str) -> ClaimedMachine:
    return ClaimedMachine(profile, "77", {**start_values(profile, profile.commands[0]), **start})


@pytest.mark.parametrize(
    ("text", "query", "after"),
    [
        ("SP 0300", "SP?", "300"),
        ("TR +0.50", "FL?", "10.5"),
        ("DOSE", "RUNS?", "11"),
        ("SP+7", "SP?", "10"),  # neither verify nor form says what it changes
        ("BEEP", "SP?", "10"),
    ],
)
def test_effects_are_those_that_the_profile_states(pump: Profile, text: str, query: str, after: str) -> None:
    """Absolute commands set their setting, others what their evidence says, the rest nothing."""
    machine = _machine(pump)
    assert machine.execute(text).verdict is Verdict.OK
    assert machine.read(query).text == after


def test_values_stop_where_min_and_max_are_stated(pump: Profile) -> None:
    """A relative command does not lead past a stated limit, up or down."""
    for before, text, after in (("19.8", "TR +1.00", "20"), ("0.2", "TR -1.00", "0")):
        machine = _machine(pump, flow=before)
        machine.execute(text)
        assert machine.read("FL?").text == after


def test_another_text_than_the_one_asked_for_is_read(pump: Profile) -> None:
    """A form sends another command than the one that was asked for."""
    asked = resolve(pump, ["dose"])
    machine = ClaimedMachine(pump, "77", start_values(pump, asked.command), asked)
    machine.execute("SP 0300")
    assert (machine.read("SP?").text, machine.read("RUNS?").text) == ("300", "10")


@pytest.mark.parametrize("name", ["demo/controller", "demo/controller-line"])
@pytest.mark.parametrize(("stays", "left"), [(True, 1), (False, 0)])
def test_only_a_stream_that_outlives_reopening_outlives_a_restart(name: str, stays: bool, left: int) -> None:
    """The connection of a TCP device ends with it."""
    profile = find(name, [])
    machine = _machine(profile)

    async def restarted() -> int:
        device = device_of(target_of(profile, stays=stays), "77", machine, FaultPlan(), 1)
        device.connect(lambda _: None, lambda: None)
        device.reboot()
        return device.connected

    assert run(restarted) == left


def test_a_restart_puts_back_what_is_volatile(scope: Profile) -> None:
    """Durable values stay, others fall back to where they began, and the start is counted."""
    machine = _machine(scope)
    machine.execute("M rel")
    machine.execute("G 0.250")
    machine.boot()
    assert [machine.read(each).text for each in ("M?", "G?", "B?", "ID?")] == ["abs", "0.25", "2", "scope 77"]


def test_a_form_alone_says_what_a_command_changes(scope: Profile) -> None:
    """The setting of the absolute command moves as `value` says."""
    machine = _machine(scope)
    machine.execute("G+ -0.25")
    assert machine.read("G?").text == "-0.25"


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [("A 1F", "addr", {"a": "31"}), ("N abc", "name", {"t": "abc"}), ("G+ +0.50", "nudge", {"by": "0.5"})],
)
def test_arguments_are_read_back_out_of_a_text(
    scope: Profile, text: str, name: str, args: dict[str, str]
) -> None:
    """Number formats of `send` are undone."""
    found = command_of(scope, text)
    assert found is not None
    assert (found[0].name, found[1]) == (name, args)


def test_what_no_command_sends_is_refused(scope: Profile) -> None:
    """A text in another format than `send` writes it is none of the commands."""
    assert _machine(scope).execute("A 001F").verdict is Verdict.BAD_COMMAND


def test_a_command_begins_in_its_own_mode(scope: Profile) -> None:
    """Else it would never be sent."""
    assert start_values(scope, scope.command("nudge"))["mode"] == "rel"
    assert start_values(scope, scope.command("flip"))["mode"] == "abs"


@pytest.mark.parametrize(
    ("low", "high", "start"),
    [("-100", "100", "0"), ("1", None, "11"), (None, "5", "-5"), (None, None, "10"), ("0", "1e60", "0")],
)
def test_values_start_inside_their_range(low: str | None, high: str | None, start: str) -> None:
    """Away from stated stops where there is room; a range too wide to be cut in steps begins at its lower end."""
    setting = Setting(
        "x", "int", min=Decimal(low) if low else None, max=Decimal(high) if high else None, read="X?"
    )
    command = Command("c", Kind.TRIGGER, EffectClass.CUMULATIVE)
    assert start_values(Profile("a/b", "line", (command,), settings={"x": setting}), command)["x"] == start


LINE = Line(ack=r"^OK(?: (?P<value>.*))?$", nak="^ERR", notice=("^#",), busy="^OK 9$")


@pytest.mark.parametrize(
    ("pattern", "value", "kind", "said"),
    [
        (r"^OK(?: (?P<value>.*))?$", "15", "int", "OK 15"),
        (r"^T=(?P<value>\d+\.\d\d)C$", "10.5", "decimal", "T=10.50C"),
        (r"^N(?P<value>[+-]\d{4})$", "7", "int", "N+0007"),
        (r"^L (?P<value>ON|OFF)$", "false", "bool", "L OFF"),
        (r"^OK(?: (?P<value>.*))?$", "9", "int", "OK +9"),  # 'OK 9' would be taken for busy
        (r"^DONE$", "15", "int", None),
        (r"^# (?P<value>.*)$", "15", "int", None),
        (r"^DONE$", None, "", "DONE"),
    ],
)
def test_an_answer_is_one_that_the_patterns_take(
    pattern: str, value: str | None, kind: str, said: str | None
) -> None:
    """It carries the value in a form that reads as that value, and nothing that is looked at earlier takes it."""
    assert answer(pattern, value, kind, LINE) == said
