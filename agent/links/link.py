"""What is a link? A byte stream to equipment, with exactly what an exchange needs and no opinion of its own.

A link never repeats, never buffers beyond the operating system and never decides what bytes mean.
"""

from typing import Protocol


class LinkLost(Exception):  # noqa: N818 - the field's word
    """The stream broke; what was written before may or may not have arrived.

    `left`: bytes of what was just to be written may have left, too.
    """

    def __init__(self, why: str, *, left: bool = True) -> None:
        super().__init__(why)
        self.left = left


class Unreachable(Exception):  # noqa: N818 - the field's word
    """The stream could not be opened: certainly nothing was sent. The text says why."""


class PortHeld(Unreachable):
    """Another program has the serial port open. `ours`: that program is another run of ackonce."""

    def __init__(self, why: str, *, ours: bool) -> None:
        super().__init__(why)
        self.ours = ours


class Receiver(Protocol):
    """Who listens to a link."""

    def heard(self, data: bytes) -> None:
        """Bytes came in."""

    def lost(self, why: str) -> None:
        """The stream ended. Told once, and not after `close`."""


class Link(Protocol):
    """An open byte stream."""

    def attach(self, receiver: Receiver) -> None:
        """Deliver what comes in to this receiver."""

    def write(self, data: bytes) -> None:
        """Write one whole frame. Raises LinkLost if the stream is known to be broken."""

    def close(self, *, abort: bool = False) -> None:
        """Close at once; nothing is delivered afterwards. May be called again.

        Args:
            abort: also take back, as far as the operating system lets us, what was written and has not left this
                machine: for a request whose answer nobody awaits any more, which must not arrive later.
        """
