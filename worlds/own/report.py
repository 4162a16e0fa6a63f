"""What does a run say about one profile: what its commands end with, and what would help?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent.stations import Target
from devices.kinds import Policy
from devices.profile import Command
from worlds.own.plays import Tally, Weather, policy_of
from worlds.own.search import Tried, can_be_helped, played, search

DIALECTS = ("line", "lsq")
"""What is simulated."""


@dataclass(frozen=True, slots=True)
class Line:
    """One command: its policy, its runs, and everything that was tried against its doubts, the best first.

    `tried` is None where so few doubts in so few runs cannot show whether anything helps.
    """

    command: Command
    policy: Policy
    tally: Tally
    tried: tuple[Tried, ...] | None = None


@dataclass(slots=True)
class Page:
    """All commands of one profile on one sort of link.

    Attributes:
        target: One of the devices, for all that have its profile, patience and sort of link.
        devices: The names of all.
        unplayed: Why it is not simulated; None where it is.
        lines: One for each command.
    """

    target: Target
    devices: list[str]
    unplayed: str | None = None
    lines: list[Line] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """False words and double effects: bugs of the agent."""
        tallies = [
            tally for line in self.lines for tally in (line.tally, *(t.tally for t in line.tried or ()))
        ]
        return [problem for tally in tallies for problem in tally.wrong]


def pages(targets: Sequence[Target]) -> list[Page]:
    """One page for all devices that differ in nothing that the plays would show."""
    found: dict[tuple[object, ...], Page] = {}
    for target in targets:
        same = (
            target.profile.name, target.survives_reopen, target.timeout_s, target.attempts, target.gap_s,
            target.serial is None,
        )  # fmt: skip
        page = found.setdefault(same, Page(_claimed(target), []))
        page.devices.append(target.name)
        if target.profile.dialect not in DIALECTS or target.profile.sequence is not None:
            page.unplayed = _unplayed(target)
    return list(found.values())


def _unplayed(target: Target) -> str:
    if target.profile.dialect in DIALECTS:
        return "equipment that numbers its lines ('sequence') is not simulated"
    return f"equipment of dialect '{target.profile.dialect}' is not simulated, only {' and '.join(DIALECTS)}"


def _claimed(target: Target) -> Target:
    """Model and firmware are the real device's to tell: nothing is learnt from comparing a claim with itself."""
    return replace(target, profile=replace(target.profile, model=None, firmware=None))


def fill(page: Page, weather: Weather) -> Iterator[Line]:
    """Play every command of a page, one after the other."""
    if page.unplayed is not None:
        return
    for command in page.target.profile.commands:
        line = _line(page.target, command, weather)
        page.lines.append(line)
        yield line


def _line(target: Target, command: Command, weather: Weather) -> Line:
    tally = played(target, command, weather)
    tried = search(target, command, weather, tally) if can_be_helped(tally) else None
    return Line(command, policy_of(target, command), tally, tried)
