"""The proxy between real sockets and serial ports, with a simulated device behind it."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import serial

from simulator.equipment import Controller
from simulator.proxy.host import Proxy, Route
from simulator.proxy.passage import Traffic
from simulator.proxy.places import PtyPlace, SerialPlace, TcpPlace
from simulator.proxy.sides import WRITE_MAX
from simulator.pty_server import PtyServer, serve_pty
from simulator.server import serve_tcp
from simulator.text_device import TextDevice
from tests.simulator.port_client import PATIENCE_S, PortClient
from tests.simulator.proxy.ends import traffic

ADJUST = b"ADJUST offset +5\n"


class Stage:
    """A device, a proxy in front of it, and clients; all on free ports."""

    def __init__(self, plan: str = "", frame: str = "raw", seen: list[str] | None = None) -> None:
        self.device = TextDevice(
            Controller(), hangs_up_on_boot=False, clock=lambda: asyncio.get_running_loop().time()
        )
        self.traffic: Traffic = traffic(plan, frame, seen)
        self.told: list[str] = []
        self._endings: list[Callable[[], None]] = []
        self._proxies: list[Proxy] = []

    async def device_on_tcp(self) -> TcpPlace:
        server = await serve_tcp(self.device, "127.0.0.1", 0)
        self._endings += [server.close, self.device.hang_up]
        return TcpPlace("127.0.0.1", server.sockets[0].getsockname()[1])

    async def peer_on_tcp(
        self, talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
    ) -> TcpPlace:
        """Anything else that listens."""
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        self._endings.append(server.close)
        return TcpPlace("127.0.0.1", server.sockets[0].getsockname()[1])

    def device_on_pty(self) -> tuple[PtyServer, SerialPlace]:
        server = serve_pty(self.device)
        self._endings.append(server.close)
        return server, SerialPlace(server.url.removeprefix("serial:"))

    async def proxy(
        self, to: TcpPlace | SerialPlace, listen: TcpPlace | PtyPlace, link: Path | None = None
    ) -> str:
        """Where it listens, without the scheme."""
        proxy = Proxy(self.traffic, Route(listen, link, to))
        await proxy.open(self.told.append)
        self._proxies.append(proxy)
        return self.told[-1].partition(":")[2].removeprefix("//")

    async def dial(self, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        self._endings.append(writer.close)
        return reader, writer

    async def close(self) -> None:
        for proxy in self._proxies:
            await proxy.close()
        for ending in self._endings:
            ending()
        for _ in range(3):  # closed transports need a turn of the loop
            await asyncio.sleep(0)


ANYWHERE = TcpPlace("127.0.0.1", 0)


def on_stage(stage: Stage, scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario in real time, which nothing in it waits for."""

    async def main() -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(stage)
        finally:
            await stage.close()

    asyncio.run(main())


def test_tcp_to_tcp_loses_one_ack() -> None:
    """The command took effect, its client heard nothing, and a second copy counted again."""

    async def scenario(stage: Stage) -> None:
        reader, writer = await stage.dial(await stage.proxy(await stage.device_on_tcp(), ANYWHERE))
        writer.write(ADJUST)
        writer.write(ADJUST)
        assert await reader.readline() == b"OK 20\n"

    stage = Stage("from 1: drop", frame="line")
    on_stage(stage, scenario)
    assert stage.device.ledger.count("ADJUST offset +5") == 2
    assert (stage.traffic.counts["to"], stage.traffic.counts["drop"]) == (2, 1)


def test_lost_command_never_reaches_the_device() -> None:
    """Counting goes on over two connections of one client after another."""

    async def scenario(stage: Stage) -> None:
        address = await stage.proxy(await stage.device_on_tcp(), ANYWHERE)
        reader, writer = await stage.dial(address)
        writer.write(b"GET offset\n")
        assert await reader.readline() == b"OK 10\n"
        writer.close()
        reader, writer = await stage.dial(address)
        writer.write(ADJUST + b"GET offset\n")
        assert await reader.readline() == b"OK 10\n"

    stage = Stage("to 2: drop", frame="line")
    on_stage(stage, scenario)
    assert stage.device.ledger.entries == ()


def test_end_of_a_client_reaches_the_device() -> None:
    """And what it said before comes first."""

    async def scenario(stage: Stage) -> None:
        heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.set_result(await reader.read())
            writer.close()

        _, writer = await stage.dial(await stage.proxy(await stage.peer_on_tcp(listen), ANYWHERE))
        writer.write(ADJUST)
        writer.close()
        assert await heard == ADJUST

    on_stage(Stage(), scenario)


def test_end_of_the_device_reaches_the_client() -> None:
    """The client reads the end of the stream."""

    async def scenario(stage: Stage) -> None:
        reader, writer = await stage.dial(await stage.proxy(await stage.device_on_tcp(), ANYWHERE))
        writer.write(b"GET offset\n")
        assert await reader.readline() == b"OK 10\n"
        stage.device.hang_up()
        assert await reader.read() == b""

    on_stage(Stage(), scenario)


def test_rst_is_a_reset_on_the_wire() -> None:
    """The client's next read fails instead of ending."""

    async def scenario(stage: Stage) -> None:
        reader, writer = await stage.dial(await stage.proxy(await stage.device_on_tcp(), ANYWHERE))
        writer.write(ADJUST)
        with pytest.raises(ConnectionResetError):
            await reader.read()

    stage = Stage("from 1: rst")
    on_stage(stage, scenario)
    assert len(stage.device.ledger) == 1


