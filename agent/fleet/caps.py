"""Which targets are excluded from new work now? Do no harm: a vote may be wrong, and many at once most likely are.

Votes and references newly exclude no more than `fleet_cap` of the fleet within `cap_s`, one at least, and no more than
`group_cap` of a route group at any time, so that a lone route stays. What goes beyond stays in use, and one alarm says
so. What reports itself unavailable is excluded without a limit: it is its own word. What was excluded before stays so
while its verdict says so; what has healed is free at once.
"""

from collections.abc import Mapping, Sequence

from agent.fleet import wording
from agent.fleet.facts import Params, name_of
from agent.fleet.verdict import Fleet, Status

_BY_VOTES = frozenset({Status.UNREACHABLE, Status.UNREACHABLE_FROM})


def limit_exclusions(
    fleet: Fleet,
    before: Mapping[str, float],
    groups: Mapping[str, Sequence[str]],
    now_s: float,
    params: Params = Params(),  # noqa: B008 - it is frozen
) -> tuple[frozenset[str], tuple[str, ...]]:
    """The targets that get no new work, and what is to be told about the limits.

    Args:
        fleet: the verdicts of now.
        before: when each target was last newly excluded by votes, in the same seconds as `now_s`; those that have
            healed since count for `cap_s` too.
        groups: the targets that can stand in for each other, by the name of their route group.
        now_s: the moment.
        params: the limits.

    Returns:
        The excluded targets, of which an `unreachable_from` one is excluded for its vantages only; and at most one
        alarm, if more would be excluded than may be.
    """
    own_word = {target for target, found in fleet.verdicts.items() if found.status is Status.UNAVAILABLE}
    by_votes = [target for target, found in fleet.verdicts.items() if found.status in _BY_VOTES]
    excluded = own_word | {target for target in by_votes if target in before}
    recent = sum(now_s - since_s < params.cap_s for since_s in before.values())
    room = max(1, int(len(fleet.verdicts) * params.fleet_cap)) - recent
    spared = []
    # The best supported first; the name decides the rest, so that every agent comes to the same.
    for target in sorted(by_votes, key=lambda each: (-len(fleet.verdicts[each].fails), each)):
        if target in excluded:
            continue
        if room > 0 and all(_leaves_enough(target, group, excluded, params) for group in groups.values()):
            excluded.add(target)
            room -= 1
        else:
            spared.append(target)
    return frozenset(excluded), _alarm(spared, len(by_votes), params)


def _leaves_enough(target: str, group: Sequence[str], excluded: set[str], params: Params) -> bool:
    """The group can spare the target beside what it misses already."""
    if target not in group:
        return True
    missing = sum(each in excluded for each in group)
    return missing + 1 <= len(group) * params.group_cap


def _alarm(spared: Sequence[str], found: int, params: Params) -> tuple[str, ...]:
    if not spared:
        return ()
    names = wording.listed([name_of(target) for target in spared])
    told = (
        f"{len(spared)} of {found} that were found unreachable stay in use: {names}. Votes exclude at most "
        f"{params.fleet_cap:.0%} of the fleet per {params.cap_s:.0f} s and {params.group_cap:.0%} of a route group; "
        "when so many fail together, look at the network between them first"
    )
    return (told,)
