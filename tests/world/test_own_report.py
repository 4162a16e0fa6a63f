"""Which additions are tried, what is said about them, and how does the run end?"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.cli.main import run as ackonce
from agent.operation import Outcome
from devices.loader import find
from devices.problems import FileProblems, UsageProblem
from devices.profile import Profile
from simulator.fault_kinds import Fault
from tests.world.own_profiles import PUMP, SCOPE, profile_of, target_of
from worlds.cli import app
from worlds.own.additions import additions
from worlds.own.plays import Tally, Weather, samples, terms_of
from worlds.own.report import Line, fill, pages

RUNNER = CliRunner()
INVENTORY = """
devices:
  p1: {url: "tcp://10.0.0.1:7001", profile: acme/pump}
  p2: {url: "tcp://10.0.0.2:7001", profile: acme/pump}
  s1: {url: "serial:/dev/ttyS9?baud=9600", profile: acme/pump}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An inventory, and a folder `profiles` beside it."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/pump.yaml").write_text(PUMP)
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    return tmp_path


def _offered(profile: Profile, name: str, *, stays: bool = False) -> list[str]:
    target = target_of(profile, stays=stays)
    terms = terms_of(target, samples(profile, profile.command(name))[0])
    return [each.what.split(":")[0] for each in additions(profile, profile.command(name), terms)]


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("speed", ["boot_read", "durable", "reply on 'speed'"]),
        ("faster", ["absolute_form", "verify"]),
        ("trim", ["boot_read", "durable"]),
        ("dose", ["boot_read", "durable", "min and max, or clamps", "reply on 'runs'"]),
        ("beep", ["verify"]),
    ],
)
def test_only_what_makes_sense_is_tried(tmp_path: Path, name: str, offered: list[str]) -> None:
    """A gap in the evidence of the command's own policy, and nothing that is there already."""
    assert _offered(profile_of(tmp_path, PUMP), name) == offered


def test_settled_readings_are_tried_where_a_stream_outlives_reopening(tmp_path: Path) -> None:
    """Elsewhere reopening cuts what is owed."""
    assert "timing" in _offered(profile_of(tmp_path, PUMP), "trim", stays=True)


def test_a_wish_for_no_retry_is_taken_away_with_what_is_added(tmp_path: Path) -> None:
    """Evidence would not be used under it; and an unequal form may only lack a word."""
    profile = profile_of(tmp_path, SCOPE)
    terms = terms_of(target_of(profile), samples(profile, profile.command("nudge"))[0])
    first = next(additions(profile, profile.command("nudge"), terms))
    assert first.what == "absolute_form: {command: set gain, …, equivalent: true}, no 'policy'"
    changed = first.profile.command("nudge")
    assert changed.policy is None
    assert changed.absolute_form is not None
    assert changed.absolute_form.equivalent


def test_a_durable_value_needs_no_boot_count(tmp_path: Path) -> None:
    """A restart does not change it."""
    profile = replace(profile_of(tmp_path, SCOPE), boot_read=None)
    assert "boot_read" not in _offered(profile, "flip")


def test_model_and_firmware_are_not_compared_with_themselves() -> None:
    """The simulated equipment has none of its own, and would be taken for a wrong device."""
    profile = replace(find("demo/controller", []), model="ACME", firmware=">=9")
    [page] = pages([target_of(profile)])
    assert [line.tally.words[Outcome.APPLIED] for line in fill(page, Weather(0.0, 2))] == [2] * 6


def test_equipment_with_numbers_needs_no_evidence() -> None:
    """Its doubts come from restarts, against which no addition helps."""
    assert _offered(find("demo/controller", []), "ROTATE log") == []


def test_a_reading_that_shows_only_the_first_execution_is_a_gap() -> None:
    """A reset that is verified by the value 0 may have been at 0 before."""
    profile = find("demo/controller-line", [])
    reset = profile.command("RESET counter")
    assert reset.verify is not None
    assert "verify" not in _offered(profile, "RESET counter")
    weak = replace(reset, verify=replace(reset.verify, setting="counter", expect="0"))
    commands = tuple(weak if each is reset else each for each in profile.commands)
    assert "verify" in _offered(replace(profile, commands=commands), "RESET counter")


def _lines(profile: Profile, plays: int, *names: str) -> dict[str, Line]:
    profile = replace(profile, commands=tuple(each for each in profile.commands if each.name in names))
    [page] = pages([target_of(profile)])
    return {line.command.name: line for line in fill(page, Weather(0.2, plays))}


def _with(line: Line, *starts: str) -> Tally:
    return next(
        tried.tally
        for tried in line.tried
        if len(tried.additions) == len(starts)
        and all(each.what.startswith(start) for each, start in zip(tried.additions, starts, strict=True))
    )


def test_what_helps_is_found_by_playing_it(tmp_path: Path) -> None:
    """Alone or on top of another addition; what helps most comes first."""
    lines = _lines(profile_of(tmp_path, PUMP), 60, "dose", "beep")
    dose, beep = lines["dose"], lines["beep"]
    assert dose.tally.doubt_percent > 20
    assert _with(dose, "durable").doubt_percent < dose.tally.doubt_percent - 10
    assert _with(dose, "min and max").doubt_percent == dose.tally.doubt_percent
    assert _with(dose, "durable", "min and max").left == 0
    assert dose.tried[0].tally is _with(dose, "durable", "min and max")
    assert _with(beep, "verify").left == 0


