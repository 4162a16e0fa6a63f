"""Where does each setting of the agent come from?

An option of the command line wins over the environment, that over the project's `ackonce.toml`, that over the user's
own configuration file. Nothing here says yes to anything on anybody's behalf.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    layers: list[tuple[Mapping[str, Any], Path]] = [
        ({name: environ.get(f"ACKONCE_{name.upper()}") or None for name in _KEYS}, here)
    ]
    if root is not None:
        layers.append((_toml(root / PROJECT_FILE), root))
    user = _user_file(environ)
    if user is not None and user.is_file():
        layers.append((_toml(user), user.parent))

    def said(name: str) -> tuple[str, Path] | None:
        return next(((str(layer[name]), base) for layer, base in layers if layer.get(name)), None)

    store = said("store")
    if store is not None:
        raise UsageProblem(
            f"the store {store[0]} is not supported: this version keeps its store in ACKONCE_HOME"
        )
    return Settings(
        home=_home(said("home"), environ),
        project=root or here,
        inventory=_inventory(inventory, said("inventory"), here, root),
        timeout_s=_timeout(timeout, said("timeout")),
        agent=(said("agent") or (None,))[0],
        actor=(said("actor") or (_login(),))[0],
    )


def _home(said: tuple[str, Path] | None, environ: Mapping[str, str]) -> Path:
    if said is not None:
        return said[1] / Path(said[0]).expanduser()
    import platformdirs

    return Path(environ.get("XDG_STATE_HOME", "") or platformdirs.user_state_dir()) / "ackonce"


def _inventory(
    option: Path | None, said: tuple[str, Path] | None, here: Path, root: Path | None
) -> Path | None:
    if option is not None:
        return here / option
    if said is not None:
        return said[1] / said[0]
    places = [here] if root is None else [here, root]
    return next((p / INVENTORY_FILE for p in places if (p / INVENTORY_FILE).exists()), None)


def _timeout(option: str | None, said: tuple[str, Path] | None) -> float | None:
    text = option if option is not None else said[0] if said is not None else None
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise UsageProblem(f"timeout: {problem}") from None


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise FileProblems([FileProblem(str(path), None, None, f"not readable as TOML: {problem}")]) from None
    for name in data:
        if name not in _KEYS:
            hint = did_you_mean(name, _KEYS) or f"Known: {', '.join(_KEYS)}"
            raise FileProblems([FileProblem(str(path), None, None, f"unknown key '{name}'", hint)])
    return data


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
