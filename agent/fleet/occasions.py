"""What of all that is known is worth a notice? Occasions that last: each is told once when it begins.

| kind | what it is about | when |
|---|---|---|
| `unreachable` | the target | a reference cannot reach it: its address counts as blocked, a new one is recommended |
| `pair` | both ends | one end cannot reach the other, for as long as `PAIR_MISSES`, so that others had time to vote |
| `split` | the fleet | the agents see each other only within groups |
| `alarm` | what it says before its first colon, without figures | any other alarm about the whole |
| `unreliable_view` | the agent | its votes are ignored |

A pair is one, whichever end looked and however many status lines it shows in (research M17).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.fleet.facts import agent_target, name_of
from agent.fleet.verdict import Fleet, Status, Verdict

FLEET = "fleet"
"""What a notice about the whole is about."""
PAIR_MISSES = 8
"""So many misses in a row until a pair is told. At five it is marked, and so is what others fail a moment later."""


class Kind(StrEnum):
    """What notices are about. The last three are told once for each operation or turn, and do not last."""

    UNREACHABLE = "unreachable"
    PAIR = "pair"
    SPLIT = "split"
    ALARM = "alarm"
    UNRELIABLE_VIEW = "unreliable_view"
    IN_DOUBT = "in_doubt"
    JOB_FAILED = "job_failed"
    JOB_MISSED = "job_missed"


LASTING = (Kind.UNREACHABLE, Kind.PAIR, Kind.SPLIT, Kind.ALARM, Kind.UNRELIABLE_VIEW)
"""Kinds that begin and end."""

Key = tuple[str, Kind]
"""What an occasion is about, and its kind."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Something that is so now. `ripe`: it has lasted long enough to be told; a told one lasts on without."""

    text: str
    ripe: bool = True


def occasions(fleet: Fleet, alarms: Sequence[str] = ()) -> dict[Key, Occasion]:
    """What is worth a notice now. Pure.

    Args:
        fleet: the verdicts.
        alarms: more of them about the whole: of exclusions at their limit, of agents that fell silent together.
    """
    found: dict[Key, Occasion] = {}
    for target, verdict in fleet.verdicts.items():
        found |= _by_reference(target, verdict) | _pair(target, verdict, found)
    for agent, why in fleet.untrusted.items():
        text = f"{agent} sees unreliably, so its votes are ignored: {why}. See: ackonce fleet show {agent}"
        found[agent_target(agent), Kind.UNRELIABLE_VIEW] = Occasion(text)
    for alarm in (*fleet.alarms, *alarms):
        text = f"{alarm}. See: ackonce fleet status"
        if fleet.split and alarm.startswith("the fleet is split"):
            found[FLEET, Kind.SPLIT] = Occasion(text)
        else:
            found[_subject(alarm), Kind.ALARM] = Occasion(text)
    return found


def _by_reference(target: str, verdict: Verdict) -> dict[Key, Occasion]:
    if verdict.status is not Status.UNREACHABLE or verdict.reference is None:
        return {}
    name = name_of(target)
    text = (
        f"{name} is unreachable: {verdict.reason}. Give it a new address, and write that into the inventory. "
        f"See: ackonce fleet show {name}"
    )
    return {(target, Kind.UNREACHABLE): Occasion(text)}


def _pair(target: str, verdict: Verdict, found: Mapping[Key, Occasion]) -> dict[Key, Occasion]:
    """The occasion of a marked pair; the same one where its other end has told it, ripe where either is."""
    if verdict.status is not Status.PAIR_MARKED or verdict.pair is None:
        return {}
    observer = verdict.pair[0]
    about = " and ".join(sorted((agent_target(observer), target)))
    known = found.get((about, Kind.PAIR))
    ripe = verdict.streaks.get(observer, 0) >= PAIR_MISSES or (known is not None and known.ripe)
    name = name_of(target)
    text = known.text if known is not None else f"{verdict.reason}. See: ackonce fleet show {name}"
    return {(about, Kind.PAIR): Occasion(text, ripe)}


def _subject(alarm: str) -> str:
    """What an alarm is about however the figures in it change."""
    head = alarm.partition(":")[0]
    return f"{FLEET}: " + " ".join(re.sub(r"(?<!\S)[0-9]+(?!\S)", "", head).split())
