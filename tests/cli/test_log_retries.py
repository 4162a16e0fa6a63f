"""`ackonce log --setting --retried`: a value is odd, was a retry the cause?"""

from typing import Any

import pytest

from agent.cli import log
from logs.events import Event, EventName
from tests.cli.project import Ended, Project
from tests.logs.samples import sample, write_log


def _at(second: int) -> str:
    return f"2026-11-29T22:48:{second:02}.000Z"


def _copies(
    op: str,
    count: int,
    ending: EventName,
    second: int = 0,
    device: str = "pump-7",
    setting: str | None = "offset",
) -> list[Event]:
    """The records of an operation that went out `count` times."""
    fields: dict[str, Any] = {"op": op, "device": device, "setting": setting, "seq": second}
    sent = [
        sample("sent", **fields, cmd="ADJUST", attempt=number + 1, ts=_at(second + number))
        for number in range(count)
    ]
    return [*sent, sample(ending, **fields, attempt=count, ts=_at(second + count))]


@pytest.fixture
def odd(project: Project) -> Project:
    """A log of a value that is odd: two operations on it, one of them sent twice, and others beside it."""
    events = [
        *_copies("A1", 1, "ack", 0),
        *_copies("A2", 2, "duplicate_ack", 5),
        *_copies("A3", 2, "ack", 10, setting="interval"),
        sample("note", "DEBUG", op=None, device="pump-7", text="nobody's", ts=_at(20)),
    ]
    write_log(project.home, *events)
    return project


def _ops(ended: Ended) -> list[tuple[str, str]]:
    return [(record["op"], record["event"]) for record in ended.records]


DUPLICATE = "answered as duplicate by the device"
A1 = [("A1", "sent"), ("A1", "ack")]
A2 = [("A2", "sent"), ("A2", "sent"), ("A2", "duplicate_ack")]
A3 = [("A3", "sent"), ("A3", "sent"), ("A3", "ack")]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--setting", "offset"], [*A1, *A2]),
        (["--retried"], [*A2, *A3]),
        (["--setting", "offset", "--retried"], A2),
        (["--setting", "offset", "--since", _at(7)], A2),
        (["--retried", "--since", _at(8)], A3),
        (["--retried", "--seq", "10"], A3),
        (["--retried", "--device", "pump-8"], []),
        (["--setting", "Offset"], []),
        (["--setting", "offset", "--follow"], [*A1, *A2]),
    ],
)
def test_whole_operations_are_chosen(
    odd: Project, monkeypatch: pytest.MonkeyPatch, words: list[str], shown: list[tuple[str, str]]
) -> None:
    """--setting and --retried show every line of the operations that fit, and of no other."""
    monkeypatch.setattr(log, "_pause", lambda: False)
    ended = odd.type("log", "--json", *words)
    assert (_ops(ended), ended.code) == (shown, 0)


def test_urgency_hides_lines_but_no_operation(odd: Project) -> None:
    """A copy that --level hides is counted all the same."""
    assert odd.type("log", "--retried", "--level", "WARN").err.startswith(
        "3 operations in this log, 2 sent more than"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--setting", "offset"],
            [
                f"2 operations on offset in this log, 1 sent more than once: {DUPLICATE}.",
                "Next: ackonce trace A2",
            ],
        ),
        (
            ["--retried"],
            [
                f"3 operations in this log, 2 sent more than once: 1 {DUPLICATE}, 1 acknowledged.",
                "Next: ackonce trace A3",
            ],
        ),
        (
            ["--setting", "offset", "--op", "A1", "--retried"],
            ["1 operation on offset in this log, none sent more than once."],
        ),
        (
            ["--setting", "ofset"],
            ["No operation in this log names the setting 'ofset'. Did you mean 'offset'?"],
        ),
        (
            ["--setting", "x"],
            ["No operation in this log names the setting 'x'. Settings that are named: interval, offset."],
        ),
        (["--setting", "x", "--device", "y"], ["No operation in this log names the setting 'x'."]),
        (["--retried", "--device", "y"], ["No operation in this log."]),
        (["--setting", "offset", "-q"], []),
        (["--device", "pump-7"], []),
    ],
)
def test_the_question_is_answered_in_a_sentence(odd: Project, words: list[str], says: list[str]) -> None:
    """Was a retry the cause? The count and the ways in which repeats ended, on stderr, and no more than is known."""
    assert odd.type("log", *words).err.splitlines() == says


def test_repeats_that_name_no_setting_are_mentioned(project: Project) -> None:
    """What the log cannot assign to a setting, as in older records, is not silently left out of the answer."""
    write_log(
        project.home,
        *_copies("A1", 1, "ack", 0),
        *_copies("B1", 2, "in_doubt", 5, setting=None),
        *_copies("B2", 1, "ack", 10, setting=None),
        *_copies("B3", 2, "ack", 15, setting=None, device="pump-8"),
    )
    assert project.type("log", "--setting", "offset").err.splitlines() == [
        "1 operation on offset in this log, none sent more than once.",
        "Sent more than once too: 1 operation that names no setting. See: ackonce log --retried",
    ]


def test_a_repeat_without_an_end_is_said(project: Project) -> None:
    """A process that died leaves a repeat whose end the log does not know."""
    write_log(project.home, *_copies("A1", 2, "timeout"))
    assert "1 sent more than once: without an end in the log." in project.type("log", "--retried").err
