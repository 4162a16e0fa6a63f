"""How is this agent itself? What it can find out without anybody's help.

It is well where the serial ports that its inventory names are there and may be opened, and the journal takes a durable
write. Ports are looked at, never opened: opening boots some boards. The figures that ride along are texts:

| metric | what it says |
|---|---|
| `control` | whether the probe of a closed local port `fails`, as it must, or `succeeds` |
| `clock_skew_s` | how far the wall clock has moved against the store's clock, which nobody sets |
| `queue` | operations in hand |
| `rows_written`, `rows_lost` | of what was seen, since the agent started |
| `ports` | serial ports that the inventory names |
"""

import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent.address import parse_url
from agent.fleet.endpoint import Reach
from agent.fleet.facts import SelfReport
from agent.fleet.observations import CONTROL
from agent.fleet.prober import Prober
from agent.fleet.store_clock import StoreClock
from agent.links.link import Unreachable
from agent.service import Service
from agent.stations import Target
from agent.store.database import Cursor, StoreError
from logs.text import escape

CONTROL_S = 1.0
"""How long the control probe may take: on one machine no answer is an answer too."""
_LOOPBACK = "127.0.0.1"


class ClosedPort:
    """A local port at which certainly nobody listens: it is bound here, and not listened at."""

    def __init__(self) -> None:
        """Take a port. Raises OSError."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind((_LOOPBACK, 0))
        self.port = int(self._socket.getsockname()[1])

    async def answers(self, reach: Reach) -> bool:
        """Whether a connection to it is opened all the same."""
        try:
            link = await reach(_LOOPBACK, self.port, CONTROL_S)
        except Unreachable:
            return False
        link.close(abort=True)
        return True

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()


def ports_of(targets: Iterable[Target]) -> Mapping[str, list[str]]:
    """The serial ports of targets, each with the names of those behind it."""
    ports: dict[str, list[str]] = {}
    for target in targets:
        address = parse_url(target.url)
        if address.scheme == "serial":
            ports.setdefault(address.path, []).append(target.name)
    return ports


class SelfCheck:
    """Looks at this agent."""

    def __init__(
        self,
        service: Service,
        ports: Mapping[str, list[str]],
        prober: Prober,
        control: ClosedPort,
        reach: Reach,
    ) -> None:
        self._service = service
        self._ports = ports
        self._prober = prober
        self._control = control
        self._reach = reach
        self._store_clock = StoreClock(service)

    async def look(self) -> SelfReport:
        """The report of now. Raises StoreError where not even the store's time can be told."""
        me = self._service.holder
        wrong = [*self._ports_in_trouble(), *self._journal_in_trouble()]
        answers = await self._control.answers(self._reach)
        at_s = self._store_clock.now_s()
        skew_s = self._service.clock.utc().timestamp() - at_s
        metrics = {
            CONTROL: "succeeds" if answers else "fails",
            "clock_skew_s": str(round(skew_s, 1) + 0.0),  # + 0.0: never "-0.0"
            "queue": str(len(self._service.in_hand)),
            "rows_written": str(self._prober.written),
            "rows_lost": str(self._prober.lost),
            "ports": str(len(self._ports)),
        }
        return SelfReport(me.agent, me.instance, at_s, not wrong, "; ".join(wrong), metrics)

    def _ports_in_trouble(self) -> list[str]:
        return [
            f"{why} {escape(path)}, which leads to {', '.join(names[:3])}"
            for path, names in self._ports.items()
            if (why := _port_trouble(path)) is not None
        ]

    def _journal_in_trouble(self) -> list[str]:
        """A durable write of the kind that a command needs before its first byte."""
        name = f"fleet check {self._service.holder.agent}"
        stamp = self._service.clock.stamp()

        def write(cursor: Cursor) -> None:
            cursor.execute(
                "INSERT INTO meta (name, value) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, stamp),
            )

        try:
            self._service.database.commit_now(write)
        except StoreError as problem:
            return [f"journal: {problem}"]
        return []


def _port_trouble(path: str) -> str | None:
    if not Path(path).exists():
        return "port_missing:"
    return None if os.access(path, os.R_OK | os.W_OK) else "port_denied:"
