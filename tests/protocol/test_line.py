"""Which line is the answer to a request, and what is told of the others?"""

from dataclasses import replace

import pytest

from protocol.line import Answered, Grammar, Ignored, LineRequester, Notice, Started, Waiting
from tests.protocol.line_events import BARE, GRAMMAR, asking, briefly, heard

LEVEL = r"^level=(?P<value>.*)$"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"OK", "done"),
        (b"OK 15", "value 15"),
        (b"OK ", "done"),
        (b"ERR full", "refused full"),
        (b"BUSY", "waiting"),
        (b"# temperature 21", "notice"),
        (b"READY", "started"),
        (b"OKAY", "junk"),
        (b"15", "junk"),
    ],
)
def test_line_by_line(line: bytes, word: str) -> None:
    """Each line is what its pattern says; what no pattern knows is junk."""
    assert heard(line + b"\n") == [word]


def test_events_carry_the_line() -> None:
    """Events tell the whole line; what is ignored comes with its bytes too."""
    requester = asking()

    assert requester.receive(b"BUSY 3\n# hot\nREADY v2\nwhat?\r\nOK 15\nERR late\n") == [
        Waiting("BUSY 3"),
        Notice("# hot"),
        Started("READY v2"),
        Ignored("junk", "what?", b"what?"),
        Answered(False, "15", "OK 15"),
        Ignored("answer", "ERR late", b"ERR late"),
    ]


@pytest.mark.parametrize(
    ("eol", "written"), [("\n", b"BEEP\n"), ("\r", b"BEEP\r"), ("\r\n", b"BEEP\r\n"), (";", b"BEEP;")]
)
def test_request_is_one_line(eol: str, written: bytes) -> None:
    """A request is its text and the profile's line end."""
    assert LineRequester(replace(GRAMMAR, eol=eol)).ask("BEEP") == written


@pytest.mark.parametrize("text", ["A\nB", "A\rB", "BEEP\n", "A;B"])
def test_request_holds_no_line_end(text: str) -> None:
    """A text that the device would take for two requests is not written."""
    requester = LineRequester(replace(GRAMMAR, eol=";"))

    with pytest.raises(ValueError, match="second request"):
        requester.ask(text)
    assert briefly(requester.receive(b"OK\n")) == ["answer"]


@pytest.mark.parametrize("line", [b"# x", b"READY", b"BUSY", b"junk"])
def test_wait_goes_on(line: bytes) -> None:
    """Notices, starts, busy lines and junk do not end the wait: the answer may follow (case 51)."""
    requester = asking()
    requester.receive(line + b"\n")

    assert briefly(requester.receive(b"OK 15\n")) == ["value 15"]


# --- precedence -------------------------------------------------------------------------------------------------------

GREEDY = r"OK|READY|BUSY|#"


@pytest.mark.parametrize(
    ("grammar", "line", "word"),
    [
        (replace(GRAMMAR, notice=(GREEDY,), boot=GREEDY, busy=GREEDY, nak=GREEDY), b"OK", "notice"),
        (replace(GRAMMAR, boot=GREEDY, busy=GREEDY, nak=GREEDY), b"OK", "started"),
        (replace(GRAMMAR, busy=GREEDY, nak=GREEDY), b"OK", "waiting"),
        (replace(GRAMMAR, nak=GREEDY), b"OK", "refused OK"),
        (replace(GRAMMAR, notice=("^!", "OK$")), b"OK", "notice"),
    ],
)
def test_most_careful_meaning_wins(grammar: Grammar, line: bytes, word: str) -> None:
    """A line that fits several patterns is a notice before a start, busy, a refusal, and an ack last of all."""
    assert heard(line + b"\n", grammar) == [word]


def test_refusal_before_a_reading() -> None:
    """A line that a reading's own pattern takes is a refusal if it is one."""
    assert heard(b"ERR level=3\n", reply="level=(?P<value>.*)") == ["refused level=3"]


