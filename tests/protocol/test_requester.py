"""Does only the answer to the outstanding request count?"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.native.codes import REPLAYED, State, Status, Type
from protocol.native.frame import Decoder, Frame, decode, encode
from protocol.native.messages import (
    CloseReply,
    CommandReply,
    HelloReply,
    NopReply,
    OpenReply,
    QueryReply,
    ReadReply,
    Reply,
)
from protocol.native.payload import build_reply
from protocol.native.requester import EARLIER_MAX, Answered, Event, Ignored, Requester, Waiting

SESSION = 0x00020001
HELLO = HelloReply("SN-1", "demo", "1.0", 7, 3, 1, 128, 32, None)
OPENED = OpenReply(Status.OK, SESSION, 99, 7, 3, None)
DONE = CommandReply(Status.OK, 1, False, "15")

Ask = Callable[[Requester], bytes]

#: One request of every type, and a reply that answers it.
REQUESTS: dict[Type, tuple[Ask, Reply]] = {
    Type.HELLO: (lambda requester: requester.hello(5), HELLO),
    Type.OPEN: (lambda requester: requester.open(1, 3, 99), OPENED),
    Type.CMD: (lambda requester: requester.command(SESSION, 1, 1, "BEEP"), DONE),
    Type.READ: (lambda requester: requester.read(9, "GET offset"), ReadReply(Status.OK, "15")),
    Type.NOP: (lambda requester: requester.nop(SESSION, 1, 1), NopReply(Status.OK, 1, False)),
    Type.QUERY: (lambda requester: requester.query(SESSION, 1), QueryReply(State.NEVER)),
    Type.CLOSE: (lambda requester: requester.close(SESSION, 4), CloseReply(Status.OK)),
}


def frame_in(written: bytes) -> Frame:
    """The one frame that was written."""
    (frame,) = Decoder().feed(written)
    assert isinstance(frame, Frame)
    return frame


def answer(request: bytes, reply: Reply, **header: int) -> bytes:
    """A device's answer to a request; `header` overrides fields of the answer's header."""
    asked = frame_in(request)
    session = reply.session if isinstance(reply, OpenReply) else asked.session
    frame = replace(asked, reply=True, session=session, payload=build_reply(reply))
    return encode(replace(frame, **header))  # type: ignore[arg-type]


def whys(events: list[Event]) -> list[str]:
    """The events in short: the reason for what was ignored, else the kind of event."""
    return [event.why if isinstance(event, Ignored) else type(event).__name__ for event in events]


@pytest.mark.parametrize("kind", list(Type))
def test_fitting_reply_is_the_answer(kind: Type) -> None:
    """A request of any type is answered by the reply that fits it; a second answer is late."""
    ask, reply = REQUESTS[kind]
    requester = Requester()
    request = ask(requester)

    assert requester.receive(answer(request, reply)) == [Answered(reply)]
    assert requester.outstanding is None
    assert whys(requester.receive(answer(request, reply))) == ["late"]


@pytest.mark.parametrize(
    ("kind", "field"),
    [(Type.OPEN, "unit")]  # its reply brings the session, and the nonce stands for seq
    + [(kind, field) for kind in sorted(set(Type) - {Type.OPEN}) for field in ("unit", "session", "seq")],
)
def test_each_field_must_fit(kind: Type, field: str) -> None:
    """A reply with another unit, session or number is foreign and does not end the wait (cases 46, 54)."""
    ask, reply = REQUESTS[kind]
    requester = Requester()
    request = ask(requester)
    other = getattr(frame_in(answer(request, reply)), field) ^ 2

    assert whys(requester.receive(answer(request, reply, **{field: other}))) == ["foreign"]
    assert requester.receive(answer(request, reply)) == [Answered(reply)]


@pytest.mark.parametrize("kind", list(Type))
@pytest.mark.parametrize("other", list(Type))
def test_type_must_fit(kind: Type, other: Type) -> None:
    """A well-formed reply of another type, all numbers alike, does not answer."""
    if kind is other:
        return
    requester = Requester()
    asked = frame_in(REQUESTS[kind][0](requester))
    frame = Frame(other, True, 1, 1, 0, asked.session, asked.seq, build_reply(REQUESTS[other][1]))
    if other is Type.OPEN:
        frame = replace(frame, session=SESSION)

    assert whys(requester.receive(encode(frame))) == ["foreign"]
    assert requester.outstanding is kind


@pytest.mark.parametrize("kind", list(Type))
def test_echo_is_no_answer(kind: Type) -> None:
    """Our own frame coming back, as on a two-wire line, is an echo (case 47)."""
    ask, reply = REQUESTS[kind]
    requester = Requester()
    request = ask(requester)

    events = requester.receive(request + answer(request, reply))

    assert whys(events) == ["echo", "Answered"]


def test_ignored_says_what_it_was() -> None:
    """The text names type, unit, session and number; attempt and bytes are those of the frame."""
    requester = Requester()
    request = requester.command(SESSION, 3, 1, "BEEP")
    requester.abandon()
    requester.read(9, "GET offset")
    late = answer(request, DONE, attempt=1)

    assert requester.receive(late) == [
        Ignored("late", "CMD reply, unit 1, session 0x00020001, seq 3", decode(late[:-1]), late)
    ]


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.BUSY])
@pytest.mark.parametrize("kind", [Type.CMD, Type.NOP])
def test_waiting_does_not_end_the_wait(kind: Type, status: Status) -> None:
    """IN_PROGRESS and BUSY are events of their own; the answer may follow."""
    ask, reply = REQUESTS[kind]
    requester = Requester()
    request = ask(requester)
    waiting = (
        replace(reply, status=status, text="")
        if isinstance(reply, CommandReply)
        else NopReply(status, 1, False)
    )

    assert requester.receive(answer(request, waiting)) == [Waiting(status)]
    assert requester.receive(answer(request, reply)) == [Answered(reply)]


@pytest.mark.parametrize(
    ("kind", "busy"),
    [
        (Type.READ, ReadReply(Status.BUSY)),
        (Type.OPEN, OpenReply(Status.BUSY, 0, 99, 7, 3, None)),
        (Type.CLOSE, CloseReply(Status.BUSY)),
    ],
)
def test_busy_is_waiting_for_every_type(kind: Type, busy: Reply) -> None:
    """BUSY to READ, OPEN and CLOSE is no answer either."""
    requester = Requester()
    request = REQUESTS[kind][0](requester)

    assert requester.receive(answer(request, busy)) == [Waiting(Status.BUSY)]
    assert requester.outstanding is kind


def test_reply_to_an_earlier_copy_answers() -> None:
    """Copies differ in attempt only: a reply to the first answers while the second is out."""
    requester = Requester()
    first = requester.command(SESSION, 1, 1, "BEEP")
    second = requester.command(SESSION, 1, 2, "BEEP")

    assert requester.receive(answer(first, DONE)) == [Answered(DONE)]
    assert whys(requester.receive(answer(second, replace(DONE, attempt=2)))) == ["late"]


def test_late_reply_of_the_command_before() -> None:
    """The answer to N that arrives after N+1 was sent is late, and N+1 still gets its own (cases 52, 53)."""
    requester = Requester()
    first = requester.command(SESSION, 1, 1, "BEEP")
    requester.abandon()
    second = requester.command(SESSION, 2, 1, "BEEP")

    events = requester.receive(answer(first, DONE) + answer(second, replace(DONE, text="20")))

    assert whys(events) == ["late", "Answered"]
    assert events[1] == Answered(replace(DONE, text="20"))


def test_late_reading_is_not_taken_for_the_next() -> None:
    """Readings are told apart by their correlation ids (finding 4: one retried GET doubles an ADJUST)."""
    requester = Requester()
    old = requester.read(1, "GET offset")
    requester.abandon()
    new = requester.read(2, "GET offset")

    events = requester.receive(
        answer(old, ReadReply(Status.OK, "10")) + answer(new, ReadReply(Status.OK, "15"))
    )

    assert whys(events) == ["late", "Answered"]
    assert events[1] == Answered(ReadReply(Status.OK, "15"))


def test_only_the_newest_nonce_opens() -> None:
    """OPENED of an abandoned attempt is late, whatever its session (case 31)."""
    requester = Requester()
    old = requester.open(1, 3, 98)
    new = requester.open(1, 4, 99)

    assert whys(requester.receive(answer(old, replace(OPENED, nonce=98)))) == ["late"]
    assert requester.receive(answer(new, OPENED)) == [Answered(OPENED)]


def test_stale_epoch_of_an_old_nonce_does_not_count() -> None:
    """STALE_EPOCH counts only for the newest nonce (rule 7)."""
    requester = Requester()
    old = requester.open(1, 3, 98)
    requester.open(1, 4, 99)

    stale = OpenReply(Status.STALE_EPOCH, 0, 98, 7, 9, None)
    assert whys(requester.receive(answer(old, stale))) == ["late"]


def test_nothing_outstanding() -> None:
    """With nothing asked, nothing is answered: unsolicited frames are foreign (case 51)."""
    requester = Requester()
    unsolicited = Frame(Type.CMD, True, 1, 1, 0, SESSION, 1, build_reply(DONE))

    assert whys(requester.receive(encode(unsolicited))) == ["foreign"]


def test_memory_of_earlier_requests_is_bounded() -> None:
    """The newest requests are remembered as late, older ones are forgotten."""
    requester = Requester()
    asked = [requester.read(seq, "GET offset") for seq in range(EARLIER_MAX + 2)]
    requester.abandon()

    late = [whys(requester.receive(answer(request, ReadReply(Status.OK, "1")))) for request in asked]

    assert late == [["foreign"]] * 2 + [["late"]] * EARLIER_MAX


def test_asking_again_renews_the_memory() -> None:
    """A request that is asked again counts as the newest, not by its first time."""
    requester = Requester()
    again = requester.read(0, "GET offset")
    for seq in (1, 0, *range(2, EARLIER_MAX + 1)):
        requester.read(seq, "GET offset")
    requester.abandon()

    assert whys(requester.receive(answer(again, ReadReply(Status.OK, "1")))) == ["late"]


def test_malformed_payload_is_junk() -> None:
    """A reply that fits but has not its shape is junk and does not end the wait."""
    requester = Requester()
    request = requester.nop(SESSION, 1, 1)
    malformed = encode(replace(frame_in(request), reply=True, payload=b"\0\0"))

    (event,) = requester.receive(malformed)

    assert event == Ignored("junk", "NOP reply: payload shape", decode(malformed[:-1]), malformed)
    assert requester.outstanding is Type.NOP


def test_noise_is_junk() -> None:
    """Bytes that are no frame are reported with the reason."""
    assert Requester().receive(b"noise\0") == [Ignored("junk", "cobs", None, b"noise")]


def test_replayed_reaches_the_reader() -> None:
    """The flag REPLAYED and the attempt that was answered stand in the reply."""
    requester = Requester()
    requester.command(SESSION, 1, 1, "BEEP")
    second = requester.command(SESSION, 1, 2, "BEEP")

    events = requester.receive(answer(second, DONE, flags=REPLAYED))

    assert events == [Answered(CommandReply(Status.OK, 2, True, "15"))]


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(list(Type))), max_size=8))
def test_receive_never_raises(stream: list[bytes | Type]) -> None:
    """Whatever arrives, receive returns events; junk alone never answers."""
    requester = Requester()
    for item in stream:
        if isinstance(item, Type):
            REQUESTS[item][0](requester)
        else:
            assert all(isinstance(event, Ignored) for event in requester.receive(item + b"\0"))
