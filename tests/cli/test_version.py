import platform
import sqlite3
import tomllib
from pathlib import Path

import agent
from tests.cli.project import Project

PYPROJECT = Path(agent.__file__).parents[1] / "pyproject.toml"


def test_the_constant_is_the_version_of_the_package() -> None:
    """The version that is printed is the one that pyproject.toml states."""
    assert agent.__version__ == tomllib.loads(PYPROJECT.read_text())["project"]["version"]


def test_version_is_one_line(project: Project) -> None:
    """The plain answer is the name and the version, which is what scripts compare."""
    assert project.type("version").lines == [f"ackonce {agent.__version__}"]


def test_verbose_tells_what_it_stands_on(project: Project) -> None:
    """With -v a bug report has Python, the platform, SQLite and the store's place."""
    first, *more = project.type("version", "-v").lines
    assert first == f"ackonce {agent.__version__}"
    assert [line.split(maxsplit=1) for line in more] == [
        ["python", platform.python_version()],
        ["platform", platform.platform()],
        ["sqlite", sqlite3.sqlite_version],
        ["store", str(project.home / "journal.db")],
    ]


def test_json_has_the_same_facts(project: Project) -> None:
    """--json is one object with everything that -v tells."""
    [record] = project.type("version", "--json").records
    assert record == {
        "version": agent.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "store": str(project.home / "journal.db"),
    }


def test_asking_for_the_version_makes_no_store(project: Project) -> None:
    """Looking leaves no trace: the store's folder is not made."""
    project.type("version", "-v")
    assert not project.home.exists()
