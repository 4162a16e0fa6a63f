"""Whose word counts? The observers that are not believed, and why.

Two reasons stand before any vote: an agent that reports itself unwell, and one that would call anything alive, because
its probe of a closed port "succeeds". The third is the votes' own (`unreliable`): who fails to see what others see is
likely at fault itself. Only targets that some other witness sees count there, or a real outage would condemn everyone
who reports it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from agent.fleet.facts import Facts, Params, SelfReport
from agent.fleet.pairs import SKEW_S, Pair, Sight


def own_reports(facts: Facts, now_s: float) -> dict[str, SelfReport]:
    """The newest report of each agent's present boot; of two at one moment the bad one."""
    boots = {agent.name: agent.boot for agent in facts.agents}
    newest: dict[str, SelfReport] = {}
    for report in facts.reports:
        if boots.get(report.agent) != report.boot or report.at_s > now_s + SKEW_S:
            continue
        known = newest.get(report.agent)
        if known is None or (known.at_s, not known.ok) < (report.at_s, not report.ok):
            newest[report.agent] = report
    return newest


def discredited(
    facts: Facts, reports: Mapping[str, SelfReport], now_s: float, params: Params
) -> dict[str, str]:
    """The agents whose own report or control probe is bad, each with why its votes are ignored."""
    why: dict[str, str] = {}
    for agent in facts.agents:
        report = reports.get(agent.name)
        if report is not None and not report.ok and now_s - report.at_s < params.no_data_s:
            why[agent.name] = f"its own report is bad: {report.reason or 'no reason given'}"
        elif not agent.control_ok:
            why[agent.name] = "its probe of a closed port succeeds, so it would call anything alive"
    return why


def unreliable(
    pairs: Mapping[str, Sequence[Pair]], ignored: Collection[str], params: Params
) -> dict[str, str]:
    """The witnesses that fail too much of what others see, each with why; `ignored` are no witnesses."""
    contested: Counter[str] = Counter()
    fails: Counter[str] = Counter()
    for known in pairs.values():
        heard = [pair for pair in known if pair.observer not in ignored]
        seers = sum(pair.sight is Sight.SEES for pair in heard)
        for pair in heard:
            if seers > (pair.sight is Sight.SEES):
                contested[pair.observer] += 1
                fails[pair.observer] += pair.sight is Sight.FAILS
    return {
        name: f"it cannot reach {failed} of {contested[name]} that others reach"
        for name, failed in sorted(fails.items())
        if contested[name] >= params.trust_targets_min and failed * 2 >= contested[name]
    }
