"""What does each observer know about each target now? Pairs, from one walk over the rows.

* Rows count that are fresh, of the observer's present boot, and about the target: an observer that nobody knows, that
  has not passed its own check or is down, a probe that was never made, a row from the future, and an agent's look at
  itself, tell nothing.
* A streak is the misses since the last success, in the order of rounds. Rows may come in any order, and twice.
* A pair whose newest row is stale has no voice: silence is no miss.
* What was seen of an agent before the first sign of its present life is about its former life: an agent that was just
  started again is not judged by its absence.
* One miss means nothing. `SEES` holds for a miss or two, `FAILS` begins with the streak; between them a pair is
  `UNSURE` and votes for nobody. So a target that dies is not seen any more by one observer when the first of the
  others counts its last miss, wherever their rounds stand.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from agent.fleet.facts import DEVICE_SAYS, NO_PROBE, AgentFacts, AgentState, Facts, Params, agent_target

SKEW_S = 2.0
"""Rows that lie further ahead of now are not believed; a reader may be a moment older than what it reads."""
_APART = 2
"""Two observers of one target differ by less than so many misses, by phase and jitter."""


class Sight(IntEnum):
    """What a pair amounts to; the highest of several behind one uplink is their vote."""

    FAILS = 0
    UNSURE = 1
    SEES = 2


@dataclass(frozen=True, slots=True)
class Pair:
    """What one observer knows about one target.

    `streak`: misses in a row. `since_s`: the first of them that is known, else the newest row. `open_ended`: no success
    is known before them, so they may have begun earlier. `at_s`, `reason`: of the newest row.
    """

    observer: str
    sight: Sight
    streak: int
    since_s: float
    open_ended: bool
    at_s: float
    reason: str

    @property
    def says(self) -> str:
        """What the equipment says is wrong with it; "" where it says nothing."""
        if not self.reason.startswith(DEVICE_SAYS):
            return ""
        return self.reason.removeprefix(DEVICE_SAYS).lstrip(": ") or "it is unwell"


@dataclass(frozen=True, slots=True)
class Sights:
    """What the observers know.

    `pairs`: those that have a voice, by target; every target that a row is about has an entry. `newest_s`: the newest
    row about a target, of whoever is believed to be an observer, with a voice or without.
    """

    pairs: Mapping[str, Sequence[Pair]]
    newest_s: Mapping[str, float]


class _Rows:
    """The rows of one pair, as far as they have come."""

    __slots__ = ("answered", "answered_s", "at_s", "misses", "newest", "reason")

    def __init__(self) -> None:
        self.newest = -1
        self.at_s = 0.0
        self.reason = ""
        self.answered = -1
        self.answered_s = 0.0
        self.misses: dict[int, float] = {}


class _Watch:
    """An observer, what counts of it, and its rows so far."""

    __slots__ = ("boot", "first_s", "from_s", "rows", "voice_s")

    def __init__(self, agent: AgentFacts, now_s: float, params: Params) -> None:
        self.boot = agent.boot
        self.from_s = now_s - params.fresh_s * params.pace(agent)
        self.voice_s = now_s - params.stale_probe_s * params.pace(agent)
        self.first_s = math.inf
        self.rows: dict[str, _Rows] = {}


def sights_of(facts: Facts, now_s: float, params: Params) -> Sights:
    """What the observers know at `now_s` of the store's clock."""
    watches = {
        agent.name: _Watch(agent, now_s, params)
        for agent in facts.agents
        if agent.state in (AgentState.UP, AgentState.DRAINING)
    }
    pairs: dict[str, list[Pair]] = {}
    until_s = now_s + SKEW_S
    for row in facts.observations:
        watch, at_s, reason = watches.get(row.observer), row.at_s, row.reason
        if (
            watch is None
            or row.boot != watch.boot
            or not watch.from_s <= at_s <= until_s
            or reason in NO_PROBE
        ):
            pairs.setdefault(row.target, [])
            continue
        rows = watch.rows.get(row.target)
        if rows is None:
            rows = watch.rows[row.target] = _Rows()
        number = row.round
        if not (row.ok or reason.startswith(DEVICE_SAYS)):
            rows.misses[number] = at_s
        elif number > rows.answered:
            rows.answered, rows.answered_s = number, at_s
        if number > rows.newest:
            rows.newest, rows.at_s, rows.reason = number, at_s, reason
        if at_s < watch.first_s:
            watch.first_s = at_s
    alive_s = _first_signs(facts, watches)
    newest_s: dict[str, float] = {}
    for observer, watch in watches.items():
        watch.rows.pop(agent_target(observer), None)
        for target, rows in watch.rows.items():
            known = pairs.setdefault(target, [])
            newest_s[target] = max(rows.at_s, newest_s.get(target, rows.at_s))
            from_s = alive_s.get(target, watch.from_s)
            if rows.at_s >= max(watch.voice_s, from_s):
                known.append(_pair(observer, rows, from_s, params))
    return Sights(pairs, newest_s)


def _first_signs(facts: Facts, watches: Mapping[str, _Watch]) -> dict[str, float]:
    """When each agent's present life is first known of, by its own rows and reports; by target."""
    first_s = {agent_target(name): watch.first_s for name, watch in watches.items()}
    for report in facts.reports:
        target = agent_target(report.agent)
        watch = watches.get(report.agent)
        if watch is not None and watch.boot == report.boot:
            first_s[target] = min(first_s[target], report.at_s)
    return {target: at_s for target, at_s in first_s.items() if at_s < math.inf}


def _pair(observer: str, rows: _Rows, from_s: float, params: Params) -> Pair:
    misses = [at_s for number, at_s in rows.misses.items() if number > rows.answered and at_s >= from_s]
    seen = rows.answered >= 0 and rows.answered_s >= from_s
    sight, since_s = _sight(len(misses), seen, params), min(misses, default=rows.at_s)
    return Pair(observer, sight, len(misses), since_s, not seen, rows.at_s, rows.reason)


def _sight(streak: int, seen: bool, params: Params) -> Sight:
    if streak >= params.fail_streak:
        return Sight.FAILS
    return Sight.SEES if seen and streak < max(1, params.fail_streak - _APART) else Sight.UNSURE
