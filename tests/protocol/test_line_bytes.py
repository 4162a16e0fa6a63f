"""Do bytes become the same lines however they come in, and does nothing make them stick?"""

import sys
import time

import pytest

from protocol.line import LINE_MAX, Answered, Grammar, Ignored, LineRequester
from tests.protocol.line_events import BARE, GRAMMAR, asking, briefly, heard

ENDS = (b"\n", b"\r", b"\r\n")

# --- line ends --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("other", ENDS)
def test_every_line_end(end: bytes, other: bytes) -> None:
    """Lines end with CR, LF or CRLF, mixed as the device likes."""
    assert heard(b"# x" + end + b"OK 15" + other + b"# y" + end) == ["notice", "value 15", "notice"]


@pytest.mark.parametrize("eol", ["\n", "\r", "\r\n", ";"])
@pytest.mark.parametrize("end", ENDS)
def test_our_line_end_says_nothing_of_theirs(eol: str, end: bytes) -> None:
    """What the device ends its lines with does not depend on what it wants of us."""
    assert heard(b"OK 15" + end, Grammar(GRAMMAR.ack, eol=eol)) == ["value 15"]


@pytest.mark.parametrize("data", [b"\n", b"\r\r\n\n", b" \n", b"\t\r\n", b"\0\r\n", b" \0\0\n"])
def test_blank_lines_are_nothing(data: bytes) -> None:
    """Blank lines, doubled line ends and lines of blanks and padding are no events (B62)."""
    assert asking().receive(data) == []


def test_no_line_no_event() -> None:
    """A line is nothing before its end (B49)."""
    requester = asking()

    assert requester.receive(b"OK 1") == []
    assert requester.receive(b"") == []
    assert briefly(requester.receive(b"5\n")) == ["value 15"]


def test_line_in_forty_pieces() -> None:
    """A line that trickles in byte by byte is the same line (B32, case 50)."""
    requester = asking()
    line = b"OK " + b"7" * 36 + b"\n"

    events = [event for index in range(len(line)) for event in requester.receive(line[index : index + 1])]

    assert events == [Answered(False, "7" * 36, line[:-1].decode())]


def test_lines_in_one_piece() -> None:
    """Lines that come in together are all told, in order, and the rest is kept (B33, case 50)."""
    requester = asking()

    assert briefly(requester.receive(b"# x\nOK 15\r\nBUSY\rOK 1")) == ["notice", "value 15", "waiting"]
    assert briefly(requester.receive(b"6\n")) == ["answer"]


def test_byte_too_many_shifts_nothing() -> None:
    """A byte behind an answer belongs to the next line, and spoils no line after that (B37, case 53)."""
    requester = asking()
    assert briefly(requester.receive(b"OK 1\nx")) == ["value 1"]
    requester.ask("GET level")
    assert briefly(requester.receive(b"OK 2\n")) == ["junk"]
    requester.ask("GET level")
    assert briefly(requester.receive(b"OK 3\n")) == ["value 3"]


# --- long lines -------------------------------------------------------------------------------------------------------


def test_longest_line() -> None:
    """A line of LINE_MAX bytes is read, one byte more is not; neither end counts."""
    room = LINE_MAX - len(b"OK ")

    assert heard(b"OK " + b"7" * room + b"\r\n") == ["value " + "7" * room]
    assert heard(b"OK " + b"7" * (room + 1) + b"\n") == ["junk"]


@pytest.mark.parametrize("size", [LINE_MAX + 1, LINE_MAX + 2, 3 * LINE_MAX])
@pytest.mark.parametrize("piece", [1000, LINE_MAX, LINE_MAX + 1, 4 * LINE_MAX])
def test_too_long_a_line_is_thrown_away_whole(size: int, piece: int) -> None:
    """Of a longer line not even the end is taken for an answer, and the very next line counts."""
    requester = asking()
    data = b"x" * (size - 3) + b"OK \nOK 15\n"

    events = [
        event for at in range(0, len(data), piece) for event in requester.receive(data[at : at + piece])
    ]

    junk = Ignored("junk", "a line of more than 4096 bytes", b"x" * 80)
    assert events == [junk, Answered(False, "15", "OK 15")]


def test_end_of_a_too_long_line_is_no_answer() -> None:
    """What is left of it when the buffer was emptied is no line of its own."""
    requester = asking()
    requester.receive(b"x" * (LINE_MAX + 1))

    assert requester.receive(b"OK 1\n") == []
    assert briefly(requester.receive(b"OK 2\n")) == ["value 2"]


def test_endless_input_is_told_once_and_takes_no_memory() -> None:
    """Input without a line end is told once, whether or not it ever ends, and is not kept."""
    requester = asking()

    events = [event for _ in range(1000) for event in requester.receive(b"\xa5" * 1000)]

    assert briefly(events) == ["junk"]
    kept = [value for value in vars(requester).values() if isinstance(value, bytes | bytearray | list)]
    assert sum(sys.getsizeof(value) for value in kept) < 2 * LINE_MAX
    assert briefly(requester.receive(b"\nOK 15\n")) == ["value 15"]


@pytest.mark.parametrize(
    "pattern",
    [
        GRAMMAR.ack,
        r"^(?P<value>-?\d+(?:\.\d+)?)$",
        r"level=(?P<value>[^,]*),",
        r"^\w+: (?P<value>.*) \w+$",
        r"(?P<value>\d+) *$",
    ],
)
@pytest.mark.parametrize("fill", [b"x", b"1", b" ", b"\xff", b"level=", b"> ", b"\x001"])
def test_longest_lines_take_no_time(pattern: str, fill: bytes) -> None:
    """The longest lines are searched in milliseconds with the patterns that people write."""
    line = (b"OK " + fill * LINE_MAX)[:LINE_MAX]
    requester = LineRequester(
        Grammar(pattern, r"^ERR (?P<reason>.*)$", "^BUSY", ("^# ",), "^READY", r"^\w*> ?$")
    )
    requester.ask("GET offset", pattern)

    started_s = time.process_time()
    requester.receive(line + b"\n" + line[3:] + b"\n")
    assert time.process_time() - started_s < 1


# --- bytes that are no text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"caf\xe9", r"caf\xe9"),
        (b"\xff x", r"\xff x"),
        ("21 °C".encode(), "21 °C"),
        (b"a\0b", "a\0b"),
        (rb"\xff", r"\xff"),
    ],
)
def test_bytes_that_are_no_text_are_told(data: bytes, line: str) -> None:
    """A line that is not UTF-8 is a line; what is no text stands as its number, what is stays as it came."""
    assert asking().receive(data + b"\n") == [Ignored("junk", line, data)]


def test_value_that_is_no_text_can_be_kept() -> None:
    """Whatever bytes a value, a reason or a line has, its text can be written to a file."""
    for data in (
        b"OK caf\xe9 x\n",
        b"ERR \xff\xfe!\n",
        b"BUSY \x80\n",
        b"# \x80\n",
        b"READY \x80\n",
        b"\x80x\n",
    ):
        for event in asking().receive(data):
            assert "\\x" in event.line
            assert event.line.encode()
            assert not isinstance(event, Answered) or str(event.value).encode()


def test_number_of_a_byte_is_no_reading() -> None:
    r"""No pattern finds digits in bytes that are no text, which are told as `\x80`."""
    assert heard(b"\x80\x99 \xff\n", reply=r"(?P<value>\d+)") == ["junk"]


def test_padding_around_a_line_comes_off() -> None:
    """Blanks around a line, and the NULs that some firmware sends behind its texts, are not the line's own."""
    assert heard(b" \tOK 15 \0\r\n\0OK 16\n") == ["value 15", "answer"]


# --- telnet -----------------------------------------------------------------------------------------------------------

NEGOTIATION = b"\xff\xfb\x03\xff\xfd\x01"


@pytest.mark.parametrize(
    "telnet",
    [
        b"\xff\xfb\x03\xff\xfb\x01",
        b"\xff\xfd\x18\xff\xfd,\xff\xfe\x22",
        b"\xff\xfa\x18\x01\xff\xf0",
        b"\xff\xfa\x18\0ANSI\xff\xf0",
        b"\xff\xf1",
        b"\0 \xff\xff\xfc\x01",
    ],
)
def test_telnet_is_named_and_removed(telnet: bytes) -> None:
    """Option negotiation in front of a line is named, and the line counts (B62)."""
    assert heard(telnet + b"OK 15\n") == ["telnet", "value 15"]


def test_telnet_is_named_before_a_line_ends() -> None:
    """A server that negotiates and waits is named though no line follows, as soon as the sequence is complete."""
    requester = asking()

    assert requester.receive(b"\xff\xfb") == []
    assert requester.receive(b"\x03") == [
        Ignored("telnet", "option negotiation of a terminal server", b"\xff\xfb\x03")
    ]
    assert briefly(requester.receive(b"OK 15\n")) == ["value 15"]


def test_telnet_is_named_once() -> None:
    """One word on it is enough for a connection."""
    assert heard((NEGOTIATION + b"OK 15\n") * 3) == ["telnet", "value 15", "answer", "answer"]


def test_telnet_before_the_request_leaves_the_answer_fresh() -> None:
    """What a server negotiated before the request is not the beginning of its answer."""
    requester = LineRequester(BARE)
    requester.receive(NEGOTIATION)
    requester.ask("MEAS?")

    assert briefly(requester.receive(b"15\n")) == ["value 15"]


def test_telnet_in_a_too_long_line_is_not_named() -> None:
    """Of a line that is thrown away nothing is told but that, however it is cut."""
    data = b"\xff" * LINE_MAX + NEGOTIATION + b"\n"

    assert heard(data) == ["junk"]
    requester = asking()
    pieces = [data[at : at + 97] for at in range(0, len(data), 97)]
    assert briefly([event for piece in pieces for event in requester.receive(piece)]) == ["junk"]


def test_telnet_inside_of_a_line_is_noise() -> None:
    """Inside of a line it is not taken out: noise of that shape would make one number of two."""
    (event,) = asking().receive(b"OK 1" + NEGOTIATION + b"2\n")

    assert isinstance(event, Answered)
    assert event.value not in ("1", "12", "2")


@pytest.mark.parametrize("verb", range(0xFB, 0xFF))
def test_telnet_takes_no_digit(verb: int) -> None:
    """Noise that looks like the beginning of a negotiation takes no digit or sign off a number."""
    for line in ("150", "-15", "1.5"):
        events = heard(b"\xff" + bytes((verb,)) + line.encode() + b"\n", BARE)
        assert events in (["junk"], [f"value {line}"]), line


def test_letters_after_noise_are_no_option() -> None:
    """Nor the first letter of an ack."""
    assert heard(b"\xff\xfdOK 15\n") == ["value 15"]
