"""Are frames found in any stream: cut anywhere, with noise around them, damaged?"""

import random
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.modbus.framing import rtu_scanner
from protocol.modbus.requester import Event, ModbusRequester, Stray
from protocol.modbus.scanner import Scanner
from tests.protocol.modbus_bytes import (
    OTHER_UNIT,
    QUEUED,
    READ,
    READ_5,
    READ_30,
    READ_TEXT,
    RTU,
    WRITE,
    WRITE_TEXT,
    Exchange,
    asking,
    briefly,
    h,
    line,
)

Framing = Literal["tcp", "rtu"]
ANSWERS: dict[Framing, bytes] = {"rtu": READ_30, "tcp": h("0001 0000 0005 0103 02001E")}
LONG_TEXT, LONG = "fc03 0x0064 text(40)", line("010328" + bytes(range(0x30, 0x58)).hex())
TCP_READ, TCP_FOREIGN = h("0001 0000 0006 0103 00100001"), h("0102 0000 0003 0183 02")
STREAMS: dict[str, tuple[Framing, bytes]] = {
    "tcp clean": ("tcp", ANSWERS["tcp"]),
    "tcp echo": ("tcp", TCP_READ + ANSWERS["tcp"]),
    "tcp noise": ("tcp", h("000100") + ANSWERS["tcp"] + h("FFFB03")),
    "tcp others": ("tcp", TCP_FOREIGN + ANSWERS["tcp"] + ANSWERS["tcp"] + TCP_FOREIGN),
    "clean": ("rtu", READ_30),
    "echo": ("rtu", READ + READ_30),
    "noise": ("rtu", h("FFFF01037F") + READ_30 + h("0102")),
    "half a frame": ("rtu", READ_30[:5] + READ_30),
    "others": ("rtu", OTHER_UNIT + QUEUED + READ_5[:3] + READ_30 + READ_5 + WRITE),
    "looks like ours": ("rtu", h("010302") + OTHER_UNIT + READ_30),
}


def heard(stream: bytes, cuts: set[int], framing: Framing = "rtu") -> list[Event]:
    """The events of a stream that arrives in pieces."""
    requester = asking(READ_TEXT, framing)
    edges = [0, *sorted(cuts), len(stream)]
    events = [event for a, b in pairwise(edges) for event in requester.receive(stream[a:b])]
    requester.ask(READ_TEXT)
    return events + requester.receive(b"")


@pytest.mark.parametrize(("framing", "stream"), STREAMS.values(), ids=STREAMS)
def test_every_cutting(framing: Framing, stream: bytes) -> None:
    """However a stream is cut in two, or into single bytes, its events are the same."""
    whole = heard(stream, set(), framing)
    assert "done 30" in briefly(whole)
    assert heard(stream, set(range(1, len(stream))), framing) == whole
    for cut in range(1, len(stream)):
        assert heard(stream, {cut}, framing) == whole


@settings(derandomize=True, max_examples=40)
@given(data=st.data())
def test_any_cutting_of_anything(data: st.DataObject) -> None:
    """Frames and noise in any order give the same events in any pieces, and no byte is lost or told twice."""
    parts = st.sampled_from([READ_30, READ_5, READ, WRITE, OTHER_UNIT, QUEUED, b"\x01\x03", b"\x01\x03\x02"])
    stream = b"".join(data.draw(st.lists(parts | st.binary(max_size=4), max_size=6)))
    cuts = data.draw(st.sets(st.integers(0, len(stream))))

    events = heard(stream, cuts)
    assert events == heard(stream, set())
    strays = b"".join(event.data for event in events if isinstance(event, Stray))
    answered = next(
        (READ_5 if "5" in word else READ_30 for word in briefly(events) if word.startswith("done")), b""
    )
    assert len(strays) + len(answered) == len(stream)


@pytest.mark.parametrize("framing", ANSWERS)
def test_any_byte_in_front(framing: Framing) -> None:
    """Whichever stray byte comes in front of an answer, it is the answer to this request all the same."""
    answer = ANSWERS[framing]
    for stray in range(256):
        assert briefly(asking(READ_TEXT, framing).receive(bytes((stray,)) + answer)) == ["junk", "done 30"]


@pytest.mark.parametrize("framing", ANSWERS)
@pytest.mark.parametrize(
    "junk", ["FFFF01037F", "0103", "010302", "01030200", "00" * 8, "FF" * 8, "0183", "010300100001"]
)
def test_noise_in_front_and_behind(framing: Framing, junk: str) -> None:
    """Noise that looks like a unit, a function, a length or half an echo swallows nothing."""
    requester = asking(READ_TEXT, framing)
    assert briefly(requester.receive(h(junk) + ANSWERS[framing] + h(junk))) == ["junk", "done 30"]
    requester.ask(READ_TEXT)
    assert requester.receive(b"") == [Stray("junk", f"{len(h(junk))} bytes that are no frame", h(junk))]


def test_noise_in_front_of_an_ack() -> None:
    """Any two stray bytes in front of an ack or an exception leave it what it is."""
    rng = random.Random(7)
    for _ in range(60):
        noise = rng.choice([b"\x01", b"\x01\x06", b"\x01\x86", b"\x01\x10", rng.randbytes(2)])
        assert briefly(asking(WRITE_TEXT).receive(noise + WRITE))[-1] == "done"
        assert briefly(asking(WRITE_TEXT).receive(noise + QUEUED))[-1] == "queued"


