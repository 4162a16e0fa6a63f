from pathlib import Path

import pytest

from agent.cli.options import Common
from agent.cli.places import settings_of
from agent.profile_folders import load_profile, profile_roots
from devices.problems import FileProblems, UnknownProfile
from tests.cli.project import LINE_PROFILE, Project

UNWISE = LINE_PROFILE.replace("title:", "sources: []\ntitle:")
CONTRADICTION = LINE_PROFILE.replace("kind: absolute", "kind: absolute\n    class: cumulative")


def _common(project: Project) -> Common:
    return Common(project.folder, None, False, None, False, False, 0, False, None)


# --- where profiles are ---------------------------------------------------------------------------------------


def test_the_folder_beside_the_inventory_comes_first(project: Project) -> None:
    """Profiles are looked for beside the inventory, wherever that is, then in the store."""
    project.put("ackonce.toml", 'inventory = "site/inventory.yaml"\n')
    roots = profile_roots(settings_of(_common(project)))
    assert roots == [project.folder / "site" / "profiles", project.home / "profiles"]


def test_without_an_inventory_the_project_folder_counts(project: Project) -> None:
    """A profile can be worked on before there is an inventory."""
    assert profile_roots(settings_of(_common(project)))[0] == project.folder / "profiles"


def test_the_nearer_profile_wins(project: Project) -> None:
    """A profile of one's own replaces the shipped one of the same name, for this project only."""
    settings = settings_of(_common(project))
    assert load_profile(settings, "demo/controller").dialect == "lsq"
    project.put("profiles/mine.yaml", LINE_PROFILE.replace("test/line", "demo/controller"))
    assert load_profile(settings, "demo/controller").dialect == "line"


def test_a_file_is_looked_for_in_the_folder_of_the_command(project: Project) -> None:
    """What ends in .yaml is a path from the folder worked in, never a profile's name."""
    project.put("draft.yaml", LINE_PROFILE)
    settings = settings_of(_common(project))
    assert load_profile(settings, "draft.yaml", folder=project.folder).name == "test/line"
    with pytest.raises(FileProblems) as caught:
        load_profile(settings, "other.yaml", folder=project.folder)
    assert not isinstance(caught.value, UnknownProfile)


# --- list -----------------------------------------------------------------------------------------------------


def test_list_names_profiles_and_their_origin(project: Project) -> None:
    """The list has one's own and the shipped profiles, and says which is which."""
    mine = project.put("profiles/mine.yaml", LINE_PROFILE)
    rows = [line.split("\t") for line in project.type("profile", "list").lines]
    assert ["test/line", "line", "A device that numbers nothing", str(mine)] in rows
    assert ["demo/controller", "lsq", "Demo controller, last-seq protocol", "shipped"] in rows


def test_list_as_json(project: Project) -> None:
    """--json has one object per profile."""
    project.put("profiles/mine.yaml", LINE_PROFILE)
    records = project.type("profile", "list", "--json").records
    assert {"name": "demo/controller", "dialect": "lsq", "from": "shipped"}.items() <= records[0].items()
    assert [record["name"] for record in records] == sorted(record["name"] for record in records)


def test_list_says_which_files_it_leaves_out(project: Project) -> None:
    """A file that cannot be listed is named on stderr, so that nobody wonders where a profile is; -q is quiet."""
    broken = project.put("profiles/broken.yaml", "profile: [unfinished\n")
    nameless = project.put("profiles/nameless.yaml", "title: no name\n")
    ended = project.type("profile", "list")
    assert ended.code == 0
    assert f"Not listed: {broken}" in ended.err
    assert f"Not listed: {nameless} has no 'profile:' key." in ended.err
    assert project.type("profile", "list", "-q").err == ""


# --- show -----------------------------------------------------------------------------------------------------


def test_show_puts_commands_into_the_two_classes(project: Project) -> None:
    """Whoever reads it sees which commands may be repeated before anything else, each with its policy."""
    project.put("profiles/mine.yaml", LINE_PROFILE)
    lines = project.type("profile", "show", "test/line").lines
    safe = next(index for index, line in enumerate(lines) if line.startswith("SAFE TO REPEAT"))
    counts = next(index for index, line in enumerate(lines) if line.startswith("EVERY COPY COUNTS"))
    where = {line.strip(): index for index, line in enumerate(lines)}
    assert safe < where["SET offset <value: int, -100 to 100>"] < counts
    assert counts < where["ADJUST offset <delta: int, -50 to 50>"] < where["BEEP"]
    assert "policy get-verify" in lines[where["ADJUST offset <delta: int, -50 to 50>"] + 1]
    assert "policy no-retry" in lines[where["BEEP"] + 1]
    assert lines[where["BEEP"] + 2].strip() == "Danger: loud"


def test_show_leaves_out_a_class_without_commands(project: Project) -> None:
    """A heading stands only over commands."""
    project.put(
        "p.yaml", "profile: a/b\ndialect: line\ncommands: [{name: BEEP, kind: trigger, send: BEEP}]\n"
    )
    out = project.type("profile", "show", "p.yaml").out
    assert "SAFE TO REPEAT" not in out
    assert "SETTINGS" not in out


def test_show_tells_settings_with_unit_and_range(project: Project) -> None:
    """Each setting says its type, range and unit, how it is read, and whether it outlives a restart."""
    project.put("p.yaml", LINE_PROFILE)
    last = project.type("profile", "show", "p.yaml").lines[-1]
    assert last.strip() == "offset  int, -100 to 100, in K; read by GET offset; survives a restart"


