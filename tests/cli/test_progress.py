"""How a run is shown while it goes on: moving on a terminal and gone at the end, plain lines elsewhere."""

import io
import re
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from agent.cli import output, progress
from agent.cli.options import Common
from agent.cli.progress import Bars, Lines, progress_of
from agent.operation import Cause, Operation, Outcome, Result
from agent.plans.course import Missed, Note, StepReport

COMMON = Common(None, None, False, None, False, False, 0, False, None)
COLUMNS = 90


def layout(*names: str, commands: Sequence[str] = ("SET interval 30", "BEEP")) -> Any:
    """What progress looks at of a layout."""
    steps = [SimpleNamespace(operation=SimpleNamespace(command=command)) for command in commands]
    return SimpleNamespace(
        work=[
            SimpleNamespace(chosen=SimpleNamespace(device=SimpleNamespace(name=n)), steps=steps)
            for n in names
        ]
    )


def report(
    device: str,
    outcome: Outcome | None,
    *,
    message: str = "",
    note: Note | None = None,
    cause: Cause | None = None,
) -> StepReport:
    """A report of the command BEEP."""
    operation: Operation = SimpleNamespace(command="BEEP", op="01J")  # type: ignore[assignment] # no more is looked at
    result = Result(outcome, None, message, cause) if outcome is not None else None
    return StepReport(device, "BEEP", operation, result, note=note)


class Terminal(io.StringIO):
    """A terminal as stderr; what is on its screen can be asked for."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """It is one."""
        return True

    def screen(self) -> list[str]:
        """The lines that somebody sees: line ends, erased lines and the cursor going up are obeyed, colours are not."""
        rows, row = [""], 0
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", self.getvalue()):
            if part == "\n":
                row += 1
                rows += [""] * (row == len(rows))
            elif part == "\x1b[1A":
                row -= 1
            elif part in ("\r", "\x1b[2K"):
                rows[row] = ""  # what returns to the beginning of a line writes all of it
            elif not part.startswith("\x1b"):
                rows[row] += part
        return [line.rstrip() for line in rows if line.strip()]


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let stderr be a terminal from now on."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each wave and each finished device, without escape codes and never cut."""
    name = "n" * 300
    shown = Lines(layout("a", name))
    with shown.showing():
        shown.wave(1, 2, ["a"])
        shown.begun("a")
        shown.step(ended := report("a", Outcome.APPLIED))
        shown.device("a", [ended])
        shown.wave(2, 2, [name])
        shown.device(name, [report(name, Outcome.APPLIED), report(name, Outcome.UNCHANGED)])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "wave 1 of 2: 1 device",
        "a: 1 changed (1 of 2 devices)",
        "wave 2 of 2: 1 device",
        f"{name}: 1 changed, 1 unchanged (2 of 2 devices)",
    ]


def test_what_goes_wrong_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What was tried and is not true is a line, what was not tried for the same reason is none; an abort is one."""
    shown = Lines(layout("a", "b"))
    shown.step(report("a", Outcome.IN_DOUBT, message="silence"))
    shown.step(report("a", Outcome.NOT_SENT, message="held by x", cause=Cause.DOUBT))
    shown.step(report("a", Outcome.REFUSED, message="no\x1b[31m"))
    shown.step(report("b", Outcome.NOT_SENT, message="gone"))
    shown.step(
        report("b", Outcome.NOT_SENT, message="gone", note=Note(Missed.AFTER_FAILURE, "not tried: gone"))
    )
    missed = report("b", None, note=Note(Missed.ABORTED, "the run was aborted"))
    shown.step(missed)
    shown.step(missed)
    shown.device("b", [missed, missed])
    assert capsys.readouterr().err.splitlines() == [
        "a: 'BEEP': in doubt: silence",
        "a: 'BEEP': held: held by x",
        "a: 'BEEP': refused: no\\x1b[31m",
        "b: 'BEEP': not sent: gone",
        "nothing more is begun: the run was aborted",
    ]


def test_moving_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar for all, a line for each device in work with its step; what is said stays above; at the end only that."""
    terminal = on_terminal(monkeypatch)
    shown = Bars(layout("a", "b[red]"))
    with shown.showing():
        shown.wave(1, 2, ["a"])
        shown.begun("a")
        shown.begun("b[red]")
        shown.step(report("a", Outcome.IN_DOUBT, message="silence"))
        output.say("[WARN] [bold]seq=1[/] timeout")
        shown._rich.refresh()
        said, all_of_them, first, second = terminal.screen()[0:1] + terminal.screen()[-3:]
        assert said == "a: 'BEEP': in doubt: silence"
        assert all_of_them.startswith("devices ━")
        assert re.search(r" 0/2 0:00:0\d wave 1 of 2 \(1 device\), 1 in doubt$", all_of_them)
        assert re.match(r"a +━+.* 1/2 0:00:0\d BEEP$", first)
        assert re.match(r"b\[red\] +━+.* 0/2 0:00:0\d SET interval 30$", second)
        shown.device("a", [])
        shown._rich.refresh()
        assert not [line for line in terminal.screen() if line.startswith("a ━")]
    assert terminal.screen() == ["a: 'BEEP': in doubt: silence", "[WARN] [bold]seq=1[/] timeout"]


def test_a_failure_leaves_nothing_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the run, the terminal is as before, its cursor too."""
    terminal = on_terminal(monkeypatch)
    shown = Bars(layout("a"))
    shown.begun("a")
    with pytest.raises(ZeroDivisionError), shown.showing():
        raise ZeroDivisionError
    assert terminal.screen() == []
    assert terminal.getvalue().rfind("\x1b[?25h") > terminal.getvalue().rfind("\x1b[?25l")


def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long names are cut, so that every moving line is one line of the terminal."""
    terminal = on_terminal(monkeypatch)
    shown = Bars(layout("n" * 50, commands=["c" * 90]))
    with shown.showing():
        shown.begun("n" * 50)
        shown._rich.refresh()
        assert {len(line) <= COLUMNS for line in terminal.screen()} == {True}


@pytest.mark.parametrize(
    ("common", "term", "out", "kind"),
    [
        ({}, "xterm", True, Bars),
        ({}, "xterm", False, Bars),
        ({}, "dumb", True, Lines),
        ({"json": True}, "xterm", True, Lines),
        ({"json": True}, "xterm", False, Bars),
        ({"quiet": True}, "xterm", True, Lines),
    ],
)
def test_what_suits_stderr(
    monkeypatch: pytest.MonkeyPatch,
    common: dict[str, bool],
    term: str,
    out: bool,
    kind: type[Bars] | type[Lines],
) -> None:
    """Nothing moves on a dumb terminal, with -q, or between the objects of --json; -q says nothing at all."""
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(output, "on_terminal", lambda: out)
    given = Common(**{name: getattr(COMMON, name) for name in COMMON.__slots__} | common)
    shown = progress_of(given, layout("a"))
    assert isinstance(shown, kind)
    if given.quiet:
        shown.wave(1, 2, ["a"])
        shown.step(report("a", Outcome.IN_DOUBT))
        assert terminal.getvalue() == ""


def test_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, or without any stderr, lines are plain."""
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert isinstance(progress_of(COMMON, layout("a")), Lines)


def test_all_kinds_have_words() -> None:
    """Whatever a step is counted as has a word, in the order of the summary."""
    counts = dict.fromkeys(progress.WORDS, 1)
    assert progress.counted(counts) == (
        "1 changed, 1 unchanged, 1 done before, 1 refused, 1 not applied, 1 in doubt, 1 held, 1 not sent, 1 stale, "
        "1 no turn"
    )
