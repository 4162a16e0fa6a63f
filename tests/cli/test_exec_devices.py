"""Devices behind programs of one's own: what the inventory says of them, and what a person reads."""

import os
from pathlib import Path

import pytest

from agent.clock import Clock
from agent.settings import Settings
from agent.targets import choose_targets
from devices.scaffold import scaffold
from tests.agent.exec_place import opens
from tests.cli.process_rig import COMMAND, Running
from tests.cli.project import LINE_PROFILE, Project

VERIFIED = 'verify: {setting: level, expect: "before + 1"}'
SLOW_SCRIPT = """#!/bin/sh
# DEVICE COMMAND: it waits at its gate, where there is one, before it acts.
cd "$(dirname "$0")"
if [ "$2" = "get level" ]; then cat level; exit; fi
if [ -p gate ]; then echo "$2" >acting; read -r go <gate; fi
echo "$2" >>effects
echo $(($(cat level) + 1)) >level
"""
SCRIPT = """#!/bin/sh
# DEVICE COMMAND
cd "$(dirname "$0")"
echo "$1|$2" >>ledger
[ -f ending ] && . ./ending
case "$2" in "get level") echo 6 ;; esac
"""


@pytest.fixture
def ledger(project: Project) -> Path:
    """The profile that `profile new` begins, with its program; what that was asked to do."""
    script = project.put("profiles/push.sh", SCRIPT)
    script.chmod(0o755)
    project.put("profiles/push.yaml", scaffold("acme/push", "exec"))
    project.put("profiles/line.yaml", LINE_PROFILE)
    return script.parent / "ledger"


def _inventory(project: Project, **urls: str) -> Path:
    devices = "".join(f'  {name}: {{profile: acme/push, url: "{url}"}}\n' for name, url in urls.items())
    return project.put("inventory.yaml", f"devices:\n{devices}")


def _end_with(ledger: Path, shell: str) -> None:
    (ledger.parent / "ending").write_text(f"{shell}\n")


def test_a_device_has_the_address_that_its_program_calls_it(project: Project, ledger: Path) -> None:
    """Two of them get their commands, each under the name in its address."""
    _inventory(project, p1="exec:pump-1", p2="exec:pump-2")
    ended = project.type("send", "p*", "start", "--yes", "--json")
    assert [(each["device"], each["route"], each["outcome"]) for each in ended.records] == [
        ("p1", "exec:pump-1", "applied"),
        ("p2", "exec:pump-2", "applied"),
    ]
    assert ledger.read_text() == "pump-1|start\npump-2|start\n"
    assert project.type("probe", "p1").code == 0
    assert [each["url"] for each in project.type("devices", "--json").records] == [
        "exec:pump-1",
        "exec:pump-2",
    ]


def test_each_run_stands_for_itself(project: Project) -> None:
    """Behind a program nothing old can be answered on a new connection, and nothing is waited out."""
    path = _inventory(project, p1="exec:pump-1", p2="serial:/dev/ttyS9")
    project.put("profiles/push.yaml", scaffold("acme/push", "exec"))
    settings = Settings(project.home, project.folder, path, None, "desk", "ana")
    assert [each.target.survives_reopen for each in choose_targets(settings, ["p*"], None)] == [False, True]


def test_an_address_is_one_device(project: Project, ledger: Path) -> None:
    """Two names for it in one order would make a command count twice."""
    _inventory(project, p1="exec:pump-1", p2="exec:pump-1")
    ended = project.type("send", "p*", "start", "--yes")
    assert ended.code == 2
    assert "p1 and p2 are one device (exec:pump-1)" in ended.err
    assert not ledger.exists()


def test_an_address_may_be_typed(project: Project, ledger: Path) -> None:
    """With its profile, as every other one."""
    ended = project.type("send", "exec:pump-1", "start", "--yes", "--profile", "acme/push")
    assert (ended.code, ledger.read_text()) == (0, "pump-1|start\n")
    ended = project.type("send", "exec:-rf", "start", "--yes", "--profile", "acme/push")
    assert ended.code == 2
    assert "'exec:-rf' must be exec:NAME, such as exec:pump-7" in ended.err
    ended = project.type("get", "exec:pump-1", "offset", "--profile", "test/line")
    assert ended.code == 2
    assert (
        "exec:pump-1 is the address of a device behind a program, and its profile test/line is of"
        in ended.err
    )


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("inventory.yaml", 'devices:\n  d1: {profile: test/line, url: "exec:d1"}\n', "2:33"),
        (
            "inventory.yaml",
            "lines:\n  l: {url: exec:d1}\ndevices:\n  d1: {profile: test/line, line: l}\n",
            "2:12",
        ),
        ("devices.csv", "name,profile,url\nd1,test/line,exec:d1\n", "2:14"),
    ],
)
def test_an_address_for_programs_only(
    project: Project, ledger: Path, name: str, text: str, place: str
) -> None:
    """Where the profile speaks another dialect the line of the inventory that gives the address is named."""
    path = project.put(name, text)
    for words in (("send", "d1", "BEEP", "--yes"), ("get", "d1", "offset"), ("probe", "d1")):
        ended = project.type(*words, "-i", str(path))
        assert ended.code == 3
        assert (
            f"{path}:{place}: exec:d1 is the address of a device behind a program, and its profile test/line is "
            in (ended.err)
        )
    assert not ledger.exists()


