"""How many independent observers fail to reach a target, and how many see it?

One vote per uplink: agents behind one way out fail together when it does, so they say one thing. Where one of them sees
the target, that is what they say.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.facts import AgentFacts, Params
from agent.fleet.pairs import Pair, Sight


@dataclass(frozen=True, slots=True)
class Votes:
    """Independent observers: how many fail, how many see, of how many in all."""

    fails: int
    sees: int
    of: int

    def condemn(self, params: Params) -> bool:
        """A quorum fails, and more fail than see."""
        return self.fails >= params.quorum and self.fails > self.sees


def count(pairs: Iterable[Pair], agents: Mapping[str, AgentFacts]) -> Votes:
    """The votes of these pairs, all about one target."""
    best: dict[tuple[bool, str], Sight] = {}
    for pair in pairs:
        uplink = agents[pair.observer].uplink
        key = (bool(uplink), uplink or pair.observer)
        best[key] = max(pair.sight, best.get(key, Sight.FAILS))
    said = list(best.values())
    return Votes(said.count(Sight.FAILS), said.count(Sight.SEES), len(said))


def blocked_vantages(
    pairs: Sequence[Pair], agents: Mapping[str, AgentFacts], params: Params
) -> dict[str, Votes]:
    """The vantages from which a quorum of its own fails, and outnumbers who sees the target there."""
    there: dict[str, list[Pair]] = {}
    for pair in pairs:
        if agents[pair.observer].vantage:
            there.setdefault(agents[pair.observer].vantage, []).append(pair)
    votes = {vantage: count(of_it, agents) for vantage, of_it in sorted(there.items())}
    return {vantage: each for vantage, each in votes.items() if each.condemn(params)}
