"""Does a command that is printed as the next one run as it stands, from where it is read?"""

import asyncio
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.cli import main, output
from agent.cli.device_commands import _get_from
from agent.cli.exit_codes import Exit
from agent.cli.options import Common
from agent.links.link import Unreachable
from tests.cli.bench import Bench
from tests.cli.live_text import LATE_S, TextBench, quick_profile
from tests.cli.project import Ended, Project

LOGIN = '  - {name: passwd, kind: trigger, args: [{name: p, type: text, secret: true}], send: "BEEP {p}"}\n'
HASTE = (("reply_s: 0.3", "reply_s: 0.1"), (f"late_max_s: {LATE_S}", "late_max_s: 0.1"))


def printed(text: str) -> list[list[str]]:
    """The commands to type next, as words for `main.run`; of alternatives the first."""
    found = re.findall(r"ackonce ((?:-[Ci] \S+ )*(?:send|doubt|probe|get) .*)", text)
    return [shlex.split(re.sub(r"\|--\S+", "", line).replace("TEXT", "'I looked'")) for line in found]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that is no project."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def typed(project: Project, words: list[str]) -> Ended:
    """Run a command line as it is, from here."""
    project.capsys.readouterr()
    code = main.run(words)
    return Ended(code, *project.capsys.readouterr())


# --- from another folder ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("by_inventory", [False, True])
def test_a_doubt_is_settled_from_another_folder(text_bench: TextBench, *, by_inventory: bool) -> None:
    """With the -C or -i of the command that left it: check, show and resolve find inventory and profile there."""
    text_bench.profile(quick_profile(*HASTE))
    text_bench.device("cmd 1: drop_ack")
    folder, project = text_bench.project.folder, text_bench.project
    place = ["-i", str(folder / "inventory.yaml")] if by_inventory else ["-C", str(folder)]
    ended = typed(project, [*place, "send", "d1", "BEEP", "-y"])
    check, resolve = printed(ended.err)
    assert (ended.code, check[:2], resolve[:2]) == (5, place, place)
    checked = typed(project, check)
    assert (checked.code, "no profile" in checked.err) == (5, False)
    shown = typed(project, [*place, "doubt", "show", check[-1]])
    assert printed(shown.out) == [check, resolve]
    resolve[resolve.index("--applied")] = "--not-applied"
    [again] = printed(typed(project, resolve).err)
    assert again == [*place, "send", "d1", "BEEP"]
    assert typed(project, [*again, "--yes"]).code == 0
    [live] = text_bench.devices
    assert live.copies == ["BEEP", "BEEP"]


@pytest.mark.usefixtures("elsewhere")
def test_a_profile_that_is_not_here_is_looked_for_in_a_project(text_bench: TextBench) -> None:
    """Whoever types a check without the project hears what to give it."""
    text_bench.profile(quick_profile(*HASTE))
    text_bench.device("cmd 1: drop_ack")
    record = text_bench.send("d1", "BEEP")[1]
    ended = typed(text_bench.project, ["doubt", "check", record["op"]])
    assert ended.code == Exit.FILE
    assert "no profile 'test/quick' here" in ended.err
    assert ended.err.rstrip().endswith("If a project has it, give that: -C DIR")


@pytest.mark.usefixtures("elsewhere")
def test_probe_of_what_is_not_reached_and_the_next_run(bench: Bench) -> None:
    """The project is told with what it was typed for, and forgotten with it."""
    bench.device().unplug()
    ended = bench.project.type_afar("send", "d1", "BEEP", "--yes")
    assert f"When that is mended: ackonce -C {bench.project.folder} probe d1\n" in ended.err
    assert typed(bench.project, ["version"]).code == 0
    assert output.in_place("ackonce doubt list") == "ackonce doubt list"


def test_which_words_are_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every verb that works in a project, unless it says where already; nothing that only looks like one."""
    monkeypatch.setattr(output, "_place", "")
    output.work_in(Path("my site"), Path("x.yaml"))
    nowhere = {"init", "ports", "demo", "version", "simulate"}
    for verb in {*main._MODULES, *main.GROUPS}:
        place = "" if verb in nowhere else "-C 'my site' -i x.yaml "
        assert output.in_place(f"See: ackonce {verb} X; then") == f"See: ackonce {place}{verb} X; then"
    for text in (
        "ackonce: no doubt",
        "a newer ackonce (schema 5)",
        "ackonce logs",
        "ackonce send -C there d1 BEEP",
    ):
        assert output.in_place(text) == text
    assert output.in_place("Try: ackonce send --help") == "Try: ackonce send --help"


# --- the command itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (("BEEP",), "BEEP;*OPC?"),
        (("passwd", "env:MYPW"), "BEEP hunter2"),
        (("level+=3", "--raw"), "level+=3"),
    ],
)
def test_what_was_not_applied_is_sent_again_as_printed(
    text_bench: TextBench, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sent: str
) -> None:
    """Whether its text is not its name, a secret is in it, or no catalog knows it."""
    monkeypatch.setenv("MYPW", "hunter2")
    text_bench.profile(quick_profile(*HASTE, ('send: "BEEP"', 'send: "BEEP;*OPC?"')) + LOGIN)
    live = text_bench.device("cmd 1: drop_request")
    code, record = text_bench.send("d1", *words)
    assert (code, record["outcome"]) == (5, "in_doubt")
    [again] = printed(
        text_bench.run("doubt", "resolve", record["op"], "--not-applied", "--reason", "I looked").err
    )
    text_bench.run(*again, "--yes", "--json")
    assert live.copies == [sent, sent]


def test_raw_words_of_a_profile_that_has_changed(text_bench: TextBench) -> None:
    """Where nobody can tell any more how it was typed, no line is printed that may not run."""
    text_bench.profile(quick_profile(*HASTE))
    text_bench.device("cmd 1: drop_request")
    _, record = text_bench.send("d1", "level+=3", "--raw")
    text_bench.profile(quick_profile(('send: "BEEP"', 'send: "BEEP 1"')))
    ended = text_bench.run("doubt", "resolve", record["op"], "--not-applied", "--reason", "I looked")
    assert ended.err == "If it is still wanted: send it again as it was typed (with --raw, if it was)\n"


async def _never(*_: object) -> None:
    raise Unreachable("interrupted before it was asked")


@pytest.mark.parametrize(
    ("stopping", "says"), [(True, "Type it again"), (False, "When that is mended: ackonce probe")]
)
def test_an_interrupted_read_is_typed_again(
    capsys: pytest.CaptureFixture[str], *, stopping: bool, says: str
) -> None:
    """Nothing is to be mended where a person stopped it."""
    service: Any = SimpleNamespace(get=_never, executor=SimpleNamespace(stopping=lambda: stopping))
    profile = SimpleNamespace(name="p", settings={"offset": SimpleNamespace(name="offset", unit=None)})
    chosen: Any = SimpleNamespace(device=SimpleNamespace(name="wa"), profile=profile, target=None)
    common = Common(None, None, False, None, False, False, 0, False, None)
    _, code = asyncio.run(_get_from(common, service, chosen, ["offset"]))
    assert code is Exit.NOT_SENT
    assert says in capsys.readouterr().err
