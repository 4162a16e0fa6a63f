"""Does an open serial port carry every byte, notice every end, and never hold up the rest?"""

import asyncio
import termios
import threading

import pytest

from agent.links import serial_port
from agent.links.link import Link, LinkLost
from tests.links.check_link import WAIT_S, Ends, Listener, Peer, check_link
from tests.links.pty_port import PtyPort, open_files

GONE = r"the serial port /dev/pts/\d+ is gone, as if unplugged: Input/output error"
EVERY_BYTE = bytes(range(256))
TOO_MUCH = 200_000
"""More bytes than any driver takes at once."""


def test_it_is_a_link() -> None:
    """A serial port keeps the contract of links."""
    ports: list[PtyPort] = []

    async def pair() -> tuple[Link, Peer]:
        ports.append(port := PtyPort())
        port.listen()
        return await port.link(), port

    async def scenario() -> None:
        await check_link(pair, Ends(why=GONE, in_order=False))
        for port in ports:
            port.cut()

    asyncio.run(scenario())


def test_every_byte_passes(port: PtyPort) -> None:
    """No byte is taken for flow control, a line end or a signal, in neither direction."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        port.listen()
        port.feed(EVERY_BYTE)
        link.write(EVERY_BYTE)
        async with asyncio.timeout(WAIT_S):
            assert await port.receive(256) == EVERY_BYTE
        await listener.until(lambda: len(listener.data) >= 256)
        assert listener.data == EVERY_BYTE
        link.close()

    asyncio.run(scenario())


def test_what_came_before_us_is_dropped(port: PtyPort) -> None:
    """Bytes that waited in the port when it was opened are not delivered; those that came since are."""

    async def scenario() -> None:
        port.feed(b"an answer to somebody else")
        link = await port.link()
        port.feed(b"ours")
        listener = Listener()
        link.attach(listener)
        await listener.until(lambda: bool(listener.data))
        assert listener.data == b"ours"
        link.close()

    asyncio.run(scenario())


def test_the_settings_reach_the_port(port: PtyPort) -> None:
    """Speed and stop bits of the URL are set; without any it is 9600 with one stop bit and no flow control."""

    async def settings(options: str) -> tuple[int, int, int]:
        link = await port.link(options)
        iflag, _, cflag, _, _, speed, _ = termios.tcgetattr(port.slave)
        link.close()
        return speed, cflag & termios.CSTOPB, iflag & (termios.IXON | termios.IXOFF)

    assert asyncio.run(settings("?baud=19200&stop=2")) == (termios.B19200, termios.CSTOPB, 0)
    assert asyncio.run(settings("")) == (termios.B9600, 0, 0)


def test_unplugged_while_waiting(port: PtyPort) -> None:
    """A pulled plug is told once, and nothing of the port is left open that could wake anybody."""

    async def scenario() -> None:
        before = open_files()
        link, listener = await _listening(port)
        port.cut()
        await listener.until(lambda: bool(listener.lost_why))
        assert len(open_files()) == len(before) - 2  # the port's own two ends
        link.close()
        await _turns()
        assert len(listener.lost_why) == 1

    asyncio.run(scenario())


def test_unplugged_while_writing(port: PtyPort) -> None:
    """The write that meets the pulled plug says so; the receiver is told once, in a turn of its own."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        port.cut()
        with pytest.raises(LinkLost, match=GONE):
            link.write(b"SET x 1\n")
        assert listener.lost_why == []
        with pytest.raises(LinkLost, match=GONE):
            link.write(b"SET x 1\n")
        await _turns()
        assert len(listener.lost_why) == 1

    asyncio.run(scenario())


