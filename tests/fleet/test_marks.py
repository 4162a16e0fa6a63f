"""What has an operator said about a device or an agent, and does nobody else say it?"""

import re
from pathlib import Path

import pytest

import agent
from agent.fleet.marks import Mark, Marks, Word
from agent.store import sqlite
from agent.store.database import StoreError
from tests.fleet.crew import crew, full, locked

SAYS = re.compile(r"\.(disable|enable|reference)\(")


def test_a_word_is_kept_with_who_why_and_when(quick_home: Path) -> None:
    """Another process reads what was said, and by whom; it is durable when it returns."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        assert isinstance(service.database, sqlite.SqliteDatabase)
        Marks(service).disable("device:pump", by="ana", reason="leaks")
        assert service.database.flushes == 1
        them.clock.pass_s(60)
        Marks(service).reference("agent:gw2", holds=True, by="bo", reason=None)
        assert service.database.flushes == 2
        other = Marks(them.agent("gw2"))
        assert other.words() == [
            Word("agent:gw2", Mark.REFERENCE, True, "bo", None, "2026-11-29T22:01:00.000Z"),
            Word("device:pump", Mark.DISABLED, True, "ana", "leaks", "2026-11-29T22:00:00.000Z"),
        ]
        assert other.marked(Mark.DISABLED) == {"device:pump"}
        assert other.marked(Mark.REFERENCE) == {"agent:gw2"}


def test_a_word_that_is_taken_back_is_kept_too(quick_home: Path) -> None:
    """After `enable` a target is not disabled, and who enabled it is on record; so with references."""
    with crew(quick_home) as them:
        marks = Marks(them.agent("gw1"))
        marks.disable("device:pump", by="ana", reason="leaks")
        marks.reference("agent:gw1", holds=True, by="ana", reason=None)
        marks.enable("device:pump", by="bo", reason="mended")
        marks.reference("agent:gw1", holds=False, by="bo", reason=None)
        assert marks.marked(Mark.DISABLED) == marks.marked(Mark.REFERENCE) == frozenset()
        assert [(word.holds, word.by, word.reason) for word in marks.words()] == [
            (False, "bo", None),
            (False, "bo", "mended"),
        ]


def test_a_word_about_one_mark_leaves_the_other(quick_home: Path) -> None:
    """Why a target is disabled stays on record when somebody else makes it a reference."""
    with crew(quick_home) as them:
        marks = Marks(them.agent("gw1"))
        marks.disable("agent:gw1", by="ana", reason="leaks")
        marks.reference("agent:gw1", holds=True, by="bo", reason="it stands abroad")
        assert [(word.mark, word.by, word.reason) for word in marks.words()] == [
            (Mark.DISABLED, "ana", "leaks"),
            (Mark.REFERENCE, "bo", "it stands abroad"),
        ]


def test_health_never_says_an_operators_word() -> None:
    """M31: one file of the agent knows the operators' table, and nothing in the fleet calls what writes there."""
    package = Path(agent.__path__[0])
    files = {
        path.relative_to(package).as_posix(): path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
    }
    assert {name for name, text in files.items() if re.search(r"\bfleet_mark\b", text)} == {
        "fleet/marks.py",
        "store/schema.py",
    }
    fleet = {name: text for name, text in files.items() if name.startswith("fleet/")}
    assert "fleet/observations.py" in fleet
    assert [name for name, text in fleet.items() if SAYS.search(text)] == []


def test_a_store_that_cannot_be_written(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked or full, it is said in words, and what was said before holds."""
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with crew(quick_home) as them:
        service = them.agent("gw1")
        marks = Marks(service)
        marks.disable("device:pump", by="ana", reason="leaks")
        with locked(quick_home), pytest.raises(StoreError, match="cannot be written: database is locked"):
            marks.enable("device:pump", by="bo", reason=None)
        with full(service), pytest.raises(StoreError, match="cannot be written: database or disk is full"):
            marks.enable("device:pump", by="bo", reason="x" * 100_000)
        assert [(word.holds, word.by) for word in marks.words()] == [(True, "ana")]


def test_a_row_that_makes_no_sense(quick_home: Path) -> None:
    """A damaged row is a StoreError that says so."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        Marks(service).disable("device:pump", by="ana", reason=None)
        service.database.commit_now(lambda cursor: cursor.execute("UPDATE fleet_mark SET mark = 'disable'"))
        with pytest.raises(StoreError, match="its operators' marks make no sense"):
            Marks(service).words()
