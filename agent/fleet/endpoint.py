"""How do agents answer each other, so that each can see whether the other is there?

One question, one answer, and the connection ends:

    ACKONCE? 17 gw%201                          round and observer
    ACKONCE gw%202 3f9ac41b22d07e65 17          name, boot and the same round

Names are percent-encoded, so that a blank ends them. What is not such a question is not answered. Rules: an answer
closes the round that it names and no other; nobody sends more than `LINE_MAX` bytes, stays longer than `PATIENCE_S` or
makes this one wait; more than `CLIENTS_MAX` at a time are sent away.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from agent.fleet.looks import Seen
from agent.links.link import Link, LinkLost, Unreachable

LINE_MAX = 1024
"""Bytes of one line; a name of 200 characters fits, whatever it is made of."""
CLIENTS_MAX = 64
PATIENCE_S = 2.0
"""How long a client may take over its question, and how long an answer is awaited."""
ROUND_MAX = 2**63 - 1

Reach = Callable[[str, int, float], Awaitable[Link]]
"""Opens a link to a host and port within so many seconds. Raises Unreachable."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An agent as it registered, and where it answers."""

    name: str
    boot: str
    host: str
    port: int


def question(round_: int, observer: str) -> bytes:
    """The line that asks."""
    return f"ACKONCE? {round_} {quote(observer, safe='')}\n".encode("ascii")


def answer_to(line: bytes, name: str, boot: str) -> bytes | None:
    """The line that answers in the name of an agent; None where nobody asked so."""
    match line.rstrip(b"\r\n").split(b" "):
        case [b"ACKONCE?", number, observer] if _is_round(number) and observer:
            return f"ACKONCE {quote(name, safe='')} {boot} {int(number)}\n".encode("ascii")
    return None


def answer_in(line: bytes) -> tuple[str, str, int] | None:
    """Name, boot and round of an answer, None where it is none."""
    match line.rstrip(b"\r\n").split(b" "):
        case [b"ACKONCE", name, boot, number] if _is_round(number) and boot.isalnum():
            return unquote(name.decode("ascii", "replace")), boot.decode("ascii", "replace"), int(number)
    return None


def _is_round(number: bytes) -> bool:
    return number.isdigit() and len(number) <= len(str(ROUND_MAX))


# --- asking -----------------------------------------------------------------------------------------------------------


async def ask(peer: Peer, observer: str, round_: int, now_s: Callable[[], float], reach: Reach) -> Seen:
    """Ask another agent whether it is there; what came of it."""
    try:
        link = await reach(peer.host, peer.port, PATIENCE_S)
    except Unreachable as problem:
        return Seen(False, "refused" if isinstance(problem.__cause__, ConnectionRefusedError) else "no_route")
    ear = _Ear()
    asked_s = now_s()
    try:
        link.attach(ear)
        link.write(question(round_, observer))
        async with asyncio.timeout(PATIENCE_S):
            while (line := await ear.line()) is not None:
                found = answer_in(line)
                if found is None:
                    return Seen(False, "bad_frame")
                name, _, answered = found  # with another boot it has only just restarted
                if name != peer.name:
                    return Seen(False, "wrong_device")
                if answered == round_:
                    return Seen(True, rtt_s=max(0.0, now_s() - asked_s))
    except (TimeoutError, LinkLost):
        pass
    finally:
        link.close(abort=True)
    return Seen(False, "no_reply")


class _Ear:
    """Hears lines on a link."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._begun = b""

    async def line(self) -> bytes | None:
        """The next line, None where the stream has ended; one that is too long counts as it is."""
        return await self._lines.get()

    def heard(self, data: bytes) -> None:
        """Bytes came in."""
        *lines, self._begun = (self._begun + data).split(b"\n")
        if len(self._begun) > LINE_MAX:
            lines, self._begun = [*lines, self._begun], b""
        for line in lines:
            self._lines.put_nowait(line)

    def lost(self, _why: str) -> None:
        """The stream ended."""
        self._lines.put_nowait(None)


# --- answering --------------------------------------------------------------------------------------------------------


class Endpoint:
    """Answers in the name of one agent."""

    def __init__(self, name: str, boot: str) -> None:
        self._name = name
        self._boot = boot
        self._clients: set[Client] = set()
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Listen from now on; returns the port, which is another one where 0 is asked for. Raises OSError."""
        self._server = await asyncio.get_running_loop().create_server(self.client, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
        for client in [*self._clients]:
            client.end()

    def client(self) -> "Client":
        """What answers a new connection."""
        return Client(self)

    def admit(self, client: "Client") -> bool:
        """Whether there is room for one more."""
        if len(self._clients) >= CLIENTS_MAX:
            return False
        self._clients.add(client)
        return True

    def left(self, client: "Client") -> None:
        """A client is gone."""
        self._clients.discard(client)

    def answer(self, line: bytes) -> bytes | None:
        """The answer to a line, None where it is no question."""
        return answer_to(line, self._name, self._boot)


class Client(asyncio.Protocol):
    """One connection of somebody who may ask."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._transport: asyncio.Transport | None = None
        self._begun = b""
        self._overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio: somebody connects."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a stream transport is needed")
        self._transport = transport
        if not self._endpoint.admit(self):
            transport.abort()
            return
        self._overdue = asyncio.get_running_loop().call_later(PATIENCE_S, self.end)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio: bytes came in; the first line decides."""
        line, ended, _ = (self._begun + data).partition(b"\n")
        self._begun = line
        if self._transport is None or not (ended or len(line) > LINE_MAX):
            return
        answer = self._endpoint.answer(line) if len(line) <= LINE_MAX else None
        if answer is None:
            self.end()
        else:
            self._transport.write(answer)
            self._transport.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        """Called by asyncio: it is over."""
        if self._overdue is not None:
            self._overdue.cancel()
        self._endpoint.left(self)

    def end(self) -> None:
        """End it at once."""
        if self._transport is not None:
            self._transport.abort()
