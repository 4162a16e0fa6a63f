"""What does Modbus look like on the wire, over TCP and as RTU?

Answers to somebody else's requests are good frames with other values. Over TCP they have another transaction. RTU
answers have nothing that tells them apart, so a stranger of our own unit answers another function: an answer that
fits our request could not be known as foreign by anybody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from protocol.modbus.framing import Adu
from simulator.cutter import Cutter
from simulator.fault_kinds import MODBUS
from simulator.modbus_frames import UNIT_MAX, Framing, MbapCutter, RtuCutter, adu_of, framed
from simulator.tongues import Tongue

_TRANSACTION_MAX = 0xFFFF
_FOREIGN_REGISTER = b"\x02\x00\x63"
_READ_HOLDING, _READ_INPUT = b"\x03", b"\x04"


@dataclass(frozen=True, slots=True)
class ModbusTongue(Tongue):
    """How a Modbus device talks.

    Attributes:
        frames: Makes what finds the frames of one connection.
    """

    frames: Callable[[], Cutter]

    def cutter(self) -> Cutter:
        """Finds the requests of one connection."""
        return self.frames()


def _adu(framing: Framing, reply: bytes) -> Adu:
    adu = adu_of(framing, reply)
    assert adu is not None  # noqa: S101 (the device's own frame)
    return adu


def _next_unit(adu: Adu) -> int:
    return adu.unit % UNIT_MAX + 1


def _tcp_strangers(reply: bytes) -> bytes:
    """Of another unit, and of a transaction that comes half the numbers later."""
    adu = _adu("tcp", reply)
    assert adu.transaction is not None  # noqa: S101 (MBAP)
    other = (adu.transaction + _TRANSACTION_MAX // 2) % (_TRANSACTION_MAX + 1)
    pdu = _READ_HOLDING + _FOREIGN_REGISTER
    return framed(_next_unit(adu), pdu, adu.transaction) + framed(adu.unit, pdu, other)


def _rtu_strangers(reply: bytes) -> bytes:
    """Of another unit, and of our unit to another function."""
    adu = _adu("rtu", reply)
    other = _READ_INPUT if adu.pdu.startswith(_READ_HOLDING) else _READ_HOLDING
    of_another_unit = framed(_next_unit(adu), _READ_HOLDING + _FOREIGN_REGISTER, None)
    return of_another_unit + framed(adu.unit, other + _FOREIGN_REGISTER, None)


def _of_another_unit(framing: Framing, reply: bytes) -> bytes:
    adu = _adu(framing, reply)
    return framed(_next_unit(adu), adu.pdu, adu.transaction)


TONGUES: Mapping[Framing, ModbusTongue] = MappingProxyType(
    {
        "tcp": ModbusTongue(
            vocabulary=MODBUS,
            ends=b"",
            end=b"",
            strangers=_tcp_strangers,
            of_another_unit=lambda reply: _of_another_unit("tcp", reply),
            notice=b"",
            banner=b"",
            frames=MbapCutter,
        ),
        "rtu": ModbusTongue(
            vocabulary=MODBUS,
            ends=b"",
            end=b"",
            strangers=_rtu_strangers,
            of_another_unit=lambda reply: _of_another_unit("rtu", reply),
            notice=b"",
            banner=b"",
            frames=RtuCutter,
        ),
    }
)
