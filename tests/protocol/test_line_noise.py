"""Does noise ever decide what a line says?

Control characters and bytes that are no text are what a half-duplex line leaves when its direction switches, and what a
character damaged on the way looks like. Which of the two it was cannot be seen, so a line counts only where that does
not matter.
"""

from dataclasses import replace

import pytest

from protocol.line import Answered, Grammar, LineRequester
from tests.protocol.line_events import BARE, ECHOING, GRAMMAR, asking, briefly, heard

NOISE = sorted({*range(0x20), *range(0x7F, 0x100)} - {0x09, 0x0A, 0x0D})
BLANK = (0x09, 0x0A, 0x0D, 0x20)
PRINTABLE = range(0x21, 0x7F)


def parity(byte: int) -> int:
    """A byte of seven bits with even parity, as a port without parity reads it."""
    return byte | (byte.bit_count() & 1) << 7


def is_wrong(word: str, right: str) -> bool:
    """Whether an event gives a value or a verdict, and another one than the device did."""
    return word.startswith(("value", "done", "refused")) and word != right


# --- in front of a line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"OK 15", b"ERR no", b"BUSY", b"# hot", b"READY"])
def test_each_noise_byte_in_front(line: bytes) -> None:
    """One stray byte that is noise or blank in front of a line: the same line is understood (B34, B35)."""
    plain = heard(line + b"\n")

    for byte in (*NOISE, *BLANK):
        assert heard(bytes((byte,)) + line + b"\n") == plain, hex(byte)


def test_each_printable_byte_in_front() -> None:
    """A stray byte that is a printable character is part of the line, which is then another one (B34).

    These 94 cannot be told from what the device said; the next line is understood.
    """
    for byte in PRINTABLE:
        assert heard(bytes((byte,)) + b"OK 15\nOK 16\n") == ["junk", "value 16"], hex(byte)


@pytest.mark.parametrize(
    "noise", [b"\0", b"\xff", b"\xff\0\xff\xff\x01\x03\x7f", b"\0" * 8, b"\x11", b"\x13", b"\x1b\x07"]
)
@pytest.mark.parametrize("echo", [b"", b"GET offset\n"])
def test_noise_of_a_half_duplex_line(noise: bytes, echo: bytes) -> None:
    """Some bytes before each line, as switching the direction gives, cost no line (B35, B44)."""
    grammar = ECHOING if echo else GRAMMAR

    assert heard(noise + (echo and echo + noise) + b"OK 15\n", grammar) == ["value 15"]


def test_noise_before_the_request_is_nobodys() -> None:
    """What came in before the request is no damaged character of its answer, not even of a bare number."""
    for byte in NOISE:
        requester = LineRequester(BARE)
        requester.receive(b"7\r\n" + bytes((byte,)))
        requester.ask("MEAS?")
        assert briefly(requester.receive(b"150\r\n")) == ["value 150"], hex(byte)


def test_noise_before_the_request_with_a_loose_pattern() -> None:
    """Nor does it make a line old whose pattern is not bound to the beginning."""
    requester = LineRequester(Grammar("OK", "ERR"))
    requester.receive(b"\xff")
    requester.ask("BEEP")

    assert briefly(requester.receive(b"OK\n")) == ["done"]


def test_noise_in_front_of_a_loose_pattern() -> None:
    """Noise comes off where the pattern would find its text behind it anyway."""
    (event,) = asking(Grammar("OK", "ERR")).receive(b"\xffOK\n")

    assert event == Answered(False, None, "OK")


# --- where it could decide --------------------------------------------------------------------------------------------


def test_damaged_digit_is_not_cut_off() -> None:
    """A bare number whose first digit became noise is not believed without it."""
    for byte in NOISE:
        assert heard(bytes((byte,)) + b"50\n", BARE) == ["junk"], hex(byte)


@pytest.mark.parametrize("nak", ["^NOK", "NOK"])
@pytest.mark.parametrize("ack", ["^OK", "OK", "OK$"])
def test_damaged_refusal_is_no_ack(ack: str, nak: str) -> None:
    """NOK whose first letter became noise is not OK, however loose the patterns are."""
    for byte in NOISE:
        words = heard(bytes((byte,)) + b"OK\n", Grammar(ack, nak))
        assert words in (["junk"], ["answer"]), hex(byte)


def test_damaged_ack_is_no_refusal() -> None:
    """Nor the other way round."""
    assert heard(b"\xffERR\n", Grammar("^nERR", "^ERR")) == ["junk"]


@pytest.mark.parametrize("word", ["не OK", "不OK", "ÜOK"])
def test_words_of_other_scripts_are_no_noise(word: str) -> None:
    """A word in another script in front of an ack may deny it, and is text."""
    assert heard(word.encode() + b"\n") == ["junk"]


def test_word_in_another_encoding_is_no_noise() -> None:
    """Bytes that are no text with a blank behind them may be a word in another encoding."""
    assert heard("не OK".encode("koi8-r") + b"\n") == ["junk"]


@pytest.mark.parametrize(
    "pattern", [r"T=(?P<value>\d+)", r"(?P<value>\d+)", r"(?P<value>\d+)$", r"^T=\W?(?P<value>\d+)"]
)
@pytest.mark.parametrize("line", [b"T=15\xb0", b"T=\xb050", b"T=1\xb00", b"\xb15", b"15\xff"])
def test_value_that_noise_touches_is_not_believed(pattern: str, line: bytes) -> None:
    """A loose pattern does not read 15 where a third digit may have been."""
    words = heard(line + b"\n", reply=pattern)

    assert not any(word.startswith("value") for word in words)


