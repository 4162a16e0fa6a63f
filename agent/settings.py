"""Where does each setting of the agent come from?

An option of the command line wins over the environment, that over the project's `ackonce.toml`, that over the user's
own configuration file, that over the default. Nothing here says yes to anything on anybody's behalf.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from agent.duration import parse_duration
from devices.problems import FileProblem, FileProblems, UsageProblem, did_you_mean

PROJECT_FILE = "ackonce.toml"
INVENTORY_FILE = "inventory.yaml"
_KEYS = ("home", "inventory", "timeout", "store", "agent", "actor")
_TABLES: Mapping[str, tuple[str, ...]] = {
    "fleet": ("site", "vantage", "uplink", "listen", "advertise", "probe"),
    "notify": ("urls",),
}
"""The tables of a file and their keys. What the values mean is the business of whoever reads the table."""
_NOT_SHOWN = "(not shown)"
"""Instead of addresses that notices go to: they hold passwords."""
_AT = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")
"""Where the TOML parser says that something is wrong, at the end of its sentence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a table: its value as TOML has it, the file that says it, and the line in it."""

    value: object
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run of the agent goes by. `inventory` is None where there is none; `timeout_s` where nobody said one.

    `tables`: the tables that files have, by name, each with its keys; of two files the nearer one's word on each key.
    """

    home: Path
    project: Path
    inventory: Path | None
    timeout_s: float | None
    agent: str | None
    actor: str
    tables: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)


class Origin(StrEnum):
    """Who said a value, the strongest first."""

    OPTION = "option"
    ENVIRONMENT = "environment"
    PROJECT = "project file"
    USER = "user file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Traced:
    """A setting with its value, None where it has none, and where that was said.

    `where`: the option, the variable, or the file with its line; None for a default.
    """

    name: str
    value: str | None
    origin: Origin
    where: str | None


@dataclass(frozen=True, slots=True)
class _Said:
    """A value and who said it. `where`: the option, the variable or the file. Relative paths start from `base`.

    `document` is the whole text of the file, empty where no file said it. A table has a word of its own, and one for
    each of its keys under `table.key`, whose `value` is as TOML has it.
    """

    name: str
    text: str
    base: Path
    origin: Origin
    where: str
    document: str = ""
    value: object = None

    def place(self) -> str:
        """The option, the variable, or the file with its line."""
        return f"{self.where}:{_lines(self.document)[self.name]}" if self.document else self.where

    def refuse(self, message: str) -> UsageProblem | FileProblems:
        """What to raise where the value makes no sense: it names the place."""
        if not self.document:
            return UsageProblem(f"{self.where}: {message}")
        line = _lines(self.document)[self.name]
        return FileProblems([FileProblem(self.where, line, None, f"{self.name}: {message}")])


