"""What does a run say about one profile: what its commands end with, and what would help?

Each addition that makes sense is played alone, under the same seeds. Where one alone is not enough, the best one is
kept and the others are tried on top of it, until nothing is left that helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent.operation import Outcome
from agent.stations import Target
from devices.kinds import Policy
from devices.profile import Command
from worlds.own.additions import Addition, additions
from worlds.own.plays import Stage, Tally, Weather, policy_of, samples, terms_of

TOGETHER_MAX = 3
"""So many additions are tried on top of one another."""
STILL_DONE = 0.9
"""An addition after which less of the work is applied than this share of before is no help."""
GAIN_MIN_PERCENT = 1.0
"""Less than that is chance."""
DIALECTS = ("line", "lsq")
"""What is simulated."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One addition, or several together, and what the plays came to with it."""

    additions: tuple[Addition, ...]
    tally: Tally

    @property
    def rank(self) -> tuple[float, float]:
        """The less the better: doubts left to a person, then all doubts."""
        return self.tally.left_percent, self.tally.doubt_percent


@dataclass(frozen=True, slots=True)
class Line:
    """One command: its policy, its plays, and each addition that was tried, those that help most first."""

    command: Command
    policy: Policy
    tally: Tally
    tried: tuple[Tried, ...] = ()


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
        tallies = [tally for line in self.lines for tally in (line.tally, *(t.tally for t in line.tried))]
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
    tally = _played(target, command, weather)
    tried = tuple(_try(target, command, weather, tally)) if tally.words[Outcome.IN_DOUBT] else ()
    return Line(command, policy_of(target, command), tally, tuple(sorted(tried, key=lambda each: each.rank)))


def _played(target: Target, command: Command, weather: Weather) -> Tally:
    stage = Stage()
    try:
        return stage.play_all(target, command, weather)
    finally:
        stage.close()


def gains(tally: Tally, without: Tally) -> bool:
    """Whether an addition helps: fewer doubts, those left to a person counted twice, and the work gets done."""
    done, before = tally.words[Outcome.APPLIED], without.words[Outcome.APPLIED]
    return _weight(without) - _weight(tally) >= GAIN_MIN_PERCENT and done >= STILL_DONE * before


def _weight(tally: Tally) -> float:
    return tally.doubt_percent + tally.left_percent


def _try(target: Target, command: Command, weather: Weather, without: Tally) -> Iterator[Tried]:
    """Each addition alone, then what helps on top of the best one."""
    best = Tried((), without)
    for _ in range(TOGETHER_MAX):
        now = target if not best.additions else replace(target, profile=best.additions[-1].profile)
        found = [
            Tried((*best.additions, addition), _played(_with(now, addition), _of(addition, command), weather))
            for addition in _sensible(now, command)
        ]
        better = [each for each in found if gains(each.tally, best.tally)]
        yield from found if not best.additions else better
        if not better:
            return
        best = min(better, key=lambda each: each.rank)
        if not any(best.rank):
            return


def _sensible(target: Target, command: Command) -> list[Addition]:
    command = target.profile.command(command.name)
    terms = terms_of(target, samples(target.profile, command)[0])
    return list(additions(target.profile, command, terms))


def _with(target: Target, addition: Addition) -> Target:
    return replace(target, profile=addition.profile)


def _of(addition: Addition, command: Command) -> Command:
    return addition.profile.command(command.name)
