"""Does `config show` tell who said each setting?"""

import getpass
import socket
from pathlib import Path

import pytest

from agent.cli.main import run
from tests.cli.project import Project

Row = tuple[str | None, str, str | None]


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    """The user's own configuration, which is not there yet."""
    path = tmp_path / "config" / "ackonce" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def shown(project: Project, *words: str) -> dict[str, Row]:
    """`config show --json` as value, origin and place by setting."""
    ended = project.type("config", "show", "--json", *words)
    assert ended.code == 0, ended.err
    return {each["setting"]: (each["value"], each["origin"], each["where"]) for each in ended.records}


def test_defaults(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting is there, in one order, also where nobody said anything."""
    monkeypatch.delenv("ACKONCE_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home = tmp_path / "state" / "ackonce"
    assert list(shown(project).items()) == [
        ("home", (str(home), "default", None)),
        ("project", (str(project.folder), "option", "--project")),
        ("inventory", (None, "default", None)),
        ("timeout", (None, "default", None)),
        ("store", (str(home / "journal.db"), "default", None)),
        ("agent", (socket.gethostname(), "default", None)),
        ("actor", (getpass.getuser(), "default", None)),
    ]


def test_each_origin_with_its_place(
    project: Project, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is told with the line in which the setting stands, whatever stands around it."""
    user_file.write_text('# mine\n\nactor = "ana"\nhome = "state"\n')
    toml = project.put("ackonce.toml", 'agent = """\nactor = 1\n"""\n\n"actor" = \'push\'\ntimeout = 2 # s\n')
    monkeypatch.setenv("ACKONCE_HOME", "")
    monkeypatch.setenv("ACKONCE_INVENTORY", "fleet.yaml")
    found = shown(project, "--timeout", "500ms")
    assert found["home"] == (str(user_file.parent / "state"), "user file", f"{user_file}:4")
    assert found["inventory"] == (str(project.folder / "fleet.yaml"), "environment", "ACKONCE_INVENTORY")
    assert found["timeout"] == ("500ms", "option", "--timeout")
    assert found["agent"] == ("actor = 1\n", "project file", f"{toml}:1")
    assert found["actor"] == ("push", "project file", f"{toml}:5")
    assert shown(project)["timeout"] == ("2", "project file", f"{toml}:6")


def test_the_nearest_word_wins_at_each_step(
    project: Project, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Default, user's file, project's file, environment, option: each hides those before it."""
    origins = [shown(project)["timeout"][1]]
    user_file.write_text('timeout = "1s"')
    origins.append(shown(project)["timeout"][1])
    project.put("ackonce.toml", 'timeout = "2s"')
    origins.append(shown(project)["timeout"][1])
    monkeypatch.setenv("ACKONCE_TIMEOUT", "3s")
    origins.append(shown(project)["timeout"][1])
    origins.append(shown(project, "--timeout", "4s")["timeout"][1])
    assert origins == ["default", "user file", "project file", "environment", "option"]


def test_the_project_that_was_found(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder below it, the project is the one of the nearest ackonce.toml; so is its inventory."""
    toml = project.put("ackonce.toml", "")
    inventory = project.put("inventory.yaml", "devices: {}\n")
    below = project.folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    project.capsys.readouterr()
    assert run(["config", "show"]) == 0
    lines = project.capsys.readouterr().out.splitlines()
    assert lines[1] == f"project\t{project.folder}\tproject file\t{toml}"
    assert lines[2] == f"inventory\t{inventory}\tdefault\t-"
    monkeypatch.setenv("ACKONCE_PROJECT", str(below))
    assert run(["config", "show"]) == 0
    assert "project\t" in project.capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('actor = "x"\ntimuot = 3', ":2: unknown key 'timuot'. Did you mean 'timeout'?"),
        ('\n\ntimeout = "soon"', ":3: timeout: 'soon' is not a duration"),
        ('actor = "x\n', ":1:11: not readable as TOML: Illegal character '\\n'."),
        ('actor = "x"\nagent = [', ":2: not readable as TOML: Invalid value."),
        ("[agent]\nx = 1", ":1: agent: must be text in quotes, and not empty."),
    ],
)
def test_a_file_that_makes_no_sense(project: Project, text: str, message: str) -> None:
    """Exit 3, with the file and the line."""
    toml = project.put("ackonce.toml", text)
    ended = project.type("config", "show")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"ackonce: {toml}{message}")


def test_without_a_verb_its_help_is_the_answer(project: Project) -> None:
    """`ackonce config` is a usage error that tells what there is."""
    assert run(["config"]) == 2
    assert "show" in project.capsys.readouterr().err
