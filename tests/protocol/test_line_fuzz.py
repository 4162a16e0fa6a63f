"""Does any input, cut in any way, make the text codec fail, forget or believe?"""

from dataclasses import replace
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.line import LINE_MAX, Answered, Event, Grammar, Ignored, LineRequester
from tests.protocol.line_events import BARE, CONSOLE, ECHOING, GRAMMAR

GRAMMARS = (GRAMMAR, CONSOLE, ECHOING, BARE, replace(CONSOLE, echo=False, nak="ERR", ack="OK"))
LOOSE = Grammar(".*", ".*x", ".*y", (".*z",), "^$", ".*> ?")

PIECES = (
    b"OK 15", b"OK", b"ERR no", b"BUSY", b"# hot", b"READY", b"GET offset", b"> ", b"sh> ", b"\n", b"\r", b"\r\n", b" ",
    b"\0", b"\xff", b"\xff\xfb\x01", b"\xff\xfd", b"\xff\xfa\x18\x01\xff\xf0", b"\xc3", b"\xa9", b"[/x]", b"150",
    b"-", b"x",
)  # fmt: skip
streams = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=20).map(b"".join)


def received(grammar: Grammar, pieces: list[bytes]) -> list[Event]:
    """What comes in after a request, in pieces."""
    requester = LineRequester(grammar)
    requester.ask("GET offset")
    return [event for piece in pieces for event in requester.receive(piece)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """A stream in pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.sampled_from(GRAMMARS), streams, st.lists(st.integers(0, 500), max_size=8))
@example(CONSOLE, b"sh> sh> GET offset\nOK 15\n", [2, 4, 9])
@example(GRAMMAR, b"\xff\xfa\x18\x01\xff\xf0OK 15\n", [3, 5])
def test_cuts_change_nothing(grammar: Grammar, data: bytes, places: list[int]) -> None:
    """The same bytes give the same events, whole, in pieces and byte by byte (B32, case 50)."""
    whole = received(grammar, [data])

    assert received(grammar, cut(data, places)) == whole
    assert received(grammar, [bytes((byte,)) for byte in data]) == whole


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.integers(-40, 40), st.binary(max_size=6), st.lists(st.integers(0, 3 * LINE_MAX), max_size=6))
def test_cuts_change_nothing_around_the_longest_line(more: int, front: bytes, places: list[int]) -> None:
    """That holds for lines as long as they may be, and longer ones."""
    data = front + b"x" * (LINE_MAX + more) + b"\r\nOK 15\n"

    assert received(GRAMMAR, cut(data, places)) == received(GRAMMAR, [data])


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.sampled_from((*GRAMMARS, LOOSE)), st.lists(st.one_of(streams, st.none()), max_size=6))
def test_nothing_that_comes_in_is_fatal(grammar: Grammar, stream: list[bytes | None]) -> None:
    """Whatever arrives between whatever requests, there are events, at most one answer to each, and texts to keep."""
    requester = LineRequester(grammar)
    asked = 0
    events: list[Event] = []
    for piece in stream:
        if piece is None:
            requester.ask("GET offset")
            asked += 1
        else:
            events += requester.receive(piece)
    answers = [event for event in events if isinstance(event, Answered)]

    assert len(answers) <= asked
    assert all(event.line.encode() for event in events)
    assert all((answer.value or "").encode() is not None for answer in answers)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.sampled_from((GRAMMAR, BARE)), streams)
def test_next_line_is_always_understood(grammar: Grammar, noise: bytes) -> None:
    """Whatever came before, a request that is made after a line end has its answer by the next line (B34, K5)."""
    requester = LineRequester(grammar)
    requester.receive(noise + b"\n")
    requester.ask("GET level")

    said = b"15\n" if grammar is BARE else b"OK 15\n"
    assert [event for event in requester.receive(said) if isinstance(event, Answered)] == [
        Answered(False, "15", said[:-1].decode())
    ]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(0, 15), st.binary(min_size=1, max_size=5), st.booleans())
def test_damage_costs_one_line(at: int, junk: bytes, lost: bool) -> None:
    """Bytes inserted or lost anywhere in a line cost that line at most; the one behind the next end is whole (B34)."""
    line = b"OK level is 15\n"
    at = min(at, len(line) - 1)
    damaged = line[:at] + (line[at + 1 :] if lost else junk + line[at:])
    requester = LineRequester(GRAMMAR)

    requester.receive(damaged)
    requester.receive(b"\n")
    requester.ask("GET level")
    assert requester.receive(b"OK 3\n") == [Answered(False, "3", "OK 3")]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(streams)
def test_nothing_is_believed_without_the_right_echo(data: bytes) -> None:
    """Where the equipment echoes, no input without our own line in it is an answer (B38)."""
    requester = LineRequester(ECHOING)
    requester.ask("a request that never came back")

    events = requester.receive(data + b"\n")

    assert not [event for event in events if isinstance(event, Answered)]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(streams)
def test_nothing_is_believed_that_nobody_asked(data: bytes) -> None:
    """Without a request no input is an answer, and answers among it are told as ones that nobody asked for (B30)."""
    events = LineRequester(GRAMMAR).receive(data + b"\nOK 15\nERR no\n")

    assert not [event for event in events if isinstance(event, Answered)]
    assert [event.why for event in events if isinstance(event, Ignored)][-2:] == ["answer", "answer"]
