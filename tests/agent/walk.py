"""How is a whole game tree walked once?

Positions are merged where nothing that the policy or the judge can ever ask about differs. `outlook` names what that
is: counts are cut off at their limits, connections count only by which of them are the same. With
`check_merges` the walk checks, wherever two positions are merged, that the policy answers both alike.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from agent.evidence import Acked, Booted, Burnt, Evidence, GiveUp, Nakked, Spent, TakenUp
from agent.operation import Outcome, Terms
from agent.reckoning import View
from agent.steps import Finish, Send, Settle, Step
from tests.agent.game import Brain, Setup, answers, intrusions
from tests.agent.judge import Judge, learn


@dataclass(frozen=True, slots=True)
class Position:
    """A position on the walk: the facts, what the judge makes of them, and what the policy wants."""

    setup: Setup
    facts: list[Evidence]
    judge: Judge
    view: View
    step: Step


@dataclass(slots=True)
class Walk:
    """Visits every position of one setup. `visit` asserts what must hold there."""

    setup: Setup
    visit: Callable[[Position], None]
    brain: Brain = field(default_factory=Brain)
    check_merges: bool = False
    depths: dict[Hashable, int] = field(default_factory=dict)
    steps: dict[Hashable, Hashable] = field(default_factory=dict)
    open: set[Hashable] = field(default_factory=set)

    def run(self) -> int:
        """Walk from the beginning; returns the length of the longest game."""
        return self._from([], Judge())

    def _from(self, facts: list[Evidence], judge: Judge) -> int:
        terms = self.setup.terms
        view = self.brain.reckon(facts)
        key = (outlook(terms, view), judge, _intrusions_so_far(facts))
        if key in self.open:
            raise AssertionError(f"{self.setup.name}: the game never ends: {facts}")
        if key in self.depths:
            if self.check_merges:
                step = self.brain.decide(terms, view)
                assert _nature(step) == self.steps[key], (self.setup.name, facts)
            return self.depths[key]
        step = self.brain.decide(terms, view)
        self.visit(Position(self.setup, facts, judge, view, step))
        self.open.add(key)
        longest = 0
        for more in self._answers(facts, step):
            after = judge
            for fact in more:
                after = learn(terms, after, fact)
            longest = max(longest, 1 + self._from([*facts, *more], after))
        self.open.discard(key)
        self.depths[key] = longest
        self.steps[key] = _nature(step)
        return longest

    def _answers(self, facts: list[Evidence], step: Step) -> Iterator[tuple[Evidence, ...]]:
        yield from answers(self.setup, facts, step)
        if not isinstance(step, Finish) or step.outcome is Outcome.IN_DOUBT:
            yield from intrusions(self.setup, facts, step)


def outlook(terms: Terms, v: View) -> Hashable:
    """All of a view that can matter to any later step."""
    places: dict[int | None, int] = {}
    copies = [v.copies[0].conn, v.copies[-1].conn] if v.copies else []
    conns = [places.setdefault(c, len(places)) for c in (v.conn, v.baseline_conn, *copies)]
    late_s = terms.late_max_s
    refused = isinstance(v.word, Nakked) and (v.taken == 1 or not terms.idempotent)
    quiet = [look.waited_s >= late_s or (refused and look.conn == copies[-1]) for look in v.readings]
    looks = (
        *(
            (look.value, places.setdefault(look.conn, len(places)), ordered, v.waits > look.waits, look.owed)
            for look, ordered in list(zip(v.readings, quiet, strict=True))[-2:]
        ),
        (len(v.readings) > 1 and v.readings[-1].waits > v.readings[-2].waits, len(quiet), sum(quiet)),
    )
    n = v.number
    number = n and (
        n.seq == 1,
        n.life.boot,
        n.life.opening is None,
        min(n.copies, 2),
        n.copies == len(v.copies),
    )
    shown = n and n.shown and (n.shown.digest, n.shown.status)
    learnt = n and (shown, n.turned_away, n.unused)
    here = v.connected and (v.connected.boot, v.connected.session is None, v.connected.durable)
    seen = (here, n is not None and v.connected is not None and v.connected.session == n.session)
    return (
        (seen, v.conn is None, tuple(conns), v.opening_failed is None, min(len(v.copies), 2)),
        (number, learnt, min(v.numbers, terms.attempts_max), v.earlier_open, _plain(v.word)),
        (
            min(v.silent + v.unsent, terms.attempts_max),
            min(v.silent_here, 2),
            min(v.deferred_s, terms.busy_max_s),
        ),
        (v.bad_session is not None, v.hello_since_bad_session, v.settles_lost, v.settle_lost_here),
        (v.settle_held, v.hello_is_news, v.same_session, min(v.unsent, terms.attempts_max)),
        (tuple(v.baselines.items()), looks, v.boot_after, v.owes_copy, v.owes_read, v.booted),
        (min(v.failed_reads, terms.attempts_max), v.problem),
        (terms.if_needed and v.waits > 0, terms.if_needed and v.baseline_waits > 0),
        (min(v.waited_s, late_s), v.given_up is None),
        (min(v.taken, 2), v.there_before, tuple(v.there)),
    )


def _intrusions_so_far(facts: list[Evidence]) -> frozenset[type]:
    kinds: set[type] = {GiveUp, TakenUp, Booted}
    came = {type(fact) for fact in facts}
    return frozenset(came.intersection(kinds))


def _plain(word: Acked | Nakked | Burnt | Spent | None) -> Hashable:
    match word:
        case Spent(by=by, status=status):
            return (Spent, by, status)
        case Acked(duplicate=duplicate, queued=queued):
            return (Acked, duplicate, queued)
    return None if word is None else word.__class__.__name__


def _nature(step: Step) -> Hashable:
    """What a step does, without the counts, names and sentences that are for logs."""
    match step:
        case Send(text=text, number=number):
            return (Send, text, number is None)
        case Settle():
            return Settle
        case Finish(outcome=outcome, proof=proof, cause=cause):
            return (Finish, outcome, proof, cause)
    return step
