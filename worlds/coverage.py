"""What did the worlds of a campaign meet, and what did they never meet?

A world that never comes to a case says nothing about it. So everything is counted by kind and combination: faults by
the sort of equipment that they struck, ends and standstills of processes by phase, words by policy, doubts that were
left by policy. What could have been met and was not is listed; what was switched off could not. Nothing that came after
everything was healed counts, but for the doubts that were left then, and no word of a person.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from devices.kinds import Policy
from worlds.history import Phase
from worlds.incidents import AROUND, ENDS
from worlds.plan import WAYS, Limits
from worlds.sorts import sorts

WORDS = ("applied", "refused", "not_sent", "not_applied", "in_doubt")
STOPS = {"killed": ENDS, "frozen": ("standstill",)}
"""How a process is stopped, and which kinds of faults do that."""
EVERYTHING = Limits()


def possible(limits: Limits = EVERYTHING) -> dict[str, list[str]]:
    """Everything that could be met under these limits, by title."""

    def on(kinds: Iterable[str]) -> list[str]:
        return [str(kind) for kind in kinds if limits.faults is None or kind in limits.faults]

    found = {
        "around": on(AROUND),
        **{f"fault on {sort.name}": on((*WAYS, *sort.faults)) for sort in sorts()},
        **{f"process {how}": list(map(str, Phase)) if on(kinds) else [] for how, kinds in STOPS.items()},
        **{f"word of {policy}": list(WORDS) for policy in Policy},
    }
    return {title: names for title, names in found.items() if names}


def table(counts: Counter[str], limits: Limits = EVERYTHING) -> Iterator[tuple[str, str]]:
    """What was met: a title, and its names with how often."""
    for title, names in possible(limits).items():
        met = [f"{name} {counts[f'{title}: {name}']}" for name in names if counts[f"{title}: {name}"]]
        yield title, ", ".join(met) or "nothing"
    left = {key.removeprefix("left: "): n for key, n in sorted(counts.items()) if key.startswith("left: ")}
    yield "doubts left to a person", ", ".join(f"{name} {n}" for name, n in left.items()) or "none"


def unmet(counts: Counter[str], limits: Limits = EVERYTHING) -> list[str]:
    """What was never met, though it could have been."""
    return [
        f"{title}: {name}"
        for title, names in possible(limits).items()
        for name in names
        if not counts[f"{title}: {name}"]
    ]
