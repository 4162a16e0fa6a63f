"""What do the bytes of a telnet stream mean to a client of RFC 2217? Bytes in, data and replies out, nothing else.

Rule 1. Each option is asked for once, and a demand that we refuse is refused once, so that no negotiation goes round in
        circles (RFC 854, 1143).
Rule 2. Data counts only when both sides have agreed to pass all bytes unchanged (BINARY, RFC 856) and the server has
        emptied what it received before.
"""

from collections.abc import Mapping
from enum import Enum, auto

_IAC, _DONT, _DO, _WONT, _WILL, _SB, _SE = 255, 254, 253, 252, 251, 250, 240
_BINARY, _SUPPRESS_GO_AHEAD, _COM_PORT = 0, 3, 44
_PURGE, _PURGE_DONE = 12, 112
_RECEIVED, _UNSENT = 1, 2

_WE_OFFER = (_COM_PORT, _BINARY, _SUPPRESS_GO_AHEAD)
_WE_WANT = (_BINARY, _SUPPRESS_GO_AHEAD)
_NEEDED = frozenset({(_DO, _COM_PORT), (_DO, _BINARY), (_WILL, _BINARY)})
_REFUSALS: Mapping[tuple[int, int], str] = {
    (_DONT, _COM_PORT): "the server refuses RFC 2217 on this port",
    (_DONT, _BINARY): "the server refuses to take all bytes unchanged (telnet option BINARY)",
    (_WONT, _BINARY): "the server refuses to pass all bytes unchanged (telnet option BINARY)",
}
_BLOCK_MAX = 256
"""Bytes kept of one subnegotiation; those that mean something here have three."""

OFFER = b"".join(
    [bytes((_IAC, _WILL, option)) for option in _WE_OFFER]
    + [bytes((_IAC, _DO, option)) for option in _WE_WANT]
)
"""What a client says first."""


def escaped(data: bytes) -> bytes:
    """Data as it stands in a telnet stream."""
    return data.replace(b"\xff", b"\xff\xff")


def _purge(buffer: int) -> bytes:
    return bytes((_IAC, _SB, _COM_PORT, _PURGE, buffer, _IAC, _SE))


PURGE_UNSENT = _purge(_UNSENT)
"""The request to drop what the server has not put on the line yet."""


class _At(Enum):
    """Where in the stream the next byte stands."""

    DATA = auto()
    IAC = auto()
    OPTION = auto()
    BLOCK = auto()
    BLOCK_IAC = auto()


class Telnet:
    """The state of one connection.

    Attributes:
        ready: data passes.
        refused: why the server is of no use, None while it may be.
    """

    def __init__(self) -> None:
        self.ready = False
        self.refused: str | None = None
        self._at = _At.DATA
        self._verb = 0
        self._block = bytearray()
        self._missing = set(_NEEDED)
        self._answered: set[tuple[int, int]] = set()

    def receive(self, data: bytes) -> tuple[bytes, bytes]:
        """Take what came in; return what of it is data, and what to reply."""
        heard, replies = bytearray(), bytearray()
        for byte in data:
            doubled = self._at is _At.IAC and byte == _IAC
            if doubled or (self._at is _At.DATA and byte != _IAC):
                self._at = _At.DATA
                if self.ready:
                    heard.append(byte)
            else:
                self._at = self._after(byte, replies)
        return bytes(heard), bytes(replies)

    def _after(self, byte: int, replies: bytearray) -> _At:
        """Take a byte that is not data; return where the next one stands."""
        match self._at:
            case _At.DATA:
                return _At.IAC
            case _At.IAC:
                self._verb = byte
                self._block.clear()
                if byte == _SB:
                    return _At.BLOCK
                return _At.OPTION if byte in (_DO, _DONT, _WILL, _WONT) else _At.DATA
            case _At.OPTION:
                replies += self._negotiated(self._verb, byte)
                return _At.DATA
            case _At.BLOCK if byte == _IAC:
                return _At.BLOCK_IAC
            case _At.BLOCK_IAC if byte != _IAC:
                self._told(bytes(self._block))
                return _At.DATA
        self._block += bytes((byte,)) if len(self._block) < _BLOCK_MAX else b""
        return _At.BLOCK

    def _negotiated(self, verb: int, option: int) -> bytes:
        said = (verb, option)
        self.refused = self.refused or _REFUSALS.get(said)
        if said in self._missing:
            self._missing.remove(said)
            return b"" if self._missing else _purge(_RECEIVED)
        unwanted = (verb == _DO and option not in _WE_OFFER) or (verb == _WILL and option not in _WE_WANT)
        if not unwanted or said in self._answered:
            return b""
        self._answered.add(said)
        return bytes((_IAC, _WONT if verb == _DO else _DONT, option))

    def _told(self, block: bytes) -> None:
        if block[:2] == bytes((_COM_PORT, _PURGE_DONE)) and not self._missing:
            self.ready = True
