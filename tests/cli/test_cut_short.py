"""How does a command end that never got to its work?"""

import json
from pathlib import Path

import pytest

from agent.cli.main import run


def test_interrupted_in_mid_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while a command makes ready: 130, a sentence, and with --json an object."""

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agent.cli.places.settings_of", pressed)
    assert run(["devices"]) == 130
    assert "interrupted; nothing is under way" in capsys.readouterr().err
    assert run(["devices", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["outcome"] == "not_sent"


def test_help_that_nobody_can_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help into a full disk is no fault of the program: exit 7, and why."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert run(["devices", "--help"]) == 7
    assert "the output cannot be written: No space left on device" in capsys.readouterr().err
