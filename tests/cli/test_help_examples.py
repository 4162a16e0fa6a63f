"""Does every verb show how it is used, and does what it shows work as it stands there?

Each example is typed in the sample project, with both of its devices simulated, with a person who answers yes.
"""

import re
import shlex
import termios
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from agent.cli.examples import EXAMPLES
from agent.cli.init import INVENTORY, NUMBERED, PLAIN
from agent.cli.main import GROUPS, build, run
from tests.cli.bench import Bench
from tests.cli.live_text import LiveText

WIDTH = 80
MAP = """\
name,table,address,type,access
setpoint,holding,0x0002,u16,rw
"""
LONG = {"simulate device", "simulate proxy", "simulate world", "simulate fleet", "demo"}
"""They serve until they are stopped, or take long: only their words are looked at."""


class YesMan:
    """A terminal at which somebody answers every question with yes."""

    def isatty(self) -> bool:
        """It is one."""
        return True

    def fileno(self) -> int:
        """There is nothing to be flushed."""
        raise termios.error

    def readline(self) -> str:
        """Yes."""
        return "y\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Every verb, of a group with its own verb, and its command."""
    everything: Any = get_command(build(""))
    for name, command in everything.commands.items():
        yield from _with_verbs(name, command)


def _with_verbs(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    for verb, each in inner.items():
        yield from _with_verbs(f"{name} {verb}", each)
    if not inner:
        yield name, command


VERBS = dict(commands())


def help_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `ackonce VERB --help` prints."""
    capsys.readouterr()
    assert run([*verb.split(), "--help"]) == 0
    return capsys.readouterr().out


def examples_in(text: str) -> list[list[str]]:
    """The command lines that a help text shows: lines of their own, and those in backticks behind `e.g.`."""
    lines = re.findall(r"^ +(ackonce .*?)(?:  .*)?$", text, re.MULTILINE)
    lines += re.findall(r"e\.g\. `(ackonce [^`]*)`", " ".join(text.split()))
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture
def site(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """The sample project with both of its devices switched on, a register map; somebody sits at the terminal."""
    folder = bench.project.folder
    monkeypatch.chdir(folder)
    monkeypatch.setattr("agent.cli.output.sys.stdin", YesMan())
    for left in folder.iterdir():
        left.unlink()
    assert run(["init", "."]) == 0
    pump, logger = bench.device(serial="SIM-1"), LiveText(serial="SIM-2")
    here = INVENTORY.replace(f"tcp://{NUMBERED}", pump.url).replace(f"tcp://{PLAIN}", logger.url)
    bench.project.put("inventory.yaml", here.replace("timeout: 1s", "timeout: 0.3s"))
    bench.project.put("night.yaml", (folder / "plans/night.yaml").read_text())
    bench.project.put("map.csv", MAP)
    yield bench
    logger.close()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_and_a_narrow_help(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least one line to copy, of this very verb; and 80 columns are enough."""
    monkeypatch.setenv("COLUMNS", "200")
    text = help_of(verb, capsys)
    assert any(words[: len(verb.split())] == verb.split() for words in examples_in(text)), text
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("words", [["--help"], *([group, "--help"] for group in GROUPS)], ids=" ".join)
def test_the_help_of_groups_is_narrow(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 columns are enough for the lists of verbs, too."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run(words) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > WIDTH] == []


def test_each_example_belongs_to_a_verb() -> None:
    """Nothing in the table is left over when a verb gets another name."""
    assert set(EXAMPLES) <= set(VERBS)


CODES = {"doctor": {0, 7}, "fleet status": {0, 10}, "doubt check": {5}, "fleet reference": {2}}
"""Of verbs that may end otherwise than with 0: the machine decides; nobody has looked yet; a doubt that nothing
settles; no agent is there."""


def before(site: Bench, verb: str, words: list[str]) -> list[str]:
    """The words of an example, with ids in place of OP and RUN, after what they are about has been made."""
    ids = {}
    if verb.startswith("job ") and verb not in ("job add", "job list"):
        assert (
            run(["job", "add", "night", "night.yaml", "--cron", "0 2 * * *", "--tz", "UTC", "--replace"]) == 0
        )
    if "RUN" in words:
        ids["RUN"] = site.type("apply", "night.yaml", "--json").records[0]["run"]
    if "OP" in words:
        site.devices[0].suffer("cmd 1: reboot_after" if verb.startswith("doubt") else "")
        ids["OP"] = site.send("pump-1", "ROTATE", "log")[1]["op"]
    return [ids.get(word, word) for word in words]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_shown_works(verb: str, site: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Typed as it stands, but for ids: exit 0, also where it says no more than what stands there."""
    for words in examples_in(help_of(verb, capsys)):
        shown = " ".join(words[: len(verb.split())])
        if shown in LONG:
            VERBS[shown].make_context(shown, words[len(shown.split()) :]).close()
            continue
        code = run(before(site, verb, words))
        assert code in CODES.get(verb, {0}), (words, capsys.readouterr())
