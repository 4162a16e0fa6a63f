"""Is the word true, whatever the network and the device do?

Every play of the truth model is played to its end against the real policy, with one taking-up anywhere and one start of
the device anywhere. The oracle is the device's own count of executions, also after all late copies have arrived.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import pytest

from agent.evidence import Connected, Evidence, GiveUp, Sent, TakenUp
from agent.operation import Numbering, Outcome
from agent.steps import Finish
from devices.kinds import Policy
from tests.agent.game import Brain, Setup
from tests.agent.setups import ADJUST, SET, TARGET, started, telling_more, unnumbered
from tests.agent.truth import World, endings, moves
from tests.agent.walk import outlook

PLAIN_SET = replace(SET, numbering=Numbering.NONE, readback=TARGET)

VERIFY, VOLATILE = unnumbered(Policy.GET_VERIFY, durable=True), unnumbered(Policy.GET_VERIFY, durable=False)
COUNTED = replace(unnumbered(Policy.GET_VERIFY, durable=False, boot_query=True), attempts_max=2)
FORM = unnumbered(Policy.READ_THEN_SET, durable=True)

NUMBERED = [
    Setup("LSQ1 tier 1, cumulative", ADJUST),
    Setup("LSQ1 tier 2, cumulative", ADJUST, durable=True),
    Setup("LSQ1 tier 1, no-retry", replace(ADJUST, policy=Policy.NO_RETRY)),
    Setup("LSQ1 tier 1, idempotent", replace(SET, attempts_max=2)),
    Setup("LSQ1 tier 2, idempotent", replace(SET, attempts_max=2), durable=True),
]
PLAIN = {
    "no-retry": replace(ADJUST, policy=Policy.NO_RETRY, numbering=Numbering.NONE),
    "resend": PLAIN_SET,
    "resend, if needed": replace(PLAIN_SET, if_needed=True, attempts_max=1),
    "get-verify durable": VERIFY,
    "get-verify volatile": VOLATILE,
    "get-verify volatile, boot count": COUNTED,
    "read-then-set durable": FORM,
    "read-then-set volatile, start known": replace(started(Policy.READ_THEN_SET, "10"), attempts_max=1),
    "get-verify volatile, start known": replace(started(Policy.GET_VERIFY, "10"), attempts_max=1),
    "get-verify durable, told apart": replace(VERIFY, apart=True, attempts_max=1),
    "get-verify volatile, told apart": replace(VOLATILE, apart=True, attempts_max=1),
    "read-then-set durable, told apart": replace(FORM, apart=True, attempts_max=1),
}
TRUTHS = [
    *NUMBERED,
    *(Setup(name, terms) for name, terms in PLAIN.items()),
    *(
        Setup(
            f"{name}, serial",
            replace(terms, survives_reopen=True, attempts_max=min(2, terms.attempts_max)),
        )
        for name, terms in PLAIN.items()
    ),
]

TRUTHS += [setup for setup in telling_more() if "nak" not in setup.name]

NEVER_RAN = (Outcome.REFUSED, Outcome.NOT_SENT, Outcome.NOT_APPLIED)


@dataclass(slots=True)
class Play:
    """All plays of one setup."""

    setup: Setup
    brain: Brain = field(default_factory=Brain)
    seen: set[Hashable] = field(default_factory=set)
    ends: int = 0

    def go(self, facts: list[Evidence], world: World) -> None:
        """Play on from here."""
        view = self.brain.reckon(facts)
        key = (outlook(self.setup.terms, view), replace(world, conn=0), _intruded(facts))
        if key in self.seen:
            return
        self.seen.add(key)
        check_count(self.setup, facts, world)
        step = self.brain.next_step(self.setup.terms, facts)
        if isinstance(step, Finish):
            self.ends += 1
            check_truth(self.setup, step, facts, world)
            if step.outcome is not Outcome.IN_DOUBT:
                return
        for after, more in moves(self.setup, world, step):
            self.go([*facts, *more], _remember(after, more))
            if isinstance(more[0], Sent) and not any(isinstance(fact, TakenUp) for fact in facts):
                self.go([*facts, more[0], TakenUp(resend=True)], _remember(after, more))
        if not any(isinstance(fact, TakenUp) for fact in facts):
            self.go([*facts, TakenUp(resend=True)], world)
            self.go([*facts, TakenUp(resend=False)], world)
        if not isinstance(step, Finish) and not any(isinstance(fact, GiveUp) for fact in facts):
            self.go([*facts, GiveUp("Ctrl-C")], world)


def _remember(world: World, facts: tuple[Evidence, ...]) -> World:
    """The session that the agent was last told, which its next number belongs to."""
    for fact in facts:
        if isinstance(fact, Connected) and fact.session is not None:
            world = replace(world, life=fact.session)
    return world


def _intruded(facts: list[Evidence]) -> tuple[bool, bool]:
    kinds = {type(fact) for fact in facts}
    return GiveUp in kinds, TakenUp in kinds


def check_count(setup: Setup, facts: list[Evidence], world: World) -> None:
    """A cumulative command is executed once at most."""
    absolute_form = setup.terms.form is not None
    assert world.executed <= 1 or setup.terms.idempotent or absolute_form, (setup.name, facts, world)


def check_truth(setup: Setup, step: Finish, facts: list[Evidence], world: World) -> None:
    """The word holds now, and after everything that is still under way has arrived or got lost."""
    for end in (world, *endings(setup, world)):
        check_count(setup, facts, end)
        if step.outcome in NEVER_RAN:
            assert end.executed == 0, (setup.name, step, facts, end)
        if step.outcome is Outcome.APPLIED:
            assert end.executed >= 1, (setup.name, step, facts, end)


@pytest.mark.parametrize("setup", TRUTHS, ids=lambda setup: setup.name)
def test_no_play_ends_in_a_false_word(setup: Setup) -> None:
    """In every play the device's own count of executions agrees with the word, also after the last late copy."""
    play = Play(setup)
    play.go([], World())
    print(f"{len(play.seen)} positions, {play.ends} ends: {setup.name}")
    assert play.ends > 0
