"""What does the world do with each message between the agent and one device? Fates are chosen, and carried out.

See `fates.py` for what may happen. The world also takes down what it did, for the judge: the truth of a play.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.links.link import Link, Unreachable
from agent.stations import Target
from simulator.device import SimulatedDevice
from simulator.fault_terms import NO_FAULTS
from tests.exhaustive.armed import ARMED, OneByOne
from tests.exhaustive.fates import ARRIVES, BY_WORDS, Fate, Fates
from tests.exhaustive.oracle import Option, Oracle
from tests.exhaustive.wires import Device, Wire

JUST_IN_TIME_S = 0.05
"""So much before the last moment that the profile allows, what is late comes in."""

Kind = str
_ALIKE = (b"GET serial\n", b"GET boots\n")
"""Questions that are answered alike before and after any command."""
_TYPES = {1: "hello", 2: "open", 3: "copy", 4: "read", 5: "nop"}


@dataclass(slots=True, eq=False)
class Parcel:
    """Something that is under way.

    `arrive` lets it come in, `stands` tells whether it still can, `heard` whether the agent would hear anything then.
    """

    words: str
    arrive: Callable[[], None]
    stands: Callable[[], bool]
    heard: Callable[[], bool]
    timer: asyncio.TimerHandle | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A reading that left, when, and what became of it."""

    at_s: float
    data: bytes
    fate: Fate


@dataclass(frozen=True, slots=True)
class Heard:
    """What the agent heard after it had written the message of that name."""

    after: str
    data: bytes


