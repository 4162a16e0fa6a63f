"""What does Tab offer? Asked as the shells' scripts ask, and once by a real bash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli.completion import answer
from agent.cli.main import build, run, verb_first
from tests.cli.bench import Bench
from tests.cli.plan_project import BOOTS_AFTER, apply, put_plan
from tests.cli.project import LINE_PROFILE, Project

INVENTORY = """\
# A comment: not a device
defaults: {timeout: 2s}
groups:
  meters: {profile: test/line, tags: [north]}
  empty:
    tags: [south, 'far away']
devices:
  # nobody: {profile: demo/controller}
  meter-01: {group: meters, url: "tcp://127.0.0.1:1"}   # its profile is the group's
  meter-02:
    group: meters
    # profile: demo/controller
    url: "tcp://127.0.0.1:2"
  "pump 7": {profile: demo/controller, url: "tcp://127.0.0.1:3", tags: [lab]}
"""
TABLE = "name;profile;url;group;tags\nm1;test/line;tcp://127.0.0.1:1;meters;north lab\n"


@pytest.fixture
def there(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with devices, a profile and a plan, and we are in it."""
    project.put("inventory.yaml", INVENTORY)
    project.put("profiles/line.yaml", LINE_PROFILE)
    project.put("plans/night.yaml", "# at night\nplan: night\ntargets: [meter-01]\nsteps: []\n")
    project.put("plans/notes.txt", "plan: no plan\n")
    project.put("plans/other.yaml", "profile: x/y\n")
    monkeypatch.chdir(project.folder)
    return project


@pytest.fixture
def tab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Tab":
    """Press Tab."""
    return Tab(monkeypatch, capsys)


class Tab:
    """Asks as the scripts of the shells do; nothing may ever be said but what is offered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str) -> list[str]:
        """What bash is offered for the last of the words, which is not complete; `ackonce` stands before them."""
        line = ["ackonce", *words]
        return self.ask("bash", COMP_WORDS="\n".join(line), COMP_CWORD=str(len(line) - 1)).split()

    def ask(self, shell: str, **variables: str) -> str:
        """What a shell is answered."""
        self._monkeypatch.setenv("_ACKONCE_COMPLETE", f"complete_{shell}")
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)
        self._capsys.readouterr()
        assert answer(build, verb_first) == 0
        out, err = self._capsys.readouterr()
        assert err == ""
        return out.removesuffix("\n")


def test_verbs_and_options(there: Project, tab: Tab) -> None:
    """The first word is a verb, the second of a group one of its own; options are those of the verb."""
    assert tab("pro") == ["probe", "profile"]
    assert tab("doubt", "") == ["list", "show", "check", "resolve"]
    assert tab("send", "--ti") == ["--timeout"]
    assert tab("-C", str(there.folder), "conf") == ["config"]
    assert tab("-C", str(there.folder), "send", "pump") == ["pump", "7"]  # one name, with a blank in it


@pytest.mark.parametrize("verb", ["send", "get", "set", "explain", "probe"])
@pytest.mark.usefixtures("there")
def test_a_target_is_a_device_a_group_or_a_tag(tab: Tab, verb: str) -> None:
    """All of the inventory, in its order."""
    targets = tab.ask("fish", _TYPER_COMPLETE_ARGS=f"ackonce {verb} ", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert targets.split("\n") == [
        *("meter-01", "meter-02", "pump 7", "group:meters", "group:empty", "tag:lab", "tag:north"),
    ]
    assert tab(verb, "meter") == ["meter-01", "meter-02"]


@pytest.mark.usefixtures("there")
def test_bash_takes_a_colon_for_a_word(tab: Tab) -> None:
    """What stands before the colon is not offered again: bash replaces only what follows it."""
    assert tab("send", "group", ":", "me") == ["meters"]
    assert tab("send", "group", ":") == ["meters", "empty"]
    assert tab("send", "gr") == ["group:meters", "group:empty"]
    assert tab("send", "group", ":", "meters", "BE") == ["BEEP"]


@pytest.mark.usefixtures("there")
def test_zsh_gets_the_word_whole(tab: Tab) -> None:
    """And its colons escaped; where there is nothing to offer it looks for files."""
    assert (
        tab.ask("zsh", _TYPER_COMPLETE_ARGS="ackonce send group:m")
        == "_arguments '*: :((\"group\\\\:meters\"))'"
    )
    assert tab.ask("zsh", _TYPER_COMPLETE_ARGS="ackonce send nobody") == "_files"


@pytest.mark.usefixtures("there")
def test_a_list_of_devices_is_a_file(tab: Tab) -> None:
    """`@` asks for a path."""
    offered = tab.ask("zsh", _TYPER_COMPLETE_ARGS="ackonce send @pl")
    assert '"@plans/"' in offered


@pytest.mark.usefixtures("there")
def test_command_words_are_those_of_the_targets_profile(tab: Tab) -> None:
    """Word after word, of every device that is meant; a URL has its profile from the option."""
    assert tab("send", "meter-01", "") == ["SET", "ADJUST", "BEEP"]
    assert tab("send", "meter-02", "SET", "") == ["offset"]
    assert tab("explain", "-i", "inventory.yaml", "meter*", "A") == ["ADJUST"]
    assert tab("send", "pump 7".replace(" ", "\\ "), "RO") == ["ROTATE"]
    assert tab("send", "tcp", "--profile", "demo/controller", "RES") == ["RESET"]
    assert tab("send", "nobody", "") == []
    assert tab("send", "meter-01", "NOTHING", "") == []


@pytest.mark.usefixtures("there")
def test_settings(tab: Tab) -> None:
    """As they are read, and as they are set."""
    assert tab("get", "meter-01", "") == ["offset"]
    assert tab("set", "meter-01", "o") == ["offset="]


def test_plans_are_files_that_are_plans(there: Project, tab: Tab) -> None:
    """And the folders on the way to them."""
    there.put("saved.json", '{"saved_plan": 1}')
    there.put("data.json", "{}")
    assert tab("plan", "") == ["plans/", "profiles/", "saved.json"]
    assert tab("apply", "plans/") == ["plans/night.yaml"]
    assert tab("job", "add", "night", "plans/n") == ["plans/night.yaml"]


def test_an_inventory_as_a_table(there: Project, tab: Tab) -> None:
    """CSV is skimmed too, whatever stands between its columns."""
    table = there.put("devices.csv", TABLE)
    assert tab("send", "-i", str(table), "") == ["m1", "group:meters", "tag:lab", "tag:north"]
    assert tab("send", "-i", str(table), "m1", "BE") == ["BEEP"]


def test_ids_of_the_store(bench: Bench, tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubts for `doubt`, the newest operations for `trace`, runs for `runs`, `resume` and `report`."""
    monkeypatch.chdir(bench.project.folder)
    bench.device(BOOTS_AFTER)
    put_plan(bench)
    *operations, _ = apply(bench, "--json").records
    ids = [each["op"] for each in operations if each["op"] is not None]
    assert tab("trace", "") == ids[::-1]
    assert tab("doubt", "show", "") == [each["op"] for each in operations if each["outcome"] == "in_doubt"]
    for verb in ("runs", "resume", "report"):
        assert tab(verb, "") == [operations[0]["run"]]
        assert tab(verb, operations[0]["run"][:-2]) == [operations[0]["run"]]


