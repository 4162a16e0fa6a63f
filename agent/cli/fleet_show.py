"""Who sees whom? One target's card: its verdict, each observer's pair with it, and the history of its verdicts.

An agent looks itself, too: its card has both directions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.cli import output
from agent.cli.fleet_table import age_and_badge, status_json
from agent.cli.fleet_view import View
from agent.cli.fleet_words import age, cause, coloured, dot, said
from agent.cli.options import Common
from agent.fleet.changes import Change
from agent.fleet.facts import NO_PROBE, Observation, agent_target, name_of
from agent.fleet.marks import Mark
from logs.text import escape

PAIR_COLUMNS = ("observer", "target", "site", "vantage", "sight", "misses", "looked", "rtt", "about")
CHANGE_COLUMNS = ("since", "status", "before", "about", "reason")


@dataclass(frozen=True, slots=True)
class PairShown:
    """What one observer knows about one target.

    `sight`: sees, fails, undecided, or no voice. `counts`: whether its vote does; `why`, where it does not. `newest`:
    its last look.
    """

    observer: str
    target: str
    sight: str
    misses: int | None
    counts: bool
    why: str | None
    newest: Observation


def pairs_about(view: View, target: str) -> list[PairShown]:
    """Every observer that has looked at the target lately, by name."""
    return _pairs(view, (row for row in view.facts.observations if row.target == target))


def pairs_of(view: View, observer: str) -> list[PairShown]:
    """Everything that an agent has looked at lately, by target."""
    return _pairs(view, (row for row in view.facts.observations if row.observer == observer))


def _pairs(view: View, rows: Iterable[Observation]) -> list[PairShown]:
    newest: dict[tuple[str, str], Observation] = {}
    for row in rows:
        known = newest.get((row.target, row.observer))
        if agent_target(row.observer) != row.target and (known is None or _later(view, row, known)):
            newest[row.target, row.observer] = row
    return [_pair(view, newest[pair]) for pair in sorted(newest)]


def _later(view: View, row: Observation, known: Observation) -> bool:
    """Rows of the observer's present life come before older ones of another."""
    agent = view.agents.get(row.observer)
    boot = agent.boot if agent is not None else ""
    return (row.boot == boot, row.at_s, row.round) > (known.boot == boot, known.at_s, known.round)


def _pair(view: View, row: Observation) -> PairShown:
    found, name = view.fleet.verdicts[row.target], row.observer
    if name not in found.streaks:
        return PairShown(name, row.target, "no voice", None, False, _without_voice(view, row), row)
    if name in found.ignored:
        why = view.fleet.untrusted.get(name, "ordinary observers' misses of a reference mean nothing")
        sight = "missed" if found.streaks[name] else "sees"
        return PairShown(name, row.target, sight, found.streaks[name], False, why, row)
    sight = "fails" if name in found.fails else "sees" if name in found.sees else "undecided"
    return PairShown(name, row.target, sight, found.streaks[name], True, None, row)


def _without_voice(view: View, row: Observation) -> str:
    agent = view.agents.get(row.observer)
    if agent is None:
        return "it is no agent of this store"
    if row.boot != agent.boot:
        return "it has not looked again since it was started anew"
    if row.reason in NO_PROBE:
        return "nothing was asked of the target"
    return "its last look is too old, or the target was started anew since"


def put_card(common: Common, view: View, target: str, history: Sequence[Change], since: str | None) -> None:
    """Print one target's card."""
    is_agent = target == agent_target(name_of(target))
    about, of = pairs_about(view, target), pairs_of(view, name_of(target)) if is_agent else []
    if common.json:
        for record in _records(view, target, (*about, *of), history, since):
            output.put_json(record)
        return
    _put_head(view, target)
    name = view.short(target)
    _put_pairs(view, f"Who sees {name}", about, "Nobody has looked at it lately.")
    if is_agent:
        _put_pairs(view, f"Whom {name} sees", of, "It has looked at nobody lately.")
    output.put("\nHistory, newest first")
    rows = [
        (f"{each.utc[:19]}Z", each.status.value, each.before, each.detail or None, each.reason)
        for each in history
    ]
    if rows:
        output.put_table(CHANGE_COLUMNS, rows)
    else:
        output.put("No change of its verdict is on record.")


def _put_head(view: View, target: str) -> None:
    found = view.fleet.verdicts[target]
    mark = f"{coloured(dot(found.status), found.status)} " if output.on_terminal() else ""
    kind, name = target.partition(":")[0], view.short(target)
    line = escape(f"{name} ({kind}): {found.status.value}, {found.reason}", output.LINE_MAX)
    output.put_document(f"{mark}{line}\n")
    output.put("  no row lately" if found.age_s is None else f"  newest row: {age_and_badge(found)}")
    for each in Mark:
        if (word := view.words.get((target, each))) is not None:
            output.put(f"  {said(word)}")


def _put_pairs(view: View, title: str, pairs: Sequence[PairShown], nobody: str) -> None:
    output.put(f"\n{title}")
    if pairs:
        output.put_table(PAIR_COLUMNS, [_pair_row(view, pair) for pair in pairs])
    else:
        output.put(nobody)


def _pair_row(view: View, pair: PairShown) -> tuple[object, ...]:
    agent, row = view.agents.get(pair.observer), pair.newest
    said_last = [cause(row.reason)] if row.reason else []
    no_vote = [f"no vote: {pair.why}"] if pair.why is not None else []
    return (
        pair.observer,
        view.short(pair.target),
        (agent.site or None) if agent is not None else None,
        (agent.vantage or None) if agent is not None else None,
        pair.sight,
        pair.misses,
        f"{age(view.now_s - row.at_s)} ago",
        f"{row.rtt_s * 1000:.0f} ms" if row.rtt_s is not None else None,
        "; ".join([*said_last, *no_vote]) or None,
    )


def _records(
    view: View, target: str, pairs: Sequence[PairShown], history: Sequence[Change], since: str | None
) -> Iterator[dict[str, Any]]:
    """The card as objects: the verdict, the pairs, the changes; `record` says which of them each is."""
    yield {"record": "verdict"} | status_json(view, target, view.fleet.verdicts[target], since)
    for pair in pairs:
        row = pair.newest
        yield {
            "record": "pair",
            "schema": 1,
            "observer": pair.observer,
            "target": pair.target,
            "sight": pair.sight.replace(" ", "_"),
            "misses": pair.misses,
            "counts": pair.counts,
            "why_not": pair.why,
            "age_s": round(view.now_s - row.at_s, 1),
            "rtt_s": row.rtt_s,
            "reason": row.reason or None,
        }
    for each in history:
        yield {
            "record": "change",
            "schema": 1,
            "target": each.target,
            "utc": each.utc,
            "status": each.status.value,
            "before": each.before.value if each.before is not None else None,
            "detail": each.detail or None,
            "reason": each.reason,
        }
