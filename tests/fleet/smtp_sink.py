"""Who takes notices in a test? A mail server and a webhook on loopback ports, which keep the bytes that came."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message

from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass(slots=True)
class Sink:
    """What has arrived, raw. `refuses`: so many more are turned away first."""

    port: int = 0
    refuses: int = 0
    raw: list[bytes] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)

    def takes(self) -> bool:
        """Whether the next one is taken."""
        self.refuses -= 1
        return self.refuses < 0

    def mails(self) -> list[Message]:
        """What has arrived, as mails."""
        return [message_from_bytes(raw) for raw in self.raw]

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """A mail has come."""
        if not self.takes():
            return "451 come back later"
        assert isinstance(envelope.content, bytes)
        self.raw.append(envelope.content)
        self.recipients.append(list(envelope.rcpt_tos))
        return "250 taken"

    async def request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A request has come."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        status = b"200 OK" if self.takes() else b"503 Service Unavailable"
        if status.startswith(b"200"):
            self.raw.append(head + body)
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def _served(sink: Sink, server: asyncio.Server) -> AsyncIterator[Sink]:
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def mail_server(refuses: int = 0) -> AsyncIterator[Sink]:
    """A mail server, as long as the test needs it."""
    sink = Sink(refuses=refuses)
    protocol: Callable[[], SMTP] = lambda: SMTP(sink, hostname="sink")  # noqa: E731
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    async with _served(sink, server):
        yield sink


@asynccontextmanager
async def webhook(refuses: int = 0) -> AsyncIterator[Sink]:
    """A webhook, as long as the test needs it."""
    sink = Sink(refuses=refuses)
    server = await asyncio.start_server(sink.request, "127.0.0.1", 0)
    async with _served(sink, server):
        yield sink
