"""Does a port behind a terminal server carry every byte, stay as it is configured, and say why it does not open?"""

import asyncio
import threading

import pytest

from agent.links.link import Link, LinkLost, Unreachable
from agent.links.rfc2217 import Rfc2217Link, open_rfc2217
from tests.links.check_link import WAIT_S, Listener, Peer, check_link
from tests.links.tcp_peer import HOST, TcpPeer
from tests.links.terminal_server import Listening, ServedPort, TerminalServer

EVERY_BYTE = bytes(range(256))


class Refusing(TcpPeer):
    """A telnet server that serves no ports."""

    def data_received(self, data: bytes) -> None:
        """Everything is refused."""
        for at in range(0, len(data), 3):
            self.feed(bytes((255, {251: 254, 253: 252}[data[at + 1]], data[at + 2])))


class HangingUp(TcpPeer):
    """A server that ends every connection, as one does whose port has a client already."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        super().connection_made(transport)
        self.cut()


async def pair() -> tuple[Rfc2217Link, TerminalServer]:
    """A link and its server; nothing listens any more once it stands."""
    async with Listening(TerminalServer) as server:
        link = await open_rfc2217(HOST, server.port, WAIT_S)
        return link, await server.peer


async def attached() -> tuple[Rfc2217Link, TerminalServer, Listener]:
    """A link, its server, and who listens to it."""
    link, server = await pair()
    listener = Listener()
    link.attach(listener)
    return link, server, listener


def test_it_is_a_link() -> None:
    """RFC 2217 keeps the contract of links."""

    async def opened() -> tuple[Link, Peer]:
        return await pair()

    asyncio.run(check_link(opened))


def test_every_byte_passes() -> None:
    """No byte is taken for telnet or a line end, in neither direction, however the stream is cut."""

    async def scenario() -> None:
        link, server, listener = await attached()
        link.write(EVERY_BYTE + b"\xff")
        for byte in EVERY_BYTE:
            server.feed(bytes((byte,)))
            await asyncio.sleep(0)
        async with asyncio.timeout(WAIT_S):
            assert await server.receive(257) == EVERY_BYTE + b"\xff"
        await listener.until(lambda: len(listener.data) >= 256)
        assert listener.data == EVERY_BYTE
        link.close()

    asyncio.run(scenario())


def test_the_port_stays_as_it_is() -> None:
    """Opening sets nothing at the server; what was received before is purged, and nothing else happens."""

    async def scenario() -> None:
        link, server = await pair()
        assert server.port == ServedPort(purged=["received"])
        link.close()
        async with asyncio.timeout(WAIT_S):
            await server.ended.wait()
        assert server.port == ServedPort(purged=["received"])

    asyncio.run(scenario())


def test_aborting_purges_the_server_too() -> None:
    """Aborting asks the server to drop what it has not sent, and resets the connection."""

    async def scenario() -> None:
        link, server = await pair()
        link.write(b"ADJUST offset +5\n")
        link.close(abort=True)
        async with asyncio.timeout(WAIT_S):
            await server.ended.wait()
        assert server.port.purged == ["received", "unsent"]
        assert server.was_reset

    asyncio.run(scenario())


def test_it_needs_no_thread() -> None:
    """A link takes no thread, and closing it is at once."""

    async def scenario() -> None:
        threads = set(threading.enumerate())  # one of an earlier test may still be ending
        link, _ = await pair()
        assert set(threading.enumerate()) <= threads
        link.close()

    asyncio.run(scenario())


def test_a_server_that_changes_its_mind() -> None:
    """A server that stops passing all bytes is a lost link, told once; nothing is written any more."""

    async def scenario() -> None:
        link, server, listener = await attached()
        server.feed_raw(b"\xff\xfe\x00more")
        await listener.until(lambda: bool(listener.lost_why))
        async with asyncio.timeout(WAIT_S):
            await server.ended.wait()
        with pytest.raises(LinkLost, match="refuses to take all bytes unchanged"):
            link.write(b"x")
        link.close()
        assert len(listener.lost_why) == 1
        assert listener.data == b""

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("kind", "timeout_s", "says"),
    [
        (
            TcpPeer,
            0.1,
            "does not answer as an RFC 2217 server within 0.1 s. Where it passes plain bytes, write tcp://",
        ),
        (Refusing, WAIT_S, "gives no serial port: the server refuses RFC 2217 on this port"),
        (
            HangingUp,
            WAIT_S,
            "gives no serial port: the device closed the connection; another client may have it",
        ),
    ],
)
def test_what_is_no_rfc2217_server(kind: type[TcpPeer], timeout_s: float, says: str) -> None:
    """What answers otherwise or not at all is unreachable, with what to do; the connection is closed."""

    async def scenario() -> None:
        async with Listening(kind) as server:
            with pytest.raises(Unreachable) as problem:
                await open_rfc2217(HOST, server.port, timeout_s)
            assert str(problem.value).startswith(f"{HOST} port {server.port} {says}")
            async with asyncio.timeout(WAIT_S):
                await (await server.peer).ended.wait()

    asyncio.run(scenario())


def test_giving_up_while_opening() -> None:
    """Whoever stops waiting for the server leaves no connection behind."""

    async def scenario() -> None:
        async with Listening(TcpPeer) as server:
            opening = asyncio.create_task(open_rfc2217(HOST, server.port, WAIT_S))
            peer = await server.peer
            async with asyncio.timeout(WAIT_S):
                await peer.receive(1)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            async with asyncio.timeout(WAIT_S):
                await peer.ended.wait()

    asyncio.run(scenario())


def test_nothing_listens() -> None:
    """A port that nobody serves is refused in the words of TCP."""

    async def scenario() -> None:
        async with Listening(TcpPeer) as server:
            port = server.port
        with pytest.raises(Unreachable, match=f"{HOST} port {port} refuses connections"):
            await open_rfc2217(HOST, port, WAIT_S)

    asyncio.run(scenario())
