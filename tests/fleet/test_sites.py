"""Real agents as processes, with loopback addresses as their sites: what do they make of cuts, healing and kills?

Everything is waited for by asking `ackonce fleet status --json` until the word is there, a bounded number of seconds.
How soon it can be follows from the papers: five misses of a probe each, written within a second. What they give in
minutes (no report for 180 s, no sign of life for 30 s) is not waited for: an agent that is killed is known by its
neighbours' misses, none of which began before its last sign of life.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.cli.exit_codes import Exit
from agent.cli.main import run
from tests.cli.process_rig import COMMAND
from worlds.fleet import player
from worlds.fleet.cast import cast_of
from worlds.fleet.world import POLL_S, World

PATIENCE_S = 40.0
"""A word that takes longer never comes, on a busy machine either."""
EXCLUDED = {"unreachable", "unreachable_from", "unavailable"}

Statuses = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Shell:
    """Commands typed in the folder of a world, in this process."""

    world: World
    capsys: pytest.CaptureFixture[str]

    def status(self) -> Statuses:
        """What `ackonce fleet status --json` says, by target."""
        self.capsys.readouterr()
        assert run(["fleet", "status", "--json", "-C", str(self.world.folder)]) == 0
        records = map(json.loads, self.capsys.readouterr().out.splitlines())
        return {each["target"]: each for each in records if "target" in each}

    def until(self, fits: Callable[[Statuses], bool]) -> Statuses:
        """Ask until the answer fits; fails when it does not come."""
        until_s = time.monotonic() + PATIENCE_S
        while not fits(found := self.status()):
            assert time.monotonic() < until_s, found
            assert not (gone := self.world.gone()), gone
            time.sleep(POLL_S)
        return found

    def until_it_is(self, target: str, status: str) -> Mapping[str, Any]:
        """Ask until a target has a status; what is said of it then."""
        return self.until(lambda found: found.get(target, {}).get("status") == status)[target]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A world of two agents at porto, on lines of their own, and one at lisbon, with a device of each tongue."""
    for name in [name for name in os.environ if name.startswith("ACKONCE_")]:
        monkeypatch.delenv(name)
    with World(cast_of([2, 1], 3)) as world:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(world.folder / "config"))
        yield Shell(world, capsys)


def test_cuts_healing_and_a_kill_have_their_words(shell: Shell) -> None:
    """A pair has both names, a site is named when it is the site, healing needs no command, and silence no guilty."""
    world = shell.world
    shell.until(_all_see_all_devices)

    world.cut("porto-1", "device-3")
    marked = shell.until_it_is("device:device-3", "pair_marked")
    assert marked["pair"] == ["porto-1", "device-3"]
    assert "porto-1 cannot reach device-3" in marked["reason"]
    assert marked["sees"] == ["lisbon-1", "porto-2"]

    world.cut("porto-2", "device-3")
    cut_off = shell.until_it_is("device:device-3", "unreachable_from")
    assert cut_off["vantages"] == ["porto"]
    assert cut_off["fails"] == ["porto-1", "porto-2"]
    assert cut_off["sees"] == ["lisbon-1"]

    shell.until(lambda found: len(found["agent:lisbon-1"]["sees"]) == 2)
    world.heal_everything()
    world.kill("lisbon-1")
    healed = shell.until_it_is("device:device-3", "healthy")
    assert healed["fails"] == []
    killed = shell.until_it_is("agent:lisbon-1", "no_data")
    assert "no sign of life" in killed["reason"]
    there = shell.status()
    assert not [each["target"] for each in there.values() if each["status"] in EXCLUDED]
    assert not [each["target"] for each in there.values() if each["disabled"] or each["reference"]]

    assert world.end() == []
    ended = shell.status()
    assert [ended[f"agent:{name}"]["reason"] for name in ("porto-1", "porto-2")] == ["it was stopped"] * 2
    assert {each.device.name: each.executed for each in world.accounts()} == dict.fromkeys(
        ("device-1", "device-2", "device-3"), ()
    )
    assert [{*each.messages} for each in world.accounts()] == [{"hello"}, {"read"}, {"read"}]


def _all_see_all_devices(found: Statuses) -> bool:
    """Whether everything is well, and every agent sees every device."""
    well = all(each["status"] == "healthy" for each in found.values())
    return well and sum(len(each["sees"]) for each in found.values() if each["kind"] == "device") == 9


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_world(number: signal.Signals) -> None:
    """`kill -9` of the world takes its agents with it; Ctrl-C ends them in good order, and leaves no file either."""
    words = ["--sites", "1", "--agents-per-site", "1", "--devices", "1", "--for", "60", "--json"]
    with subprocess.Popen([COMMAND, "simulate", "fleet", *words], stdout=subprocess.PIPE, text=True) as world:
        assert world.stdout is not None
        began = json.loads(world.stdout.readline())
        world.send_signal(number)
        later = [json.loads(line)["event"] for line in world.stdout]
    [pid] = began["agents"].values()
    until_s = time.monotonic() + PATIENCE_S
    while _runs(pid):
        assert time.monotonic() < until_s
        time.sleep(POLL_S)
    folder = Path(began["folder"])
    if number == signal.SIGKILL:
        shutil.rmtree(folder)
    else:
        assert (world.returncode, later) == (Exit.INTERRUPTED, ["ended", "device", "sum"])
        assert not folder.exists()


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked about does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    return False


# --- scripts ----------------------------------------------------------------------------------------------------------

SMALL = ("--sites", "1", "--agents-per-site", "1", "--devices", "1", "--json")
SCRIPT = """\
until everything healthy
say Look.
cut porto device-1
until device-1 shaky
heal porto device-1
until everything healthy
kill porto-1
start porto-1
until porto-1 healthy
status
"""


def test_a_script_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step has its event, in the order of the script; the device says at the end that nothing was done to it."""
    script = tmp_path / "s.txt"
    script.write_text(SCRIPT)
    assert run(["simulate", "fleet", "--script", str(script), *SMALL]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in events] == [
        "began", "verdict", "said", "cut", "verdict", "healed", "verdict", "killed", "started", "verdict", "shown",
        "ended", "device", "sum",
    ]  # fmt: skip
    told = [(each["target"], each["status"]) for each in events if each["event"] == "verdict"]
    healthy = ("everything", "healthy")
    assert told == [healthy, ("device-1", "shaky"), healthy, ("porto-1", "healthy")]
    [shown] = [each["records"] for each in events if each["event"] == "shown"]
    assert {each["target"] for each in shown} == {"device:device-1", "agent:porto-1"}
    assert (events[-1]["executed"], events[-2]["executed"], events[-3]["unclean"]) == (0, [], [])


def test_what_does_not_come_in_time_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The story goes on to its end, and the exit code is 1."""
    monkeypatch.setattr(player, "PATIENCE_S", 0.0)
    monkeypatch.setattr(player, "PATIENCE_PROBES", 0)
    script = tmp_path / "s.txt"
    script.write_text("until device-1 unreachable\n")
    assert run(["simulate", "fleet", "--script", str(script), *SMALL]) == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in events] == ["began", "missed", "ended", "device", "sum"]
    assert events[1]["text"] == "NOT AS EXPECTED: device-1 did not become unreachable within 0 s"
