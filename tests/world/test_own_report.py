"""Which additions are tried, what is said about them, and how does the run end?"""

import json
import re
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
from worlds.own.edits import edits
from worlds.own.plays import Weather
from worlds.own.report import fill, pages

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
    return [str(each).split(":")[0] for each in edits(target, profile.command(name))]


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("speed", ["add boot_read", "add durable", "add reply on 'speed'", "change attempts"]),
        ("faster", ["add absolute_form", "add verify"]),
        ("trim", ["add boot_read", "add durable"]),
        ("dose", ["add boot_read", "add durable", "add min and max, or clamps", "add reply on 'runs'"]),
        ("beep", ["add verify"]),
    ],
)
def test_only_what_makes_sense_is_tried(tmp_path: Path, name: str, offered: list[str]) -> None:
    """A gap in the evidence of the command's own policy, and nothing that is there already."""
    assert _offered(profile_of(tmp_path, PUMP), name) == offered


def test_settled_readings_are_tried_where_a_stream_outlives_reopening(tmp_path: Path) -> None:
    """Elsewhere reopening cuts what is owed."""
    assert "add timing" in _offered(profile_of(tmp_path, PUMP), "trim", stays=True)


def test_a_wish_for_no_retry_is_taken_away_with_what_is_added(tmp_path: Path) -> None:
    """Evidence would not be used under it; and an unequal form may only lack a word."""
    profile = profile_of(tmp_path, SCOPE)
    first = next(edits(target_of(profile), profile.command("nudge")))
    assert str(first) == "change absolute_form: {command: set gain, …} to {…, equivalent: true}, no 'policy'"
    changed = first.target.profile.command("nudge")
    assert changed.policy is None
    assert changed.absolute_form is not None
    assert changed.absolute_form.equivalent


def test_a_durable_value_needs_no_boot_count(tmp_path: Path) -> None:
    """A restart does not change it."""
    profile = replace(profile_of(tmp_path, SCOPE), boot_read=None)
    assert "add boot_read" not in _offered(profile, "flip")


def test_model_and_firmware_are_not_compared_with_themselves() -> None:
    """The simulated equipment has none of its own, and would be taken for a wrong device."""
    profile = replace(find("demo/controller", []), model="ACME", firmware=">=9")
    [page] = pages([target_of(profile)])
    assert [line.tally.words[Outcome.APPLIED] for line in fill(page, Weather(0.0, 2))] == [2] * 6


def test_equipment_with_numbers_needs_no_evidence() -> None:
    """Its doubts come from restarts, against which nothing in a profile helps; but a copy may follow a copy."""
    assert _offered(find("demo/controller", []), "ROTATE log") == ["change attempts"]


def test_a_reading_that_shows_only_the_first_execution_is_a_gap() -> None:
    """A reset that is verified by the value 0 may have been at 0 before."""
    profile = find("demo/controller-line", [])
    reset = profile.command("RESET counter")
    assert reset.verify is not None
    assert not any("verify" in each for each in _offered(profile, "RESET counter"))
    weak = replace(reset, verify=replace(reset.verify, setting="counter", expect="0"))
    commands = tuple(weak if each is reset else each for each in profile.commands)
    assert "change verify" in _offered(replace(profile, commands=commands), "RESET counter")


def test_devices_that_would_play_alike_share_a_page(project: Path) -> None:
    """Of one profile, on one sort of link."""
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "2", "-q"])
    assert done.exit_code == 0, done.output
    assert "acme/pump over connections of their own: p1, p2\n" in done.stdout
    assert "acme/pump over a stream that outlives reopening: s1\n" in done.stdout


