"""How does the agent talk to equipment with plain text lines? The patterns of the profile say what a line is."""

import asyncio
import contextlib
import re
from collections.abc import Callable
from functools import partial

from agent.dialects.stream import Said, StreamStation
from agent.evidence import Booted
from agent.exchange import Answer, Codec, Held
from agent.leases import Lease
from agent.station import Expected, Means, Patience
from devices.profile import Profile
from protocol.line import LINE_MAX, Answered, Event, Grammar, Ignored, LineRequester, Notice, Started, Waiting

ENDS_WITHIN_S = 0.25
"""How long the first reading is listened to for a line behind its value that would pass for the ack of a command."""


class LineStation(StreamStation):
    """One text device in the hands of this process; `lease` is None where nothing but reads will be asked."""

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
        """As `StreamStation`."""
        super().__init__(lease, expected, patience, means, profile, stream=stream, gap_s=gap_s)
        self._grammar = _grammar(profile)
        self._requester = LineRequester(self._grammar)
        self._collided = False
        self._puzzled = False
        self._started = asyncio.Event()
        self._reads: str | None = None
        self._acks_readings: dict[str, bool] = {}
        self._reading_acked = asyncio.Event()

    def unfit(self, text: str) -> str | None:
        """Why a command can never be carried to this device, or None."""
        text = self.veil.lift(text)
        size = len(text.encode())
        if self._grammar.eol in text:
            return "the command holds what ends a line of this device"
        return f"the command is {size} bytes long, a line takes {LINE_MAX}" if size > LINE_MAX else None

    # --- requests -----------------------------------------------------------------------------------------------------

    def _new_codec(self) -> Codec:
        self._requester = LineRequester(self._grammar)
        self._collided = False
        self._started.clear()
        return self._requester

    async def _until_it_hears(self) -> None:
        """Where opening boots the board, its announcement ends the wait."""
        if not self._profile.opening_resets or self._grammar.boot is None:
            await super()._until_it_hears()
            return
        try:
            async with asyncio.timeout(self._patience.open_s):
                await self._started.wait()
        except TimeoutError:
            return

    def _copy_of(self, text: str) -> Callable[[], bytes]:
        self._reads = None
        return partial(self._requester.ask, text)

    def _question_of(self, query: str, reply: str | None) -> Callable[[], bytes]:
        """While a copy is owed only `reply` answers: a refusal could be the copy's."""
        self._reads = query
        self._reading_acked.clear()
        return partial(self._requester.ask, query, reply, refusable=not self._debts.stand)

    async def _is_whole(self, reply: str | None, *, clear: bool) -> bool:
        """Some equipment acks its readings like its commands, a little behind the value; that ack must not meet a copy.

        Whether it does is learnt from the first answer to each question that has a pattern of its own; from then on the
        ack is waited for.
        """
        query = self._reads or ""
        learnt = self._acks_readings.get(query)
        if reply is None or self._lease is None or learnt is False or (learnt is None and not clear):
            return True
        likely = learnt or any(self._acks_readings.values())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience.silence_s if likely else ENDS_WITHIN_S):
                await self._reading_acked.wait()
        acked = self._reading_acked.is_set()
        if learnt is None:
            self._acks_readings[query] = acked
            return True
        return acked

    def _unheard(self) -> None:
        """What was said instead may be an answer that the profile does not know; once is enough."""
        stray = self._strays.last("junk")
        if stray is not None and not self._puzzled:
            self._puzzled = True
            self._means.told.warn(
                f"the device says '{stray.line}', which the profile {self._profile.name} does not take for an answer"
            )

    def _why_mute(self) -> str:
        if self._collided:
            return "the echo that the profile declares does not come back whole: is 'echo: true' right"
        if self._strays.last() is not None:
            return "a prompt, another ack, another device?"
        return "another device, another speed, another line ending"

    # --- what comes in ------------------------------------------------------------------------------------------------

    def _said(self, reply: Answered) -> Said:
        return Said("refused" if reply.refused else "done", reply.value, reply.line)

    def _is_rival(self, stray: Ignored, reply: str | None) -> bool:
        return re.search(reply, stray.line) is not None if reply else stray.why == "answer"

    def _refuses(self, stray: Ignored) -> bool:
        return self._grammar.nak is not None and re.search(self._grammar.nak, stray.line) is not None

    def _classify(self, event: Event) -> Answer | Held | None:
        self._heard_s = self._clock.now_s()
        match event:
            case Answered():
                return Answer(event)
            case Waiting():
                return Held("busy", 0.0)
            case Started():
                self._started.set()
                self._noticed = [Booted(self._conn)]
            case Ignored(why="answer" | "junk", line=line):
                self._astray(event)
                if self._reads and re.search(self._grammar.ack, line):
                    self._reading_acked.set()
            case Ignored(why="collision"):
                self._collided = True
        return None

    def _ignored(self, event: Event) -> None:
        """Tell the log what was credited to nothing."""
        told = self._means.told
        match event:
            case Notice(line=line):
                told.notice(line)
            case Ignored(why="answer", line=line):
                acks = re.search(self._grammar.ack, line) is not None
                of_a_reading = acks and self._acks_readings.get(self._reads or "", False)
                self._tell_stray(event, of_a_copy=(acks and not of_a_reading) or self._refuses(event))
            case Ignored(why="junk", line=line, data=data):
                told.stray("not understood", line, data)
            case Ignored(why=why, line=line):
                told.warn(f"{_HINTS[why]} ({line})")


_HINTS = {
    "echo": "the device or its adapter sends our own line back; if it always does, the profile needs 'echo: true'",
    "collision": "another line than ours came back, though the profile says that the device echoes: it is not believed",
    "telnet": "a terminal server negotiates telnet options: set its port to raw, or write rfc2217:// in its URL",
}


def _grammar(profile: Profile) -> Grammar:
    line = profile.line
    if line is None:
        raise ValueError(f"{profile.name} is not of dialect line")
    return Grammar(
        ack=line.ack, nak=line.nak, busy=line.busy, notice=line.notice, boot=line.boot, prompt=line.prompt,
        echo=line.echo, eol=line.eol,
    )  # fmt: skip
