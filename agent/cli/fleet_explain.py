"""Why does a target have its status? The rule, the votes, what would heal it, and what it means for commands.

It tells what the verdict says already, and decides nothing. The rules themselves are in `agent/fleet/rules.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from agent.cli import output
from agent.cli.fleet_show import PairShown, pairs_about
from agent.cli.fleet_view import PARAMS, View
from agent.cli.fleet_words import IN_ROUTES, NOT_HELD_BACK, cause, said, times
from agent.cli.options import Common
from agent.fleet.facts import AgentState, name_of
from agent.fleet.marks import Mark
from agent.fleet.verdict import Status, Verdict

_QUORUM = (
    f"at least {PARAMS.quorum} independent observers fail and outnumber those who see it; agents behind one uplink "
    "have one vote"
)
_FAILURE = f"{PARAMS.fail_streak} misses in a row"
_RULES: Mapping[Status, str] = {
    Status.HEALTHY: "nobody whose vote counts misses it, and no report says otherwise",
    Status.SHAKY: f"somebody missed it, but not {PARAMS.fail_streak} times in a row: that is no failure yet",
    Status.NO_DATA: "nobody who is believed has looked at it lately; silence is no verdict",
    Status.PAIR_MARKED: (
        f"somebody who is believed fails ({_FAILURE}), and there is no quorum against it, or votes exclude nothing "
        "now. From outside a blocked observer and a blocked target look the same: both are named, neither is accused"
    ),
    Status.UNREACHABLE_FROM: f"at {{vantages}} there is a quorum against it: {_QUORUM}",
    Status.UNREACHABLE: f"there is a quorum against it: {_QUORUM}",
    Status.UNAVAILABLE: "its own word counts before anybody's look at it",
}
_BY_REFERENCE = "the reference {reference} fails ({failure}), and no other one sees it: its word counts alone"
_LOST_REFERENCE = (
    "it is a reference that nobody reaches: it may be down. Misses of ordinary observers exclude no reference"
)
_STOPPED = "it said that it stopped"
_NO_SIGN = (
    "an agent that nobody sees and that gives no sign of life, or that has not reported for "
    f"{PARAMS.no_data_s:.0f} s, is silent, whatever its neighbours miss; silence is no verdict"
)

_HEALS: Mapping[Status, str] = {
    Status.HEALTHY: "nothing is to be healed",
    Status.SHAKY: "one answered probe ends a row of misses",
    Status.NO_DATA: "the next look at it",
    Status.PAIR_MARKED: (
        "one answered probe each of {fails}. If it stays: look at the path between both ends. Which one gets another "
        "address is for you to decide, most often the one that users cannot reach either"
    ),
    Status.UNREACHABLE_FROM: "answered probes of {fails}, until fewer than a quorum of a vantage fail or more see it",
    Status.UNREACHABLE: "answered probes of {fails}, until fewer than a quorum fail or as many see it",
    Status.UNAVAILABLE: "its next word that it is well",
}
_REFERENCE_HEALS = (
    "one answered probe of {reference}, or another reference that sees it; else consider another address"
)
_SILENT_AGENT_HEALS = (
    "its next sign of life: see whether `ackonce serve` runs on its machine, and reaches the store"
)
_DISABLED = (
    "an operator disabled it, which wins over its status. No route goes there until it is enabled again"
)
_BY_ITSELF = "Nothing has to be switched on again"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a target has its status; each a sentence or several.

    `counted`, `ignored`: the observers whose votes count, and those whose do not with why. `notes`: what else bears
    on it, such as alarms and operators' words.
    """

    why: str
    rule: str
    counted: tuple[str, ...]
    ignored: tuple[str, ...]
    heals: str
    commands: str
    notes: tuple[str, ...]


