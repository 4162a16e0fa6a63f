"""Which things can go wrong with one message on its way through the proxy?

A message is one piece of bytes in one direction (see `proxy.py`); `to` the device or `from` it. Faults of one
message happen in the order of `ProxyFault`.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from simulator.fault_terms import Entry, Parameter, Vocabulary


class ProxyFault(StrEnum):
    """One thing that goes wrong with one message."""

    CUT = "cut"
    RST = "rst"
    FREEZE = "freeze"
    ECHO = "echo"
    DROP = "drop"
    REPLACE = "replace"
    FLIP = "flip"
    TRUNC = "trunc"
    DUP = "dup"
    JUNK = "junk"
    STALE = "stale"
    HOLD = "hold"
    DELAY = "delay"
    SPLIT = "split"
    TRICKLE = "trickle"


_S, _GAP = Parameter("S", 1.0), Parameter("GAP", 0.2)
_HEX = Parameter("HEX", b"\xff\x00")

_FAULTS: Mapping[str, Entry] = MappingProxyType(
    {
        ProxyFault.CUT: Entry("both sides end (a pty: the plug is pulled), and the message is lost"),
        ProxyFault.RST: Entry(
            "TCP connections on both sides are reset, with all that is under way; a serial port hears nothing of it,"
            " so that one side has to be TCP"
        ),
        ProxyFault.FREEZE: Entry(
            "nothing passes this connection for S seconds, then everything does, in order", (_S,)
        ),
        ProxyFault.ECHO: Entry(
            "to: the message also comes back to its sender; from: the last request comes back before it"
        ),
        ProxyFault.DROP: Entry("the message is lost"),
        ProxyFault.REPLACE: Entry("these bytes come instead of the message", (_HEX,)),
        ProxyFault.FLIP: Entry("one bit of the first byte is wrong"),
        ProxyFault.TRUNC: Entry("only the first N bytes come", (Parameter("N", 1),)),
        ProxyFault.DUP: Entry("the message comes twice in a row"),
        ProxyFault.JUNK: Entry("these bytes come before the message", (_HEX,)),
        ProxyFault.STALE: Entry("the message before it in this direction comes again, before it"),
        ProxyFault.HOLD: Entry("the message comes glued in front of the next one in this direction"),
        ProxyFault.DELAY: Entry(
            "the message, and what follows it in this direction, come S seconds later", (_S,)
        ),
        ProxyFault.SPLIT: Entry(
            "the first N bytes come, GAP seconds later the rest", (Parameter("N", 4), _GAP)
        ),
        ProxyFault.TRICKLE: Entry(
            "the message comes byte by byte, GAP seconds apart", (Parameter("GAP", 0.02),)
        ),
    }
)
PROXY = Vocabulary("the proxy", ("to", "from"), _FAULTS)
