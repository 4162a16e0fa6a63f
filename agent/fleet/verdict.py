"""In which state is each device and agent, as far as anybody can know?

`verdict` is one pure function of fresh facts. Nothing of it is stored, so everything heals by itself: the next success
of an observer ends its failing, silence ends every accusation, and nobody switches anything on again. An operator's
words are no facts of health and do not come in here, but for which agents are references.

Which finding a target gets, and in which order they are looked for, is in `rules.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.fleet import wording
from agent.fleet.case import Ground, case_of
from agent.fleet.facts import Facts, Params, SelfReport, agent_target
from agent.fleet.pairs import Sight, Sights, sights_of
from agent.fleet.rules import Status, finding, looking_in_vain
from agent.fleet.split import groups
from agent.fleet.witnesses import discredited, own_reports, unreliable

__all__ = ["Fleet", "Status", "Verdict", "verdict"]

_NOBODY = "Nothing is excluded by votes meanwhile"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about one target.

    `reason` is a sentence with votes and ages, so it differs from second to second: compare the other fields. `fails`,
    `sees`: the observers that are believed, by what they say. `ignored`: those whose votes do not count here.
    `vantages`: from where it is unreachable, for `unreachable_from`. `pair`: observer and target by name, for
    `pair_marked`; the first where several fail. `reference`: on whose word it is `unreachable`, None where by votes.
    `age_s`: of the newest row or report, None where there is none. `stale`: nothing fresh enough to judge by.
    `streaks`: misses in a row of every observer that has a voice, ignored ones too.
    """

    status: Status
    reason: str
    fails: tuple[str, ...]
    sees: tuple[str, ...]
    ignored: tuple[str, ...]
    vantages: tuple[str, ...]
    pair: tuple[str, str] | None
    age_s: float | None
    stale: bool
    streaks: Mapping[str, int]
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The verdicts by target, and what is known about the agents together.

    `untrusted`: agents whose votes are ignored, each with why. `split`: the groups that see within but not across,
    empty where there is no split. `alarms`: sentences about the whole.
    """

    verdicts: Mapping[str, Verdict]
    untrusted: Mapping[str, str]
    split: tuple[frozenset[str], ...]
    alarms: tuple[str, ...]


def verdict(facts: Facts, now_s: float, params: Params = Params()) -> Fleet:  # noqa: B008 - it is frozen
    """The verdict on every target.

    Args:
        facts: what was seen and said; older rows than needed do no harm, nor does their order.
        now_s: the moment, in seconds of the store's clock.
        params: the numbers of health.

    Returns:
        A verdict for each agent, each target of a row, and each of `facts.targets`.
    """
    sights = sights_of(facts, now_s, params)
    own = own_reports(facts, now_s)
    agents = {agent.name: agent for agent in facts.agents}
    untrusted = discredited(facts, own, now_s, params)
    split = groups(sights.pairs, agents, untrusted)
    witnesses = {pair.observer for known in sights.pairs.values() for pair in known} - set(untrusted)
    contradict = {} if split else unreliable(sights.pairs, untrusted, params)
    divided = len(contradict) * 2 > len(witnesses)
    untrusted |= contradict
    references = frozenset(
        agent.name
        for agent in facts.agents
        if agent.reference or agent_target(agent.name) in facts.references
    )
    ground = Ground(
        now_s, params, agents, own, sights, untrusted, references,
        _authorities(references, own, sights, now_s, params), not (split or divided),
    )  # fmt: skip
    targets = {*map(agent_target, agents), *sights.pairs, *facts.targets}
    verdicts = {target: _judge(ground, target) for target in sorted(targets)}
    alarms = _alarms(ground, split, sorted(contradict) if divided else [])
    return Fleet(verdicts, dict(sorted(untrusted.items())), split, alarms)


def _authorities(
    references: frozenset[str],
    own: Mapping[str, SelfReport],
    sights: Sights,
    now_s: float,
    params: Params,
) -> frozenset[str]:
    """The references that may judge, if they are believed: with a fresh good report, and seeing something."""
    seeing = {pair.observer for known in sights.pairs.values() for pair in known if pair.sight is Sight.SEES}
    well = {name for name, report in own.items() if report.ok and now_s - report.at_s < params.no_data_s}
    return frozenset(references & seeing & well)


def _alarms(ground: Ground, split: Sequence[frozenset[str]], contradict: Sequence[str]) -> tuple[str, ...]:
    alarms = []
    if split:
        sides = " | ".join(wording.listed(sorted(group)) for group in split)
        alarms.append(f"the fleet is split, agents see each other only within groups: {sides}. {_NOBODY}")
    if contradict:
        alarms.append(f"most agents contradict the others: {wording.listed(contradict)}. {_NOBODY}")
    alarms += [
        f"the reference {name} may be down: {wording.observers(everybody)} cannot reach it"
        for name in sorted(ground.references)
        if (everybody := looking_in_vain(ground, case_of(ground, agent_target(name))))
    ]
    return tuple(alarms)


def _judge(ground: Ground, target: str) -> Verdict:
    case = case_of(ground, target)
    found = finding(ground, case)
    newest_s = [case.newest_s] if case.newest_s is not None else []
    newest_s += [case.report.at_s] if case.report is not None else []
    age_s = max(0.0, ground.now_s - max(newest_s)) if newest_s else None
    reason = found.reason
    if case.agent is not None and case.name in ground.untrusted and found.status is not Status.UNAVAILABLE:
        reason += f"; its votes are ignored: {ground.untrusted[case.name]}"
    return Verdict(
        status=found.status,
        reason=reason,
        fails=tuple(pair.observer for pair in case.fails),
        sees=tuple(pair.observer for pair in case.sees),
        ignored=tuple(pair.observer for pair in case.ignored),
        vantages=found.vantages,
        pair=found.pair,
        age_s=age_s,
        stale=not case.counted and not case.is_reporting,
        streaks={pair.observer: pair.streak for pair in (*case.counted, *case.ignored)},
        reference=found.reference,
    )
