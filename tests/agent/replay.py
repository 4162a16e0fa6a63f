"""Does the policy decide again what it once decided? Every journal of every test can be asked."""

import json
from pathlib import Path

from agent.evidence import Evidence, fact_of
from agent.operation import Terms
from agent.policy import next_step
from agent.steps import Finish, step_text
from agent.store.sqlite import open_database


def assert_replays(home: Path) -> int:
    """Replay every decision in the store of `home` from the evidence before it; returns how many there were.

    A decision is a recorded step, or the outcome of a closed operation. Raises AssertionError on the first other one.
    """
    database = open_database(home)
    try:
        decisions = 0
        for op, terms_text, outcome in database.read("SELECT op, terms, outcome FROM operation ORDER BY op"):
            terms = Terms.from_json(terms_text)
            facts: list[Evidence] = []
            rows = database.read("SELECT step, kind, fields FROM evidence WHERE op = ? ORDER BY n", (op,))
            for step, kind, fields in rows:
                if step is not None:
                    assert step_text(next_step(terms, facts)) == step, f"{op}, fact {len(facts)}"
                    decisions += 1
                facts.append(fact_of(kind, json.loads(fields)))
            if outcome is not None:
                word = next_step(terms, facts)
                assert isinstance(word, Finish), f"{op} is closed as {outcome}, the policy wants {word}"
                assert word.outcome == outcome, op
                decisions += 1
        return decisions
    finally:
        database.close()