def resolve(
    *,
    project: Path | None = None,
    inventory: Path | None = None,
    timeout: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Find every setting.

    Args:
        project: `-C`, the folder to work in; by default the current one.
        inventory: `-i`.
        timeout: `--timeout`, as typed.
        environ: the environment.

    Raises:
        UsageProblem: an option or variable makes no sense.
        FileProblems: a configuration file makes no sense.
    """
    said, here, root = _everything_said(project, inventory, timeout, environ)
    return _settings(said, here, root, environ)


def trace(
    *,
    project: Path | None = None,
    inventory: Path | None = None,
    timeout: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[Traced]:
    """Every setting that `resolve` finds, with where it was said. Arguments and errors as there."""
    said, here, root = _everything_said(project, inventory, timeout, environ)
    found = _settings(said, here, root, environ)
    from socket import gethostname

    from agent.store.sqlite import FILE_NAME

    values = {
        "home": str(found.home),
        "project": str(found.project),
        "inventory": str(found.inventory) if found.inventory is not None else None,
        "timeout": said["timeout"].text if "timeout" in said else None,
        "store": str(found.home / FILE_NAME),
        "agent": found.agent or gethostname(),
        "actor": found.actor,
    }
    values |= {name: each.text for name, each in said.items() if "." in name}
    if "project" not in said and root is not None:
        said["project"] = _Said("project", "", here, Origin.PROJECT, str(root / PROJECT_FILE))
    return [
        Traced(name, value, by.origin, by.place())
        if (by := said.get(name)) is not None
        else Traced(name, value, Origin.DEFAULT, None)
        for name, value in values.items()
    ]


def _everything_said(
    project: Path | None, inventory: Path | None, timeout: str | None, environ: Mapping[str, str]
) -> tuple[dict[str, _Said], Path, Path | None]:
    """The strongest word on each setting, the folder to work in, and the project's where it has a file.

    Raises UsageProblem, FileProblems.
    """
    said: dict[str, _Said] = {}
    named = environ.get("ACKONCE_PROJECT")
    if project is not None:
        said["project"] = _Said("project", str(project), Path(), Origin.OPTION, "--project")
    elif named:
        said["project"] = _Said("project", named, Path(), Origin.ENVIRONMENT, "ACKONCE_PROJECT")
    here = Path(said["project"].text if said else ".").absolute()
    if not here.is_dir():
        raise UsageProblem(f"{here} is no folder", "Give an existing one to -C")
    root = next((p for p in (here, *here.parents) if (p / PROJECT_FILE).is_file()), None)
    said |= _layered(here, root, environ)
    for name, option in (("inventory", inventory), ("timeout", timeout)):
        if option is not None:
            said[name] = _Said(name, str(option), here, Origin.OPTION, f"--{name}")
    return said, here, root


def _layered(here: Path, root: Path | None, environ: Mapping[str, str]) -> dict[str, _Said]:
    """What files and variables say, the strongest word only; a variable that is empty says nothing."""
    said: dict[str, _Said] = {}
    user = _user_file(environ)
    if user is not None and user.is_file():
        said |= _toml(user, Origin.USER)
    if root is not None:
        said |= _toml(root / PROJECT_FILE, Origin.PROJECT)
    variables = {name: f"ACKONCE_{name.upper()}" for name in _KEYS}
    return said | {
        name: _Said(name, text, here, Origin.ENVIRONMENT, variable)
        for name, variable in variables.items()
        if (text := environ.get(variable))
    }


def _settings(
    said: Mapping[str, _Said], here: Path, root: Path | None, environ: Mapping[str, str]
) -> Settings:
    store, agent, actor = said.get("store"), said.get("agent"), said.get("actor")
    if store is not None:
        raise store.refuse(
            f"the store {store.text} is not supported: this version keeps its store in ACKONCE_HOME"
        )
    return Settings(
        home=_home(said.get("home"), environ),
        project=root or here,
        inventory=_inventory(said.get("inventory"), here, root),
        timeout_s=_timeout(said.get("timeout")),
        agent=agent.text if agent is not None else None,
        actor=actor.text if actor is not None else _login(),
        tables={name: _table(said, name) for name in _TABLES if name in said},
    )


def _table(said: Mapping[str, _Said], table: str) -> Mapping[str, Entry]:
    keys = {key: said[name] for key in _TABLES[table] if (name := f"{table}.{key}") in said}
    return {
        key: Entry(each.value, each.where, _lines(each.document)[each.name]) for key, each in keys.items()
    }


def _home(said: _Said | None, environ: Mapping[str, str]) -> Path:
    if said is not None:
        return said.base / Path(said.text).expanduser()
    import platformdirs

    return Path(environ.get("XDG_STATE_HOME", "") or platformdirs.user_state_dir()) / "ackonce"


def _inventory(said: _Said | None, here: Path, root: Path | None) -> Path | None:
    if said is not None:
        return said.base / said.text
    places = [here] if root is None else [here, root]
    return next((p / INVENTORY_FILE for p in places if (p / INVENTORY_FILE).exists()), None)


def _timeout(said: _Said | None) -> float | None:
    if said is None:
        return None
    try:
        return parse_duration(said.text)
    except ValueError as problem:
        raise said.refuse(str(problem)) from None


# --- files ------------------------------------------------------------------------------------------------------------


def _toml(path: Path, origin: Origin) -> dict[str, _Said]:
    """What a file says. Raises FileProblems."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise FileProblems([FileProblem(str(path), None, None, f"not readable as TOML: {problem}")]) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise FileProblems([_no_toml(path, text, str(problem))]) from None
    words = _words(data)
    misfits = {name: wrong for name, value in words.items() if (wrong := _misfit(name, value)) is not None}
    if misfits:
        lines = _lines(text)
        raise FileProblems(
            [FileProblem(str(path), lines[name], None, *wrong) for name, wrong in misfits.items()]
        )
    return {
        name: _Said(name, _shown(name, value), path.parent, origin, str(path), text, value)
        for name, value in words.items()
    }


def _words(data: Mapping[str, object]) -> dict[str, object]:
    """The keys of a file with their values, those of tables under `table.key` behind their table."""
    found: dict[str, object] = {}
    for name, value in data.items():
        found[f'"{name}"' if "." in name else name] = value  # a dot in quotes leads into no table
        if name in _TABLES and isinstance(value, dict):
            found |= {f"{name}.{key}": each for key, each in value.items()}
    return found


def _shown(name: str, value: object) -> str:
    return _NOT_SHOWN if name == "notify.urls" else str(value)


def _no_toml(path: Path, text: str, sentence: str) -> FileProblem:
    at = _AT.search(sentence)
    line, column = len(text.splitlines()), None
    if at is not None and at[1] is not None:
        line, column = int(at[1]), int(at[2])
    return FileProblem(str(path), line, column, f"not readable as TOML: {_AT.sub('', sentence)}")


def _misfit(name: str, value: object) -> tuple[str, str | None] | None:
    """What is wrong with a key of a file, and what may have been meant."""
    table, _, key = name.partition(".")
    if name in _TABLES:
        return None if isinstance(value, dict) else (f"{name}: must be a table, [{name}]", None)
    if table in _TABLES:
        return _unknown_key(key, _TABLES[table], f" in [{table}]")
    if name not in _KEYS:
        return _unknown_key(name, (*_KEYS, *_TABLES))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (isinstance(value, str) and value) or (name == "timeout" and number):
        return None
    return f"{name}: must be text in quotes, and not empty", None


def _unknown_key(name: str, known: Sequence[str], where: str = "") -> tuple[str, str] | None:
    if name in known:
        return None
    return f"unknown key '{name}'{where}", did_you_mean(name, known) or f"Known: {', '.join(known)}"


def _lines(document: str) -> dict[str, int]:
    """The line in which each key of a TOML text is said, which the parser does not tell; of tables as `_words` has it.

    A key stands where the statement begins that ends the shortest beginning of the text that has the key.
    """
    found: dict[str, int] = {}
    lines = document.split("\n")
    begins = 1
    for number in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a statement
        found |= {name: begins for name in _words(data) if name not in found}
        begins = number + 1
    return found


def _user_file(environ: Mapping[str, str]) -> Path | None:
    base = environ.get("XDG_CONFIG_HOME")
    if base:
        return Path(base) / "ackonce" / "config.toml"
    home = environ.get("HOME")
    return Path(home) / ".config" / "ackonce" / "config.toml" if home else None


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid {os.getuid()}"
