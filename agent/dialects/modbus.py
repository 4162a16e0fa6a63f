"""How does the agent talk Modbus? TCP, RTU on a serial line, and RTU over TCP.

A text of the request language (`protocol/modbus/requests.py`) is one request. What an answer proves:

* The transaction numbers of Modbus TCP tell which request an answer belongs to. The device does not remember them, so
  they never make a repeat harmless.
* An RTU answer carries the unit and the function. Each unit owes its own answers; those of one are never another's.
* Some adapters give our own bytes back, and the ack of a single write is its request, byte for byte. So on RTU every
  connection begins with a read, which shows whether the line does that; no echo is ever believed.
"""

import secrets
from collections.abc import Callable
from functools import partial
from typing import Literal

from agent.dialects.stream import HUSH_S, Said, StreamStation
from agent.exchange import POLL_S, Answer, Codec, Held
from agent.leases import Lease
from agent.station import Expected, Identity, Means, Patience, ReadAnswer
from devices.profile import Profile
from protocol.modbus.requester import UNECHOED_ENOUGH, Event, ModbusRequester, Replied, Stray
from protocol.modbus.requests import request_of

WRITES = frozenset((5, 6, 15, 16, 22, 23))

_NO_ANSWER = frozenset(("unknown", "unreached"))
"""Answers to a read after which it may be asked again: nobody was asked, or nobody answered in time."""


class ModbusStation(StreamStation):
    """One unit in the hands of this process; `lease` is None where nothing but reads will be asked."""

    def __init__(
        self,
        lease: Lease | None,
        expected: Expected,
        patience: Patience,
        means: Means,
        profile: Profile,
        *,
        stream: str | None,
        gap_s: float,
    ) -> None:
        """As `StreamStation`; `gap_s` includes the silence that ends an RTU frame."""
        self._framing: Literal["tcp", "rtu"] = profile.modbus.framing if profile.modbus is not None else "tcp"
        hush_s = HUSH_S if self._framing == "rtu" else 0.0
        super().__init__(lease, expected, patience, means, profile, stream=stream, gap_s=gap_s, hush_s=hush_s)
        self._requester = self._fresh()
        self._said_instead: str | None = None

    def _fresh(self) -> ModbusRequester:
        # Begun anywhere, so that a late answer to another connection is not taken for one to this.
        return ModbusRequester(self._framing, self._expected.unit, first_transaction=secrets.randbits(16))

    def unfit(self, text: str) -> str | None:
        """Why a request can never be carried to this device, or None."""
        try:
            request_of(self.veil.lift(text))
        except ValueError as problem:
            return self.veil.mask(str(problem))
        return None

    # --- requests -----------------------------------------------------------------------------------------------------

    def _new_codec(self) -> Codec:
        self._requester = self._fresh()
        return self._requester

    def _greeting(self) -> tuple[str, str | None] | None:
        """On RTU anything that can be read, to learn whether the line echoes."""
        return self._question() if self._framing == "rtu" else None

    async def _identify(self) -> Identity:
        """It takes more than one read to see that a line does not echo, which matters to whoever writes."""
        identity, question = await super()._identify(), self._question()
        for _ in range(UNECHOED_ENOUGH - 1):
            if self._lease is not None and self._requester.echoes is None and question is not None:
                await self.read(*question)
        return identity

    def _copy_of(self, text: str) -> Callable[[], bytes]:
        if self.veil.hides(text):
            self.veil.hide_bytes(request_of(text).data)
        return partial(self._requester.ask, text)

    def _question_of(self, query: str, reply: str | None) -> Callable[[], bytes]:  # noqa: ARG002
        return partial(self._requester.ask, query)

    async def read(self, query: str, reply: str | None = None) -> ReadAnswer:
        """Ask a query, again while the device says that it is busy. Raises StoreError before it is written."""
        waited_s, self._said_instead = 0.0, None
        while True:
            said, started = await self._hear(query, reply)
            if said is None or said.how != "busy" or self._means.stopping():
                break
            self._busy_s = waited_s
            if waited_s >= self._patience.busy_max_s:
                break
            if waited_s == 0:
                self._means.told.warn(
                    f"asked '{query}', the device says that it is busy: asked again for up to "
                    f"{self._patience.busy_max_s:g} s"
                )
            await self._clock.sleep(POLL_S)
            waited_s += POLL_S
        if said is not None and said.how in _NO_ANSWER:
            self._said_instead = said.line
            self._means.told.warn(f"asked '{query}': {said.line}")
            return ReadAnswer(None)
        return self._reading(query, said, started=started)

    def _unanswering(self) -> str | None:
        """Text in the place of frames comes from something that speaks no Modbus, and is quoted as such."""
        said = super()._unanswering() or self._said_instead
        text = self._requester.undecided.decode("ascii", errors="replace").strip()
        return said or (text if text.isprintable() else self._requester.undecided.hex(" ")) or None

    def _why_mute(self) -> str:
        if self._framing == "tcp":
            return "another unit, RTU behind a TCP port (framing: rtu), another port"
        return "another unit, another speed or parity, A and B swapped"

    # --- what comes in ------------------------------------------------------------------------------------------------

    def _said(self, reply: Replied) -> Said:
        return Said(reply.how, reply.value, reply.line)

    def _second_thoughts_s(self, said: Said) -> float:
        """A busy device gets time; and on RTU an exception does not say which request of its function it is about."""
        again = said.how in ("busy", "unreached")
        return POLL_S if again or (self._framing == "rtu" and said.how != "done") else 0.0

    def _is_rival(self, stray: Stray, _reply: str | None) -> bool:
        return stray.why == "answer" and stray.function == self._requester.function

    def _refuses(self, stray: Stray) -> bool:
        return stray.refused

    def _classify(self, event: Event) -> Answer | Held | None:
        self._heard_s = self._clock.now_s()
        if isinstance(event, Replied):
            return Answer(event)
        if event.why in ("answer", "junk"):
            self._astray(event)
        return None

    def _ignored(self, event: Event) -> None:
        """Tell the log what was credited to nothing."""
        told = self._means.told
        match event:
            case Stray(why="answer" | "late", function=function):
                self._tell_stray(event, of_a_copy=function in WRITES)
            case Stray(why="echo", line=line):
                told.warn(f"our own request came back, and an echo is no answer ({line})")
            case Stray(why=why, line=line, data=data):
                told.stray(_STRAYS[why], line, data)


_STRAYS = {
    "foreign": "an answer with a number that was not ours",
    "unit": "another unit answers",
    "junk": "not understood",
}
