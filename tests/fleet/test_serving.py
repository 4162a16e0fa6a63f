"""Does `ackonce serve` do the duties for the fleet where its project has a table for it, and only there?"""

import asyncio
import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from agent.cli.exit_codes import Exit
from agent.cli.main import run
from agent.fleet.prober import Prober
from agent.fleet.watched import watched
from agent.plans import serve
from agent.settings import resolve
from agent.store.sqlite import FILE_NAME
from devices.problems import FileProblems
from tests.fleet.crew import Crew, register

INVENTORY = """\
devices:
  d1: {profile: demo/controller, url: "tcp://127.0.0.1:1"}
  d2: {profile: demo/controller-line, url: "serial:/dev/ttyS9"}
"""


@pytest.fixture
def folder(quick_home: Path) -> Path:
    """A project with an inventory and a place in the fleet."""
    (quick_home / "inventory.yaml").write_text(INVENTORY)
    (quick_home / "ackonce.toml").write_text('home = "state"\nagent = "gw1"\n[fleet]\nsite = "porto"\n')
    return quick_home


def serving(folder: Path, *words: str) -> int:
    """Type `ackonce serve`."""
    return run(["serve", "-C", str(folder), "--json", *words])


def agents(folder: Path) -> list[tuple[str, str, str]]:
    """Name, site and state of every agent that is on record."""
    with sqlite3.connect(folder / "state" / FILE_NAME) as store:
        return [*store.execute("SELECT name, site, state FROM agent")]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Probing ends the process as a person would; the targets of each prober are noted."""
    monkeypatch.setattr(serve, "NAP_S", 0.01)
    probed: list[str] = []

    async def probe(self: Prober) -> None:
        probed.extend(target.name for target in self._devices)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(Prober, "run", probe)
    return probed


def test_a_table_makes_it_an_agent(folder: Path, brief: list[str]) -> None:
    """It registers under its name, probes its inventory, and is down when it has ended as a person wanted."""
    assert serving(folder) == Exit.OK
    assert sorted(brief) == ["d1", "d2"]
    assert agents(folder) == [("gw1", "porto", "down")]


def test_without_a_table_it_is_none(folder: Path, brief: list[str]) -> None:
    """Without the table, and for a timer, jobs are all that it looks after."""
    assert serving(folder, "--once") == Exit.OK
    (folder / "ackonce.toml").write_text('home = "state"\n')
    assert serving(folder, "--once") == Exit.OK
    assert (brief, agents(folder)) == ([], [])


def test_a_name_that_is_taken(folder: Path, brief: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Where another process has the name, nothing begins: exit 8, and what to type."""
    crew = Crew(folder / "state")
    register(crew.agent("gw1"))
    try:
        assert serving(folder) == Exit.HELD
    finally:
        crew.close()
    out, err = capsys.readouterr()
    assert "the agent name gw1 is taken by process" in err
    assert "ACKONCE_AGENT" in json.loads(out)["message"]
    assert brief == []


def test_a_table_that_makes_no_sense(folder: Path, brief: list[str]) -> None:
    """A mistake in the table is one of a file, and nothing begins."""
    (folder / "ackonce.toml").write_text('home = "state"\n[fleet]\nprobe = "soon"\n')
    assert (serving(folder), brief) == (Exit.FILE, [])


# --- which devices ----------------------------------------------------------------------------------------------------


def found(folder: Path, inventory: str) -> tuple[list[str], list[str], tuple[str, ...]]:
    """What is probed, what has a route, and what is told, for an inventory."""
    (folder / "inventory.yaml").write_text(inventory)
    here = watched(resolve(project=folder, environ={}))
    return [target.name for target in here.targets], [*here.routes], here.unprobed


def test_the_whole_inventory(folder: Path) -> None:
    """Every device has a route; one whose profile is gone, or that has none, is told and not probed, the others are."""
    more = '  d3: {profile: nobody/knows, url: "tcp://a:1"}\n  d4: {url: "tcp://a:2"}\n'
    targets, routes, told = found(folder, INVENTORY + more)
    assert (targets, routes) == (["d1", "d2"], ["d1", "d2", "d3", "d4"])
    assert [text.partition(":")[0] for text in told] == ["d3", "d4"]
    assert all(": not probed: " in text for text in told)


def test_one_device_under_two_names(folder: Path) -> None:
    """A device that is in the inventory twice is probed under its first name, and that keeps nobody else unwatched."""
    more = '  again: {profile: demo/controller-line, url: "tcp://127.0.0.1:7002"}\n'
    inventory = f'devices:\n  d1: {{profile: demo/controller-line, url: "tcp://127.0.0.1:7002"}}\n{more}'
    inventory += '  other: {profile: demo/controller-line, url: "tcp://127.0.0.1:7003"}\n'
    targets, routes, told = found(folder, inventory)
    assert (targets, routes) == (["d1", "other"], ["d1", "again", "other"])
    assert told == ("again is not probed: it is the same device as d1 (tcp://127.0.0.1:7002)",)


def test_what_opening_would_boot(folder: Path) -> None:
    """A board that boots when its port is opened keeps its route, and is told as not probed."""
    (folder / "boots.yaml").write_text(
        "profile: own/boots\nsources: [\"me\"]\ndialect: line\nline: {ack: '^OK ?(?P<value>.*)$'}\n"
        "opening_resets: true\nsettings:\n  x: {type: int, read: GET x}\n"
        "commands:\n  - {name: BEEP, send: BEEP, kind: trigger}\n"
    )
    inventory = f'devices:\n  d1: {{profile: {folder / "boots.yaml"}, url: "serial:/dev/ttyS9"}}\n'
    targets, routes, told = found(folder, inventory)
    assert (targets, routes, told) == ([], ["d1"], ("d1 is not probed: opening its port boots it",))


def test_no_inventory_and_a_bad_one(folder: Path) -> None:
    """Without an inventory an agent leads nowhere; one that makes no sense is said at once."""
    with pytest.raises(FileProblems):
        found(folder, "devices: 5\n")
    (folder / "inventory.yaml").unlink()
    here = watched(resolve(project=folder, environ={}))
    assert (here.targets, here.unprobed) == ((), ())
