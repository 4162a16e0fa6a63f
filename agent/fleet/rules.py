"""Which finding fits what is known about one target? The rules of health, in order; the first that finds ends it.

| finding | when |
|---|---|
| `no_data` | an agent stopped, or gives no sign of life and nobody sees it, whatever its neighbours miss |
| `unavailable` | its own word: a bad report, starting, draining, or equipment that answers that it is unwell |
| `shaky` | a reference that nobody reaches: it may be down. Ordinary observers' misses mean nothing else to it |
| `unreachable` | a reference that may judge fails, and no other one sees the target |
| `unreachable_from` | some vantages' own quorum fails and outnumbers; that is every failure, and it is seen elsewhere |
| `unreachable` | a quorum of independent observers fails and outnumbers those who see it |
| `unreachable_from` | some vantages' own quorum fails and outnumbers, whatever else there is |
| `pair_marked` | somebody who is believed fails: said of both ends, excludes nobody |
| `no_data` | nobody who is believed has looked lately, or reports stopped |
| `shaky` | somebody missed a few times |
| `healthy` | the rest |

Where the fleet is split, or most witnesses contradict the others, the four in the middle find nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent.fleet import wording
from agent.fleet.case import Case, Ground
from agent.fleet.facts import AgentState, agent_target
from agent.fleet.pairs import Pair, Sight
from agent.fleet.votes import Votes, blocked_vantages, count


class Status(StrEnum):
    """The state of a target; the effect on routing is in FLEET.md 1."""

    HEALTHY = "healthy"
    SHAKY = "shaky"
    NO_DATA = "no_data"
    PAIR_MARKED = "pair_marked"
    UNREACHABLE_FROM = "unreachable_from"
    UNREACHABLE = "unreachable"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found."""

    status: Status
    reason: str
    vantages: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    reference: str | None = None


def finding(ground: Ground, case: Case) -> Finding:
    """The first finding of the rules."""
    return next(found for rule in _RULES if (found := rule(ground, case)) is not None)


def _gone(ground: Ground, case: Case) -> Finding | None:
    """An agent that is killed does not answer its neighbours either; that is silence, not a wall between them."""
    agent = case.agent
    if agent is None:
        return None
    if agent.state is AgentState.DOWN:
        return Finding(Status.NO_DATA, "it was stopped")
    alive_s = max(agent.heartbeat_s, case.report.at_s if case.report is not None else agent.heartbeat_s)
    failing = [*case.fails, *(pair for pair in case.dropped if pair.sight is Sight.FAILS)]
    lapsed = ground.now_s - alive_s >= ground.params.lapse_s
    if case.sees or not (lapsed or alive_s < min((pair.since_s for pair in failing), default=alive_s)):
        return None
    misses = f", and {wording.observers(failing)} cannot reach it" if failing else ""
    silent = wording.seconds(ground.now_s - alive_s)
    return Finding(
        Status.NO_DATA, f"no sign of life for {silent}{misses}: it is off, or cut off from everybody"
    )


def _own_word(ground: Ground, case: Case) -> Finding | None:
    report = case.report
    if report is not None and not report.ok and case.is_reporting:
        ago = wording.seconds(ground.now_s - report.at_s)
        return Finding(
            Status.UNAVAILABLE, f"its own report says: {report.reason or 'no reason given'} ({ago} ago)"
        )
    if case.agent is not None and case.agent.state is AgentState.STARTING:
        return Finding(Status.UNAVAILABLE, "it is starting: its own check has not passed yet")
    if case.agent is not None and case.agent.state is AgentState.DRAINING:
        return Finding(Status.UNAVAILABLE, "it is draining: it begins nothing new")
    told = [pair for pair in case.counted if pair.says]
    if not told:
        return None
    newest = max(told, key=lambda pair: (pair.at_s, pair.observer))
    ago = wording.seconds(ground.now_s - newest.at_s)
    return Finding(Status.UNAVAILABLE, f"it says itself: {newest.says} (to {newest.observer}, {ago} ago)")


def _lost_reference(ground: Ground, case: Case) -> Finding | None:
    everybody = looking_in_vain(ground, case)
    if not everybody:
        return None
    lasting = wording.lasting(everybody, ground.now_s)
    return Finding(
        Status.SHAKY, f"the reference may be down: {wording.observers(everybody)} cannot reach it {lasting}"
    )


def looking_in_vain(ground: Ground, case: Case) -> list[Pair]:
    """Everybody who looks for this reference, where that is a quorum and nobody sees it; else empty."""
    everybody = [*case.dropped, *case.counted]
    votes = count(everybody, ground.agents)
    vain = bool(case.dropped) and votes.fails == votes.of and votes.fails >= ground.params.quorum
    return everybody if vain else []


def _by_reference(ground: Ground, case: Case) -> Finding | None:
    judges = [pair for pair in case.fails if pair.observer in ground.authorities]
    at_odds = any(pair.observer in ground.authorities for pair in case.sees)
    if not ground.excludes or not judges or at_odds or case.is_reference:
        return None
    votes = count(case.counted, ground.agents)
    reason = (
        f"the reference {wording.observers(judges)} cannot reach it {wording.lasting(judges, ground.now_s)}, in all "
        f"{votes.fails} of {votes.of} cannot reach it. Its address may be blocked: consider another one"
    )
    return Finding(Status.UNREACHABLE, reason, reference=judges[0].observer)