def explain(view: View, target: str) -> Explanation:
    """The explanation of a target's verdict."""
    found, pairs = view.fleet.verdicts[target], pairs_about(view, target)
    names = {
        "fails": ", ".join(found.fails) or "those who miss it",
        "vantages": ", ".join(found.vantages),
        "reference": found.reference,
        "failure": _FAILURE,
    }
    heals = _heals(target, found).format_map(names)
    return Explanation(
        why=found.reason,
        rule=_rule(view, target, found).format_map(names),
        counted=(*(_vote(pair) for pair in pairs if pair.counts), *_shared_uplinks(view, pairs)),
        ignored=tuple(f"{pair.observer}: {pair.why}" for pair in pairs if not pair.counts),
        heals=heals if found.status is Status.HEALTHY else f"{heals}. {_BY_ITSELF}",
        commands=f"{_in_routes(view, target, found).format_map(names)}. {NOT_HELD_BACK}",
        notes=tuple(_notes(view, target)),
    )


def _rule(view: View, target: str, found: Verdict) -> str:
    agent = view.agents.get(name_of(target)) if target.startswith("agent:") else None
    if found.status is Status.UNREACHABLE and found.reference is not None:
        return _BY_REFERENCE
    if found.status is Status.SHAKY and _is_lost_reference(view, target, found):
        return _LOST_REFERENCE
    if found.status is Status.NO_DATA and agent is not None:
        return _STOPPED if agent.state is AgentState.DOWN else _NO_SIGN
    return _RULES[found.status]


def _is_lost_reference(view: View, target: str, found: Verdict) -> bool:
    return (target, Mark.REFERENCE) in view.words and not found.sees and bool(found.ignored)


def _heals(target: str, found: Verdict) -> str:
    if found.status is Status.UNREACHABLE and found.reference is not None:
        return _REFERENCE_HEALS
    if found.status is Status.NO_DATA and target.startswith("agent:"):
        return _SILENT_AGENT_HEALS
    return _HEALS[found.status]


def _in_routes(view: View, target: str, found: Verdict) -> str:
    if (target, Mark.DISABLED) in view.words:
        return f"{_DISABLED}: ackonce fleet enable {quote(view.short(target))}"
    return IN_ROUTES[found.status]


def _vote(pair: PairShown) -> str:
    """`a: fails, 12 misses in a row (no reply)`."""
    sight = "sees it" if pair.sight == "sees" else pair.sight
    missed = f", {times(pair.misses, 'miss', 'misses')} in a row" if pair.misses else ""
    last = f" ({cause(pair.newest.reason)})" if pair.newest.reason else ""
    return f"{pair.observer}: {sight}{missed}{last}"


def _shared_uplinks(view: View, pairs: list[PairShown]) -> Iterator[str]:
    """Whose votes are one vote."""
    behind: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.counts and view.agents[pair.observer].uplink:
            behind.setdefault(view.agents[pair.observer].uplink, []).append(pair.observer)
    for uplink, names in behind.items():
        if len(names) > 1:
            yield f"{', '.join(names)} share the uplink {uplink}: one vote"


def _notes(view: View, target: str) -> Iterator[str]:
    for mark in Mark:
        if (word := view.words.get((target, mark))) is not None:
            yield said(word)
    yield from view.alarms()


def put_explanation(common: Common, view: View, target: str) -> None:
    """Print the explanation of a target's verdict, as text or as one object."""
    told, found = explain(view, target), view.fleet.verdicts[target]
    if common.json:
        output.put_json(_json(target, found, told))
        return
    output.put(f"{view.short(target)} ({target.partition(':')[0]}) is {found.status.value}")
    nobody = ("nobody",)
    for heading, sentences in (
        ("why", (told.why,)),
        ("rule", (told.rule,)),
        ("counted", told.counted or nobody),
        ("ignored", told.ignored or nobody),
        ("heals it", (told.heals,)),
        ("commands", (told.commands,)),
        ("also", told.notes),
    ):
        for first, sentence in zip((heading, *[""] * len(sentences)), sentences, strict=False):
            output.put(f"  {first:<10}{sentence}")


def _json(target: str, found: Verdict, told: Explanation) -> dict[str, Any]:
    return {"schema": 1, "target": target, "status": found.status.value} | asdict(told)
