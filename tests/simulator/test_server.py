"""A simulated device on a real TCP port."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from protocol.native.messages import CommandReply, HelloReply, OpenReply, Reply
from protocol.native.requester import Answered, Requester
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.server import CONNECTIONS_MAX, serve_tcp
from tests.simulator.bench import ADJUST

PATIENCE_S = 10.0  # how long a broken build may hang; nothing here waits for it

Dial = Callable[[], Coroutine[None, None, tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def ask(reader: asyncio.StreamReader, requester: Requester) -> Reply:
    """The answer to what was just written."""
    while True:
        data = await reader.read(1024)
        assert data, "the connection ended"
        for event in requester.receive(data):
            if isinstance(event, Answered):
                return event.reply


def serve(device: SimulatedDevice, scenario: Callable[[Dial], Coroutine[None, None, None]]) -> None:
    """Run a scenario against the device on a free port; it gets a function that connects."""

    async def main() -> None:
        writers: list[asyncio.StreamWriter] = []
        server = await serve_tcp(device, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()

        async def dial() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection(host, port)
            writers.append(writer)
            return reader, writer

        async with asyncio.timeout(PATIENCE_S):
            try:
                await scenario(dial)
            finally:
                server.close()
                device.hang_up()
                for writer in writers:
                    writer.close()
                await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)

    asyncio.run(main())


def test_session_outlives_its_connection() -> None:
    """A command whose ack was cut off is answered from memory on a new connection."""
    device = SimulatedDevice(Controller(), plan=parse("cmd 1: cut"))

    async def scenario(dial: Dial) -> None:
        reader, writer = await dial()
        requester = Requester()
        writer.write(requester.open(1, 1, 1))
        opened = await ask(reader, requester)
        assert isinstance(opened, OpenReply)
        writer.write(requester.command(opened.session, 1, 1, ADJUST))
        assert await reader.read() == b""
        reader, writer = await dial()
        requester = Requester()
        writer.write(requester.hello(1))
        await ask(reader, requester)
        writer.close()
        while device.connected:
            await asyncio.wait_for(reader.read(), PATIENCE_S)
        reader, writer = await dial()
        requester = Requester()
        writer.write(requester.command(opened.session, 1, 2, ADJUST))
        reply = await ask(reader, requester)
        assert isinstance(reply, CommandReply)
        assert (reply.text, reply.replayed) == ("15", True)

    serve(device, scenario)
    assert device.ledger.count(ADJUST) == 1


def test_reboot_cuts_and_the_port_goes_on_listening() -> None:
    """After a boot new connections meet the new boot_id."""
    device = SimulatedDevice(Controller())

    async def scenario(dial: Dial) -> None:
        reader, writer = await dial()
        requester = Requester()
        writer.write(requester.hello(1))
        await ask(reader, requester)
        boot_id = device.boot_id
        device.reboot()
        assert await reader.read() == b""
        reader, writer = await dial()
        requester = Requester()
        writer.write(requester.hello(1))
        hello = await ask(reader, requester)
        assert isinstance(hello, HelloReply)
        assert hello.boot_id == device.boot_id != boot_id

    serve(device, scenario)


def test_full_table_gives_up_the_longest_silent_connection() -> None:
    """One connection more is served, the one silent longest is ended, those that talked stay."""
    device = SimulatedDevice(Controller())

    async def scenario(dial: Dial) -> None:
        lines = []
        for _ in range(CONNECTIONS_MAX):
            reader, writer = await dial()
            lines.append((reader, writer))
            requester = Requester()
            writer.write(requester.hello(1))
            await ask(reader, requester)
        talking = Requester()
        lines[0][1].write(talking.hello(1))
        await ask(lines[0][0], talking)
        reader, writer = await dial()
        newest = Requester()
        writer.write(newest.hello(1))
        assert isinstance(await ask(reader, newest), HelloReply)
        assert await lines[1][0].read() == b""
        lines[0][1].write(talking.hello(2))
        assert isinstance(await ask(lines[0][0], talking), HelloReply)

    serve(device, scenario)


def test_peer_that_does_not_read_is_cut_off() -> None:
    """Answers that nobody takes do not pile up without end."""
    device = SimulatedDevice(Controller(), serial="S" * 230, model="M" * 230)

    async def scenario(dial: Dial) -> None:
        _, deaf = await dial()
        requester = Requester()
        requests = b"".join(requester.hello(k) for k in range(1_000))

        async def flood() -> None:
            while True:
                deaf.write(requests)
                await deaf.drain()
                await asyncio.sleep(0)

        with pytest.raises(ConnectionError):
            await flood()

    serve(device, scenario)
    assert device.counts["hello"] > 0
