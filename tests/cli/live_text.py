"""A plain text device on a real socket, a real port or behind a terminal server, up within milliseconds.

A thread of the test's own process serves it; the commands that work with it are processes of their own. What the device
did is asked of the device itself: its ledger, and the lines that reached it.
"""

import asyncio
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from agent.cli.exit_codes import Exit
from simulator.equipment import Controller
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from simulator.pty_server import serve_pty
from simulator.server import serve_tcp, url_of
from simulator.text_device import TextDevice
from tests.cli.process_rig import Running, Shell
from tests.cli.project import Ended, Project
from tests.links.tcp_peer import TcpPeer
from tests.links.terminal_server import TerminalServer

T = TypeVar("T")
PATIENCE_S = 30.0
HOST = "127.0.0.1"
TURNS = 5
"""Of the loop, until closed transports are gone."""
LINE_PROFILE = Path(__file__).parents[2] / "devices/profiles/demo/controller-line.yaml"
QUICK = "test/quick"
LATE_S = 0.6
"""How long an answer may be late under the profile QUICK."""


def quick_profile(*changes: tuple[str, str]) -> str:
    """The shipped profile of the text device as QUICK, with less patience. `changes`: old text and new."""
    text = LINE_PROFILE.read_text()
    for old, new in (
        ("profile: demo/controller-line", f"profile: {QUICK}"),
        ("reply_s: 1.0, settle_s: 0.1, late_max_s: 3", f"reply_s: 0.3, settle_s: 0.05, late_max_s: {LATE_S}"),
        *changes,
    ):
        assert old in text
        text = text.replace(old, new)
    return text


class LiveText:
    """One text device; `url` is where it is reached: a socket, or with `port` a serial port of that name."""

    def __init__(self, faults: str = "", *, port: Path | None = None, serial: str = "SIM-1") -> None:
        """Switch the device on and plug it in.

        Args:
            faults: a fault plan.
            port: the name of its serial port; None: it is on a socket.
            serial: who it says it is.
        """
        self._told: queue.Queue[str] = queue.Queue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"device {serial}", daemon=True)
        self._thread.start()
        self._closing: list[Callable[[], None]] = []
        self.device, self.url = self._await(self._serve(faults, port, serial))

    async def _serve(self, faults: str, port: Path | None, serial: str) -> tuple[TextDevice, str]:
        device = TextDevice(
            Controller(serial),
            plan=parse(faults, TEXT),
            observe=lambda word, line: self._told.put(f"{word}: {line}"),
            hangs_up_on_boot=port is None,
        )
        if port is None:
            server = await serve_tcp(device, HOST, 0)
            self._closing.append(server.close)
            return device, url_of(server)
        served = serve_pty(device, port)
        self._closing.append(served.close)
        return device, served.url

    async def _serve_behind(self, port: Path) -> str:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _PortServer(loop.create_future(), port), HOST, 0)
        self._closing.insert(0, server.close)
        return url_of(server).replace("tcp:", "rfc2217:")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def behind_a_server(self) -> str:
        """The URL of a new terminal server that has the device's serial port."""
        return self._await(self._serve_behind(Path(self.url.removeprefix("serial:"))))

    @property
    def executed(self) -> Counter[str]:
        """How often each command took effect."""
        return Counter(entry.text for entry in self.device.ledger.entries)

    @property
    def copies(self) -> list[str]:
        """Every copy of a command that reached the device, oldest first."""
        return [copy.text for copy in self.device.copies]

    @property
    def lines(self) -> list[str]:
        """Every line that reached the device, oldest first."""
        both = [*self.device.copies, *self.device.reads]
        return [line.text for line in sorted(both, key=lambda line: line.at_s)]

    def wait_for(self, part: str) -> None:
        """Until it tells something new with `part` in it: `fault: ... at cmd 1`, `command: BEEP: OK`, `boot: ...`."""
        deadline_s = time.monotonic() + PATIENCE_S
        while part not in self._told.get(timeout=max(0.0, deadline_s - time.monotonic())):
            pass

    def suffer(self, faults: str) -> None:
        """Other faults from now on, counted anew."""
        plan = parse(faults, TEXT)
        self._await(_called(lambda: self.device.suffer(plan)))

    def close(self) -> None:
        """Switch it off."""

        async def close() -> None:
            for step in self._closing:
                step()
            self.device.hang_up()
            for _ in range(TURNS):
                await asyncio.sleep(0)

        self._await(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)


