"""Files that this process may not open, whoever runs the tests."""

import os
from pathlib import Path

import pytest


def forbid(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Let the system say of these paths that they may not be opened."""
    may = os.access
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) not in paths and may(path, mode))
