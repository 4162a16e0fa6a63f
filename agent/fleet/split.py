"""Do the agents fall into groups that see within but not across?

Such a split is of the network between them, and neither side can tell who is cut off: by votes each would exclude the
other, and each witness would be unreliable in the eyes of the other side. So it is named, and nobody is excluded by
vote while it lasts. Agents belong together where one of them sees the other; where no agent looks at any other, where
they see the same device. One agent alone is no group: about that the witnesses speak.
"""

from collections.abc import Collection, Mapping, Sequence

from agent.fleet.facts import agent_target
from agent.fleet.pairs import Pair, Sight

GROUP_MIN = 2
"""So many agents make a group."""


def groups(
    pairs: Mapping[str, Sequence[Pair]], agents: Collection[str], ignored: Collection[str]
) -> tuple[frozenset[str], ...]:
    """The groups that the agents have fallen into, by name; empty where there is no split.

    Args:
        pairs: the pairs by target.
        agents: the names of all agents.
        ignored: whose word does not count.
    """
    names = {agent_target(name) for name in agents}
    mesh = {target: known for target, known in pairs.items() if target in names and known}
    home = _components(mesh or pairs, ignored)
    members: dict[str, set[str]] = {}
    for name in agents:
        root = home.get(agent_target(name))
        if root is not None:
            members.setdefault(root, set()).add(name)
    large = {root: frozenset(group) for root, group in members.items() if len(group) >= GROUP_MIN}
    cut = set()
    for target, known in (mesh or pairs).items():
        there = home.get(target)
        for pair in known:
            here = home.get(agent_target(pair.observer))
            if pair.sight is Sight.FAILS and pair.observer not in ignored and here != there:
                cut |= {here, there} if here in large and there in large else set()
    apart = [group for root, group in large.items() if root in cut]
    return tuple(sorted(apart, key=sorted))


def _components(pairs: Mapping[str, Sequence[Pair]], ignored: Collection[str]) -> dict[str, str]:
    """Each target, and each observer as a target, with the root of what it is joined to by seeing."""
    parent: dict[str, str] = {}

    def root(of: str) -> str:
        parent.setdefault(of, of)
        while parent[of] != of:
            parent[of] = parent[parent[of]]
            of = parent[of]
        return of

    for target, known in pairs.items():
        for pair in known:
            if pair.sight is Sight.SEES and pair.observer not in ignored:
                parent[root(agent_target(pair.observer))] = root(target)
    return {each: root(each) for each in list(parent)}
