"""What failed while somebody was not looking on: are they told, once, at their next command?"""

from pathlib import Path

import pytest

from agent.fleet.errands import Errands
from agent.operation import Cause, Outcome, Result
from agent.service import Service
from agent.settings import Settings
from tests.cli.bench import Bench
from tests.fleet.operations import asked

GONE = Result(Outcome.NOT_SENT, None, "pump-7 refuses connections", Cause.UNREACHABLE)


def leave(home: Path, person: str, result: Result = GONE) -> None:
    """Another agent's process keeps an errand for a person."""
    service = Service(Settings(home, home, None, None, "gw2", "root"))
    try:
        Errands(service).operation(asked(person), result)
    finally:
        service.close()


def test_whoever_asked_is_told_once_at_the_next_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E4, E5: the message waits in the store, is shown beside whatever is typed next, and not again."""
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    leave(bench.project.home, "ana")
    first, second = bench.type("doubt", "list"), bench.type("doubt", "list")
    assert "pump-7 refuses connections" in first.err
    assert "pump-7 refuses connections" not in second.err


def test_nobody_is_told_what_concerns_somebody_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message for ana is not shown to bo, and still waits for ana afterwards."""
    monkeypatch.setenv("ACKONCE_ACTOR", "bo")
    leave(bench.project.home, "ana")
    assert "pump-7" not in bench.type("doubt", "list").err
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    assert "pump-7 refuses connections" in bench.type("doubt", "list").err


def test_quiet_shows_nothing_and_loses_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -q the message stays for the next command."""
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    leave(bench.project.home, "ana")
    assert bench.type("doubt", "list", "-q").err == ""
    assert "pump-7 refuses connections" in bench.type("doubt", "list").err


def test_all_that_was_kept_can_be_listed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fleet messages` lists what was shown too, as objects with a class and whether the person can act."""
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    leave(bench.project.home, "ana")
    bench.type("doubt", "list")
    [record] = bench.type("fleet", "messages", "--json").records
    assert (record["class"], record["to"], record["actionable"]) == ("transport", "ana", True)
    assert "pump-7 refuses connections" in bench.type("fleet", "messages").out
    monkeypatch.setenv("ACKONCE_ACTOR", "bo")
    assert "Nothing is kept for bo" in bench.type("fleet", "messages").err
