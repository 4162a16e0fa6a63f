"""What is known about one target, and what do all verdicts of a moment stand on?

Who is believed is settled before any rule looks: pairs of observers whose votes are ignored are kept apart, and so are
ordinary observers' misses of a reference, which mean nothing by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.facts import AgentFacts, Params, SelfReport, agent_target, name_of
from agent.fleet.pairs import Pair, Sight, Sights


@dataclass(frozen=True, slots=True)
class Ground:
    """What all verdicts of one moment stand on.

    `untrusted`: agents whose votes are ignored, each with why. `references`, `authorities`: agents that are references,
    and those of them that may judge, where they are believed. `excludes`: whether votes and references exclude anything
    now.
    """

    now_s: float
    params: Params
    agents: Mapping[str, AgentFacts]
    reports: Mapping[str, SelfReport]
    sights: Sights
    untrusted: Mapping[str, str]
    references: frozenset[str]
    authorities: frozenset[str]
    excludes: bool


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about one target; pairs in the order of observers.

    `agent`, `report`: where the target is an agent. `is_reporting`: the report is not too old to mean anything.
    `newest_s`: the newest row, None where none is fresh. `fails`, `sees`, `unsure`: what is believed. `dropped`: misses
    of a reference by ordinary observers. `untrusted`: pairs of observers that are not believed.
    """

    name: str
    agent: AgentFacts | None
    report: SelfReport | None
    is_reference: bool
    is_reporting: bool
    newest_s: float | None
    fails: Sequence[Pair]
    sees: Sequence[Pair]
    unsure: Sequence[Pair]
    dropped: Sequence[Pair]
    untrusted: Sequence[Pair]

    @property
    def counted(self) -> list[Pair]:
        """Every pair that has a vote."""
        return [*self.fails, *self.sees, *self.unsure]

    @property
    def ignored(self) -> list[Pair]:
        """Every pair that has none."""
        return sorted([*self.dropped, *self.untrusted], key=lambda pair: pair.observer)


def case_of(ground: Ground, target: str) -> Case:
    """What is known about a target."""
    name = name_of(target)
    agent = ground.agents.get(name) if target == agent_target(name) else None
    report = ground.reports.get(name) if agent is not None else None
    is_reference = agent is not None and name in ground.references
    sides: dict[Sight, list[Pair]] = {sight: [] for sight in Sight}
    dropped, untrusted = [], []
    for pair in sorted(ground.sights.pairs.get(target, ()), key=lambda pair: pair.observer):
        if pair.observer in ground.untrusted:
            untrusted.append(pair)
        elif is_reference and pair.streak and pair.observer not in ground.references:
            dropped.append(pair)
        else:
            sides[pair.sight].append(pair)
    return Case(
        name=name,
        agent=agent,
        report=report,
        is_reference=is_reference,
        is_reporting=report is not None and ground.now_s - report.at_s < ground.params.no_data_s,
        newest_s=ground.sights.newest_s.get(target),
        fails=sides[Sight.FAILS],
        sees=sides[Sight.SEES],
        unsure=sides[Sight.UNSURE],
        dropped=dropped,
        untrusted=untrusted,
    )