@dataclass(slots=True)
class TextRig:
    """A project with text devices; commands run in it as processes of their own."""

    shell: Shell
    devices: list[LiveText] = field(default_factory=list)
    entries: dict[str, str] = field(default_factory=dict)

    def device(self, faults: str = "", *, carrier: str = "pty", serial: str = "SIM-1") -> LiveText:
        """Switch a device on, and enter it into the inventory under the next name, d1, d2, ..."""
        name = f"d{len(self.devices) + 1}"
        live = LiveText(
            faults, port=self.shell.folder / f"{name}-port" if carrier == "pty" else None, serial=serial
        )
        self.devices.append(live)
        self.enter(name, live.url)
        return live

    def enter(self, name: str, url: str, more: str = "", *, profile: str = QUICK) -> None:
        """Add or change an entry of the inventory. `more`: further fields, in YAML flow style."""
        self.entries[name] = f'{{profile: {profile}, url: "{url}"{more}}}'
        lines = "".join(f"  {name}: {entry}\n" for name, entry in self.entries.items())
        (self.shell.folder / "inventory.yaml").write_text(f"devices:\n{lines}")

    def profile(self, text: str) -> None:
        """Write the project's own profile."""
        folder = self.shell.folder / "profiles"
        folder.mkdir(exist_ok=True)
        (folder / "own.yaml").write_text(text)

    def start(self, *words: str) -> Running:
        """Start `ackonce send WORDS --json --yes` as a process."""
        return self.shell.start("send", *words, "--json", "--yes")

    def kill_at(self, part: str, *words: str) -> None:
        """Start it, and kill it as soon as d1 tells `part`."""
        sender = self.start(*words)
        self.devices[0].wait_for(part)
        sender.stop()

    def run(self, *words: str) -> Ended:
        """Run one command line to its end."""
        return self.shell.run(*words)

    def send(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run `ackonce send WORDS --json --yes`; exactly one object must come back."""
        ended = self.run("send", *words, "--json", "--yes")
        [record] = ended.records
        return ended.code, record

    def close(self) -> None:
        """End everything."""
        self.shell.close()
        for live in self.devices:
            live.close()


@dataclass(slots=True, kw_only=True)
class TextBench(TextRig):
    """As TextRig, but what is `run` or sent is typed within the test's own process, which is much faster."""

    project: Project

    def run(self, *words: str) -> Ended:
        """Run one command line to its end."""
        ended = self.project.type(*words)
        assert "Traceback" not in ended.out + ended.err
        assert ended.code != Exit.INTERNAL, ended.err
        return ended


def side_by_side(plays: Mapping[str, Callable[[], None]]) -> None:
    """Play all at the same time, each in a thread; fails with the first that fails, under its name."""
    with ThreadPoolExecutor(len(plays)) as lanes:
        ends = {lanes.submit(play): name for name, play in plays.items()}
        for end in as_completed(ends):
            problem = end.exception()
            if problem is not None:
                problem.add_note(f"in the play {ends[end]!r}")
                raise problem


async def _called(work: Callable[[], T]) -> T:
    return work()


class _PortServer(TerminalServer):
    """One client of a terminal server that has a real port behind it."""

    def __init__(self, ready: "asyncio.Future[TcpPeer]", path: Path) -> None:
        super().__init__(ready)
        self._path = path

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came: it gets the port."""
        super().connection_made(transport)
        self._fd = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._fd, lambda: self.feed(os.read(self._fd, 4096)))

    def data_received(self, data: bytes) -> None:
        """Telnet came in: what it carries goes to the port."""
        os.write(self._fd, b"".join(self._manager.filter(data)))

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
