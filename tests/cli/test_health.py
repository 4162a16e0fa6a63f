"""What `doctor` finds out about the machine: software, environment, disk, clock, log."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from agent.cli import health
from agent.cli.health import Finding, State
from agent.settings import _KEYS
from tests.cli.access import forbid

NOW = datetime(2026, 11, 29, 22, 48, tzinfo=UTC)


def test_software_names_what_it_stands_on() -> None:
    """A report about the agent has its own version and those of the packages that it needs."""
    found = health.software()
    assert found.state is State.OK
    assert f"typer {version('typer')}" in found.says
    assert "pytest" not in found.says


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is not installed is named, with how to install it."""

    def missing(name: str) -> str:
        if name == "cobs":
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr("importlib.metadata.version", missing)
    found = health.software()
    assert (found.state, found.says.endswith("missing: cobs")) == (State.FAIL, True)
    assert "pip install" in (found.next or "")


def test_every_setting_has_its_variable() -> None:
    """The variables that are known are those that settings obey, and the project."""
    assert set(health.VARIABLES) == {f"ACKONCE_{name.upper()}" for name in (*_KEYS, "project")}


def test_a_misspelt_variable() -> None:
    """A variable that nobody obeys is named with the one that was meant; names of others are left alone."""
    found = health.environment(
        {"ACKONCE_HOMW": "x", "ACKONCE_ZZZZZZZZ": "y", "_ACKONCE_COMPLETE": "z", "HOME": "/"}
    )
    assert found.state is State.WARN
    assert found.says == (
        "not obeyed: ACKONCE_HOMW (Did you mean 'ACKONCE_HOME'?), ACKONCE_ZZZZZZZZ (no such setting)"
    )
    assert health.environment({"ACKONCE_HOME": "x"}) == Finding("environment", State.OK, "set: ACKONCE_HOME")


def test_a_home_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be written fails: its owner is named, and how to get it or to go elsewhere."""
    forbid(monkeypatch, tmp_path)
    own, other = health.home(tmp_path), health.home(tmp_path / "new")
    assert (own.state, other.state) == (State.FAIL, State.FAIL)
    assert f"{tmp_path} cannot be written (it belongs to " in own.says
    assert (own.next or "").startswith("sudo chown -R ")
    assert other.next == "Set ACKONCE_HOME to a folder of your own"


@pytest.mark.parametrize(
    ("free", "state"), [(10**5, State.FAIL), (10**8, State.WARN), (10**12, State.OK)], ids=str
)
def test_free_space(free: int, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk fails, a nearly full one warns."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert health.disk(tmp_path / "new").state is state


def test_a_disk_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that does not answer fails instead of breaking the run."""
    monkeypatch.setattr(shutil, "disk_usage", _stale)
    assert health.disk(tmp_path).state is State.FAIL


def _stale(*_: object, **__: object) -> NoReturn:
    raise OSError(116, "Stale file handle")


def test_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow flush is a warning with its time; the folder stays empty."""
    ticks = iter((0.0, 0.75))
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    found = health.flush(tmp_path)
    assert (found.state, found.says) == (State.WARN, "a flush takes 750.0 ms, and every copy waits for one")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["os.fsync", "tempfile.TemporaryFile"])
def test_a_disk_that_does_not_flush(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a flush fails nothing can be sent, and that is said."""
    monkeypatch.setattr(name, _stale)
    found = health.flush(tmp_path)
    assert (found.state, "Stale file handle" in found.says) == (State.FAIL, True)


def test_a_sane_clock(tmp_path: Path) -> None:
    """The time is shown in UTC and as it is here."""
    found = health.clock(tmp_path, NOW)
    assert found.state is State.OK
    assert found.says.startswith("2026-11-29T22:48:00+00:00, here ")


def test_a_clock_that_lost_its_battery(tmp_path: Path) -> None:
    """A time long past is no time, and is said with how to set it."""
    found = health.clock(tmp_path, datetime(1970, 1, 1, tzinfo=UTC))
    assert (found.state, found.next) == (State.WARN, "Set the clock: timedatectl")


@pytest.mark.parametrize(("ahead_s", "state"), [(4, State.OK), (3600, State.WARN)])
def test_a_clock_that_was_set_back(tmp_path: Path, ahead_s: int, state: State) -> None:
    """A store that was written in the future gives the clock away; a moment's difference does not."""
    (tmp_path / "log.jsonl").touch()
    written = (NOW + timedelta(seconds=ahead_s)).timestamp()
    os.utime(tmp_path / "log.jsonl", (written, written))
    assert health.clock(tmp_path, NOW).state is state


def test_no_time_zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time zone data windows in local time cannot be kept."""
    from zoneinfo import ZoneInfoNotFoundError

    def unknown(name: str) -> NoReturn:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr("zoneinfo.ZoneInfo", unknown)
    assert "tzdata" in (health.clock(tmp_path, NOW).next or "")


def test_the_log_and_what_was_set_aside(tmp_path: Path) -> None:
    """The sizes of both files of the log are told."""
    (tmp_path / "log.jsonl").write_bytes(b"x" * 2_097_152)
    (tmp_path / "log.jsonl.1").write_bytes(b"x" * 10_240)
    found = health.log(tmp_path / "log.jsonl")
    assert (found.state, found.says) == (State.OK, f"2.0 MB in {tmp_path}/log.jsonl, 10 kB in log.jsonl.1")


def test_a_log_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops no command, so it is a warning."""
    path = tmp_path / "log.jsonl"
    path.mkdir()
    assert health.log(path).state is State.WARN
    path.rmdir()
    path.touch()
    forbid(monkeypatch, path)
    assert (health.log(path).state, health.log(path).next) == (
        State.WARN,
        f"Move it away: mv {path} {path}.old",
    )
