"""Facts of the journal as rows of a picture: who wrote, who spoke, where was silence."""

from datetime import UTC, datetime, timedelta

import pytest

from agent.cli.sequence import rows
from agent.clock import stamp
from agent.evidence import (
    Acked,
    BadSession,
    Booted,
    Burnt,
    Connected,
    Deferred,
    Drained,
    Evidence,
    GiveUp,
    Nakked,
    NotSent,
    Owner,
    Person,
    Reading,
    Sent,
    Spent,
    TakenUp,
    Unanswered,
    Unknown,
    Waited,
    Why,
)
from agent.operation import BOOT, Cause, Numbering, Operation, Terms
from agent.steps import Settle, step_text
from devices.kinds import Policy

START = datetime(2026, 11, 29, 22, 48, tzinfo=UTC)
SETTLE = step_text(Settle(1, 12, 7, 1))
SENT = Sent(1, 1, "ADJUST offset +5", 12)


def _operation() -> Operation:
    terms = Terms(
        policy=Policy.GET_VERIFY,
        idempotent=False,
        numbering=Numbering.NONE,
        text="ADJUST offset +5",
        queries={"offset": "GET offset"},
        boot_query="GET boots",
    )
    return Operation(
        "01J", "pump-7", "ADJUST offset +5", "relative", terms, "demo/x", "d", "tcp://x:1", "ana"
    )


def _told(
    *facts: Evidence, step: str | None = None, apart_s: float = 1.5
) -> list[tuple[float | None, str, str, str]]:
    """Facts that were learnt `apart_s` seconds after each other, as rows; `step` led to the last one."""
    story = [
        (step if fact is facts[-1] else None, fact, stamp(START + timedelta(seconds=apart_s * index)))
        for index, fact in enumerate(facts)
    ]
    return [(row.at_s, row.way.value, row.text, row.label) for row in rows(_operation(), story)]


@pytest.mark.parametrize(
    ("fact", "way", "text", "label"),
    [
        (Acked(1, False, None), "answer", "ack", "attempt 1"),
        (Acked(1, False, "15"), "answer", "ack (15)", "attempt 1"),
        (Acked(2, True, None), "answer", "ack: duplicate, not executed again", "attempt 2"),
        (Nakked(1, "too hot"), "answer", "says no: too hot", "attempt 1"),
        (Unknown("silence"), "silence", "1.5 s silence", ""),
        (Unknown("lost"), "silence", "connection lost after 1.5 s", ""),
        (Unknown("indeterminate"), "silence", "no clear word (indeterminate) after 1.5 s", ""),
        (Deferred("busy", 0.25), "answer", "is busy with something else (0.25 s)", ""),
        (Deferred("in_progress", 2.0), "answer", "is still at it (2.0 s)", ""),
        (BadSession("cmd", 3), "answer", "the device does not know the session any more (said to CMD)", ""),
        (Booted(1), "answer", "the device announced a start", ""),
        (Connected(2), "note", "connection 2", ""),
        (Connected(2, 7, 65537), "note", "connection 2", "session 65537"),
        (NotSent(Cause.UNREACHABLE, "refused"), "note", "it could not be asked: refused", ""),
        (Waited(5.0), "note", "waited 5.0 s", ""),
        (
            Drained(1, 5.0),
            "note",
            "listened until nothing could be owed any more, 5.0 s after the last request",
            "",
        ),
        (
            Drained(1, 2.0, alive=False),
            "note",
            "listened until the connection broke, 2.0 s after the last request",
            "",
        ),
        (GiveUp("interrupted"), "note", "no further copies: interrupted", ""),
        (TakenUp(resend=True), "note", "taken up again", ""),
        (Person(applied=True, who="ana", reason="seen"), "note", "resolved by ana: applied (seen)", ""),
    ],
    ids=str,
)
def test_facts_as_rows(fact: Evidence, way: str, text: str, label: str) -> None:
    """What the device said is an answer, what was not heard a silence since the copy, all else a note."""
    assert _told(SENT, fact) == [
        (0.0, "copy", "ADJUST offset +5", "seq=12 attempt 1"),
        (1.5, way, text, label),
    ]


def test_before_the_first_copy_nothing_was_sent() -> None:
    """Where the way to the device fails before any copy, the row says so; it never reads as if no copy were left."""
    told = _told(NotSent(Cause.UNREACHABLE, "refused"))
    assert told == [(0.0, "note", "nothing was sent: refused", "")]


@pytest.mark.parametrize(
    ("reading", "question", "answer"),
    [
        (Reading("offset", "10", 1, Why.BASELINE), ("GET offset", "baseline"), ("answer", "10")),
        (Reading("offset", None, 1, Why.VERIFY), ("GET offset", "verify"), ("silence", "no answer")),
        (Reading("offset", None, 1, Why.VERIFY, "ERR 3"), ("GET offset", "verify"), ("answer", "ERR 3")),
        (Reading(BOOT, "4", 1, Why.BASELINE), ("GET boots", "baseline"), ("answer", "4")),
        (Reading("gone", "4", 1, Why.BASELINE), ("reads gone", "baseline"), ("answer", "4")),
    ],
    ids=str,
)
def test_a_reading_is_question_and_answer(
    reading: Reading, question: tuple[str, str], answer: tuple[str, str]
) -> None:
    """A reading shows what was asked and what came, where nothing came the silence."""
    assert _told(reading) == [(None, "ask", *question), (0.0, *answer, "")]


@pytest.mark.parametrize(
    ("fact", "way", "text"),
    [
        (Burnt(), "answer", "never ran"),
        (Spent(Owner.OURS, 0, "15"), "answer", "applied"),
        (Unanswered("settle"), "silence", "no answer"),
    ],
    ids=str,
)
def test_settling_is_a_question_too(fact: Evidence, way: str, text: str) -> None:
    """The NOP that settles a number's fate is drawn as what it is: harmless, and answered or not."""
    asked = (None, "ask", "NOP under the same number, to settle its fate", "")
    assert _told(fact, step=SETTLE) == [asked, (0.0, way, text, "")]
    assert _told(fact) == [(0.0, way, text, "")]


def test_a_restart_between_is_told() -> None:
    """A connection to a device that has restarted since the copy says so."""
    told = _told(Connected(1, 7), SENT, Connected(2, 8))
    assert told[-1] == (3.0, "note", "the device has restarted", "")


def test_a_clock_that_was_set_back_gives_no_duration() -> None:
    """A silence whose length the records do not tell has none."""
    assert _told(SENT, Unknown("silence"), apart_s=-1.0)[-1] == (-1.0, "silence", "silence", "")


def test_an_unknown_fact_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that nobody has words for is told by its name and fields instead of being left out."""
    monkeypatch.setattr("agent.narrate.Narrator.fact", lambda *_: None)
    assert _told(GiveUp("x")) == [(0.0, "note", "GiveUp: why x, cause interrupted", "")]
    assert _told(Burnt()) == [(0.0, "answer", "Burnt", "")]
