"""What did the worlds of a campaign meet, and what did they never meet?

A world that never comes to a case says nothing about it. So everything is counted by kind and combination: faults by
the sort of equipment that they struck, ends and standstills of processes by phase, words by policy, doubts that were
left by policy. What could have been met and was not is listed.
"""

from collections import Counter
from collections.abc import Iterator

from devices.kinds import Policy
from worlds.history import Phase
from worlds.plan import AROUND, WAYS
from worlds.sorts import sorts

WORDS = ("applied", "refused", "not_sent", "not_applied", "in_doubt")
ENDS = ("killed", "frozen")


def possible() -> dict[str, list[str]]:
    """Everything that could be met, by title."""
    return {
        "around": list(AROUND),
        **{f"fault on {sort.name}": [*WAYS, *map(str, sort.faults)] for sort in sorts()},
        **{f"process {end}": [str(phase) for phase in Phase] for end in ENDS},
        **{f"word of {policy}": list(WORDS) for policy in Policy},
    }


def table(counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """What was met: a title, and its names with how often."""
    for title, names in possible().items():
        met = [f"{name} {counts[f'{title}: {name}']}" for name in names if counts[f"{title}: {name}"]]
        yield title, ", ".join(met) or "nothing"
    left = {key.removeprefix("left: "): n for key, n in sorted(counts.items()) if key.startswith("left: ")}
    yield "doubts left to a person", ", ".join(f"{name} {n}" for name, n in left.items()) or "none"


def unmet(counts: Counter[str]) -> list[str]:
    """What was never met."""
    return [
        f"{title}: {name}"
        for title, names in possible().items()
        for name in names
        if not counts[f"{title}: {name}"]
    ]
