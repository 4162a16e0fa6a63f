"""What is one setup: a command, the equipment it is for, the way there, and how far its faults are tried?"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from agent.operation import Terms
from agent.terms import terms_for
from devices.catalog import Policy, choose, resolve
from devices.loader import load
from devices.profile import Profile
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.text_device import TextDevice
from tests.agent.line_desk import NamingDevice
from tests.exhaustive.commands import Command
from tests.exhaustive.fates import Depth, Fate, Fates
from tests.exhaustive.oracle import Choices, faults_in
from tests.exhaustive.points import AGENT, COPY, MEANWHILE

PROFILES = Path(__file__).parents[2] / "devices/profiles/demo"
NUMBERED = load(PROFILES / "controller.yaml")
PLAIN = load(PROFILES / "controller-line.yaml")
SILENCE_S = 0.5
PATIENCE_S = 5.0
ATTEMPTS = 3
PACE_S = 0.03


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the faults of a setup are tried.

    The copies of the command meet every combination of their fates. One message of all the others meets a fate too, as
    long as the sequence has no more faults than `others`. A process is stopped, at each of its writes, in sequences of
    no more than `stops` faults, the stop included: with 1 it is the only one, with 2 a copy may meet a fate too, or the
    device start while no process is there. Other messages meet no fates then.
    """

    depth: Depth = Depth.FIRST
    others: int = 2
    stops: int = 1

    def allow(self, choices: Choices) -> bool:
        """Whether a sequence is played."""
        faults = faults_in(choices)
        points = [choice.point for choice in choices if choice.option.faults]
        others = [point for point in points if not point.startswith((COPY, AGENT, MEANWHILE))]
        if any(choice.point == AGENT for choice in choices):
            return faults <= self.stops and not others
        return not others or (len(others) == 1 and faults <= self.others)


@dataclass(frozen=True)
class Setup:
    """One command on one kind of equipment.

    Attributes:
        name: For people.
        profile: Of the equipment.
        command: What is asked for.
        bounds: How far its faults are tried.
        policy: By which the command is sent; None: the one that the catalog chooses.
        attempts: How many copies may end in silence.
        stays: Opening the way anew does not cut it, nor does a start of the device.
        gateway: A start of the device does not cut the way.
        tier: Of an LSQ1 device, else None.
        atomic: On a device of tier 2 effect and record are one write.
        named: Answers to readings name the value, so that they can be told from the ack of a command.
        more: What else may become of the first copy.
        overtakes: What is late may overtake what was late before it.
    """

    name: str
    profile: Profile
    command: Command
    bounds: Bounds = field(default_factory=Bounds)
    policy: Policy | None = None
    attempts: int = ATTEMPTS
    stays: bool = False
    gateway: bool = False
    tier: int | None = None
    atomic: bool = True
    named: bool = False
    more: tuple[Fate, ...] = ()
    overtakes: bool = False

    @property
    def late_s(self) -> float | None:
        """How late anything may be; None where the equipment numbers its commands."""
        return None if self.tier is not None else self.profile.timing.late_s

    @property
    def pace_s(self) -> float:
        """How long an answer is on its way; where nothing tells answers apart, not so short that two come at once."""
        return 0.0 if self.tier is not None else PACE_S

    @cached_property
    def fates(self) -> Fates:
        """What may become of messages."""
        return Fates(self.profile.dialect, self.bounds.depth, self.more)

    @cached_property
    def terms(self) -> Terms:
        """The terms of the command."""
        return self._terms(self.command.words, self.policy)

    @cached_property
    def next_terms(self) -> Terms:
        """The terms of the command that is sent afterwards."""
        return self._terms(self.command.next_words, None)

    def _terms(self, words: str, policy: Policy | None) -> Terms:
        call = resolve(self.profile, words.split())
        chosen = choose(self.profile, call.command, policy).policy
        terms = terms_for(
            self.profile, call, chosen, reply_s=SILENCE_S, attempts=self.attempts, survives_reopen=self.stays
        )
        return replace(terms, busy_max_s=PATIENCE_S)

    def device(self, serial: str) -> SimulatedDevice | TextDevice:
        """A new device."""
        machine, cut = Controller(serial), not (self.stays or self.gateway)
        if self.command.setting is not None:
            machine.put(self.command.setting, self.command.before)
        if self.tier is not None:
            return SimulatedDevice(
                machine, serial=serial, tier=self.tier, atomic=self.atomic, hangs_up_on_boot=cut
            )
        return (NamingDevice if self.named else TextDevice)(machine, hangs_up_on_boot=cut)
