"""`ackonce doctor`: what is wrong on this side, and what to type about it."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from agent.cli import health_files
from agent.links.ports import Port, PortHolder
from agent.store.schema import VERSION
from tests.cli.access import forbid
from tests.cli.bench import Bench
from tests.cli.project import LINE_PROFILE, Project

CHECKS = [
    "software", "environment", "home", "disk", "flush", "journal", "log", "clock", "inventory", "profiles", "ports",
]  # fmt: skip
DEVICES = "devices:\n  a: {profile: demo/controller, url: 'tcp://127.0.0.1:9'}\n"


@pytest.fixture(autouse=True)
def _some_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine than this one: it has no ports and a large disk."""
    monkeypatch.setattr("agent.links.ports.list_ports", list)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))


def _found(project: Project, *words: str) -> dict[str, dict[str, Any]]:
    return {record["check"]: record for record in project.type("doctor", "--json", *words).records}


def _all_below(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- the command --------------------------------------------------------------------------------------------------


def test_a_fresh_machine(project: Project) -> None:
    """Before the first command all is well, and looking makes neither store nor log."""
    project.put("inventory.yaml", DEVICES)
    ended = project.type("doctor", "--json")
    assert (ended.code, [record["check"] for record in ended.records]) == (0, CHECKS)
    assert {record["state"] for record in ended.records} == {"ok"}
    assert ended.err == "11 checks: 0 failed, 0 to look at.\n"
    assert not project.home.exists()


def test_lines(project: Project) -> None:
    """Without a terminal one tab-separated line per check: state, name, finding with what to type; -q hides the sum."""
    ended = project.type("doctor", "-q")
    assert [line.split("\t")[1] for line in ended.lines] == CHECKS
    [inventory] = [line for line in ended.lines if "\tinventory\t" in line]
    assert inventory.startswith("warn\tinventory\tno inventory.yaml in ")
    assert inventory.endswith("Next: Give one with -i FILE, or a URL with --profile NAME")
    assert (ended.code, ended.err) == (0, "")


def test_a_terminal_has_the_advice_below(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the findings stand in columns, and what to type on a line of its own."""
    monkeypatch.setattr("agent.cli.output.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    lines = project.type("doctor").lines
    at = next(
        index for index, line in enumerate(lines) if line.startswith("warn  inventory      no inventory.yaml")
    )
    assert lines[at + 1] == f"{'':<21}Next: Give one with -i FILE, or a URL with --profile NAME"


def test_json(project: Project) -> None:
    """One object per check: its state, what it says, what to type, and the exit code that it stands for."""
    record = _found(project)["inventory"]
    assert record == {
        "check": "inventory",
        "state": "warn",
        "says": f"no inventory.yaml in {project.folder}, so devices have no names here",
        "next": "Give one with -i FILE, or a URL with --profile NAME",
        "code": 0,
    }


def test_a_used_store_is_left_as_it_is(bench: Bench) -> None:
    """Looking at a store changes no byte of it, leaves no file, and asks no device."""
    bench.device(timeout="5s")
    bench.send("d1", "BEEP")
    before = _all_below(bench.project.home)
    connections = bench.devices[0].connections
    found = _found(bench.project)
    assert [record for record in found.values() if record["state"] != "ok"] == []
    assert found["journal"]["says"].endswith(f"schema {VERSION}, WAL")
    assert found["leases"]["says"] == "no device is held"
    assert found["doubts"]["says"] == "in doubt: 0, cut off: 0, under way: 0"
    assert " kB in " in found["log"]["says"]
    assert "a flush takes " in found["flush"]["says"]
    assert _all_below(bench.project.home) == before
    assert bench.devices[0].connections == connections


@pytest.mark.parametrize(
    ("spoil", "check", "code"),
    [
        (lambda p: p.put("ackonce.toml", "hom = 'x'\n"), "configuration", 3),
        (lambda p: p.put("inventory.yaml", "devices: {a: {url: 1}}\n"), "inventory", 3),
        (lambda p: p.put("profiles/x.yaml", "profile: a/b\n"), "profiles", 3),
        (
            lambda p: p.put("inventory.yaml", "devices: {a: {profile: no/such, url: 'tcp://h:1'}}\n"),
            "profiles",
            3,
        ),
        (lambda p: p.home.write_text("x"), "home", 7),
        (lambda p: (p.home.mkdir(), (p.home / "journal.db").write_text("x" * 5000)), "journal", 7),
    ],
)
def test_the_exit_code_is_that_of_a_command(project: Project, spoil: Any, check: str, code: int) -> None:
    """What fails ends with the code that commands would end with because of it, and says what to type."""
    project.put("inventory.yaml", DEVICES)
    spoil(project)
    ended = project.type("doctor", "--json")
    failed = [record for record in ended.records if record["state"] == "fail"]
    assert check in [record["check"] for record in failed]
    assert (ended.code, {record["code"] for record in failed}) == (code, {code})
    assert all(record["next"] for record in failed)


def test_a_setting_that_makes_no_sense(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A senseless variable is a finding with exit 2; what does not depend on it was looked at."""
    monkeypatch.setenv("ACKONCE_TIMEOUT", "soon")
    ended = project.type("doctor", "--json")
    assert (ended.code, [record["check"] for record in ended.records]) == (2, [*CHECKS[:2], "configuration"])
    assert "ACKONCE_TIMEOUT" in ended.records[-1]["says"]


# --- files and ports ----------------------------------------------------------------------------------------------


def test_own_profiles_count(project: Project) -> None:
    """Profiles of the project are loaded like the shipped ones, and what is wrong in them has its place."""
    project.put("profiles/own.yaml", LINE_PROFILE)
    project.put("inventory.yaml", "devices: {a: {profile: test/line, url: 'tcp://h:1'}}\n")
    good = _found(project)["profiles"]
    project.put("profiles/own.yaml", LINE_PROFILE.replace("kind: absolute", "kind: abslute"))
    bad = _found(project)["profiles"]
    assert (good["state"], bad["state"]) == ("ok", "fail")
    assert bad["says"].startswith(f"{project.folder}/profiles/own.yaml:8:11: ")
    assert bad["says"].endswith("more)")


SERIAL = "devices:\n  a: {{profile: demo/controller, url: 'serial:{path}'}}\n"


def _ports(project: Project, path: Path) -> dict[str, Any]:
    project.put("inventory.yaml", SERIAL.format(path=path))
    return _found(project)["ports"]


def test_a_port_that_is_not_there(project: Project, tmp_path: Path) -> None:
    """A port that the inventory names and the machine lacks fails."""
    found = _ports(project, tmp_path / "ttyUSB0")
    assert (found["state"], found["says"]) == ("fail", f"not there: {tmp_path}/ttyUSB0")


def test_a_path_that_is_no_port(project: Project) -> None:
    """What the inventory calls a port and is none fails as that, whoever has it open."""
    found = _ports(project, Path("/dev/null"))
    assert (found["state"], found["says"]) == ("fail", "not a serial port: /dev/null")
    assert found["next"] == "Correct its URL: ackonce ports"


def test_a_profile_that_nobody_has(project: Project) -> None:
    """An unknown profile is told with the device that names it, at its line, and the list of those that there are."""
    project.put("inventory.yaml", "devices:\n  a:\n    url: 'tcp://h:1'\n    profile: demo/controler\n")
    found = _found(project)["profiles"]
    assert found["says"].startswith(
        f"{project.folder}/inventory.yaml:4:14: device a: no profile of that name in "
    )
    assert "Did you mean 'demo/controller'?" in found["says"]
    assert found["next"].endswith("ackonce profile list")


def test_a_port_without_permission(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named port that may not be opened fails, and the group to join is named; an unnamed one only warns."""
    port = tmp_path / "ttyUSB0"
    port.touch()
    monkeypatch.setattr("agent.links.port_trouble.may_be_port", lambda _: True)
    forbid(monkeypatch, port)
    named = _ports(project, port)
    assert (named["state"], named["says"]) == ("fail", f"no permission: {port}")
    assert (
        named["next"] == f"See who may: ls -lL {port}"
    )  # nobody joins the group of root, nor one that may not
    other = Port(str(port), None, None, None, None, None)
    monkeypatch.setattr("agent.links.ports.list_ports", lambda: [other])
    project.put("inventory.yaml", DEVICES)
    assert _found(project)["ports"]["state"] == "warn"


def test_a_port_in_use(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named port that another program has open is told with that program."""
    port = tmp_path / "ttyUSB0"
    port.touch()
    monkeypatch.setattr("agent.links.port_trouble.may_be_port", lambda _: True)
    monkeypatch.setattr(
        "agent.links.ports.holder_of", lambda _: PortHolder(7, "minicom", "minicom -D x", ours=False)
    )
    found = _ports(project, port)
    assert (found["state"], found["says"]) == ("warn", f"in use: {port}, open in process 7 (minicom -D x)")


def test_ports_that_are_there(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is plugged in is listed."""
    monkeypatch.setattr(
        "agent.links.ports.list_ports", lambda: [Port("/dev/null", None, None, None, None, None)]
    )
    found = _found(project)["ports"]
    assert (found["state"], found["says"]) == ("ok", "there: /dev/null")


def test_a_group_to_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group may open the port, it is the one to join."""
    port = tmp_path / "ttyUSB0"
    port.touch()
    status = SimpleNamespace(st_mode=0o660, st_gid=20)
    monkeypatch.setattr("agent.links.port_trouble.Path", lambda _: SimpleNamespace(stat=lambda: status))
    monkeypatch.setattr("grp.getgrgid", lambda _: SimpleNamespace(gr_name="dialout"))
    assert health_files._permission(str(port)) == "sudo usermod -aG dialout $USER, then log in anew"


def test_a_group_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system does not name the group, the advice is to look."""

    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr("grp.getgrgid", unknown)
    assert health_files._permission("/dev/null") == "See who may: ls -lL /dev/null"


def test_text_from_files_is_escaped(project: Project) -> None:
    """A path or key with control characters cannot reach the terminal."""
    project.put("inventory.yaml", 'devices: {"a\\e[31m": {url: 1}}\n')
    assert "\x1b" not in project.type("doctor").out
    assert json.loads(project.type("doctor", "--json").lines[-3])["check"] == "inventory"
