"""Where does a setting come from, and where is it wrong?"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.settings import Settings, resolve
from devices.problems import FileProblems, UsageProblem


class Place:
    """A project folder with a folder below it, a user's configuration, and an environment."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.here = self.project / "site"
        self.user = root / "user" / "ackonce" / "config.toml"
        self.toml = self.project / "ackonce.toml"
        self.here.mkdir(parents=True)
        self.user.parent.mkdir(parents=True)
        self.environ = {"XDG_CONFIG_HOME": str(root / "user"), "XDG_STATE_HOME": str(root / "state")}

    def resolve(self, *, timeout: str | None = None, inventory: Path | None = None) -> Settings:
        """All settings, as seen from the folder below the project's."""
        return resolve(project=self.here, timeout=timeout, inventory=inventory, environ=self.environ)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty place."""
    return Place(tmp_path)


def test_defaults(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says anything: the state folder of the platform, no inventory, no timeout, the login's name."""
    monkeypatch.setenv("LOGNAME", "ana")
    assert place.resolve() == Settings(tmp_path / "state" / "ackonce", place.here, None, None, None, "ana")


def test_the_nearer_word_wins(place: Place) -> None:
    """Option before environment before the project's file before the user's."""
    place.user.write_text('timeout = "1s"\nactor = "user"\nagent = "user"')
    assert place.resolve().timeout_s == 1.0
    place.toml.write_text('timeout = 2\nactor = "project"')
    assert place.resolve().timeout_s == 2.0
    place.environ["ACKONCE_TIMEOUT"] = "3s"
    assert place.resolve().timeout_s == 3.0
    settings = place.resolve(timeout="4000ms")
    assert (settings.timeout_s, settings.actor, settings.agent) == (4.0, "project", "user")
    place.environ["ACKONCE_ACTOR"] = "environment"
    assert place.resolve().actor == "environment"


def test_an_empty_variable_says_nothing(place: Place) -> None:
    """A variable that is set to nothing does not hide the files."""
    place.user.write_text('actor = "user"')
    place.environ["ACKONCE_ACTOR"] = ""
    assert place.resolve().actor == "user"


def test_paths_start_where_they_were_said(place: Place, tmp_path: Path) -> None:
    """A path in a file is relative to that file, one of the environment or an option to the working folder."""
    place.user.write_text('home = "state"')
    assert place.resolve().home == place.user.parent / "state"
    place.toml.write_text('home = "state"\ninventory = "fleet.yaml"')
    assert place.resolve().home == place.project / "state"
    assert place.resolve().inventory == place.project / "fleet.yaml"
    place.environ |= {"ACKONCE_HOME": "state", "ACKONCE_INVENTORY": "other.yaml"}
    assert place.resolve().home == place.here / "state"
    assert place.resolve().inventory == place.here / "other.yaml"
    assert place.resolve(inventory=Path("mine.yaml")).inventory == place.here / "mine.yaml"
    place.environ["ACKONCE_HOME"] = str(tmp_path)
    assert place.resolve().home == tmp_path


def test_the_inventory_of_the_folder_or_the_project(place: Place) -> None:
    """Without a word the inventory here counts, else that of the nearest parent with a project file."""
    (place.project / "inventory.yaml").touch()
    assert place.resolve().inventory is None
    place.toml.touch()
    assert place.resolve().inventory == place.project / "inventory.yaml"
    (place.here / "inventory.yaml").touch()
    assert place.resolve().inventory == place.here / "inventory.yaml"
    assert place.resolve().project == place.project


def test_the_project_may_come_from_the_environment(place: Place) -> None:
    """`ACKONCE_PROJECT` stands in for `-C`."""
    settings = resolve(environ=place.environ | {"ACKONCE_PROJECT": str(place.here)})
    assert settings.project == place.here


@pytest.mark.parametrize("which", ["toml", "user"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('timeout = "soon"', "timeout: 'soon' is not a duration"),
        ("timeout = 0", "timeout: '0' must be more than 0"),
        ("timeout = true", "timeout: must be text in quotes"),
        ("actor = 5", "actor: must be text in quotes"),
        ('actor = ""', "actor: must be text in quotes, and not empty"),
        ("[agent]", "agent: must be text in quotes"),
        ('timeuot = "2s"', "unknown key 'timeuot'. Did you mean 'timeout'?"),
        ("yes = true", "unknown key 'yes'. Known: home, inventory"),
        ("timeout = ", "not readable as TOML"),
        ('store = "postgresql://db"', "store: the store postgresql://db is not supported"),
    ],
)
def test_a_file_that_makes_no_sense(place: Place, which: str, text: str, message: str) -> None:
    """Whatever is wrong in a configuration file is told with the file's path and the line."""
    file = {"toml": place.toml, "user": place.user}[which]
    file.write_text(f"# ours\n{text}")
    with pytest.raises(FileProblems, match=rf"{re.escape(str(file))}:2(:11)?: {re.escape(message)}"):
        place.resolve()


def test_everything_wrong_in_a_file_is_told_at_once(place: Place) -> None:
    """One look mends them all."""
    place.toml.write_text("actor = 5\nagnet = 'x'")
    with pytest.raises(FileProblems) as caught:
        place.resolve()
    assert len(caught.value.problems) == 2


def test_a_file_that_is_not_text(place: Place) -> None:
    """Bytes that are no UTF-8 are a problem of that file."""
    place.toml.write_bytes(b"\xff")
    with pytest.raises(FileProblems, match=re.escape(str(place.toml))):
        place.resolve()


USAGE: list[tuple[Callable[[Place], Settings], str]] = [
    (lambda place: place.resolve(timeout="soon"), "--timeout: 'soon' is not a duration"),
    (lambda place: place.resolve(timeout=""), "--timeout: '' is not a duration"),
    (
        lambda place: resolve(project=place.here, environ=place.environ | {"ACKONCE_TIMEOUT": "0"}),
        "ACKONCE_TIMEOUT: '0' must be more than 0",
    ),
    (
        lambda place: resolve(project=place.here, environ=place.environ | {"ACKONCE_STORE": "x"}),
        "ACKONCE_STORE: the store x is not supported",
    ),
    (lambda place: resolve(project=place.here / "gone", environ=place.environ), "gone is no folder"),
]


@pytest.mark.parametrize(("ask", "message"), USAGE, ids=[message for _, message in USAGE])
def test_an_option_or_variable_that_makes_no_sense(
    place: Place, ask: Callable[[Place], Settings], message: str
) -> None:
    """What was typed wrongly is named by the option or variable that said it."""
    with pytest.raises(UsageProblem, match=re.escape(message)):
        ask(place)


def test_a_bad_word_that_is_overruled_does_not_matter_but_a_broken_file_does(place: Place) -> None:
    """A valid nearer timeout hides a senseless one; an unknown key is wrong whoever overrules it."""
    place.toml.write_text('timeout = "soon"')
    assert place.resolve(timeout="1s").timeout_s == 1.0
    place.toml.write_text('timeuot = "1s"')
    with pytest.raises(FileProblems):
        place.resolve(timeout="1s")
