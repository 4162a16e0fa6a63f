"""`ackonce profile import`: a register map becomes a profile that can be used, or everything that is wrong is said."""

import shlex
from pathlib import Path

import pytest

from agent.cli.main import run
from tests.cli.project import Project

MAP = """\
Name;Register Type;Address;Data Type;Unit;Factor;Min;Max;R/W;Chapter
Demand Period;Holding;40003;float;min;1;0;60;R/W;4.2
Set Temperature;Holding;40011;int16;K;0,1;-20;80,5;rw;4.3
Power L1;Input;30013;REAL;W;;;;R;4.1
"""


def _put_map(project: Project, text: str = MAP) -> Path:
    return project.put("map.csv", text)


def test_what_it_writes_can_be_used_at_once(project: Project) -> None:
    """The profile is found by its name beside the inventory, shown, and linted without an error."""
    _put_map(project)
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter")
    path = project.folder / "profiles" / "acme" / "meter.yaml"
    assert (ended.code, ended.lines) == (0, [str(path)])
    shown = project.type("profile", "show", "acme/meter").out
    assert "speaks    modbus, registers and coils, framing rtu" in shown
    assert "SET set_temperature <value: decimal, -20 to 80.5 K>" in shown
    assert "power_l1         decimal, in W; read by fc04 0x000C f32; not known to survive a restart" in shown
    assert project.type("profile", "lint", "acme/meter").code == 0


def test_it_says_what_it_made_of_the_map(project: Project) -> None:
    """How much came out, which numbers were converted, which columns left out, and what lint has to say."""
    _put_map(project)
    err = project.type("profile", "import", "map.csv", "--name", "acme/meter").err
    assert "3 settings can be read, 2 commands set one each." in err
    assert "Modicon numbers were converted, 3 of them: 40003 is address 2 of table holding" in err
    assert "write them in hex, as in 0x9C43" in err
    assert "Columns that were left out: 'Chapter'." in err
    assert "warning: identity: no 'identity'" in err


def test_it_says_where_to_edit_and_what_to_type(project: Project) -> None:
    """Each line that it names is marked in the file, and the command that it prints works as typed."""
    _put_map(project)
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter")
    text = Path(ended.lines[0]).read_text(encoding="utf-8").splitlines()
    named = [
        int(line.split()[1].rstrip(":")) for line in ended.err.splitlines() if line.startswith("  line ")
    ]
    assert ["EDIT" in text[number - 1] for number in named] == [True, True, True]
    assert run(shlex.split(ended.err.splitlines()[-1].removeprefix("Then: "))[1:]) == 0


def test_as_json(project: Project) -> None:
    """--json has all of that as one object; -q says nothing besides the file."""
    _put_map(project)
    [record] = project.type("profile", "import", "map.csv", "--name", "acme/meter", "--json").records
    path = str(project.folder / "profiles" / "acme" / "meter.yaml")
    assert (record["file"], record["settings"], record["commands"]) == (path, 3, 2)
    assert record["converted"] == {"40003": 2, "40011": 10, "30013": 12}
    assert record["unused"] == ["Chapter"]
    assert {"level": "warning", "where": "identity"}.items() <= record["findings"][0].items()
    assert [each["line"] for each in record["edit"]] == sorted(each["line"] for each in record["edit"])
    assert record["next"] == [f"ackonce profile lint {path}"]
    quiet = project.type("profile", "import", "map.csv", "--name", "acme/other", "-q")
    assert (quiet.lines, quiet.err) == ([path.replace("meter", "other")], "")


def test_framing_and_word_order(project: Project) -> None:
    """How the device is reached, and which word comes first, is no matter of the map."""
    _put_map(project)
    words = ("--framing", "tcp", "--word-order", "little", "-o", "drafts/m.yaml")
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter", *words)
    assert ended.lines == [str(project.folder / "drafts" / "m.yaml")]
    shown = project.type("profile", "show", "drafts/m.yaml").out
    assert "framing tcp" in shown
    assert "read by fc04 0x000C f32/lw" in shown


def test_everything_wrong_is_said_and_nothing_written(project: Project) -> None:
    """Each problem has the line and column of its cell; there is no file after it."""
    path = _put_map(
        project, MAP.replace("Holding;40003;float", "Holding;40003;flaot").replace(";80,5;", ";8000;")
    )
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter")
    assert (ended.code, ended.out) == (3, "")
    assert "map.csv:2:29: unknown type 'flaot'. Did you mean 'float'?" in ended.err
    assert not (project.folder / "profiles").exists()
    path.write_text(MAP.replace(";80,5;", ";8000;"), encoding="utf-8")
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter")
    assert ended.code == 3
    assert ended.err.count("map.csv:3:") == 1
    assert "'max' 8000 is beyond what s16 can hold, -3276.8 to 3276.7" in ended.err
    assert not (project.folder / "profiles").exists()


@pytest.mark.parametrize("there", ["profiles/acme/meter.yaml", "profiles/mine.yaml"])
def test_nothing_is_overwritten(project: Project, there: str) -> None:
    """A file in the way, or the same name in another file of the folder, is named and left as it is."""
    _put_map(project)
    text = "profile: acme/meter\n"
    path = project.put(there, text)
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter")
    assert (ended.code, ended.out) == (2, "")
    assert "nothing was written" in ended.err
    assert str(path) in ended.err
    assert path.read_text(encoding="utf-8") == text


def test_a_file_that_was_asked_for_is_not_overwritten_either(project: Project) -> None:
    """Also -o leaves alone what is there."""
    _put_map(project)
    notes = project.put("notes.yaml", "mine\n")
    ended = project.type("profile", "import", "map.csv", "--name", "acme/meter", "-o", "notes.yaml")
    assert ended.code == 2
    assert "Give another file with -o" in ended.err
    assert notes.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("map.csv", "--name", "meter"), 2, "must be vendor/model"),
        (("map.csv", "--name", "acme/meter", "-o", "m.yml"), 2, "profiles are in files that end in .yaml"),
        (("other.csv", "--name", "acme/meter"), 3, "other.csv: there is no such file"),
        (("map.csv",), 2, "--name"),
    ],
)
def test_words_that_cannot_be_used(project: Project, words: tuple[str, ...], code: int, said: str) -> None:
    """What cannot be a name or a file is refused before anything is written."""
    _put_map(project)
    ended = project.type("profile", "import", *words)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert not (project.folder / "profiles").exists()


def test_standing_for_a_shipped_profile_is_said(project: Project) -> None:
    """A name that is shipped may be taken, since the nearer one wins, but not unnoticed."""
    _put_map(project)
    ended = project.type("profile", "import", "map.csv", "--name", "eastron/sdm630")
    assert ended.code == 0
    assert "it stands for the shipped eastron/sdm630" in ended.err
