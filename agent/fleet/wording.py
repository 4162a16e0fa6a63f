"""How is a verdict said? For somebody tired: who, how many of how many, where, for how long.

A failing pair is a sentence about two ends and the path between. It names both and accuses neither, because from
outside a blocked observer and a blocked target look the same.
"""

from collections.abc import Sequence

from agent.fleet.case import Case
from agent.fleet.pairs import Pair
from agent.fleet.votes import Votes

NAMES_MAX = 8
"""So many names in one sentence."""
EITHER_END = "It may be either end or the path between"
_REASONS = {
    "no_reply": "no reply",
    "refused": "connection refused",
    "no_route": "no route",
    "bad_frame": "what answers makes no sense",
    "wrong_device": "another device answers",
}


def listed(names: Sequence[str]) -> str:
    """`a, b and 3 more`."""
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def observers(pairs: Sequence[Pair]) -> str:
    """Who they are."""
    return listed([pair.observer for pair in pairs])


def seconds(age_s: float) -> str:
    """`25 s`."""
    return f"{max(0.0, age_s):.0f} s"


def lasting(fails: Sequence[Pair], now_s: float) -> str:
    """How long it has been so, and what the last probes came to: `for 25 s (no reply)`."""
    first = min(fails, key=lambda pair: pair.since_s)
    came_to = sorted({_REASONS.get(pair.reason, pair.reason) for pair in fails} - {""})
    more = " or longer" if first.open_ended else ""
    return f"for {seconds(now_s - first.since_s)}{more}" + (f" ({', '.join(came_to)})" if came_to else "")


def share(fails: Sequence[Pair], votes: Votes, now_s: float, where: str = "") -> str:
    """`2 of 5 cannot reach it for 25 s, all in vantage x: a, b`."""
    by_uplink = "" if len(fails) == votes.fails else ", one vote per uplink"
    return f"{votes.fails} of {votes.of} cannot reach it {lasting(fails, now_s)}{where}{by_uplink}: {observers(fails)}"


def others(case: Case, nobody: str) -> str:
    """What the others say: `c, d can; not counted: e`; without any other vote `nobody`, for those that count."""
    told = [f"{observers(case.sees)} can"] if case.sees else []
    told += [f"undecided: {observers(case.unsure)}"] if case.unsure else []
    told = told or ([] if case.ignored else [nobody])
    told += [f"not counted: {observers(case.ignored)}"] if case.ignored else []
    return "; ".join(told)


def each_other(a: str, b: str, fails: Sequence[Pair], now_s: float) -> str:
    """Both ways of one pair of agents fail."""
    return f"{a} and {b} cannot reach each other {lasting(fails, now_s)}"


def one_way(fails: Sequence[Pair], name: str, now_s: float) -> str:
    """`a cannot reach NAME for 25 s`."""
    return f"{observers(fails)} cannot reach {name} {lasting(fails, now_s)}"
