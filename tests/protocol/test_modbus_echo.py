"""Is what came back an ack, or our own request from a line that echoes?"""

import pytest

from protocol.modbus.requester import ModbusRequester
from tests.protocol.modbus_bytes import (
    BUSY,
    READ,
    READ_30,
    READ_TEXT,
    WRITE,
    WRITE_TEXT,
    asking,
    briefly,
    h,
    line,
)

ACKS_LIKE_REQUESTS = {
    WRITE_TEXT: WRITE,
    "fc05 0x0000 raw 5500": h("01050000 5500 F29A"),
    "fc05 0x0000 bool true": h("01050000 FF00 8C3A"),
    "fc22 0x0004 raw 00F20025": line("0116000400F20025"),
}


@pytest.mark.parametrize("text", ACKS_LIKE_REQUESTS)
def test_requests_are_their_acks(text: str) -> None:
    """These are the requests whose ack is the same bytes."""
    assert ModbusRequester("rtu", 1).ask(text) == ACKS_LIKE_REQUESTS[text]


@pytest.mark.parametrize("text", ACKS_LIKE_REQUESTS)
@pytest.mark.parametrize("echoes", [True, None])
def test_an_echo_alone_is_never_an_ack(text: str, echoes: bool | None) -> None:
    """On a line that echoes, or may, the first copy of our own request is no ack: nobody may have been there."""
    requester = asking(text, echoes=echoes)
    own = ACKS_LIKE_REQUESTS[text]

    assert briefly(requester.receive(own)) == ["echo"]
    assert briefly(requester.receive(own)) == ["done"]
    assert briefly(requester.receive(own)) == ["answer"]
    assert requester.echoes is echoes


@pytest.mark.parametrize("text", ACKS_LIKE_REQUESTS)
def test_no_echo(text: str) -> None:
    """On a line that is known not to echo, the first is the ack, and a second one an answer to nothing."""
    requester = asking(text, echoes=False)
    own = ACKS_LIKE_REQUESTS[text]

    assert briefly(requester.receive(own + own)) == ["done", "answer"]


@pytest.mark.parametrize("echoes", [None, True, False])
def test_a_read_shows_that_the_line_echoes(echoes: bool | None) -> None:
    """A read that comes back byte for byte is an echo, whatever was believed; from then on a write has one too."""
    requester = asking(READ_TEXT, echoes=echoes)
    assert briefly(requester.receive(READ + READ_30)) == ["echo", "done 30"]
    assert requester.echoes is True

    requester.ask(WRITE_TEXT)
    assert briefly(requester.receive(WRITE)) == ["echo"]


def test_an_answer_first_shows_that_it_does_not() -> None:
    """Two reads that are answered and nothing came in before show that the line does not echo; one echo may be lost."""
    requester = asking(READ_TEXT, echoes=None)
    assert briefly(requester.receive(READ_30)) == ["done 30"]
    known = [requester.echoes]
    requester.ask(READ_TEXT)
    assert briefly(requester.receive(READ_30)) == ["done 30"]
    assert [*known, requester.echoes] == [None, False]

    requester.ask(WRITE_TEXT)
    assert briefly(requester.receive(WRITE)) == ["done"]


@pytest.mark.parametrize(
    "before", [READ[:5], READ[:-1] + b"\x00", b"\x00"], ids=["partial", "damaged", "noise"]
)
def test_a_damaged_echo_shows_nothing(before: bytes) -> None:
    """Where something came in before the answer, that may have been the echo: acks are still not believed."""
    requester = asking(READ_TEXT, echoes=None)
    assert briefly(requester.receive(before + READ_30)) == ["junk", "done 30"]
    assert requester.echoes is None

    requester.ask(WRITE_TEXT)
    assert briefly(requester.receive(WRITE)) == ["echo"]


def test_a_line_that_echoes_once_is_known_to_echo() -> None:
    """An answer without an echo in front does not make a line silent that has echoed before."""
    requester = asking(READ_TEXT, echoes=True)
    requester.receive(READ_30)
    assert requester.echoes is True


@pytest.mark.parametrize("echoes", [True, None, False])
def test_exceptions_need_no_echo(echoes: bool | None) -> None:
    """An exception is no echo and counts at once."""
    assert briefly(asking(WRITE_TEXT, echoes=echoes).receive(BUSY)) == ["busy"]


def test_a_long_write_shows_that_the_line_echoes() -> None:
    """A write of several registers has another ack than itself, so its echo is known as one."""
    own, ack = h("11100001 0002 04 000A0102 C6F0"), h("11100001 0002 1298")
    requester = asking("fc16 0x0001 raw 000A0102", unit=17, echoes=None)

    assert briefly(requester.receive(own)) == ["echo"]
    assert requester.echoes is True
    assert briefly(requester.receive(ack)) == ["done"]


@pytest.mark.parametrize("length", range(1, len(WRITE)))
def test_a_partial_echo_hides_no_ack(length: int) -> None:
    """On a line that swallows part of the echo, the whole frame behind it is the ack only as a second one would be."""
    requester = asking(WRITE_TEXT, echoes=False)
    assert briefly(requester.receive(WRITE[:length] + WRITE)) == ["junk", "done"]
    requester = asking(WRITE_TEXT, echoes=True)
    assert briefly(requester.receive(WRITE[:length] + WRITE)) == ["junk", "echo"]


def test_a_late_echo_is_still_one() -> None:
    """The echo of an earlier request is known as ours, and is not taken for an answer that is owed."""
    requester = asking(READ_TEXT, echoes=None)
    requester.ask("fc04 0x0008 u16")
    assert briefly(requester.receive(READ)) == ["echo"]
    assert requester.echoes is True


def test_the_echo_of_an_abandoned_write() -> None:
    """After the wait the first copy is still the echo, the second the late ack."""
    requester = asking(WRITE_TEXT, echoes=True)
    requester.abandon()
    assert briefly(requester.receive(WRITE + WRITE)) == ["echo", "answer"]


def test_each_copy_has_its_echo() -> None:
    """A second copy of a write is echoed again."""
    requester = asking(WRITE_TEXT, echoes=True)
    assert briefly(requester.receive(WRITE + WRITE)) == ["echo", "done"]
    requester.ask(WRITE_TEXT)
    assert briefly(requester.receive(WRITE)) == ["echo"]
    assert briefly(requester.receive(WRITE)) == ["done"]


def test_own_frames_are_remembered_in_bounds() -> None:
    """Only the newest requests are known as ours when they come back."""
    requester = asking(READ_TEXT, echoes=None)
    for address in range(8):
        requester.ask(f"fc04 {address} u16")
    assert briefly(requester.receive(READ)) == ["answer"]
    assert requester.echoes is None


def test_an_echo_over_tcp() -> None:
    """A server that gives everything back answers nothing, and once that is seen its acks are not believed."""
    requester = ModbusRequester("tcp", 1)
    assert requester.echoes is False
    assert briefly(requester.receive(requester.ask(READ_TEXT))) == ["echo"]
    assert briefly(requester.receive(requester.ask(WRITE_TEXT))) == ["echo"]
