"""The adders as processes, on whatever carries bytes to them, each behind a relay that counts what crosses."""

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.peers.relay import HOST, PATIENCE_S, Framing, Mishap, Relay
from tests.peers.wires import LOOK_S, running, wire

Server = Literal["libmodbus", "pymodbus"]
Carrier = Literal["tcp", "rtu on a port", "rtu over tcp"]
PLACES: tuple[tuple[Server, Carrier], ...] = (
    ("libmodbus", "tcp"),
    ("libmodbus", "rtu on a port"),
    ("libmodbus", "rtu over tcp"),
    ("pymodbus", "tcp"),
    ("pymodbus", "rtu on a port"),
    ("pymodbus", "rtu over tcp"),
)
REPOSITORY = Path(__file__).parents[2]


@dataclass(slots=True)
class Adder:
    """One adder. `url` leads to it by way of `relay`; `port` is the serial port of that, if it is one."""

    url: str
    framing: Framing
    relay: Relay
    port: Path | None
    _ledger: Path

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """Every write that took effect, oldest first."""
        return [json.loads(line) for line in self._ledger.read_text().splitlines()]

    @property
    def executed(self) -> list[tuple[int, int, int]]:
        """Function, address and value of every write that took effect."""
        return [(entry["function"], entry["address"], entry["value"]) for entry in self.ledger]

    def wait_for(self, count: int) -> None:
        """Until so many writes took effect: some do so long after they were answered."""
        deadline_s = time.monotonic() + PATIENCE_S
        while len(self.ledger) < count and time.monotonic() < deadline_s:
            threading.Event().wait(LOOK_S)

    @property
    def total(self) -> int:
        """What its register of the total holds after the last write."""
        entries = self.ledger
        return int(entries[-1]["total"]) if entries else 0


@contextmanager
def adder_at(
    folder: Path,
    server: Server,
    carrier: Carrier,
    binary: Path,
    faults: Sequence[str],
    mishap: Mishap,
) -> Iterator[Adder]:
    """An adder and what leads to it, ready to be asked; all is switched off where this is left.

    Args:
        folder: for its ledger and its serial ports.
        server: whose Modbus it speaks.
        carrier: how it is reached. libmodbus speaks RTU on serial ports only: over TCP the relay is its device server.
        binary: the compiled `adder.c`.
        faults: what the libmodbus adder itself does wrong.
        mishap: what goes wrong on the way.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ledger = folder / "ledger.jsonl"
    ledger.touch()
    framing: Framing = "tcp" if carrier == "tcp" else "rtu"
    with ExitStack() as on:
        back: int | Path = 0
        where = "tcp" if carrier == "tcp" else "rtu-over-tcp"
        if carrier == "rtu on a port" or (server, carrier) == ("libmodbus", "rtu over tcp"):
            cable = on.enter_context(wire(folder, "adder"))
            back, where = cable.agent_end, str(cable.far_end)
        words = (
            [str(binary)] if server == "libmodbus" else [sys.executable, "-m", "tests.peers.pymodbus_adder"]
        )
        process = on.enter_context(running(*words, where, str(ledger), *faults, cwd=REPOSITORY))
        assert process.out is not None
        port = int(process.out.wait_for("listening").split()[1])
        front, agent_end = None, None
        if carrier == "rtu on a port":
            cable = on.enter_context(wire(folder, "agent"))
            front, agent_end = cable.far_end, cable.agent_end
        relay = on.enter_context(closing(Relay(framing, back or port, mishap, front=front)))
        url = f"serial:{agent_end}?baud=9600" if agent_end is not None else f"tcp://{HOST}:{relay.port}"
        yield Adder(url, framing, relay, agent_end, ledger)
