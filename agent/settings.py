"""Where does each setting of the agent come from?

An option of the command line wins over the environment, that over the project's `ackonce.toml`, that over the user's
own configuration file. Nothing here says yes to anything on anybody's behalf.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.duration import parse_duration
from devices.problems import FileProblem, FileProblems, UsageProblem, did_you_mean

PROJECT_FILE = "ackonce.toml"
INVENTORY_FILE = "inventory.yaml"
_KEYS = ("home", "inventory", "timeout", "store", "agent", "actor")


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run of the agent goes by. `inventory` is None where there is none; `timeout_s` where nobody said one."""

    home: Path
    project: Path
    inventory: Path | None
    timeout_s: float | None
    agent: str | None
    actor: str


@dataclass(frozen=True, slots=True)
class _Said:
    """A value and who said it: the file, or None for the environment. Relative paths start from `base`."""

    name: str
    text: str
    base: Path
    file: Path | None

    def refuse(self, message: str) -> UsageProblem | FileProblems:
        """What to raise where the value makes no sense: it names the place."""
        if self.file is None:
            return UsageProblem(f"ACKONCE_{self.name.upper()}: {message}")
        return FileProblems([FileProblem(str(self.file), None, None, f"{self.name}: {message}")])


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
    here = Path(project or environ.get("ACKONCE_PROJECT") or ".").absolute()
    if not here.is_dir():
        raise UsageProblem(f"{here} is no folder", "Give an existing one to -C")
    root = next((p for p in (here, *here.parents) if (p / PROJECT_FILE).is_file()), None)
    said = _layered(here, root, environ)
    store, agent, actor = said.get("store"), said.get("agent"), said.get("actor")
    if store is not None:
        raise store.refuse(
            f"the store {store.text} is not supported: this version keeps its store in ACKONCE_HOME"
        )
    return Settings(
        home=_home(said.get("home"), environ),
        project=root or here,
        inventory=_inventory(inventory, said.get("inventory"), here, root),
        timeout_s=_timeout(timeout, said.get("timeout")),
        agent=agent.text if agent is not None else None,
        actor=actor.text if actor is not None else _login(),
    )


def _layered(here: Path, root: Path | None, environ: Mapping[str, str]) -> dict[str, _Said]:
    """What was said about each setting, the strongest word only; a variable that is empty says nothing."""
    files = [root / PROJECT_FILE] if root is not None else []
    user = _user_file(environ)
    if user is not None and user.is_file():
        files.append(user)
    said: dict[str, _Said] = {}
    for file in reversed(files):
        said |= {name: _Said(name, text, file.parent, file) for name, text in _toml(file).items()}
    variables = {name: environ.get(f"ACKONCE_{name.upper()}") for name in _KEYS}
    return said | {name: _Said(name, text, here, None) for name, text in variables.items() if text}


def _home(said: _Said | None, environ: Mapping[str, str]) -> Path:
    if said is not None:
        return said.base / Path(said.text).expanduser()
    import platformdirs

    return Path(environ.get("XDG_STATE_HOME", "") or platformdirs.user_state_dir()) / "ackonce"


def _inventory(option: Path | None, said: _Said | None, here: Path, root: Path | None) -> Path | None:
    if option is not None:
        return here / option
    if said is not None:
        return said.base / said.text
    places = [here] if root is None else [here, root]
    return next((p / INVENTORY_FILE for p in places if (p / INVENTORY_FILE).exists()), None)


def _timeout(option: str | None, said: _Said | None) -> float | None:
    try:
        if option is not None:
            return parse_duration(option)
        return parse_duration(said.text) if said is not None else None
    except ValueError as problem:
        if option is not None or said is None:
            raise UsageProblem(f"--timeout: {problem}") from None
        raise said.refuse(str(problem)) from None


def _toml(path: Path) -> dict[str, str]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FileProblems([FileProblem(str(path), None, None, f"not readable as TOML: {problem}")]) from None
    problems = [found for name, value in data.items() if (found := _misfit(str(path), name, value))]
    if problems:
        raise FileProblems(problems)
    return {name: str(value) for name, value in data.items()}


def _misfit(path: str, name: str, value: object) -> FileProblem | None:
    if name not in _KEYS:
        hint = did_you_mean(name, _KEYS) or f"Known: {', '.join(_KEYS)}"
        return FileProblem(path, None, None, f"unknown key '{name}'", hint)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (isinstance(value, str) and value) or (name == "timeout" and number):
        return None
    return FileProblem(path, None, None, f"{name}: must be text in quotes, and not empty")


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