def test_show_tells_how_modbus_is_read(project: Project) -> None:
    """Of Modbus it says the framing, the request that reads each setting, and what a restart leaves."""
    lines = [line.strip() for line in project.type("profile", "show", "waveshare/modbus-rtu-relay").lines]
    assert "speaks    modbus, registers and coils, framing rtu" in lines
    assert "relay_1  bool; read by fc01 0x0000 bool; false after a restart" in lines
    assert "unit     int, 1 to 255; read by fc03 0x4000 u16; survives a restart" in lines
    where = lines.index("SET unit <unit: int, 1 to 247>")
    assert "whether it took effect is asked of the device where it is found then" in lines[where + 1]


def test_show_puts_each_source_on_a_line(project: Project) -> None:
    """Sources are long, and each can be looked up by itself."""
    project.put("p.yaml", LINE_PROFILE.replace("title:", "sources: [the manual, the wiki]\ntitle:"))
    lines = project.type("profile", "show", "p.yaml").lines
    where = lines.index("  sources   the manual")
    assert lines[where + 1] == "            the wiki"


def test_show_as_json(project: Project) -> None:
    """--json has one object per command, in the order of the file."""
    project.put("p.yaml", LINE_PROFILE)
    records = project.type("profile", "show", "p.yaml", "--json").records
    assert [record["command"] for record in records] == ["SET offset", "ADJUST offset", "BEEP"]
    assert [record["class"] for record in records] == ["idempotent", "cumulative", "cumulative"]
    assert [record["policy"] for record in records] == ["resend", "get-verify", "no-retry"]
    assert records[1]["args"] == [{"name": "delta", "type": "int", "min": "-50", "max": "50", "unit": None}]
    assert all(record["why"].endswith(".") for record in records)


def test_every_shipped_profile_can_be_shown(project: Project) -> None:
    """No shipped profile is beyond what `show` can tell."""
    for record in project.type("profile", "list", "--json").records:
        assert project.type("profile", "show", record["name"]).code == 0, record["name"]


def test_an_unknown_name_is_answered_with_the_nearest(project: Project) -> None:
    """A typing error ends with exit 3 and the likely name."""
    ended = project.type("profile", "show", "demo/controler")
    assert (ended.code, ended.out) == (3, "")
    assert "Did you mean 'demo/controller'?" in ended.err


# --- lint -----------------------------------------------------------------------------------------------------


def test_lint_of_a_clean_profile_says_so(project: Project) -> None:
    """No findings are said in words, with exit 0; --json has no line then."""
    ended = project.type("profile", "lint", "demo/controller")
    assert (ended.code, ended.lines) == (0, ["demo/controller: no findings"])
    assert project.type("profile", "lint", "demo/controller", "--json").out == ""


def test_lint_prints_places_that_editors_jump_to(project: Project) -> None:
    """A warning stands as file:line: level: where: message, and warnings alone end with exit 0."""
    path = project.put("p.yaml", UNWISE)
    ended = project.type("profile", "lint", "p.yaml")
    assert ended.code == 0
    assert any(line.startswith(f"{path}:1: warning: sources: no 'sources'") for line in ended.lines)


def test_lint_of_what_does_not_load_prints_every_problem(project: Project) -> None:
    """A file that does not load shows all its mistakes at once, with exit 3."""
    path = project.put("p.yaml", CONTRADICTION.replace("dialect: line", "dialect: lime"))
    ended = project.type("profile", "lint", "p.yaml")
    assert ended.code == 3
    assert len(ended.lines) >= 1
    assert all(line.startswith(f"{path}:") and ": error: " in line for line in ended.lines)


def test_lint_errors_of_a_loaded_profile_end_with_3(project: Project) -> None:
    """A claim that would let the agent believe something untrue is an error although the file loads."""
    form = "absolute_form: {command: SET offset, value: before + delta}\n    verify:"
    project.put("p.yaml", LINE_PROFILE.replace("verify:", form))
    ended = project.type("profile", "lint", "p.yaml")
    assert ended.code == 3
    assert any(": error: ADJUST offset: absolute_form" in line for line in ended.lines)


def test_lint_of_an_unknown_name_has_no_findings_to_print(project: Project) -> None:
    """A name that stands for no file is a mistake of who typed it, said on stderr with the likely name."""
    ended = project.type("profile", "lint", "demo/controler")
    assert (ended.code, ended.out) == (3, "")
    assert "Did you mean 'demo/controller'?" in ended.err


def test_lint_of_several_files_ends_with_the_worst(project: Project) -> None:
    """All files are looked through, and one that is wrong decides the exit code."""
    project.put("bad.yaml", CONTRADICTION)
    ended = project.type("profile", "lint", "bad.yaml", "demo/controller")
    assert ended.code == 3
    assert ended.lines[-1] == "demo/controller: no findings"


def test_lint_as_json(project: Project) -> None:
    """--json has one object per finding with its place in parts."""
    path = project.put("p.yaml", CONTRADICTION)
    [record] = project.type("profile", "lint", "p.yaml", "--json").records
    assert (record["file"], record["level"]) == (str(path), "error")
    assert isinstance(record["line"], int)


def test_nothing_is_written(project: Project) -> None:
    """Looking at profiles leaves no trace in the store."""
    for words in (["list"], ["show", "demo/controller"], ["lint", "demo/controller"]):
        project.type("profile", *words)
    assert not Path(project.home).exists()
