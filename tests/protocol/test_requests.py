"""Does the agent's side write only what the paper allows?"""

from collections.abc import Callable

import pytest

from protocol.native.codes import SEQ_MAX, Type
from protocol.native.frame import NOP_DIGEST, digest
from protocol.native.requester import Requester
from tests.protocol.test_requester import HELLO, SESSION, answer, frame_in


def test_first_request_and_the_one_after_silence_end_noise() -> None:
    """A zero goes before the first frame of a stream and before the first one after silence, no other."""
    requester = Requester()
    begins = [requester.hello(1)[:1], requester.hello(2)[:1]]
    requester.abandon()
    begins += [requester.hello(3)[:1], requester.hello(4)[:1]]

    assert [begin == b"\0" for begin in begins] == [True, False, True, False]


def test_attempt_stays_at_255() -> None:
    """The attempt field counts to 255 and stays there."""
    requester = Requester()

    attempts = [frame_in(requester.nop(SESSION, 1, attempt)).attempt for attempt in (1, 2, 255, 256, 9999)]

    assert attempts == [1, 2, 255, 255, 255]


def test_text_with_the_digest_of_a_nop_is_refused() -> None:
    """A text with NOP's digest could not be settled: the device would take a NOP for its repeat."""
    text = "cccccacaacccccaacaaccaaaaaaaacaca"
    assert digest(Type.CMD, text.encode()) == NOP_DIGEST

    with pytest.raises(ValueError, match="NOP"):
        Requester().command(SESSION, 1, 1, text)


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.command(SESSION, 0, 1, "BEEP"),
        lambda r: r.command(SESSION, SEQ_MAX + 1, 1, "BEEP"),
        lambda r: r.command(SESSION, 1, 0, "BEEP"),
        lambda r: r.command(SESSION, 1, 1, ""),
        lambda r: r.command(SESSION, 1, 1, "\ud800"),
        lambda r: r.command(SESSION, 1, 1, "x" * 54),
        lambda r: r.command(0, 1, 1, "BEEP"),
        lambda r: r.command(1 << 32, 1, 1, "BEEP"),
        lambda r: r.nop(SESSION, 0, 1),
        lambda r: r.nop(SESSION, SEQ_MAX + 1, 1),
        lambda r: r.nop(0, 1, 1),
        lambda r: r.read(9, ""),
        lambda r: r.read(0x10000, "GET offset"),
        lambda r: r.read(9, "é" * 27),
        lambda r: r.hello(-1),
        lambda r: r.query(SESSION, 0x10000),
        lambda r: r.close(0, 1),
        lambda r: r.open(1 << 64, 1, 1),
        lambda r: r.open(1, 0xFFFFFFFF, 1),
        lambda r: r.open(1, 1, 1 << 64),
        lambda r: setattr(r, "max_body", 63),
        lambda r: setattr(r, "max_body", 513),
        lambda _: Requester(0),
        lambda _: Requester(248),
    ],
)
def test_what_may_not_be_sent(ask: Callable[[Requester], object]) -> None:
    """A request that the paper does not allow, or that does not fit, is an error before any byte."""
    requester = Requester()

    with pytest.raises(ValueError):  # noqa: PT011 - the messages are for people
        ask(requester)
    assert requester.outstanding is None


def test_text_up_to_max_body() -> None:
    """A text fills max_body to the byte; HELLO's answer, or the caller, sets it; the first limit is 64."""
    requester = Requester()
    assert requester.command(SESSION, 1, 1, "x" * 53)
    requester.receive(answer(requester.hello(5), HELLO))

    assert requester.max_body == 128
    assert requester.command(SESSION, 1, 1, "x" * 117)
    requester.max_body = 512
    assert requester.command(SESSION, 1, 1, "x" * 501)
