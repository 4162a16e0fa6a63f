"""Does the policy keep its promises in every position of every game?

The whole finite space: each setup is walked to its last position, with every answer that each step can have, and with
giving up, being taken up again and a start of the device anywhere between two steps. The words are compared with those
of a judge that has read the same papers and knows nothing of the policy.
"""

from functools import partial

import pytest

from agent.evidence import Acked, BadSession, Evidence, GiveUp, TakenUp
from agent.operation import Outcome
from agent.steps import Finish, Send, step_text
from devices.kinds import Policy
from tests.agent.game import Brain, Setup, left
from tests.agent.judge import is_as_before, shows_baseline, stands_already, unreliable, untaken, words
from tests.agent.setups import SETUPS
from tests.agent.walk import Position, Walk

STEPS_MAX = 100
"""No game is longer, whatever happens."""


def is_wanted(facts: list[Evidence]) -> bool:
    """Somebody still asks for the command: the last fact about it decides."""
    for fact in reversed(facts):
        match fact:
            case GiveUp():
                return False
            case TakenUp(resend=resend):
                return resend
    return True


def check_position(at: Position) -> None:
    """Assert all that must hold of the policy's step at a position."""
    assert step_text(at.step)
    match at.step:
        case Send():
            check_send(at, at.step)
        case Finish():
            check_word(at, at.step)


def check_send(at: Position, step: Send) -> None:
    """Nothing is sent that nobody wants, twice under two numbers, or where an old copy could still arrive."""
    terms, facts, judge = at.setup.terms, at.facts, at.judge
    copies = left(facts)
    where = (at.setup.name, facts)
    assert is_wanted(facts), where
    assert step.attempt == len(copies) + 1, where
    if not copies:
        assert step.number is None, where
        assert not stands_already(terms, judge), where
        return
    assert step.text == copies[0].text, where
    if untaken(terms, judge):
        return
    assert terms.policy is not Policy.NO_RETRY, where
    assert not any(isinstance(fact, Acked) for fact in facts), where
    if not at.setup.numbered:
        assert not judge.owed_copy, where
        assert not judge.owed_read, where
        # What a restart undid is set again: the target is absolute, and was computed once.
        undone = terms.form is not None and is_as_before(terms, judge)
        assert terms.idempotent or undone or shows_baseline(terms, judge), where
    elif step.number is not None:
        assert step.number == (copies[-1].session, copies[-1].seq), where
    elif not terms.idempotent:
        turned_away = facts[facts.index(copies[0]) + 1]
        assert len(copies) == 1, where
        assert isinstance(turned_away, BadSession), where
        assert turned_away.to == "cmd", where


def check_word(at: Position, step: Finish) -> None:
    """The word is one that the evidence allows, and a doubt stands only where it allows none."""
    where = (at.setup.name, step, at.facts)
    if not left(at.facts):
        if step.outcome is Outcome.UNCHANGED:
            assert stands_already(at.setup.terms, at.judge), where
            return
        assert step.outcome is Outcome.NOT_SENT, where
        assert step.cause is not None, where
        return
    allowed = words(at.setup.terms, at.judge)
    if step.outcome is Outcome.IN_DOUBT:
        assert not allowed or unreliable(at.judge), (*where, allowed)
    else:
        assert step.outcome in allowed, (*where, allowed)


def check_final(at: Position, brain: Brain) -> None:
    """A word other than a doubt stays when the question is dropped afterwards."""
    if not isinstance(at.step, Finish) or at.step.outcome in (Outcome.IN_DOUBT, Outcome.NOT_SENT):
        return
    later = brain.next_step(at.setup.terms, [*at.facts, GiveUp("late")])
    assert isinstance(later, Finish), (at.setup.name, at.facts)
    assert later.outcome is at.step.outcome, (at.setup.name, at.facts)


def check(at: Position, brain: Brain) -> None:
    """Everything that a position must fulfil."""
    check_position(at)
    check_final(at, brain)


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_every_position_keeps_the_promises(setup: Setup) -> None:
    """In every reachable position the step is safe, the word true, the doubt unavoidable, and every game ends."""
    brain = Brain()
    walk = Walk(setup, partial(check, brain=brain), brain, check_merges=setup.terms.attempts_max == 2)
    longest = walk.run()
    print(f"{len(walk.depths)} positions, longest game {longest} steps: {setup.name}")
    assert 0 < longest <= STEPS_MAX
