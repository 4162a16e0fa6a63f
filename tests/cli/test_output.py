"""How is it printed? Results on stdout, all else on stderr, and nothing from outside is ever interpreted."""

import os
import pty
import re
from collections.abc import Callable
from typing import Any

import pytest

from agent.cli import layout, output
from simulator.equipment import Controller
from simulator.equipment.machine import Result, Verdict
from tests.cli.bench import Bench
from tests.cli.process_rig import ProcessRig
from tests.cli.project import Project

StartRig = Callable[..., ProcessRig]
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]50 %[/]\ttab\nsecond line\u202e"


def speak(bench: Bench, text: str, verdict: Verdict = Verdict.OK) -> None:
    """Let the newest device answer every command and read with `text`."""

    def answer(_self: Controller, _text: str) -> Result:
        return Result(verdict, text)

    machine: Any = bench.devices[-1].device._effects._equipment
    machine.execute = answer.__get__(machine)
    machine.read = answer.__get__(machine)


@pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.REFUSED])
def test_device_text_is_never_interpreted(bench: Bench, verdict: Verdict) -> None:
    """Escape sequences, markup and line ends of a device stay text, on stdout, stderr, in JSON and in the log."""
    bench.device(timeout="5s")
    speak(bench, HOSTILE, verdict)
    plain = bench.type("send", "d1", "BEEP", "--yes", "-vv")
    assert len(plain.lines) == 1
    assert plain.lines[0].count("\t") == 7
    as_json = bench.type("send", "d1", "BEEP", "--yes", "--json")
    [record] = as_json.records
    assert HOSTILE in (record["value"] or record["message"])
    log = bench.type("log", "-v")
    shown = bench.type("doubt", "show", record["op"])
    for ended in (plain, as_json, log, shown):
        for text in (ended.out, ended.err):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
    assert "[bold red]50 %[/]" in plain.out


def test_without_a_terminal_nothing_is_cut(bench: Bench) -> None:
    """Tab-separated lines of any length, without headings, colour or padding."""
    bench.device(timeout="5s")
    speak(bench, "x" * 450)
    [line] = bench.type("send", "d1", "BEEP", "--yes").lines
    cells = line.split("\t")
    assert cells[:6] == ["d1", "BEEP", "applied", "ack", "x" * 450, "1"]
    name = "n" * 900
    bench.enter(name, '{profile: demo/controller, url: "tcp://127.0.0.1:9"}')
    assert name in bench.type("devices").out


def test_how_much_stderr_tells(bench: Bench) -> None:
    """Warnings by default, attempts with -v, bytes with -vv, and nothing at all with -q."""
    bench.device("cmd 1: drop_ack; cmd 3: drop_ack; cmd 5: drop_ack; cmd 7: drop_ack")
    told = [bench.type("send", "d1", "BEEP", "--yes", *more).err for more in ([], ["-v"], ["-vv"], ["-q"])]
    assert re.fullmatch(r"\[WARN\] seq=\d+ attempt=1 timeout\n", told[0])
    assert "cmd=BEEP attempt=2 sent" in told[1]
    assert "attempt=2 ack (device: duplicate, ignored)" in told[1]
    assert "[DEBUG] >" not in told[1]
    assert "BEEP" in next(
        line for line in told[2].splitlines() if line.startswith("[DEBUG] >") and "BEEP" in line
    )
    assert told[3] == ""


@pytest.mark.parametrize("no_colour", [False, True])
def test_on_a_terminal(start_rig: StartRig, *, no_colour: bool) -> None:
    """A terminal gets a table with headings; NO_COLOR takes the colours, and 80 columns hold every word."""
    rig = start_rig(timeout="10s")
    ours, theirs = pty.openpty()
    environ = {"COLUMNS": "80", "TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_colour else {})
    sender = rig.start("send", "d1", "SET", "interval", "3", stdout=theirs, environ=environ)
    os.close(theirs)
    ended = sender.end()
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert ended.code == 0
    assert ("\x1b[3" in shown) is False
    for word in ("device", "outcome", "applied", "d1"):
        assert word in shown
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()) <= 80