# --- readings with a pattern of their own -----------------------------------------------------------------------------


def test_own_pattern_alone_answers() -> None:
    """An ack is no answer to a read with its own pattern: it belongs to somebody else (B23, case 52)."""
    requester = asking(text="GET level", reply=LEVEL)

    events = requester.receive(b"OK\nOK 9\noffset=7\nlevel=3\n")

    assert briefly(events) == ["answer", "answer", "junk", "value 3"]


def test_own_pattern_or_a_refusal_answers() -> None:
    """A read with its own pattern can be refused."""
    assert heard(b"ERR no such setting\n", reply=LEVEL) == ["refused no such setting"]


def test_value_is_that_of_the_own_pattern() -> None:
    """The value comes from the pattern that answers, though the ack has one too."""
    assert heard(b"OK level=3\n", reply="level=(?P<value>.*)") == ["value 3"]


def test_own_pattern_ends_with_its_request() -> None:
    """The next request is answered by an ack again, and the pattern of the one before means nothing."""
    requester = asking(text="GET level", reply=LEVEL)
    requester.abandon()
    requester.ask("BEEP")

    assert briefly(requester.receive(b"level=3\nOK\n")) == ["junk", "done"]


def test_refusal_that_may_be_somebody_elses() -> None:
    """Where a refusal may answer an earlier request, it answers nothing, and the wait goes on."""
    requester = LineRequester(GRAMMAR)
    requester.ask("GET level", LEVEL, refusable=False)

    assert briefly(requester.receive(b"ERR busy motor\nlevel=3\n")) == ["answer", "value 3"]


def test_refusal_that_may_be_somebody_elses_is_no_reading_either() -> None:
    """A refusal is not taken for the reading because its own pattern fits too."""
    requester = LineRequester(GRAMMAR)
    requester.ask("GET level", "level=(?P<value>.*)", refusable=False)

    assert briefly(requester.receive(b"ERR level=3\n")) == ["answer"]


def test_refusals_count_again_for_the_next_request() -> None:
    """That refusals answer nothing is true of one request only."""
    requester = LineRequester(GRAMMAR)
    requester.ask("GET level", LEVEL, refusable=False)
    requester.ask("BEEP")

    assert briefly(requester.receive(b"ERR no\n")) == ["refused no"]


# --- one request, one answer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"OK 15", b"ERR no", b"OK 16"])
def test_second_answer_is_told_as_one(line: bytes) -> None:
    """Of two answers the first counts, and the second is told as an answer that nobody asked for (B33)."""
    assert heard(b"OK 15\n" + line + b"\n") == ["value 15", "answer"]


def test_second_reading_is_told_as_an_answer() -> None:
    """A second reading is an answer too, not junk, so that its reader can see that it heard two."""
    requester = asking(text="GET level", reply=LEVEL)

    assert briefly(requester.receive(b"level=3\nlevel=4\n")) == ["value 3", "answer"]


def test_refused_is_answered() -> None:
    """After a refusal nothing is outstanding."""
    assert heard(b"ERR no\nOK\n") == ["refused no", "answer"]


@pytest.mark.parametrize(
    ("line", "word"),
    [(b"OK", "answer"), (b"ERR no", "answer"), (b"# x", "notice"), (b"READY", "started"), (b"x", "junk")],
)
def test_nothing_asked_nothing_answered(line: bytes, word: str) -> None:
    """Before the first request every line that looks like an answer is ignored as one (B30, case 51)."""
    assert briefly(LineRequester(GRAMMAR).receive(line + b"\n")) == [word]


@pytest.mark.parametrize("line", [b"OK 15", b"ERR no", b"level=3"])
def test_nobody_waits_any_more(line: bytes) -> None:
    """What comes after the wait was given up answers nothing (B24, B27)."""
    requester = asking(text="GET level", reply=LEVEL)
    requester.abandon()

    assert briefly(requester.receive(line + b"\n")) == ["answer"]


