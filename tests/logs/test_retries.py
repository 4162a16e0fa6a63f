"""What the log tells of operations: how often each went out, and how it ended."""

import pytest

from logs.events import Event, EventName
from logs.retries import Trail, trails
from tests.logs.samples import sample

EARLY, LATE = "2026-11-29T22:48:03.120Z", "2026-11-29T22:48:05.120Z"


def _one(*events: Event) -> Trail:
    [trail] = trails(events).values()
    return trail


def test_two_copies_are_a_retry() -> None:
    """An operation of which two copies were sent went out more than once; device, setting and time are known."""
    trail = _one(
        sample("sent", op="A", device="pump-7", setting="offset", attempt=1, ts=EARLY),
        sample("timeout", "WARN", op="A", device="pump-7", setting="offset", attempt=1, ts=LATE),
        sample("sent", op="A", device="pump-7", setting="offset", attempt=2, ts=LATE),
        sample("duplicate_ack", op="A", device="pump-7", setting="offset", attempt=2, ts=LATE),
    )
    assert trail == Trail("A", "pump-7", "offset", 2, "duplicate_ack", LATE)
    assert trail.repeated


def test_one_copy_is_none() -> None:
    """One copy, however it ended, is no retry."""
    trail = _one(sample("sent", op="A", attempt=1), sample("ack", op="A", attempt=1))
    assert (trail.copies, trail.repeated, trail.ending) == (1, False, "ack")


def test_a_later_copy_alone_tells_that_there_were_others() -> None:
    """Where a rotation took the first copy away, the second one's number tells the retry."""
    assert _one(sample("sent", op="A", attempt=2)).repeated
    assert _one(sample("ack", op="A", attempt=2)).repeated


def test_records_of_no_operation_do_not_count() -> None:
    """A late ack, a notice or a connection belongs to no operation."""
    assert trails([sample("late_ack", op=None, attempt=2), sample("notice", op=None, text="x")]) == {}


def test_operations_are_told_apart() -> None:
    """Two operations with one copy each are no retry, and stand in the order of the log."""
    found = trails([sample("sent", op="B", attempt=1), sample("sent", op="A", attempt=1)])
    assert [(op, trail.copies) for op, trail in found.items()] == [("B", 1), ("A", 1)]


@pytest.mark.parametrize(
    ("events", "ending"),
    [
        (["sent", "timeout"], None),
        (["sent", "in_doubt", "settled"], "settled"),
        (["sent", "in_doubt", "resolved", "note"], "resolved"),
        (["sent", "refused"], "refused"),
        (["sent", "timeout", "verify"], "verify"),
    ],
)
def test_the_last_telling_record_is_the_end(events: list[EventName], ending: str | None) -> None:
    """A doubt that was settled later is not in doubt any more; notes end nothing."""
    assert _one(*(sample(event, op="A") for event in events)).ending == ending


def test_what_is_unknown_in_one_record_is_known_from_another() -> None:
    """A record without device or setting takes nothing away."""
    trail = _one(sample("sent", op="A", device="d", setting="s", attempt=1), sample("note", op="A"))
    assert (trail.device, trail.setting) == ("d", "s")