def test_a_reader_that_goes_away(start_rig: StartRig) -> None:
    """`| head -0` neither stops the devices that are still to come nor changes the exit code."""
    rig = start_rig("cmd 1: refuse", timeout="10s")
    for json in ([], ["--json"]):
        read, write = os.pipe()
        os.close(read)
        sender = rig.start("send", "d1", "SET", "interval", "3", *json, stdout=write)
        os.close(write)
        assert sender.end().code == (0 if json else 1)
    assert rig.device.executed == {"SET interval 3": 1}


def test_an_output_that_is_full(start_rig: StartRig) -> None:
    """A full disk under stdout: said on stderr, the exit code stays that of the command; a read's is 7."""
    rig = start_rig(timeout="10s")
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a path of ours
        sent = rig.run("send", "d1", "SET", "interval", "3", "--json", stdout=full)
        read = rig.run("get", "d1", "interval", stdout=full)
    assert (sent.code, read.code) == (0, 7)
    assert "the output cannot be written" in sent.err
    assert "the output cannot be written" in read.err


@pytest.mark.parametrize("words", ["get d1 offset", "devices", "--help", "explain d1 BEEP"])
def test_a_reader_that_has_gone_before(start_rig: StartRig, words: str) -> None:
    """A closed pipe changes no word: what was asked for is true, so the exit code is 0."""
    rig = start_rig(timeout="5s")
    reading, writing = os.pipe()
    os.close(reading)
    ended = rig.run(*words.split(), stdout=writing)
    os.close(writing)
    assert (ended.code, ended.err) == (0, "")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let stdout be a terminal of so many columns."""

    def be(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(output, "on_terminal", lambda: True)

    return be


TABLE = [("d1", "tcp://127.0.0.1:7001", None, "late"), ("device-2", "tcp://127.0.0.1:7002", 7, None)]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (50, ["device    url                   unit  note",
              "d1        tcp://127.0.0.1:7001  -     late",
              "device-2  tcp://127.0.0.1:7002  7     -"]),
        (36, ["device    url                   unit",
              "d1        tcp://127.0.0.1:7001  -",
              "    late",
              "device-2  tcp://127.0.0.1:7002  7"]),
        (35, ["device    url",
              "d1        tcp://127.0.0.1:7001",
              "    late",
              "device-2  tcp://127.0.0.1:7002",
              "    unit 7"]),
        (20, ["device",
              "d1",
              "    url tcp://127.0.0.1:7001",
              "    late",
              "device-2",
              "    url tcp://127.0.0.1:7002",
              "    unit 7"]),
    ],
)  # fmt: skip
def test_a_table_that_is_too_wide(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str], columns: int, shown: list[str]
) -> None:
    """Whatever columns a terminal has no room for stand under their row, behind their headings; no cell is cut."""
    terminal(columns)
    output.put_table(("device", "url", "unit", "note"), TABLE)
    assert capsys.readouterr().out.splitlines() == shown


@pytest.mark.parametrize("columns", [80, 100])
def test_the_sample_fits(
    project: Project, terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """What a new user looks at first, the devices of the sample and the checks, is no wider than the terminal."""
    monkeypatch.chdir(project.folder)
    project.type("init")
    terminal(columns)
    assert max(map(len, project.type("devices").lines)) <= columns
    software, *more = project.type("doctor").out.partition("\nok    environment")[0].splitlines()
    assert software.startswith("ok    software       ackonce ")
    assert more
    assert {line[:21].strip() for line in more} == {""}
    assert max(map(len, [software, *more])) <= columns


def test_a_sentence_is_folded_by_words() -> None:
    """Between words and never within one, blanks and wide characters counted; without a terminal not at all."""
    assert layout.folded("a  b  cc dddddd e", 8, "  ") == ["a  b  cc", "  dddddd", "  e"]
    assert layout.folded("漢字 漢字 x", 8, " ") == ["漢字", " 漢字 x"]
    assert layout.folded("a long sentence " * 20, None) == ["a long sentence " * 20]


@pytest.mark.parametrize("words", ["get d offset", "probe d", "send d BEEP --yes"])
def test_an_invalid_profile_is_met_before_anything_is_sent(project: Project, words: str) -> None:
    """Exit 3, and nobody has to wonder what the device has got."""
    project.put("inventory.yaml", 'devices:\n  d: {profile: test/line, url: "tcp://127.0.0.1:9"}\n')
    project.put("profiles/line.yaml", "profile: test/line\ndialect: nonsense\n")
    ended = project.type(*words.split())
    assert (ended.code, ended.err.splitlines()[-1]) == (3, "Nothing was sent.")