@pytest.mark.parametrize("text", [None, "devices: [", "\x00", "devices: {a: {profile: x/y}}"])
def test_what_cannot_be_found_is_not_offered_and_not_told(there: Project, tab: Tab, text: str | None) -> None:
    """No inventory, a broken one, no store, no such shell: silence."""
    (there.folder / "inventory.yaml").unlink()
    if text is not None:
        there.put("inventory.yaml", text)
    assert tab("send", "") == []
    assert tab("send", "x", "") == []
    assert tab("runs", "") == []
    assert tab.ask("tcsh") == ""
    there.put("ackonce.toml", "timeuot = 3")
    assert tab("send", "") == []


HEAVY = ("pydantic", "ruamel.yaml", "rich", "construct", "cronsim")


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("line", ["ackonce send meter-01 ADJ", "ackonce conf", "ackonce set --tim"])
def test_tab_is_quick(line: str) -> None:
    """Nothing is imported that takes long, though inventory and profile are looked into, and verbs explained."""
    code = (
        "import sys; from agent.cli.completion import answer; from agent.cli.main import build, verb_first;"
        f"answer(build, verb_first); print([name for name in {HEAVY} if name in sys.modules])"
    )
    asked = {"_ACKONCE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert f'"{line.rsplit(maxsplit=1)[-1]}' in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.usefixtures("there")
def test_a_real_bash() -> None:
    """The script that `--show-completion` prints, sourced by bash, offers what we offer."""
    asking = """
        source <(ackonce --show-completion bash)
        COMP_WORDS=(ackonce send group : m); COMP_CWORD=4; _ackonce_completion ackonce; echo "${COMPREPLY[@]}"
        COMP_WORDS=(ackonce send meter-01 ADJUST ""); COMP_CWORD=4; _ackonce_completion ackonce; echo "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", asking], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("meters\noffset\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_the_script_is_put_in_place_or_shown(
    option: str,
    shell: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is written into the home of whoever asks, or printed, for the shell that was named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run([option, shell]) == 0
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    printed = capfd.readouterr().out
    assert any(f"_ACKONCE_COMPLETE=complete_{shell}" in text for text in (*written, printed))
    assert bool(written) is (option == "--install-completion")


def test_an_unknown_shell_is_a_usage_error(capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 2, with those that are known."""
    assert run(["--show-completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capfd.readouterr().err
