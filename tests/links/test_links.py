"""Do real TCP and the tests' own stream in memory keep the same contract, and does TCP tell why it cannot open?"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent.links.link import Link, Unreachable
from agent.links.tcp import TcpLink, open_tcp
from tests.agent.memory_link import memory_pair
from tests.agent.store_desk import virtual
from tests.links.check_link import WAIT_S, Listener, Peer, check_link
from tests.links.tcp_peer import HOST, TcpPeer


async def tcp_pair(*, small: bool = False) -> tuple[Link, TcpPeer]:
    """A TCP connection on this machine; nothing listens any more once it stands. `small`: the peer buffers little."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[TcpPeer] = loop.create_future()
    server = await loop.create_server(lambda: TcpPeer(ready), HOST, 0)
    if small:
        server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    try:
        link = await open_tcp(HOST, server.sockets[0].getsockname()[1], WAIT_S)
        return link, await ready
    finally:
        server.close()


async def in_memory() -> tuple[Link, Peer]:
    """A stream in memory."""
    return memory_pair()


def test_tcp() -> None:
    """A real TCP connection is a link."""
    asyncio.run(check_link(tcp_pair))


def test_memory() -> None:
    """The stream that other tests use is a link."""
    virtual(lambda: check_link(in_memory))


def test_a_reset_is_a_loss_with_its_reason() -> None:
    """A connection that breaks says so once, in other words than one that was closed."""

    async def scenario() -> None:
        link, peer = await tcp_pair()
        listener = Listener()
        link.attach(listener)
        peer.reset()
        await listener.until(lambda: bool(listener.lost_why))
        [why] = listener.lost_why
        assert why.startswith("the connection broke: ")

    asyncio.run(scenario())


def test_closing_drops_what_has_not_left() -> None:
    """Bytes that the operating system has not taken do not leave after the end."""
    size = 16_000_000

    async def scenario() -> None:
        link, peer = await tcp_pair()
        peer.pause()
        link.write(bytes(size))
        link.close()
        peer.resume()
        async with asyncio.timeout(WAIT_S):
            await peer.ended.wait()
        assert len(await peer.receive(0)) < size

    asyncio.run(scenario())


@pytest.mark.parametrize("abort", [False, True])
def test_what_aborting_takes_back(*, abort: bool) -> None:
    """Aborting drops what the operating system could not deliver yet, and resets; plain closing lets it arrive."""
    size = 200_000

    async def scenario() -> None:
        link, peer = await tcp_pair(small=True)
        assert isinstance(link, TcpLink)
        peer.pause()
        link.write(bytes(size))
        assert link._transport is not None
        assert link._transport.get_write_buffer_size() == 0, "the operating system was to take it all"
        link.close(abort=abort)
        peer.resume()
        async with asyncio.timeout(WAIT_S):
            await peer.ended.wait()
        assert peer.was_reset is abort
        assert (len(await peer.receive(0)) < size) is abort

    asyncio.run(scenario())


def test_a_refused_connection() -> None:
    """Where nothing listens it says so, with host and port."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        port = bound.getsockname()[1]
        with pytest.raises(
            Unreachable, match=f"{HOST} port {port} refuses connections: nothing listens there"
        ):
            asyncio.run(open_tcp(HOST, port, WAIT_S))


def test_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that nobody knows is named."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Unreachable, match=r"the host name pump-7\.invalid is not known: Name or service"):
        asyncio.run(open_tcp("pump-7.invalid", 7000, WAIT_S))


def test_an_address_without_a_way() -> None:
    """What the operating system says is passed on in a sentence."""
    with pytest.raises(Unreachable, match=r"255\.255\.255\.255 port 7000 cannot be reached: "):
        asyncio.run(open_tcp("255.255.255.255", 7000, WAIT_S))


@contextmanager
def a_listener_that_is_full() -> Iterator[int]:
    """A port whose queue of connections is full, so that further ones hang; yields the port."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(0)
        port: int = listening.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex((HOST, port))
        try:
            yield port
        finally:
            for each in waiting:
                each.close()


def test_a_connection_that_hangs() -> None:
    """Opening takes no longer than it may, and says how long that was."""
    with (
        a_listener_that_is_full() as port,
        pytest.raises(Unreachable, match=rf"no connection to {HOST} port {port} within 0\.05 s"),
    ):
        asyncio.run(open_tcp(HOST, port, 0.05))
