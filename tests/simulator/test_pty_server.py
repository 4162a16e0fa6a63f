"""A simulated device on a real serial port."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from protocol.native.messages import HelloReply
from protocol.native.requester import Answered, Requester
from simulator.base_device import BaseDevice
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.fd_stream import QUEUE_MAX
from simulator.habits import Habits
from simulator.pty_port import LinkTakenError, PtyPort
from simulator.pty_server import PtyServer, serve_pty
from simulator.text_device import TextDevice
from tests.simulator.port_client import PATIENCE_S, PortClient

BANNER = b"READY demo controller\n"
Scenario = Callable[[PtyServer], Coroutine[Any, Any, None]]


def text_device(plan: str = "", **settings: Any) -> TextDevice:
    """A text device for a serial port."""
    return TextDevice(
        Controller(),
        plan=parse(plan),
        hangs_up_on_boot=False,
        clock=lambda: asyncio.get_running_loop().time(),
        **settings,
    )


def serve(
    device: BaseDevice[Any],
    scenario: Scenario,
    link: Path | None = None,
    replugged: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a scenario against the device on a new port."""

    async def main() -> None:
        server = serve_pty(device, link, replugged)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(server)
        finally:
            server.close()

    asyncio.run(main())


def path_of(server: PtyServer) -> str:
    """What a client opens."""
    return server.url.removeprefix("serial:")


def when_alone(server: PtyServer) -> asyncio.Event:
    """Set as soon as the server has noticed that the port was closed."""
    noticed, stream = asyncio.Event(), server._port._stream
    assert stream is not None
    nobody = stream._silent

    def told() -> None:
        nobody()
        noticed.set()

    stream._silent = told
    return noticed


def test_answers_whoever_opens_the_port() -> None:
    """One client after the other, on the same path, with bytes as they are."""

    async def scenario(server: PtyServer) -> None:
        for answer in (b"OK 15\n", b"OK 20\n"):
            client = PortClient(path_of(server))
            client.write(b"ADJUST offset +5\r\n")
            assert await client.line() == answer
            client.close()

    device = text_device()
    serve(device, scenario)
    assert (device.ledger.count("ADJUST offset +5"), device.counts["connections"]) == (2, 1)


def test_every_byte_passes_unchanged_in_both_directions() -> None:
    """No byte is eaten, translated or taken for a signal by the terminal."""
    every = bytes(range(256))
    heard = bytearray()

    async def main() -> None:
        complete = asyncio.Event()

        def hear(data: bytes) -> None:
            heard.extend(data)
            if len(heard) == len(every):
                complete.set()

        port = PtyPort(hear, lambda: False)
        client = PortClient(port.path)
        client.write(every)
        port.write(every)
        async with asyncio.timeout(PATIENCE_S):
            assert await client.until(every[-1:]) == every
            await complete.wait()
        client.close()
        port.pull()

    asyncio.run(main())
    assert heard == every


def test_late_answer_waits_for_the_next_client() -> None:
    """What is sent while nobody has the port open is read by whoever opens it."""

    async def scenario(server: PtyServer) -> None:
        client = PortClient(path_of(server))
        client.write(b"ADJUST offset +5\n")
        client.close()
        await heard.wait()
        client = PortClient(path_of(server))
        assert await client.line() == b"OK 15\n"
        client.close()

    heard = asyncio.Event()
    serve(text_device(observe=lambda *_: heard.set()), scenario)


def test_boot_leaves_the_port_and_prints_the_banner() -> None:
    """Whoever has the port open keeps it."""

    async def scenario(server: PtyServer) -> None:
        client = PortClient(path_of(server))
        device.reboot()
        assert await client.line() == BANNER
        client.write(b"GET boots\n")
        assert await client.line() == b"OK 2\n"
        client.close()

    device = text_device()
    serve(device, scenario)


@pytest.mark.parametrize(("fault", "effects"), [("cut", 1), ("cut_before", 0)])
def test_cut_pulls_the_plug_and_puts_it_back(tmp_path: Path, fault: str, effects: int) -> None:
    """The port in hand is dead, another one stands at the link, and the URL is told anew."""
    told: list[str] = []

    async def scenario(server: PtyServer) -> None:
        link = tmp_path / "port"
        before = link.readlink()
        client = PortClient(path_of(server))
        client.write(b"ADJUST offset +5\n")
        assert await client.line() == b""
        assert len(device.ledger) == effects
        assert link.readlink() != before
        assert told == [server.url] == [f"serial:{link}"]
        other = PortClient(path_of(server))
        other.write(b"GET offset\n")
        assert await other.line() == b"OK %d\n" % (10 + 5 * effects)
        client.close()
        other.close()

    device = text_device(f"cmd 1: {fault}")
    serve(device, scenario, tmp_path / "port", told.append)
    assert device.counts["connections"] == 2