def test_line_begun_before_the_request_is_no_answer() -> None:
    """The rest of a late answer that was under way when the request was made does not answer it (B49, case 52)."""
    requester = asking()
    requester.receive(b"OK 1")
    requester.abandon()
    requester.ask("GET level")

    assert requester.receive(b"0\n") == [Ignored("answer", "OK 10", b"OK 10")]
    assert briefly(requester.receive(b"OK 3\n")) == ["value 3"]


def test_end_of_an_older_line_is_no_answer() -> None:
    """Nor does it if what came in since looks like a whole answer by itself (B49)."""
    requester = LineRequester(BARE)
    requester.receive(b"x 1")
    requester.ask("MEAS?")

    assert briefly(requester.receive(b"50\n7\n")) == ["junk", "value 7"]


@pytest.mark.parametrize("line", [b"ERR no\n", b"OK 1\n"])
def test_line_begun_long_before_is_no_answer(line: bytes) -> None:
    """That holds wherever the request cuts the line, for acks and refusals."""
    for cut in range(1, len(line) - 1):
        requester = LineRequester(GRAMMAR)
        requester.receive(line[:cut])
        requester.ask("BEEP")
        assert briefly(requester.receive(line[cut:] + b"OK 2\n")) == ["answer", "value 2"], cut


def test_line_end_behind_the_request_is_nothing() -> None:
    """CRLF cut in two by the next request leaves a blank line, and the answer is fresh."""
    requester = asking()

    assert briefly(requester.receive(b"OK 1\r")) == ["value 1"]
    requester.ask("GET level")
    assert briefly(requester.receive(b"\nOK 2\r\n")) == ["value 2"]


def test_notice_begun_before_the_request_is_told() -> None:
    """Notices, starts and busy lines mean the same whenever they began."""
    requester = LineRequester(GRAMMAR)
    requester.receive(b"REA")
    requester.ask("BEEP")

    assert requester.receive(b"DY\n") == [Started("READY")]


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ack", "value"),
    [
        ("^OK", None),
        ("^OK (.*)$", None),
        ("^OK (?P<number>.*)$", None),
        ("^OK(?: (?P<value>x.*))?", None),
        ("^OK (?P<value>.*)$", "15"),
        ("^OK 15(?P<value>.*)$", ""),
    ],
)
def test_value_of_an_ack(ack: str, value: str | None) -> None:
    """The value is the group of that name; without one, or where it took no part, there is none."""
    assert asking(Grammar(ack)).receive(b"OK 15\n") == [Answered(False, value, "OK 15")]


@pytest.mark.parametrize(
    ("nak", "reason"),
    [
        ("^ERR", "ERR full"),
        ("^ERR (.*)$", "ERR full"),
        ("^ERR(?P<reason>x)?", "ERR full"),
        ("^ERR full(?P<reason>.*)$", "ERR full"),
        ("^ERR (?P<reason>.*)$", "full"),
    ],
)
def test_reason_of_a_refusal(nak: str, reason: str) -> None:
    """The reason is the group of that name; without one, or where it is empty, the whole line."""
    assert asking(Grammar("^OK", nak)).receive(b"ERR full\n") == [Answered(True, reason, "ERR full")]


def test_only_an_ack_is_needed() -> None:
    """A grammar without the other patterns knows nothing but acks."""
    assert heard(b"READY\nERR\nBUSY\n# x\n\nOK\n", Grammar("^OK")) == ["junk"] * 4 + ["done"]


@pytest.mark.parametrize("text", ["[red]", "[/x]", "OK [bold]15[/bold]", "OK \\[x]", "OK {0} %s"])
def test_text_of_the_device_is_untouched(text: str) -> None:
    """Brackets and other markup in device text reach the reader as they came (B95)."""
    (event,) = asking().receive(text.encode() + b"\n")

    assert not isinstance(event, Ignored) or event.data == text.encode()
    assert event.line == text