def test_what_is_no_name_for_a_program(project: Project) -> None:
    """A wrong address is a problem in its place."""
    path = _inventory(project, p1="exec:--force")
    ended = project.type("devices")
    assert ended.code == 3
    assert f"{path}:2:" in ended.err
    assert "'exec:--force' must be exec:NAME" in ended.err


@pytest.mark.usefixtures("ledger")
def test_a_program_that_the_system_refuses(project: Project) -> None:
    """Nothing was sent, with the reason; there is no doubt that blocks the device."""
    _inventory(project, p1="exec:pump-1")
    project.put("profiles/push.sh", SCRIPT.replace("\n", "\r\n"))
    ended = project.type("send", "p1", "start", "--yes")
    assert ended.code == 7
    assert "p1: nothing of 'start' was sent: it never reached the device" in ended.err
    assert "its first line ends in CR LF" in ended.err
    assert project.type("doubt", "list").out == ""


def test_why_a_program_failed_is_told(project: Project, ledger: Path) -> None:
    """The last line of stderr stands in the word, at once and in the story of the doubt."""
    _inventory(project, p1="exec:pump-1")
    _end_with(ledger, "echo 'ssh: connect to host x port 22: Connection refused' >&2; exit 255")
    ended = project.type("send", "p1", "start", "--yes")
    why = "the program ended with exit 255: ssh: connect to host x port 22: Connection refused"
    assert ended.code == 5
    assert f"no ack ({why})" in ended.err
    [doubt] = project.type("doubt", "list", "--json").records
    assert f"no ack ({why})" in project.type("doubt", "show", doubt["op"]).out


def test_more_than_a_value(project: Project, ledger: Path) -> None:
    """A program that prints more than the value is told of on one line, once and not at length."""
    _inventory(project, p1="exec:pump-1")
    _end_with(ledger, "seq 1 100; exit 0")
    ended = project.type("get", "p1", "level", "-q")
    assert ended.code == 7
    [line] = ended.err.splitlines()
    assert line.startswith(
        r"ackonce: p1: level: the device answered a value that is not a whole number: '1\n2\n3\n"
    )
    assert len(line) < 300


def test_a_killed_agent_and_its_program(
    project: Project, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `kill -9` the program runs on: it is ended, and the same command under the same key counts once."""
    _inventory(project, p1="exec:pump-1")
    profile = scaffold("acme/push", "exec").replace("settle_s: 0.2", "settle_s: 0")
    project.put("profiles/push.yaml", f"{profile}  - {{name: up, kind: relative, send: up, {VERIFIED}}}\n")
    acting, gate, effects = (ledger.parent / name for name in ("acting", "gate", "effects"))
    os.mkfifo(acting)
    os.mkfifo(gate)
    (ledger.parent / "level").write_text("6\n")
    project.put("profiles/push.sh", SLOW_SCRIPT)
    effects.touch()
    words = ("send", "p1", "up", "--yes", "--key", "K7")
    killed = Running([COMMAND, *words], cwd=project.folder)
    with acting.open() as told:
        assert told.read() == "up\n"
    killed.process.kill()
    killed.end()
    shut = gate.rename(ledger.parent / "shut")  # the next one need not wait
    waits: list[float] = []

    async def no_time_to_wait(_clock: Clock, seconds: float, _stopped: object) -> bool:
        waits.append(seconds)
        return True

    monkeypatch.setattr(Clock, "wait", no_time_to_wait)
    again = project.type(*words, "-v")
    assert not opens(shut)
    assert (again.code, effects.read_text()) == (0, "up\n")
    assert "the program of an earlier run still runs (pid " in again.err
    assert max(waits) >= 10.0