def test_devices_that_would_play_alike_share_a_page(project: Path) -> None:
    """Of one profile, on one sort of link."""
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "2", "-q"])
    assert done.exit_code == 0, done.output
    assert "acme/pump over connections of their own: p1, p2\n" in done.stdout
    assert "acme/pump over a stream that outlives reopening: s1\n" in done.stdout


def test_people_read_how_often_why_and_what_would_help(project: Path) -> None:
    """The table, then for each command with doubts its reasons and what was tried."""
    _only_beep(project)
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "40", "-q"])
    lines = done.stdout.splitlines()
    row = next(line for line in lines if line.startswith("beep\t"))
    assert row.split("\t")[1:3] == ["no-retry", "40"]
    assert "of 40: no ack, and the command may neither be repeated nor read back" in done.stdout
    assert '  with verify: {setting: …, expect: "before + 1"}: ' in done.stdout
    assert "only if it is true: a setting counts the executions" in done.stdout
    assert lines[-1].startswith("The simulated equipment believes the profiles")


def test_json_is_one_object_for_each_page(project: Path) -> None:
    """All figures, nothing else on stdout."""
    _only_beep(project)
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "20", "-q", "--json"])
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["devices"], second["devices"]) == (["p1", "p2"], ["s1"])
    assert first["wrong"] == []
    beep = first["commands"][-1]
    assert beep["plays"] == 20 == sum(beep[word] for word in _WORDS)
    assert sum(beep["reasons"].values()) == beep["in_doubt"]
    assert beep["tried"][0]["add"] == ['verify: {setting: …, expect: "before + 1"}']


def _only_beep(project: Path) -> None:
    path = project / "profiles/pump.yaml"
    head, commands = path.read_text().split("commands:\n")
    path.write_text(f"{head}commands:\n{commands.splitlines()[-1]}\n")


_WORDS = ("applied", "refused", "not_sent", "not_applied", "in_doubt")


def test_without_losses_nothing_is_tried(project: Path) -> None:
    """--loss 0: everything is applied."""
    words = ["-i", str(project / "inventory.yaml"), "--seeds", "5", "-q", "--loss", "0", "--json"]
    for page in map(json.loads, RUNNER.invoke(app, words).stdout.splitlines()):
        assert [each["applied"] for each in page["commands"]] == [5] * 5
        assert [each["tried"] for each in page["commands"]] == [[]] * 5


def test_profiles_are_looked_for_in_the_given_folder_first(project: Path, tmp_path: Path) -> None:
    """--profile-dir wins over the folder beside the inventory."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/pump.yaml").write_text(PUMP.replace("name: beep", "name: honk"))
    words = ["-i", str(project / "inventory.yaml"), "--seeds", "1", "-q", "--profile-dir"]
    assert "honk\t" in RUNNER.invoke(app, [*words, str(tmp_path / "mine")]).stdout
    with pytest.raises(UsageProblem, match="is no folder"):
        RUNNER.invoke(app, [*words, str(tmp_path / "none")], catch_exceptions=False)


def test_what_is_not_simulated_is_said(project: Path) -> None:
    """A dialect without a machine is named, and the others are played."""
    text = "profile: acme/tool\ndialect: exec\nrun: ['./x']\ncommands:\n  - {name: go, kind: trigger, send: go}\n"
    (project / "profiles/tool.yaml").write_text(text)
    (project / "inventory.yaml").write_text(
        INVENTORY + "  t: {url: 'tcp://10.0.0.9:1', profile: acme/tool}\n"
    )
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "1", "-q"])
    assert done.exit_code == 0
    assert "not simulated: equipment of dialect 'exec' is not simulated, only line and lsq" in done.stdout
    assert "beep\t" in done.stdout


def test_a_double_effect_ends_with_1(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown as wrong."""
    monkeypatch.setattr("worlds.own.equipment.SHARES", {Fault.DUPLICATE_REQUEST: 1.0})
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "10", "-q"])
    assert done.exit_code == 1
    assert "WRONG, please report this: play " in done.stdout


def test_a_wrong_file_ends_with_3_and_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is played, as everywhere else."""
    (project / "profiles/pump.yaml").write_text(PUMP.replace("kind: trigger", "kind: tigger", 1))
    with pytest.raises(FileProblems):
        RUNNER.invoke(app, ["-i", str(project / "inventory.yaml")], catch_exceptions=False)
    assert ackonce(["simulate", "world", "-i", str(project / "inventory.yaml")]) == 3
    assert "pump.yaml:21:24: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile-dir", "x"], "--profile-dir and --loss go with -i FILE"),
        (["--loss", "5"], "--profile-dir and --loss go with -i FILE"),
        (["-i", "x", "--seed", "5"], "-i FILE goes with --seeds"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(words: list[str], said: str) -> None:
    """Exit 2, before anything is read."""
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 2
    assert said in done.stderr