def test_pulled_plug_stays_out_until_it_is_put_back(tmp_path: Path) -> None:
    """The link is gone, what was under way is lost, the device goes on living."""

    async def scenario(server: PtyServer) -> None:
        client = PortClient(path_of(server))
        client.write(b"ADJUST offset +5\n")
        await heard.wait()
        server.toggle_plug()
        assert await client.line() == b""
        client.close()
        assert not (tmp_path / "port").is_symlink()
        server.toggle_plug()
        client = PortClient(path_of(server))
        client.write(b"GET offset\n")
        assert await client.line() == b"OK 15\n"
        client.close()

    heard = asyncio.Event()
    serve(text_device("cmd 1: delay 0.01", observe=lambda *_: heard.set()), scenario, tmp_path / "port")
    assert not (tmp_path / "port").is_symlink()


def test_opening_is_noticed_each_time() -> None:
    """A board that boots when its port is opened does so for every client, and loses what that writes at once."""

    async def scenario(server: PtyServer) -> None:
        for boots in (2, 3):
            client = PortClient(path_of(server))
            client.write(b"ADJUST offset +5\nTOGGLE relay\n")
            assert await client.line() == BANNER
            assert device.boot == boots
            client.write(b"TOGGLE relay\n")
            assert await client.line() == b"OK 1\n"
            alone = when_alone(server)  # a client that comes back within the same moment is no new opening
            client.close()
            await alone.wait()

    device = text_device(habits=Habits(opening_boots=True))
    serve(device, scenario)
    assert [copy.text for copy in device.copies] == ["TOGGLE relay"] * 2


def test_opening_without_a_word_is_noticed() -> None:
    """The greeting comes to a client that says nothing."""

    async def scenario(server: PtyServer) -> None:
        client = PortClient(path_of(server))
        assert await client.line() == b"hello\n"
        client.close()

    serve(text_device(habits=Habits(greeting=b"hello\n")), scenario)


@pytest.mark.parametrize("echo", [False, True])
def test_greeting_comes_before_the_answer_to_what_is_written_at_once(echo: bool) -> None:
    """A client that writes as soon as it has opened the port finds the greeting in front; nothing is lost."""

    async def scenario(server: PtyServer) -> None:
        client = PortClient(path_of(server))
        client.write(b"GET offset\n")
        echoed = b"GET offset\n" if echo else b""
        greeted = b"hello\n" + echoed + b"OK 10\n"
        assert await client.take(len(greeted)) == greeted
        client.close()

    serve(text_device(habits=Habits(greeting=b"hello\n"), echo=echo), scenario)


def test_client_that_does_not_read_costs_a_queue_and_no_more() -> None:
    """Beyond the queue bytes are lost; the device goes on, and what was kept arrives whole."""

    async def main() -> None:
        port = PtyPort(lambda _: None, lambda: False)
        client = PortClient(port.path)
        for _ in range(10):
            port.write(b"x" * 20_000)
        stream = port._stream
        assert stream is not None
        assert stream.lost > 0
        assert len(stream._queue) == QUEUE_MAX
        kept = 200_000 - stream.lost
        assert await client.take(kept) == b"x" * kept
        client.close()
        port.pull()

    asyncio.run(main())


def test_lsq1_speaks_on_a_serial_port_too() -> None:
    """HELLO is answered, whole frames and all bytes."""

    async def scenario(server: PtyServer) -> None:
        client, requester = PortClient(path_of(server)), Requester()
        client.write(requester.hello(1))
        (event,) = requester.receive(await client.until(b"\0"))
        assert isinstance(event, Answered)
        assert isinstance(event.reply, HelloReply)
        client.close()

    serve(SimulatedDevice(Controller(), hangs_up_on_boot=False), scenario)


def test_link_of_a_killed_simulator_is_replaced(tmp_path: Path) -> None:
    """It leads to a terminal as ours would."""
    (tmp_path / "port").symlink_to("/dev/pts/99999")

    async def scenario(server: PtyServer) -> None:
        assert server.url == f"serial:{tmp_path / 'port'}"
        assert str((tmp_path / "port").readlink()) == server._port.path

    serve(text_device(), scenario, tmp_path / "port")


@pytest.mark.parametrize("what", ["file", "link", "folder"])
def test_what_is_not_ours_is_never_replaced(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, a folder or a link to something else stays; no terminal is left open."""
    place = tmp_path / "port"
    if what == "file":
        place.write_text("mine")
    elif what == "link":
        place.symlink_to("/dev/null")
    else:
        place.mkdir()
    opened: list[int] = []
    openpty = os.openpty

    def noting() -> tuple[int, int]:
        master, slave = openpty()
        opened.extend((master, slave))
        return master, slave

    monkeypatch.setattr(os, "openpty", noting)

    async def main() -> None:
        with pytest.raises(LinkTakenError):
            PtyPort(lambda _: None, lambda: False, place)

    asyncio.run(main())
    assert place.is_symlink() or place.exists()
    for fd in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_only_the_master_is_open_in_the_serving_process() -> None:
    """Whoever looks for a second reader of the port finds none."""

    async def scenario(server: PtyServer) -> None:
        assert not is_open_here(Path(path_of(server)))
        client = PortClient(path_of(server))
        assert is_open_here(Path(path_of(server)))
        client.close()

    serve(text_device(), scenario)


def is_open_here(path: Path) -> bool:
    """Whether this process has a descriptor of that device."""
    held = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own is gone by now
            held.add(descriptor.stat().st_rdev)
    return path.stat().st_rdev in held