def test_unplugged_while_bytes_wait(port: PtyPort) -> None:
    """A plug that is pulled while a frame is only partly out is told once, and the frame's deadline is off."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        link.write(bytes(TOO_MUCH))
        port.cut()
        await listener.until(lambda: bool(listener.lost_why))
        assert link._overdue is None
        await _turns()
        assert len(listener.lost_why) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("abort", [False, True])
def test_unplugged_before_closing(port: PtyPort, *, abort: bool) -> None:
    """Closing a port whose plug is out never fails, and is silent; also after the end of the event loop."""

    async def scenario() -> tuple[serial_port.SerialLink, Listener]:
        link, listener = await _listening(port)
        port.cut()
        link.close(abort=abort)
        await _turns()
        assert listener.lost_why == []
        return link, listener

    link, listener = asyncio.run(scenario())
    link.close(abort=abort)
    assert listener.lost_why == []


def test_closing_right_after_a_failed_write(port: PtyPort) -> None:
    """Whoever closes before the loss was told hears nothing of it any more."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        port.cut()
        with pytest.raises(LinkLost):
            link.write(b"x")
        link.close()
        await _turns()
        assert listener.lost_why == []

    asyncio.run(scenario())


def test_closing_after_the_event_loop(port: PtyPort) -> None:
    """A port that outlives its event loop can still be closed."""

    async def scenario() -> serial_port.SerialLink:
        return (await _listening(port))[0]

    before = open_files()
    link = asyncio.run(scenario())
    link.close(abort=True)
    assert open_files() == before


def test_a_line_that_takes_no_bytes(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that does not get out in time is a loss, and its rest never leaves; meanwhile nothing is held up."""
    monkeypatch.setattr(serial_port, "WRITE_TIMEOUT_S", 0.02)

    async def scenario() -> None:
        threads = set(threading.enumerate())  # one of an earlier test may still be ending
        link, listener = await _listening(port)
        link.write(bytes(TOO_MUCH))
        taken = TOO_MUCH - len(link._unsent)
        assert listener.lost_why == []
        await listener.until(lambda: bool(listener.lost_why))
        [why] = listener.lost_why
        assert why.startswith("the line takes no bytes: ")
        assert why.endswith(f" still unsent on {port.path} after 0.02 s")
        with pytest.raises(LinkLost, match="takes no bytes"):
            link.write(b"x")
        assert len(port.waiting()) < taken
        assert set(threading.enumerate()) <= threads

    asyncio.run(scenario())


def test_a_slow_line(port: PtyPort) -> None:
    """What does not fit at once goes out as there is room, whole and in order, and then no deadline is left."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        frames = [bytes([number]) * TOO_MUCH for number in range(3)]
        link.write(frames[0])
        overdue = link._overdue
        assert overdue is not None
        for frame in frames[1:]:
            link.write(frame)
        assert link._overdue is overdue, "the deadline is that of the oldest byte"
        port.listen()
        async with asyncio.timeout(WAIT_S):
            assert await port.receive(3 * TOO_MUCH) == b"".join(frames)
        assert overdue.cancelled()
        link.write(b"next")
        async with asyncio.timeout(WAIT_S):
            assert (await port.receive(3 * TOO_MUCH + 4)).endswith(b"next")
        assert listener.lost_why == []
        link.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("abort", [False, True])
def test_what_aborting_takes_back(port: PtyPort, *, abort: bool) -> None:
    """Aborting drops what the driver has not sent; plain closing lets it arrive."""

    async def scenario() -> None:
        link = await port.link()
        link.write(bytes(TOO_MUCH))
        taken = TOO_MUCH - len(link._unsent)
        link.close(abort=abort)
        assert (len(port.waiting()) < taken) is abort

    asyncio.run(scenario())


def test_a_wake_up_without_bytes(port: PtyPort) -> None:
    """A wake-up that brings nothing is not the end: it may be left over from bytes that are gone."""

    async def scenario() -> None:
        link, listener = await _listening(port)
        link._readable()
        port.feed(b"still here")
        await listener.until(lambda: bool(listener.data))
        assert listener.lost_why == []
        link.close()

    asyncio.run(scenario())


async def _listening(port: PtyPort) -> tuple[serial_port.SerialLink, Listener]:
    link, listener = await port.link(), Listener()
    link.attach(listener)
    return link, listener


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
