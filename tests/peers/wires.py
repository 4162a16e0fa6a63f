"""How are bytes carried between agent and adder by programs that others wrote?

By socat for serial ports, by ser2net for terminal servers. Each is a process with ports of its own, ready where it is
entered, and ended where it is left.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cli.process_rig import Running
from tests.peers.programs import program
from tests.peers.relay import HOST, PATIENCE_S

LOOK_S = 0.01
"""How often is looked whether something has happened that nothing tells of."""
LISTENS = "0A"
"""In /proc/net/tcp: the state of a listening socket."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A null-modem cable: what is written to the serial port `agent_end` is read from `far_end`, and back."""

    agent_end: Path
    far_end: Path


@dataclass(frozen=True, slots=True)
class TerminalServer:
    """Where it is reached."""

    port: int
    url: str


@contextmanager
def running(*words: str, cwd: Path | None = None) -> Iterator[Running]:
    """A process, ended where this is left."""
    process = Running(words, cwd=cwd)
    try:
        yield process
    finally:
        process.stop()


@contextmanager
def wire(folder: Path, name: str) -> Iterator[Wire]:
    """A cable made by socat; `name` is that of its ends in `folder`."""
    cable = Wire(folder / f"{name}-a", folder / f"{name}-b")
    ends = [f"PTY,raw,echo=0,link={end}" for end in (cable.agent_end, cable.far_end)]
    with running(program("socat"), "-d", "-d", *ends) as socat:
        assert socat.err is not None
        socat.err.wait_for("starting data transfer loop")
        yield cable


@contextmanager
def terminal_server(folder: Path, port: Path, *, rfc2217: bool) -> Iterator[TerminalServer]:
    """A ser2net in front of a serial port: raw, or telnet with RFC 2217. One client at a time, its default."""
    telnet = "telnet(rfc2217)," if rfc2217 else ""
    config = folder / f"ser2net-{port.name}.yaml"
    config.write_text(
        "%YAML 1.1\n---\nconnection: &equipment\n"
        f"  accepter: {telnet}tcp,{HOST},0\n"
        f"  connector: serialdev,{port},9600n81,local\n"
    )
    with running(program("ser2net"), "-n", "-u", "-c", str(config)) as ser2net:
        listening = _listening_port(ser2net)
        yield TerminalServer(listening, f"{'rfc2217' if rfc2217 else 'tcp'}://{HOST}:{listening}")


def _listening_port(process: Running) -> int:
    """The TCP port that the process listens on, as soon as it does."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        assert process.process.poll() is None, "ended instead of listening"
        sockets = set[str]()
    for link in Path(f"/proc/{process.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has just been closed
            sockets.add(str(link.readlink()))
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENS and f"socket:[{inode}]" in sockets:
                return int(local.partition(":")[2], 16)
        threading.Event().wait(LOOK_S)
    raise AssertionError("does not listen")
