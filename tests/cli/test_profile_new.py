"""`ackonce profile new`: a profile to start from, and never over what is there."""

import os
import shlex
from pathlib import Path

import pytest

from agent.cli.main import run
from tests.cli.project import LINE_PROFILE, Project


def _put_inventory(project: Project) -> None:
    project.put("inventory.yaml", 'devices: {d1: {profile: acme/logger, url: "tcp://127.0.0.1:9"}}\n')


@pytest.mark.parametrize("dialect", ["line", "lsq", "exec", "modbus"])
def test_what_it_writes_can_be_used_at_once(project: Project, dialect: str) -> None:
    """The new profile is found by name beside the inventory, shown and linted without an error."""
    _put_inventory(project)
    ended = project.type("profile", "new", "acme/logger", "--dialect", dialect)
    path = project.folder / "profiles" / "acme" / "logger.yaml"
    assert (ended.code, ended.lines) == (0, [str(path)])
    assert project.type("profile", "show", "acme/logger").code == 0
    assert project.type("profile", "lint", "acme/logger").code == 0
    assert "dialect: " + dialect in path.read_text(encoding="utf-8")


def test_text_is_the_usual_tongue(project: Project) -> None:
    """Without a dialect it is a text device."""
    project.type("profile", "new", "acme/logger")
    assert project.type("profile", "show", "acme/logger").lines[2].split()[1] == "line,"


def test_it_says_where_to_edit_and_what_to_type(project: Project) -> None:
    """Each line that it names is marked in the file, and the command that it prints works as typed."""
    ended = project.type("profile", "new", "acme/logger")
    text = Path(ended.lines[0]).read_text(encoding="utf-8").splitlines()
    named = [
        int(line.split()[1].rstrip(":")) for line in ended.err.splitlines() if line.startswith("  line ")
    ]
    assert ["EDIT" in text[number - 1] for number in named] == [True, True, True]
    command = ended.err.splitlines()[-1].removeprefix("Then: ")
    assert run(shlex.split(command)[1:]) == 0


def test_as_json(project: Project) -> None:
    """--json has the file, the lines and the next command; -q leaves the advice out."""
    [record] = project.type("profile", "new", "acme/logger", "--json").records
    assert record["file"] == str(project.folder / "profiles" / "acme" / "logger.yaml")
    assert [each["line"] for each in record["edit"]] == sorted(each["line"] for each in record["edit"])
    assert record["next"] == [f"ackonce profile lint {record['file']}"]
    assert project.type("profile", "new", "acme/other", "-q").err == ""


def test_another_folder(project: Project) -> None:
    """--dir is a folder from where the command works, created if need be."""
    ended = project.type("profile", "new", "acme/logger", "--dir", "drafts/new")
    assert ended.lines == [str(project.folder / "drafts" / "new" / "acme" / "logger.yaml")]


def test_nothing_is_overwritten(project: Project) -> None:
    """A file in the way, or the same name in another file of the folder, is named and left as it is."""
    path = project.put("profiles/acme/logger.yaml", "notes\n")
    ended = project.type("profile", "new", "acme/logger")
    assert (ended.code, ended.out) == (2, "")
    assert "nothing was written" in ended.err
    assert str(path) in ended.err
    assert path.read_text(encoding="utf-8") == "notes\n"
    other = project.put("profiles/mine.yaml", LINE_PROFILE)
    ended = project.type("profile", "new", "test/line")
    assert ended.code == 2
    assert f"{other} is the profile 'test/line' already" in ended.err
    assert not (project.folder / "profiles" / "test").exists()


def test_standing_for_a_shipped_profile_is_said(project: Project) -> None:
    """A name that is shipped may be taken, since the nearer one wins, but not unnoticed."""
    ended = project.type("profile", "new", "demo/controller")
    assert ended.code == 0
    assert "it stands for the shipped demo/controller" in ended.err
    assert "it stands for" not in project.type("profile", "new", "acme/logger").err


@pytest.mark.parametrize("name", ["logger", "acme/", "a b/c", "../x/y", "acme/logger/2"])
def test_names_are_vendor_and_model(project: Project, name: str) -> None:
    """What cannot be a profile's name is refused before anything is written."""
    ended = project.type("profile", "new", name)
    assert ended.code == 2
    assert "must be vendor/model" in ended.err
    assert not (project.folder / "profiles").exists()


def test_a_folder_that_cannot_be_written(project: Project) -> None:
    """Where the file system refuses, the reason is said with exit 3."""
    project.put("profiles", "a file\n")
    ended = project.type("profile", "new", "acme/logger")
    assert ended.code == 3
    assert f"cannot be written: {os.strerror(20)}" in ended.err
