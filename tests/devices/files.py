"""Small profile files for tests, and their problems as one readable line each."""

from pathlib import Path

import pytest

from devices.loader import load
from devices.problems import FileProblems
from devices.profile import Profile

HEAD = "profile: acme/logger\ndialect: line\n"
BEEP = "commands:\n  - {name: BEEP, kind: trigger, send: BEEP}\n"


def write(folder: Path, text: str, name: str = "p.yaml") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, text: str) -> Profile:
    """Load a profile from its text."""
    return load(write(folder, text))


def complaints(folder: Path, text: str) -> list[str]:
    """Load a profile that must not load; return each problem as `line:column: message. Hint`."""
    path = write(folder, text)
    with pytest.raises(FileProblems) as caught:
        load(path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
