"""How does an agent look at a device once, and what does it see?

The way of the real traffic: the same link, the same framing, the question who is there with its check, or where a
device cannot say who it is, a setting that can be read. Never a lease, a number or a changing command. Rules:

* A look gives way. It does not begin on a stream that a command uses, or on which an answer is owed. When a command
  comes, a look that has asked nothing ends at once, and one that has asked waits `GRACE_S` for its answer.
* What came of a look that could not be made is no fact: no result at all. A miss is only what was asked in vain.
* Nothing is repeated, and a silent device holds its line no longer than one silence.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.evidence import NotSent
from agent.fleet.facts import DEVICE_SAYS
from agent.fleet.traffic import Traffic
from agent.links.link import Link, PortHeld, Unreachable
from agent.operation import Cause
from agent.service import Onlooker, Service
from agent.station import ReadAnswer, Station
from agent.stations import CONNECT_MIN_S, Target, obstacle, stream_of
from agent.steps import Session
from agent.store.database import StoreError
from devices.profile import Profile
from logs.events import Event

WATCH_S = 0.05
"""How long a command goes unnoticed by a look under way."""
GRACE_S = 0.1
"""How long an answer is still awaited then. A command tries a port that is open elsewhere again for 0.3 s at least."""
QUESTIONS_MAX = 3
"""So many questions one look may need: a noisy RTU line is asked more than once whether it echoes."""
MARGIN_S = 0.1
"""An exchange ends by itself after its silence; a look that has not ended this much later is ended."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look came to; the fields are those of `Observation`."""

    ok: bool
    reason: str = ""
    rtt_s: float | None = None


def unprobed(target: Target) -> str | None:
    """Why a device is never probed, or None."""
    profile = target.profile
    if profile.opening_resets and not target.url.startswith("tcp:"):
        return "opening its port boots it"
    if profile.dialect == "exec":
        return "its program cannot be called off when a command comes"
    if profile.dialect != "lsq" and profile.identity is None and _setting(profile) is None:
        return f"the profile {profile.name} names nothing that can be read"
    return obstacle(target)


class Look:
    """One look at one device."""

    def __init__(self, service: Service, traffic: Traffic, target: Target) -> None:
        """A look that has not begun; `target` is one that can be probed (`unprobed`)."""
        self._service = service
        self._clock = service.clock
        self._traffic = traffic
        self._target = target
        self._stream = stream_of(target.url)
        self._patience: asyncio.Timeout | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._begun_s = 0.0
        self._no_way: str | None = None
        self._gives_way = False
        self._opened = False
        self._asked_s: float | None = None
        self._heard_s: float | None = None
        self._nonsense = False

    async def take(self) -> Seen | None:
        """Look; None where there was no look, because a command or an answer that is owed was in the way.

        Raises StoreError.
        """
        if self._in_the_way():
            return None
        self._begun_s = self._clock.now_s()
        me = Onlooker(self._dial, self._told, self._traced)
        station = self._service.onlooking(self._target, me)
        try:
            async with asyncio.timeout(self._opening_s()) as self._patience:
                self._watch_out()
                return await self._ask(station)
        except TimeoutError:
            return self._ended(in_time=False)
        finally:
            if self._watch is not None:
                self._watch.cancel()
            station.close()

    def _longest_s(self) -> float:
        """How long a look may take, whatever the device says meanwhile."""
        return self._opening_s() + QUESTIONS_MAX * (self._target.timeout_s + self._target.gap_s)

    def _opening_s(self) -> float:
        """How long it may take until the first question is asked."""
        settle_s = self._target.profile.timing.connect_settle_s
        return max(self._target.timeout_s, CONNECT_MIN_S) + settle_s + self._target.gap_s + 1.0

    async def _ask(self, station: Station) -> Seen | None:
        reached = await station.connect(Session.NONE, 1)
        if isinstance(reached, NotSent):
            if reached.cause is Cause.WRONG_DEVICE:
                return Seen(False, "wrong_device")
            return self._ended()
        if self._asked_s is None:  # connecting found out nothing about the device
            answer = await self._read(station)
            if answer == ReadAnswer(None):
                return self._ended()
            if answer.problem is not None:
                return Seen(False, f"{DEVICE_SAYS}: {answer.problem}")
        return Seen(True, rtt_s=self._took_s())

    async def _read(self, station: Station) -> ReadAnswer:
        query, reply = _setting(self._target.profile) or ("", None)
        return await station.read(query, reply)

    def _ended(self, *, in_time: bool = True) -> Seen | None:
        """What it means that nobody answered: nothing, where the look was called off before anything could be asked.

        `in_time`: the way ended by itself. Who takes a connection and closes it at once has been reached, and is mute.
        """
        if not self._opened:
            reason = self._no_way if self._no_way is not None else "no_route"
        elif self._asked_s is None:
            reason = "no_reply" if in_time else ""
        else:
            reason = "bad_frame" if self._nonsense else "no_reply"
        return Seen(False, reason) if reason and not self._gives_way else None

    def _took_s(self) -> float | None:
        if self._asked_s is None or self._heard_s is None:
            return None
        return max(0.0, self._heard_s - self._asked_s)

    # --- giving way ---------------------------------------------------------------------------------------------------

    def _in_the_way(self) -> bool:
        return self._stream in self._traffic.in_use() or self._traffic.owed_s(self._target, self._stream) > 0

    def _watch_out(self) -> None:
        """See now and then whether a command has come to the stream."""
        self._watch = asyncio.get_running_loop().call_later(WATCH_S, self._watch_out)
        try:
            used = self._traffic.in_use(WATCH_S)
        except StoreError:
            used = frozenset((self._stream,))  # nobody can tell
        if self._stream in used:
            self._give_way()

    def _give_way(self) -> None:
        if not self._gives_way:
            self._gives_way = True
            self._end_at(self._clock.now_s() + (GRACE_S if self._asked_s is not None else 0.0))

    def _end_at(self, when_s: float) -> None:
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(when_s)

    async def _dial(self, dial: Callable[[], Awaitable[Link]]) -> Link:
        try:
            link = await dial()
        except PortHeld as held:
            self._no_way = "" if held.ours else "port_held"
            raise
        except Unreachable as problem:
            refused = isinstance(problem.__cause__, ConnectionRefusedError)
            self._no_way = "refused" if refused else "no_route"
            raise
        self._opened = True
        try:
            self._gives_way = (
                self._stream in self._traffic.in_use()
            )  # it came while the link was being opened
        except StoreError:
            link.close()
            raise
        if self._gives_way:
            link.close()
            raise Unreachable("a command uses the stream")
        return link

    # --- what passes --------------------------------------------------------------------------------------------------

    def _told(self, event: Event) -> None:
        self._nonsense = self._nonsense or event.event == "ignored"

    def _traced(self, way: str, _data: bytes) -> None:
        now_s = self._clock.now_s()
        if way == ">":
            self._asked_s = now_s
        else:
            self._heard_s = now_s
        if not self._gives_way:
            more_s = self._target.timeout_s + self._target.gap_s + MARGIN_S
            self._end_at(min(now_s + more_s, self._begun_s + self._longest_s()))


def _setting(profile: Profile) -> tuple[str, str | None] | None:
    """How the first setting that can be read is asked for, and the pattern of its answer where it has its own."""
    asked = (each for each in profile.settings.values() if each.read is not None)
    return next(((each.read or "", each.reply) for each in asked), None)
