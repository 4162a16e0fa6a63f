"""How are bytes carried to a serial port behind a terminal server? Telnet with the COM-PORT option of RFC 2217, on TCP.

Rule. The port stays as its server is configured: neither speed, format and flow control nor DTR are touched.

pyserial's own client is not used: it cannot open a port without setting a speed and raising DTR and RTS, which boots
boards; it takes two threads, blocks in `write`, and for at least 0.3 s in `close`; and a stray `IAC SE` ends its reader
without anybody being told that nothing comes any more.
"""

import asyncio
from contextlib import suppress

from agent.links.link import LinkLost, Receiver, Unreachable
from agent.links.tcp import TcpLink, open_tcp
from agent.links.telnet import OFFER, PURGE_UNSENT, Telnet, escaped


class Rfc2217Link:
    """A serial port behind a terminal server. Made by `open_rfc2217`."""

    def __init__(self, tcp: TcpLink) -> None:
        self._tcp = tcp
        self._telnet = Telnet()
        self._receiver: Receiver | None = None
        self._end: str | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tcp.attach(self)

    @property
    def ready(self) -> bool:
        """Whether bytes pass."""
        return self._telnet.ready

    async def negotiate(self) -> None:
        """Agree with the server on what is needed. Raises LinkLost where there is no agreement."""
        self._tcp.write(OFFER)
        await self._ready

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        """Write one whole frame. Raises LinkLost if the connection is known to be broken."""
        if self._end is not None:
            raise LinkLost(self._end, left=False)
        self._tcp.write(escaped(data))

    def close(self, *, abort: bool = False) -> None:
        """Close at once.

        Args:
            abort: drop what has not left this machine, and tell the server to drop what it has not put on the line;
                nobody waits until it has.
        """
        self._receiver = None
        if abort and self.ready:
            with suppress(LinkLost):
                self._tcp.write(PURGE_UNSENT)
        self._tcp.close(abort=abort)

    def heard(self, data: bytes) -> None:
        """Called by the TCP link: bytes came in."""
        meant, reply = self._telnet.receive(data)
        if self._telnet.refused is not None:
            self.lost(self._telnet.refused)
            self._tcp.close(abort=True)
            return
        if reply:
            with suppress(LinkLost):  # told by `lost`
                self._tcp.write(reply)
        if self.ready and not self._ready.done():
            self._ready.set_result(None)
        if meant and self._receiver is not None:
            self._receiver.heard(meant)

    def lost(self, why: str) -> None:
        """Called by the TCP link: the connection ended."""
        self._end = why
        if not self._ready.done():
            hint = "" if self._telnet.refused else "; another client may have it"
            self._ready.set_exception(LinkLost(f"{why}{hint}"))
        if self._receiver is not None:
            self._receiver.lost(why)


async def open_rfc2217(host: str, port: int, timeout_s: float) -> Rfc2217Link:
    """Connect and negotiate, both within the time given; what the server had received before is dropped.

    Raises:
        Unreachable: certainly nothing was sent to the equipment.
    """
    end_s = asyncio.get_running_loop().time() + timeout_s
    tcp = await open_tcp(host, port, timeout_s)
    link = Rfc2217Link(tcp)
    try:
        async with asyncio.timeout_at(end_s):
            await link.negotiate()
    except TimeoutError as late:
        raise Unreachable(
            f"{host} port {port} does not answer as an RFC 2217 server within {timeout_s:g} s. "
            "Where it passes plain bytes, write tcp:// in place of rfc2217://"
        ) from late
    except LinkLost as lost:
        raise Unreachable(f"{host} port {port} gives no serial port: {lost}") from lost
    finally:
        if not link.ready:
            link.close(abort=True)
    return link
