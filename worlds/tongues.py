"""What does a request say, and what says that it was executed? Read off the bytes, for each tongue of a world.

Written apart from the agent's codecs wherever that takes few lines: what the agent puts together wrongly must not be
read back here as if it were right. LSQ1 is the exception, whose frames nobody reads without its codec.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from protocol.native.codes import Type
from protocol.native.frame import decode
from simulator.modbus_frames import Framing

_GET = "GET "
_READ_COILS, _READ_HOLDING = 1, 3
_WRITE_COIL, _WRITE_REGISTER, _WRITE_REGISTERS = 5, 6, 16
_WRITES = (_WRITE_COIL, _WRITE_REGISTER, _WRITE_REGISTERS)
_SETTINGS = {
    (_READ_COILS, 0): "relay",
    (_READ_HOLDING, 0): "total",
    (_READ_HOLDING, 2): "setpoint",
    (_READ_HOLDING, 5): "boots",
}
"""What stands where in the adding machine."""
_HEAD_OF_REGISTERS = 6
"""Function, address, count and byte count come before the registers that function 16 writes."""
_UNREACHED = b"\x0a"
"""The exception by which a gateway says that it has no way to the device."""
_JOURNALED = re.compile(r"(fc\d\d 0x[0-9A-F]{4}) (raw|[su]16) (\S+)")


class Tongue(ABC):
    """How equipment talks.

    Attributes:
        numbered: Its commands carry numbers that it remembers.
    """

    numbered = False

    @abstractmethod
    def changes(self, request: bytes) -> bool:
        """Whether a request tells to do something."""

    @abstractmethod
    def text(self, request: bytes) -> str:
        """What a request says, in the words of the device's ledger."""

    @abstractmethod
    def setting(self, request: bytes) -> str | None:
        """The setting that a request asks for."""

    def entered(self, text: str) -> str:
        """What the journal calls a copy, in the words of the device's ledger."""
        return text


class Numbered(Tongue):
    """LSQ1."""

    numbered = True

    def changes(self, request: bytes) -> bool:
        """See Tongue."""
        return request.lstrip(b"\0")[2:3] == bytes((Type.CMD,))

    def text(self, request: bytes) -> str:
        """See Tongue."""
        return decode(request.strip(b"\0")).payload.decode()

    def setting(self, request: bytes) -> str | None:
        """See Tongue."""
        if request.lstrip(b"\0")[2:3] != bytes((Type.READ,)) or not request.endswith(b"\0"):
            return None
        return self.text(request).removeprefix(_GET)


class Lines(Tongue):
    """Plain text."""

    def changes(self, request: bytes) -> bool:
        """See Tongue."""
        return not request.startswith(_GET.encode())

    def text(self, request: bytes) -> str:
        """See Tongue."""
        return request.decode(errors="replace").rstrip("\r\n")

    def setting(self, request: bytes) -> str | None:
        """See Tongue."""
        return None if self.changes(request) else self.text(request).removeprefix(_GET)


class Modbus(Tongue):
    """Modbus of the adding machine, at unit 1; `echoes`: the road gives back what goes to the device."""

    def __init__(self, framing: Framing, *, echoes: bool = False) -> None:
        self.framing = framing
        self.echoes = echoes

    def changes(self, request: bytes) -> bool:
        """See Tongue."""
        return self._pdu(request)[:1] in map(bytes, zip(_WRITES, strict=True))

    def text(self, request: bytes) -> str:
        """See Tongue."""
        pdu = self._pdu(request)
        front = _HEAD_OF_REGISTERS if pdu[0] == _WRITE_REGISTERS else 3
        return f"fc{pdu[0]:02d} 0x{pdu[1:3].hex().upper()} raw {pdu[front:].hex().upper()}"

    def entered(self, text: str) -> str:
        """See Tongue."""
        found = _JOURNALED.fullmatch(text)
        if found is None:
            return text
        where, kind, value = found.groups()
        return f"{where} raw {value if kind == 'raw' else f'{int(value) & 0xFFFF:04X}'}"

    def setting(self, request: bytes) -> str | None:
        """See Tongue."""
        pdu = self._pdu(request)
        return _SETTINGS.get((pdu[0], int.from_bytes(pdu[1:3]))) if len(pdu) > 2 else None

    def confirms(self, request: bytes, heard: bytes) -> bool:
        """Whether what was heard behind a copy holds its ack, beside its echo where there is one."""
        pdu = self._pdu(request)
        ack = self._framed(request, pdu[:5]) if pdu[0] == _WRITE_REGISTERS else request
        return heard.count(ack) > (self.echoes and ack == request)

    def turns_back(self, request: bytes, heard: bytes) -> bool:
        """Whether what was heard behind a copy says that it never reached the device."""
        exception = bytes((self._pdu(request)[0] | 0x80,)) + _UNREACHED
        return self._framed(request, exception) in heard

    def _pdu(self, frame: bytes) -> bytes:
        return frame[7:] if self.framing == "tcp" else frame[1:-2]

    def _framed(self, request: bytes, pdu: bytes) -> bytes:
        """An answer to a request."""
        if self.framing == "tcp":
            return request[:4] + (1 + len(pdu)).to_bytes(2) + request[6:7] + pdu
        body = request[:1] + pdu
        return body + _crc(body).to_bytes(2, "little")


def _crc(data: Iterable[int]) -> int:
    """CRC-16 of Modbus over Serial Line 1.02, 2.5.1.2."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc
