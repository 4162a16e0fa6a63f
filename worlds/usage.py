"""Which options of `ackonce simulate world` go together, and what do --faults and --keep name?

There are three sorts of runs: many worlds, the one of --seed, and one's own profiles with -i. Rule: what has no effect
in a run is never ignored, neither an option nor a name; it ends the run with exit code 2 before anything is played.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from devices.problems import UsageProblem, did_you_mean

if TYPE_CHECKING:
    from worlds.plan import Cut, Limits

MANY, ONE, OWN = "many worlds", "--seed", "-i"
EFFECTIVE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "--seeds": (MANY, OWN),
        "--first": (MANY,),
        "--seed": (ONE,),
        "--devices": (MANY, ONE),
        "--agents": (MANY, ONE),
        "--faults": (MANY, ONE),
        "--keep": (ONE,),
        "--shrink": (ONE,),
        "--processes": (MANY,),
        "--profile-dir": (OWN,),
        "--loss": (OWN,),
    }
)
"""In which sort of run each option does something."""
_ASKS_FOR = MappingProxyType({ONE: "--seed N", OWN: "-i FILE"})
_PLAYS = MappingProxyType(
    {ONE: "the one world of that seed", OWN: "your own profiles, without seeded worlds"}
)


def insist_that_they_go_together(given: Collection[str]) -> None:
    """Raises UsageProblem where an option has no effect beside the others. `given`: as typed, -i by its short name."""
    sort = OWN if "-i" in given else ONE if "--seed" in given else MANY
    idle = [option for option, sorts in EFFECTIVE.items() if option in given and sort not in sorts]
    if not idle:
        return
    if sort is not MANY:
        raise UsageProblem(
            f"{', '.join(idle)} and {sort} do not go together: {sort} plays {_PLAYS[sort]}",
            f"Leave out {', '.join(idle)}, or {sort}",
        )
    [needed] = EFFECTIVE[idle[0]]
    lacking = [option for option in idle if EFFECTIVE[option] == (needed,)]
    raise UsageProblem(
        f"{', '.join(lacking)} and many worlds do not go together",
        f"Add {_ASKS_FOR[needed]}, or leave out {', '.join(lacking)}",
    )


def faults_of(text: str | None) -> frozenset[str] | None:
    """The kinds of faults that --faults names; None: all of them. Raises UsageProblem."""
    if text is None:
        return None
    from worlds.plan import fault_kinds

    known = list(dict.fromkeys(fault_kinds()))
    every = f"Known: {', '.join(known)}"
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageProblem(f"--faults '{text}': a name is missing", f"Leave --faults out for all. {every}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageProblem(f"--faults names {', '.join(twice)} more than once", "Once is enough")
    unknown = sorted(set(names) - set(known))
    if unknown:
        meant = did_you_mean(unknown[0], known)
        hint = every if meant is None else f"{meant} {every}"
        raise UsageProblem(f"--faults: no kind of fault is called {', '.join(unknown)}", hint)
    return frozenset(names)


def cut_of(text: str | None, seed: int, limits: "Limits") -> "Cut":
    """What --keep leaves of the world of a seed. Raises UsageProblem."""
    from worlds.plan import NOTHING_CUT, Cut, plan_of
    from worlds.shrink import strangers

    if text is None:
        return NOTHING_CUT
    try:
        cut = Cut.parse(text)
    except ValueError as problem:
        raise UsageProblem(f"--keep: {problem}") from None
    if cut == NOTHING_CUT:
        raise UsageProblem("--keep names nothing", "Leave it out to play the whole world")
    unknown = strangers(seed, limits, cut)
    if unknown:
        raise UsageProblem(
            f"--keep: the world of seed {seed} has no {', '.join(unknown)}",
            "It has to be played with the same --devices, --agents and --faults; a change of the program can move "
            "parts, so find them anew without --keep, with --shrink",
        )
    if not plan_of(seed, limits).cut(cut).batches:
        raise UsageProblem("--keep leaves no command to play", "Keep at least one of jobs=…")
    return cut