def _at_vantages_only(ground: Ground, case: Case) -> Finding | None:
    """It is alive elsewhere, and every failure is explained: no more is said than that."""
    blocked = _blocked(ground, case)
    explained = all(ground.agents[pair.observer].vantage in blocked for pair in case.fails)
    elsewhere = any(ground.agents[pair.observer].vantage not in blocked for pair in case.sees)
    return _from_vantages(ground, case, blocked) if blocked and explained and elsewhere else None


def _by_votes(ground: Ground, case: Case) -> Finding | None:
    votes = count(case.counted, ground.agents)
    if not ground.excludes or not votes.condemn(ground.params):
        return None
    told = wording.others(case, "nobody can")
    return Finding(Status.UNREACHABLE, f"{wording.share(case.fails, votes, ground.now_s)}; {told}")


def _at_some_vantage(ground: Ground, case: Case) -> Finding | None:
    blocked = _blocked(ground, case)
    return _from_vantages(ground, case, blocked) if blocked else None


def _blocked(ground: Ground, case: Case) -> Mapping[str, Votes]:
    return (
        blocked_vantages(case.counted, ground.agents, ground.params) if ground.excludes and case.fails else {}
    )


def _from_vantages(ground: Ground, case: Case, blocked: Mapping[str, Votes]) -> Finding:
    inside = [pair for pair in case.fails if ground.agents[pair.observer].vantage in blocked]
    names = "vantage " + ", ".join(blocked) if len(blocked) == 1 else "vantages " + ", ".join(blocked)
    where = f", all in {names}" if len(inside) == len(case.fails) else f", a quorum in {names}"
    votes = count(case.counted, ground.agents)
    told = wording.others(case, "nobody else looks")
    return Finding(
        Status.UNREACHABLE_FROM,
        f"{wording.share(case.fails, votes, ground.now_s, where)}; {told}",
        vantages=tuple(blocked),
    )


def _pair(ground: Ground, case: Case) -> Finding | None:
    if not case.fails:
        return None
    first = case.fails[0]
    back = ground.sights.pairs.get(agent_target(first.observer), ()) if case.agent is not None else ()
    both_ways = case.name not in ground.untrusted and any(
        pair.observer == case.name and pair.sight is Sight.FAILS for pair in back
    )
    votes = count(case.counted, ground.agents)
    if len(case.fails) > 1:
        told = wording.one_way(case.fails, case.name, ground.now_s) + f", {votes.fails} of {votes.of} votes"
    elif both_ways:
        told = wording.each_other(first.observer, case.name, case.fails, ground.now_s)
    else:
        told = wording.one_way(case.fails, case.name, ground.now_s)
    reason = f"{told}; {wording.others(case, 'nobody else looks')}. {wording.EITHER_END}"
    if not ground.excludes and votes.condemn(ground.params):
        reason += ". Votes exclude nothing now: see the alarms"
    return Finding(Status.PAIR_MARKED, reason, pair=(first.observer, case.name))


def _nothing_known(ground: Ground, case: Case) -> Finding | None:
    report = case.report
    if report is not None and not case.is_reporting:
        ago = wording.seconds(ground.now_s - report.at_s)
        return Finding(Status.NO_DATA, f"it has not reported for {ago}")
    if case.counted or report is not None:
        return None
    if case.ignored:
        return Finding(
            Status.NO_DATA, f"only {wording.observers(case.ignored)} can tell, whose votes are ignored"
        )
    if case.newest_s is None:
        reports_too = ", and it has not reported yet" if case.agent is not None else ""
        return Finding(Status.NO_DATA, f"nobody has looked at it lately{reports_too}")
    return Finding(
        Status.NO_DATA, f"nobody has looked at it for {wording.seconds(ground.now_s - case.newest_s)}"
    )


def _shaky(ground: Ground, case: Case) -> Finding | None:
    missed = [pair for pair in case.counted if pair.streak]
    if not missed:
        return None
    told = ", ".join(f"{pair.observer} missed {pair.streak} in a row" for pair in missed[: wording.NAMES_MAX])
    return Finding(Status.SHAKY, f"{told}; {_seen_by(ground, case)}")


def _healthy(ground: Ground, case: Case) -> Finding:
    if case.agent is None:
        return Finding(Status.HEALTHY, _seen_by(ground, case))
    told = "its own report is good" if case.report is not None else "no report of its own yet"
    return Finding(Status.HEALTHY, f"{_seen_by(ground, case)}; {told}")


def _seen_by(ground: Ground, case: Case) -> str:
    votes = count(case.counted, ground.agents)
    if votes.of:
        return f"seen by {votes.sees} of {votes.of}"
    return "nobody whose vote counts looks at it" if case.ignored else "nobody looks at it"


_RULES: tuple[Callable[[Ground, Case], Finding | None], ...] = (
    _gone,
    _own_word,
    _lost_reference,
    _by_reference,
    _at_vantages_only,
    _by_votes,
    _at_some_vantage,
    _pair,
    _nothing_known,
    _shaky,
    _healthy,
)