@pytest.mark.parametrize(
    ("pattern", "line", "value"),
    [
        (r"T=(?P<value>\d+) ", b"T=15 \xb0C", "15"),
        (r"T=(?P<value>\d+)[^ -~]C", b"T=15\xb0C", "15"),
        (r"(?P<value>on|off)", b"relay off\xff", "off"),
        (r"^\x07(?P<value>\d+)$", b"\x0715", "15"),
        (r"^(?P<value>.*)C$", b"15\xb0C", r"15\xb0"),
        (r"T=\s*(?P<value>\d+)\s", b"T=\t15\t1", "15"),
    ],
)
def test_noise_that_cannot_matter_is_let_be(pattern: str, line: bytes, value: str) -> None:
    """A value counts where any character instead of the noise would leave it as it is; inside of it, it is seen."""
    assert heard(line + b"\n", reply=pattern) == [f"value {value}"]


def test_ack_with_noise_behind_it() -> None:
    """An ack without a value counts though noise follows: with any character there it would be one too."""
    assert heard(b"OK\xff\xfe\n", Grammar("^OK")) == ["done"]


def test_reason_with_noise_is_a_refusal() -> None:
    """A refusal is one whatever noise touches its reason."""
    grammar = Grammar("^OK", r"^ERR\W+(?P<reason>\w+)")

    assert heard(b"ERR\xff\xfefull\n", grammar) == ["refused full"]
    assert heard(b"ERR full\xff\n", grammar) == ["refused full"]


def test_long_noisy_lines_are_not_believed() -> None:
    """Where looking closer would take too long, noise in front or at a value makes a line unbelievable."""
    assert heard(b"\xff" + b"OK " + b"x" * 200 + b"\n") == ["junk"]
    assert heard(b"T=15\xff" + b"x" * 200 + b"\n", reply=r"T=(?P<value>\d+)") == ["answer"]
    assert heard(b"OK\xff" + b"x" * 200 + b"\n", Grammar("^OK")) == ["answer"]


@pytest.mark.parametrize(
    "grammar", [GRAMMAR, BARE, Grammar(r"(?P<value>\d+)"), Grammar(r"^[A-Z]*(?P<value>\d+)")]
)
def test_wrong_parity_gives_no_wrong_reading(grammar: Grammar) -> None:
    """A port set to eight bits where the device sends seven with parity reads no number, or the right one."""
    for number in range(1000):
        said = f"OK {number}" if grammar is GRAMMAR else str(number)
        data = bytes(map(parity, f"{said}\r\n".encode()))
        words = heard(data + b"\n", grammar)
        assert not any(is_wrong(word, f"value {number}") for word in words), number


def test_one_damaged_character_gives_no_wrong_word() -> None:
    """Any character of an answer that becomes noise leaves the answer right, or unbelieved."""
    grammar = replace(GRAMMAR, nak="^(?:NOK|ERR (?P<reason>.*))$", ack=r"^OK(?: (?P<value>\d+))?$")
    for line, right in ((b"OK 150", "value 150"), (b"NOK", "refused NOK"), (b"ERR full", "refused full")):
        for at in range(len(line)):
            for byte in NOISE[1::9]:  # without NUL, which is padding behind a line
                words = heard(line[:at] + bytes((byte,)) + line[at + 1 :] + b"\n", grammar)
                kind = right.split()[0] if right.startswith("refused") else right  # in a reason noise is seen
                assert not [word for word in words if is_wrong(word, right) and not word.startswith(kind)], (
                    words
                )


# --- control characters that the equipment means ----------------------------------------------------------------------


def test_control_characters_can_be_answers() -> None:
    """Equipment that answers with ACK and NAK alone is understood, since its patterns name them."""
    grammar = Grammar("^\x06$", "^\x15$")

    assert heard(b"\x06\r", grammar) == ["done"]
    assert heard(b"\x15\r", grammar) == [r"refused " + "\x15"]
    assert heard(b"\x07\r\xff\x06\r", grammar) == ["junk", "junk"]


@pytest.mark.parametrize("ack", [".*", r"^\W$", r"^[^a]$"])
def test_noise_alone_is_no_answer(ack: str) -> None:
    """A pattern that would take anything does not make an answer of noise."""
    assert heard(b"\x06\n", Grammar(ack)) == ["junk"]


def test_control_characters_around_an_answer() -> None:
    """STX and ETX around a line are part of it where the pattern names them."""
    assert heard(b"\x0215\x03\n", Grammar("^\x02(?P<value>\\d+)\x03$")) == ["value 15"]


def test_control_character_of_a_notice() -> None:
    """A notice that begins with a control character stays one, though an ack follows it."""
    assert heard(b"\x1bOK\n", replace(GRAMMAR, notice=("^\x1b",))) == ["notice"]


def test_control_character_as_a_request() -> None:
    """A request that is a control character has its echo."""
    assert heard(b"\x05\nOK 15\n", ECHOING, "\x05") == ["value 15"]


# --- a start ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"\x1c\xe0~x\xf2\0READY v2", b"OK 1\0\xf8READY v2", b"GET of\0READY v2"])
def test_start_behind_noise_is_not_missed(data: bytes) -> None:
    """A reset cuts off what was being said and leaves noise: the start is told all the same (B45)."""
    assert heard(data + b"\nOK 15\n") == ["started", "value 15"]


def test_start_without_noise_in_front_is_another_line() -> None:
    """The name of a start within a line of text is none."""
    assert heard(b"not READY\n") == ["junk"]