@pytest.mark.parametrize(
    "exchange", [RTU[0], RTU[3], RTU[5], RTU[6], RTU[8]], ids=lambda exchange: exchange.text
)
def test_no_damaged_frame_is_believed(exchange: Exchange) -> None:
    """With any one bit flipped, or any number of bytes missing, an answer is no answer."""
    unit, text, answer = exchange.unit, exchange.text, exchange.answer
    for bit in range(8 * len(answer)):
        damaged = bytearray(answer)
        damaged[bit // 8] ^= 1 << bit % 8
        assert all(isinstance(event, Stray) for event in asking(text, unit=unit).receive(bytes(damaged)))
    for length in range(len(answer)):
        assert asking(text, unit=unit).receive(answer[:length]) == []


def test_coalesced_frames() -> None:
    """A late answer and the right one glued together are two frames."""
    late = line("010402000A")
    assert briefly(asking(READ_TEXT).receive(late + READ_30 + READ_30)) == ["answer", "done 30", "answer"]


def test_a_frame_inside_an_answer_is_its_content() -> None:
    """Registers may hold what would be a frame, even our own exception: the answer around it counts."""
    inside = line("018302")
    content = (inside + OTHER_UNIT + READ_30).ljust(40, b"\0")
    answer = line("010328" + content.hex())
    requester = asking(LONG_TEXT)
    assert requester.receive(answer[:20]) == []
    assert [event for event in requester.receive(answer[20:]) if isinstance(event, Stray)] == []


def test_a_frame_inside_a_damaged_answer_is_found() -> None:
    """Once the frame around it turns out to be none, what was held back counts."""
    stream = LONG[:10] + QUEUED + OTHER_UNIT + LONG[22:]
    assert briefly(asking(LONG_TEXT).receive(stream)) == ["junk", "answer", "unit"]


def test_what_follows_a_held_back_frame_is_found() -> None:
    """A frame that had only begun when the one before it was set free is found too."""
    stream = LONG[:36] + OTHER_UNIT + QUEUED
    assert briefly(asking(LONG_TEXT).receive(stream)) == ["junk", "unit", "answer"]


def test_what_was_held_back_answers_no_new_request() -> None:
    """Our exception behind what looked like our answer is told with the next request, and does not answer it."""
    requester = asking(LONG_TEXT)
    assert requester.receive(LONG[:5] + line("018302")) == []
    requester.ask(LONG_TEXT)
    assert briefly(requester.receive(LONG)) == ["junk", "answer", f"done {LONG[3:-2].decode()}"]


def test_what_was_held_back_is_told_with_the_next_request() -> None:
    """A frame behind what looked like our answer is not lost when the answer never comes."""
    requester = asking(LONG_TEXT)
    assert requester.receive(LONG[:5] + OTHER_UNIT) == []
    requester.ask(LONG_TEXT)
    assert briefly(requester.receive(b"")) == ["junk", "unit"]


@pytest.mark.parametrize("framing", ANSWERS)
def test_garbage_costs_little(framing: Framing) -> None:
    """Long garbage, also such that each byte could begin an answer, is told in large pieces from a bounded memory."""
    answer = ANSWERS[framing]
    for garbage in (random.Random(3).randbytes(3000), answer[:3] * 1000, answer[:1] * 3000):
        requester = asking(READ_TEXT, framing)
        events = requester.receive(garbage)
        assert len(events) <= 4
        assert sum(len(event.data) for event in events if isinstance(event, Stray)) >= len(garbage) - 4 * 260
        assert briefly(requester.receive(answer))[-1] == "done 30"


def test_looks_are_few() -> None:
    """The work grows with the bytes, not with what is kept: a few looks for each byte of the worst noise."""
    looks = 0

    def hopeful(seen: bytes) -> int:
        nonlocal looks
        looks += 1
        return max(len(seen), 250)

    scanner = Scanner((hopeful,), lambda _: False, 256)
    for _ in range(4):
        scanner.feed(bytes(500))
    assert looks <= 2 * 2000


def test_other_masters_are_heard() -> None:
    """Requests of another master are frames too, so that their bytes are not searched for answers."""
    scanner = rtu_scanner()
    pieces = scanner.feed(RTU[6].request + RTU[6].answer + READ)
    assert [(piece.is_frame, piece.data) for piece in pieces] == [
        (True, RTU[6].request),
        (True, RTU[6].answer),
        (True, READ),
    ]


def test_sizes_of_frames() -> None:
    """No frame of a line is longer than 256 bytes; an identification with several objects is one frame."""
    requester = asking(READ_TEXT)
    assert briefly(requester.receive(line("0203FF" + "00" * 255))) == []
    assert briefly(requester.receive(READ_30)) == ["junk", "done 30"]
    assert briefly(requester.receive(line("0203FA" + "00" * 250))) == ["unit"]
    assert briefly(requester.receive(line("012B0E0181000002" + "000141" + "01024243"))) == ["answer"]


def test_requesters_are_apart() -> None:
    """Two streams know nothing of each other."""
    one, two = asking(READ_TEXT), ModbusRequester("rtu", 1)
    assert one.receive(READ_30[:3]) == []
    assert two.receive(READ_30[3:]) == []
    assert briefly(one.receive(READ_30[3:])) == ["done 30"]