@dataclass(slots=True)
class World:
    """The way between the agent's processes and one device.

    Attributes:
        device: The device.
        oracle: Says which way things go.
        fates: What may become of each kind of message.
        late_s: How late anything may be; None: up to the end.
        stays: Opening the way anew does not cut it.
        pace_s: How long an answer is on its way.
        overtakes: What is late may overtake what was late before it.
        under_way: What is late and has not come in yet.
        calm: Nothing goes wrong any more, but for what is under way already.
        torn: Half a line lies in the device, and the next one will be glued to it.
        processes: How many processes of the agent there were.
        said: The fate of each message, by its name.
        sent: The copies that left.
        heard: What the agent's processes heard, in order.
        asked: The readings that left.
        copied_s: When the last copy left, on the loop's clock.
        unanswered: How many messages in a row were not answered up to now.
        boots_at_baseline: How often the device had started when that was asked last before the first copy.
        dialled: How often the way was opened, `dialled_at_copy` until the last copy left.
    """

    device: Device
    oracle: Oracle
    fates: Fates
    late_s: float | None
    stays: bool
    pace_s: float
    overtakes: bool = False
    calm: bool = False
    torn: bool = False
    processes: int = 1
    said: dict[str, Fate] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)
    under_way: list[Parcel] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    copied_s: float = 0.0
    unanswered: int = 0
    boots_at_baseline: int = 0
    dialled: int = 0
    dialled_at_copy: int = 0
    _marks: Counter[str] = field(default_factory=Counter)
    _plan: OneByOne = field(default_factory=OneByOne)
    _counts: Counter[str] = field(default_factory=Counter)
    _name: str = ""
    _muted: bool = False
    _caught: bool = False
    _port: Wire | None = None

    def __post_init__(self) -> None:
        self.device.suffer(self._plan)

    # --- what the agent does ------------------------------------------------------------------------------------------

    async def dial(self, _: Target) -> Link:
        """Open a link to the device. Raises Unreachable."""
        if self._fate_of("dial") is not ARRIVES:
            raise Unreachable("nothing answers")
        self.dialled += 1
        if not self.stays:
            return Wire(self.device, self, stays=False).open()
        if self._port is None:
            self._port = Wire(self.device, self, stays=True)
        return self._port.open()

    def leaves(self, wire: Wire, data: bytes) -> None:
        """The agent writes a message, or half of one where its process ends in the middle."""
        kind = self._kind(data)
        if kind is None:
            self.torn = self.stays and self.fates.dialect == "line"
            wire.feed(data)
            return
        fate = self._fate_of(kind, alike=data in _ALIKE)
        if kind == "copy":
            self.sent.append(data)
            self.copied_s, self.dialled_at_copy = self.now_s, self.dialled
        elif kind == "read":
            self.asked.append(Asked(self.now_s, data, fate))
            if not self.sent and (data == b"GET boots\n" or not self.boots_at_baseline):
                self.boots_at_baseline = self.boots_now
        self.unanswered += 1
        self._carry_out(fate, wire, data)

    def answers(self, wire: Wire, data: bytes) -> None:
        """The device says something."""
        if self._muted:
            return
        if self._caught:
            words = f"answer to {self._name}"
            self._later(words, lambda: self._heard(wire, data), lambda: wire.leads_somewhere, lambda: True)
        elif self.pace_s:
            asyncio.get_running_loop().call_later(self.pace_s, self._heard, wire, data)
        else:
            self._heard(wire, data)

    def boot(self) -> None:
        """The device is switched off and on."""
        self.device.reboot()

    def new_process(self) -> None:
        """Another process of the agent goes on."""
        self.processes += 1
        self._marks = self._counts + Counter({"heard": len(self.heard), "sent": len(self.sent)})

    def fates_by_process(self, kind: Kind) -> list[Fate]:
        """What became of the messages of a kind that the process has written which is at work now."""
        return [fate for name, fate in self.said.items() if name.startswith(kind)][self._marks[kind] :]

    @property
    def sent_by_process(self) -> list[bytes]:
        """The copies that the process has written that is at work now."""
        return self.sent[self._marks["sent"] :]

    @property
    def heard_by_process(self) -> list[Heard]:
        """What the process has heard that is at work now."""
        return self.heard[self._marks["heard"] :]

    @property
    def now_s(self) -> float:
        """The time on the loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    @property
    def boots_now(self) -> int:
        """How often the device has started."""
        return self.device.values()["boots"]

    @property
    def busy(self) -> bool:
        """Whether the device is at work on a command and does nothing else."""
        device = self.device
        running = isinstance(device, SimulatedDevice) and device._responder.running is not None
        return running or device._inbox.frozen

    def finish(self) -> None:
        """Everything that is under way comes in."""
        self._come_in(self.under_way)

    def _heard(self, wire: Wire, data: bytes) -> None:
        if wire.link is not None:
            self.heard.append(Heard(self._name, data))
            self.unanswered = 0
        wire.hear(data)

    # --- fates --------------------------------------------------------------------------------------------------------

    def _kind(self, data: bytes) -> Kind | None:
        if data.endswith(b"\0"):
            return _TYPES.get(data.lstrip(b"\0")[2])
        if data.endswith(b"\n"):
            return "read" if data.startswith(b"GET ") else "copy"
        return None

    def _fate_of(self, kind: Kind, *, alike: bool = False) -> Fate:
        """What becomes of a message, and what comes in before it.

        Where nothing that is under way would be heard, and the message is answered `alike` before it and after it, the
        two orders cannot differ; so nothing comes in before it, but before the next one.
        """
        self._counts[kind] += 1
        name = f"{kind} {self._counts[kind]}"
        if alike and not self.busy and not any(parcel.heard() for parcel in self.under_way):
            fate = self._chosen(kind, name)
            if fate is not ARRIVES:
                self._meanwhile(name)
        else:
            self._meanwhile(name)
            fate = self._chosen(kind, name)
        self._name = name
        self.said[name] = fate
        return fate

    def _chosen(self, kind: Kind, name: str) -> Fate:
        if self.calm:
            return ARRIVES
        return BY_WORDS[self.oracle.choose(name, self.fates.options(kind, self._counts[kind])).words]

    def _meanwhile(self, name: str) -> None:
        """Before a message leaves, what is under way may come in."""
        for gone in [parcel for parcel in self.under_way if not parcel.stands()]:
            self.under_way.remove(gone)
            if gone.timer is not None:
                gone.timer.cancel()
        if not self.under_way or name.startswith("dial"):
            return
        comings = [self.under_way[:n] for n in range(len(self.under_way) + 1)]
        if self.overtakes:
            comings += [[parcel] for parcel in self.under_way[1:]]
        options = [Option("nothing comes in", 0)]
        options += [Option(f"{', '.join(each.words for each in coming)} in", 0) for coming in comings[1:]]
        self._come_in(comings[options.index(self.oracle.choose(f"before {name}", options))])

    def _carry_out(self, fate: Fate, wire: Wire, data: bytes) -> None:
        match fate:
            case Fate.LOST:
                return
            case Fate.LATE:
                self._later(self._name, lambda: wire.feed(data), lambda: True, lambda: wire.leads_somewhere)
                return
            case Fate.BOOT_BEFORE:
                self.boot()
                return
        self._muted = fate in (Fate.REPLY_LOST, Fate.REFUSED_UNHEARD)
        self._caught = fate is Fate.REPLY_LATE
        self._plan.armed = ARMED.get(fate, NO_FAULTS)
        wire.feed(data)
        self._plan.armed = NO_FAULTS
        self._muted = self._caught = False

    # --- what is under way --------------------------------------------------------------------------------------------

    def _later(
        self, words: str, arrive: Callable[[], None], stands: Callable[[], bool], heard: Callable[[], bool]
    ) -> None:
        parcel = Parcel(words, arrive, stands, heard)
        self.under_way.append(parcel)
        if self.late_s is not None:
            loop = asyncio.get_running_loop()
            parcel.timer = loop.call_later(self.late_s - JUST_IN_TIME_S, self._due, parcel)

    def _due(self, parcel: Parcel) -> None:
        self._come_in(self.under_way[: self.under_way.index(parcel) + 1])

    def _come_in(self, arriving: Sequence[Parcel]) -> None:
        self.under_way = [parcel for parcel in self.under_way if parcel not in arriving]
        for parcel in arriving:
            if parcel.timer is not None:
                parcel.timer.cancel()
            if parcel.stands():
                parcel.arrive()