def test_cut_is_an_end_on_the_wire() -> None:
    """The client reads the end, the command before it had its effect."""

    async def scenario(stage: Stage) -> None:
        reader, writer = await stage.dial(await stage.proxy(await stage.device_on_tcp(), ANYWHERE))
        writer.write(ADJUST)
        assert await reader.read() == b""

    stage = Stage("from 1: cut")
    on_stage(stage, scenario)
    assert len(stage.device.ledger) == 1


def test_nobody_behind_the_proxy_ends_the_connection() -> None:
    """The client reads the end; the reason is told."""
    seen: list[str] = []

    async def scenario(stage: Stage) -> None:
        nobody = await stage.device_on_tcp()
        stage._endings.pop(0)()
        reader, _ = await stage.dial(await stage.proxy(nobody, ANYWHERE))
        assert await reader.read() == b""
        assert seen[0].startswith(f"unreachable {nobody}: ")

    stage = Stage(seen=seen)
    on_stage(stage, scenario)
    assert stage.traffic.counts["unreachable"] == 1


def test_tcp_to_serial_port() -> None:
    """A client of TCP talks to a device on a serial port, one at a time: the port is held exclusively."""
    seen: list[str] = []

    async def scenario(stage: Stage) -> None:
        _, place = stage.device_on_pty()
        address = await stage.proxy(place, ANYWHERE)
        reader, writer = await stage.dial(address)
        writer.write(ADJUST)
        assert await reader.readline() == b"OK 15\n"
        with pytest.raises(serial.SerialException, match="exclusively lock"):
            serial.Serial(place.path, exclusive=True)
        second, _ = await stage.dial(address)
        assert await second.read() == b""
        writer.write(b"GET offset\n")
        assert await reader.readline() == b"OK 15\n"

    stage = Stage(seen=seen)
    on_stage(stage, scenario)
    assert stage.traffic.counts["unreachable"] == 1


def test_pulled_plug_behind_the_proxy_resets_the_client() -> None:
    """The serial port vanishes in the middle of a connection."""

    async def scenario(stage: Stage) -> None:
        server, place = stage.device_on_pty()
        reader, writer = await stage.dial(await stage.proxy(place, ANYWHERE))
        writer.write(b"GET offset\n")
        assert await reader.readline() == b"OK 10\n"
        server.pull()
        with pytest.raises(ConnectionResetError):
            await reader.read()

    on_stage(Stage(), scenario)


def test_serial_port_in_front_of_serial_port() -> None:
    """A client opens the proxy's port instead of the device's; closing it does not cut the line behind."""

    async def scenario(stage: Stage) -> None:
        _, place = stage.device_on_pty()
        path = await stage.proxy(place, PtyPlace())
        client = PortClient(path)
        client.write(b"SET offset 1\n")
        assert await client.line() == b"SET offset 1\n"
        assert await client.line() == b"OK 1\n"
        client.close()
        client = PortClient(path)
        client.write(b"GET offset\n")
        assert await client.line() == b"OK 1\n"
        client.close()

    stage = Stage("to 1: echo")
    on_stage(stage, scenario)
    assert stage.traffic.counts["connections"] == 1


def when_over(stage: Stage) -> asyncio.Event:
    """Set as soon as the only passage has ended."""
    (passage,) = stage._proxies[0]._passages
    ended, over = asyncio.Event(), passage._over

    def told() -> None:
        over()
        ended.set()

    passage._over = told
    return ended


def test_serial_port_in_front_of_tcp_survives_the_connection_behind_it(tmp_path: Path) -> None:
    """When the device ends its connection the port stays, and the next bytes dial again."""

    async def scenario(stage: Stage) -> None:
        path = await stage.proxy(await stage.device_on_tcp(), PtyPlace(), tmp_path / "port")
        assert path == str(tmp_path / "port")
        client = PortClient(path)
        for _ in range(2):
            client.write(b"GET offset\n")
            assert await client.line() == b"OK 10\n"
            ended = when_over(stage)
            stage.device.hang_up()
            await ended.wait()
        client.close()

    stage = Stage()
    on_stage(stage, scenario)
    assert (stage.traffic.counts["connections"], stage.told) == (2, [f"serial:{tmp_path / 'port'}"])


def test_cut_pulls_the_plug_of_the_proxys_port(tmp_path: Path) -> None:
    """The client loses its port, another one stands at the link, and the URL is told anew."""

    async def scenario(stage: Stage) -> None:
        path = await stage.proxy(await stage.device_on_tcp(), PtyPlace(), tmp_path / "port")
        client = PortClient(path)
        client.write(ADJUST)
        assert await client.line() == b""
        client.close()
        client = PortClient(path)
        client.write(b"GET offset\n")
        assert await client.line() == b"OK 15\n"
        client.close()
        assert stage.told == [f"serial:{tmp_path / 'port'}"] * 2

    on_stage(Stage("from 1: cut"), scenario)
    assert not os.path.lexists(tmp_path / "port")


def drain(link: socket.socket) -> None:
    """Read until the connection ends."""
    while link.recv(1_000_000):
        pass


def test_client_that_never_reads_is_reset() -> None:
    """Answers that nobody takes do not pile up without end, and the device is let go."""

    async def scenario(stage: Stage) -> None:
        let_go = asyncio.Event()

        async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while True:
                    writer.write(b"x" * WRITE_MAX)
                    await writer.drain()
            let_go.set()

        address = await stage.proxy(await stage.peer_on_tcp(flood), ANYWHERE)
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port))) as silent:
            await let_go.wait()
            silent.settimeout(PATIENCE_S)
            with pytest.raises(ConnectionResetError):
                drain(silent)

    on_stage(Stage(), scenario)
