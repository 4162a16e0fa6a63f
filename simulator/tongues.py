"""What differs between LSQ1 and plain text once only bytes count?

A `Tongue` says where requests end, which faults there are, and what noise, strangers and another unit look
like on the wire. Modbus is in `modbus_tongues.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from protocol.native.codes import SESSION_MAX, UNIT_MAX, Status, Type
from protocol.native.frame import decode, encode
from simulator.cutter import Cutter, EndCutter
from simulator.fault_kinds import LSQ, TEXT
from simulator.fault_terms import Vocabulary

# Longer than any request; input without an end is handed on in pieces of this size.
_PIECE_MAX = 1024

_FOREIGN_VALUE = b"99"
_FOREIGN_LINE = b"OK 777"
_BANNER = b"READY demo controller"
_NOTICE = b"# door open [seq=99] [red]"


@dataclass(frozen=True, slots=True)
class Tongue:
    """How a device talks.

    Attributes:
        vocabulary: The kinds of its messages, and the faults that mean something to it.
        ends: Each of these bytes ends a request; empty where `cutter` finds ends in another way.
        end: What ends an answer; noise ends in it too, so that the answer behind it can still be found.
        strangers: Answers to somebody else's requests, made from ours.
        of_another_unit: Our answer as if another unit had sent it.
        notice: What the device says unasked; empty where it never does.
        banner: What it says after a boot to whoever is still connected; empty where it says nothing.
    """

    vocabulary: Vocabulary
    ends: bytes
    end: bytes
    strangers: Callable[[bytes], bytes]
    of_another_unit: Callable[[bytes], bytes]
    notice: bytes
    banner: bytes

    def cutter(self) -> Cutter:
        """Finds the requests of one connection."""
        return EndCutter(self.ends, _PIECE_MAX)


def _lsq_strangers(reply: bytes) -> bytes:
    """Two valid replies, of another unit and of another session; values differ too."""
    frame = decode(reply.removesuffix(b"\0"))
    if frame.type in (Type.CMD, Type.READ):
        frame = replace(frame, payload=bytes((Status.OK,)) + _FOREIGN_VALUE)
    session = replace(frame, session=frame.session ^ SESSION_MAX)
    return _lsq_of_another_unit(encode(frame)) + encode(session)


def _lsq_of_another_unit(reply: bytes) -> bytes:
    frame = decode(reply.removesuffix(b"\0"))
    return encode(replace(frame, unit=frame.unit % UNIT_MAX + 1))


LSQ_FRAMES = Tongue(LSQ, b"\0", b"\0", _lsq_strangers, _lsq_of_another_unit, b"", b"")


def text_lines(eol: bytes) -> Tongue:
    """Plain lines that the device ends with `eol`; requests may end in CR, LF or both.

    Lines carry no unit, so another unit's answer looks like ours.
    """
    return Tongue(
        TEXT, b"\r\n", eol, lambda _: _FOREIGN_LINE + eol, lambda reply: reply, _NOTICE + eol, _BANNER + eol
    )
