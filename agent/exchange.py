"""How is one request asked and its answer awaited? The only await on a link.

A request that may change something cannot be asked without a warrant: the journal's intent of a copy, or the
lease's durable number or epoch. Reads carry the explicit mark `READ_ONLY`. Silence is measured, not total time:
a device that says BUSY or IN_PROGRESS is alive and gets more. Whatever arrives and does not answer the request is
reported and ignored; it never ends the wait.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from agent.deadlines import Deadlines
from agent.journal import Intent
from agent.links.link import Link, LinkLost

POLL_S = 1.0
"""How long an answer may take after BUSY or IN_PROGRESS before the device is asked again."""


class ReadOnly(Enum):
    """The mark of a request that changes nothing."""

    READ_ONLY = auto()


READ_ONLY = ReadOnly.READ_ONLY


@dataclass(frozen=True, slots=True)
class Durable:
    """What a request uses (an epoch, a number) is on record: the lease's warrant for OPEN and NOP."""

    what: str


Warrant = Intent | Durable | ReadOnly


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing that answers the request came in time."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The stream broke. `left`: bytes of the request may have left before."""

    why: str
    left: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """The device said that it is busy (`busy`, `in_progress`), and then nothing more for a while."""

    how: str
    waited_s: float


class Codec(Protocol):
    """The pure half of a dialect: bytes to events. Events are `Answered`, `Waiting`, `Ignored` of that dialect."""

    def receive(self, data: bytes, /) -> list[Any]:
        """What came in, as events."""

    def abandon(self) -> None:
        """Nothing is outstanding any more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply, as the codec gave it."""

    reply: Any


Outcome = Answer | Silence | Lost | Held


class Exchange:
    """One connection, one request at a time.

    `broken` says why the stream ended, None while it stands. `clean`: the last request was answered, so that nothing is
    owed on this connection.
    """

    def __init__(
        self,
        link: Link,
        codec: Codec,
        deadlines: Deadlines,
        classify: Callable[[Any], Answer | Held | None],
        ignored: Callable[[Any], None],
        trace: Callable[[str, bytes], None] | None = None,
        *,
        busy_max_s: float,
    ) -> None:
        """An exchange over an open link.

        Args:
        link: the open stream.
        codec: turns bytes into events.
        deadlines: the sweep that ends waits.
        classify: an event as an answer, as a sign of life (`Held`, its time unset), or None where it is neither.
        ignored: told of every event that is neither.
        trace: told of all bytes, with `>` for written and `<` for heard.
        busy_max_s: how long signs of life may put off the end of one wait.
        """
        self.deadline_s = 0.0
        self.broken: str | None = None
        self.clean = True
        self._silence_s = 0.0
        self._link = link
        self._codec = codec
        self._deadlines = deadlines
        self._classify = classify
        self._ignored = ignored
        self._trace = trace
        self._busy_max_s = busy_max_s
        self._waiting: asyncio.Future[Outcome] | None = None
        self._held: str | None = None
        self._held_since_s = 0.0
        link.attach(self)

    async def ask(self, request: bytes, warrant: Warrant, silence_s: float) -> Outcome:
        """Write one request and wait for its answer.

        Args:
            request: the whole frame.
            warrant: what makes the request permissible; see the file's head.
            silence_s: how long nothing that concerns the request may be heard.
        """
        if self._waiting is not None:
            raise RuntimeError("one request at a time")
        if not isinstance(warrant, Intent | Durable | ReadOnly):
            raise TypeError("a request needs a warrant")
        if self.broken is not None:
            return Lost(self.broken, left=False)
        loop = asyncio.get_running_loop()
        self._waiting = waiting = loop.create_future()
        self._held = None
        self._silence_s = silence_s
        self.deadline_s = loop.time() + silence_s
        self._deadlines.add(self)
        self.clean = False
        try:
            if self._trace is not None:
                self._trace(">", request)
            self._link.write(request)
            outcome: Outcome = await waiting
            self.clean = isinstance(outcome, Answer)
        except LinkLost as lost:
            return Lost(str(lost), lost.left)
        else:
            return outcome
        finally:
            self._waiting = None
            self._deadlines.remove(self)
            if not self.clean:
                self._codec.abandon()

    def close(self) -> None:
        """Close the connection at once; a request that nobody awaits any more is taken back as far as it can be."""
        self.broken = self.broken or "we closed the connection"
        self._link.close(abort=not self.clean)

    # --- what the link and the sweep call -----------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        """Bytes came in."""
        if self._trace is not None:
            self._trace("<", data)
        for event in self._codec.receive(data):
            meant = self._classify(event)
            if meant is None or self._waiting is None or self._waiting.done():
                # After the turn of whoever waits, so that the log tells the answer before what followed it.
                asyncio.get_running_loop().call_soon(self._ignored, event)
            elif isinstance(meant, Held):
                self._extend(meant.how)
            else:
                self._waiting.set_result(meant)

    def _extend(self, how: str) -> None:
        """A sign of life starts the silence anew, but a device may not be busy for ever."""
        now_s = asyncio.get_running_loop().time()
        if self._held is None:
            self._held_since_s = now_s
        self._held = how
        self.deadline_s = min(now_s + max(self._silence_s, POLL_S), self._held_since_s + self._busy_max_s)
        self._deadlines.add(self)

    def lost(self, why: str) -> None:
        """The stream ended."""
        self.broken = why
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Lost(why))

    def expire(self) -> None:
        """The wait is over."""
        if self._waiting is None or self._waiting.done():
            return
        if self._held is None:
            self._waiting.set_result(Silence())
        else:
            waited_s = asyncio.get_running_loop().time() - self._held_since_s
            self._waiting.set_result(Held(self._held, waited_s))