def test_people_read_how_often_why_and_what_would_help(project: Path) -> None:
    """The number of runs and the unit, a line of headings, the table; then reasons and what was tried."""
    _only_beep(project)
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "40", "-q"])
    lines = done.stdout.splitlines()
    assert lines[1] == "each command run 40 times, 20 % of the answers lost; all figures are % of the runs"
    head, row = lines[2].split("\t"), lines[3].split("\t")
    assert (head[:4], len(head)) == (["command", "policy", "runs", "applied %"], len(row))
    assert row[:3] == ["beep", "no-retry", "40"]
    assert sum(float(row[head.index(f"{word} %")]) for word in _SHARES) == pytest.approx(100, abs=0.3)
    assert " %: no ack, and the command may neither be repeated nor read back" in done.stdout
    assert re.search(r"\n  helps, .* in doubt, 0.0 % left: add verify: {setting: …, expect: ", done.stdout)
    assert "    only if it is true: a setting counts the executions" in done.stdout
    assert lines[-2].startswith("The simulated equipment believes the profiles")
    assert "more than 2 standard errors" in lines[-1]


_SHARES = ("applied", "not applied", "in doubt", "refused", "not sent")


def test_on_a_terminal_the_figures_are_a_table(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its headings once, and the same unit."""
    _only_beep(project)
    monkeypatch.setattr("agent.cli.output.on_terminal", lambda: True)
    lines = RUNNER.invoke(
        app, ["-i", str(project / "inventory.yaml"), "--seeds", "3", "-q"]
    ).stdout.splitlines()
    assert "all figures are % of the runs" in lines[1]
    assert lines[2].startswith("command  policy    runs  applied %")
    assert "refused" not in lines[2]  # it would be 0.0 all the way down
    assert lines[3].startswith("beep     no-retry  3")
    assert "\t" not in "".join(lines)


def test_what_is_empty_is_a_dash(project: Path) -> None:
    """A command for which no argument fits has no figures."""
    path = project / "profiles/pump.yaml"
    _only_beep(project)
    path.write_text(
        path.read_text().replace(
            '  - {name: beep, kind: trigger, send: "BEEP"}',
            "  - {name: n, kind: trigger, args: [{name: a, type: decimal, min: 0.12, max: 0.13}], send: 'N {a:.1f}'}",
        )
    )
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "3", "-q"])
    assert done.exit_code == 0, done.output
    assert "\nn\tno-retry\t0" + 6 * "\t-" + "\nn: not run, no sample argument fits it\n" in done.stdout


def test_few_doubts_are_not_explained_by_chance(project: Path) -> None:
    """In two or three runs nothing can be shown to help, and that is said."""
    _only_beep(project)
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "3", "-q", "--loss", "50"])
    assert "so few doubts cannot show whether anything helps; run more of them with --seeds" in done.stdout
    assert "helps, " not in done.stdout


def test_json_is_one_object_for_each_page(project: Path) -> None:
    """All figures, nothing else on stdout."""
    _only_beep(project)
    done = RUNNER.invoke(app, ["-i", str(project / "inventory.yaml"), "--seeds", "20", "-q", "--json"])
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["devices"], second["devices"]) == (["p1", "p2"], ["s1"])
    assert (first["wrong"], first["loss_percent"]) == ([], 20)
    beep = first["commands"][-1]
    assert beep["plays"] == 20 == sum(beep[word] for word in _WORDS)
    assert sum(beep["reasons"].values()) == beep["in_doubt"]
    best = beep["tried"][0]
    assert (best["add"], best["change"]) == (['verify: {setting: …, expect: "before + 1"}'], [])
    assert best["helps"]


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


def test_a_double_effect_ends_with_1_whoever_listens(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that has gone does not hide it."""

    def gone(_: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("worlds.own.equipment.SHARES", {Fault.DUPLICATE_REQUEST: 1.0})
    monkeypatch.setattr("agent.cli.output.forget_stdout", lambda: None)
    monkeypatch.setattr("agent.cli.output.put", gone)
    assert ackonce(["simulate", "world", "-i", str(project / "inventory.yaml"), "--seeds", "10", "-q"]) == 1
    capsys.readouterr()


def test_a_wrong_file_ends_with_3_and_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is played, as everywhere else."""
    (project / "profiles/pump.yaml").write_text(PUMP.replace("kind: trigger", "kind: tigger", 1))
    with pytest.raises(FileProblems):
        RUNNER.invoke(app, ["-i", str(project / "inventory.yaml")], catch_exceptions=False)
    assert ackonce(["simulate", "world", "-i", str(project / "inventory.yaml")]) == 3
    assert "pump.yaml:21:24: " in capsys.readouterr().err
