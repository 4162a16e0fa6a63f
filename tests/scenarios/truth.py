"""Was every word of a story true? The devices' ledgers are the judge, after everything late has arrived.

1. `applied` was executed, and a cumulative command as often as there are such words, not once more but for doubts.
2. `refused`, `not_applied`, `not_sent`, `unchanged` were not executed.
3. A word stays, but for a doubt that finds its end, and a person's word that the device proves wrong.
4. A device that is not ours executed nothing.

A person's word may be wrong: it counts as a doubt.
"""

from collections import defaultdict
from collections.abc import Sequence

from agent.evidence import Sent
from agent.operation import Operation, Outcome, Proof, Result
from tests.scenarios.stage import Stage

UNSURE = (Outcome.IN_DOUBT, None)


def ledgers(stage: Stage) -> list[str]:
    """What every device has executed, how often, and which values are others than at its first start."""
    lines = []
    for serial, device in stage.devices.items():
        front = f"{serial}: " if len(stage.devices) > 1 else ""
        texts = dict.fromkeys(entry.text for entry in device.ledger.entries)
        lines += [f"{front}{device.ledger.count(text)} x {text}" for text in texts] or [f"{front}nothing"]
        fresh = stage.setup.device(serial).values()
        lines += [
            f"{front}{name} is {value}, was {fresh[name]}"
            for name, value in device.values().items()
            if value != fresh[name]
        ]
    return lines


def judge(stage: Stage) -> None:
    """Compare every word with the ledgers. Raises AssertionError."""
    words: dict[str, list[tuple[Operation, Outcome | None]]] = defaultdict(list)
    known = _known(stage)
    for op, (operation, texts, result) in known.items():
        told = stage.words.get(op, [])
        _stays(op, [*told, *([result] if result is not None else [])])
        last = result or (told[-1] if told else None)
        unsure = last is None or last.proof is Proof.PERSON
        for text in texts:
            words[text].append((operation, None if unsure or last is None else last.outcome))
    ours = stage.device.ledger
    for text in words | dict.fromkeys(entry.text for entry in ours.entries):
        _judge_text(text, words.get(text, []), ours.count(text))
    for serial, device in stage.devices.items():
        assert device is stage.device or not device.ledger, f"{serial} was told to act"


def _known(stage: Stage) -> dict[str, tuple[Operation, set[str], Result | None]]:
    """Every operation of every store and of the story, the texts that were sent for it, and its word in the journal."""
    known: dict[str, tuple[Operation, set[str], Result | None]] = {
        op: (operation, {operation.terms.text}, None) for op, operation in stage.ordered.items()
    }
    for agent in stage.agents.values():
        journal = agent.service.journal
        for (op,) in agent.service.database.read("SELECT op FROM operation"):
            [entry] = journal.find(op)
            sent = {fact.text for _, fact, _ in journal.story(op) if isinstance(fact, Sent)}
            known[op] = (entry.operation, sent or {entry.operation.terms.text}, entry.result)
    return known


def _stays(op: str, results: Sequence[Result]) -> None:
    final = {r.outcome for r in results if r.outcome is not Outcome.IN_DOUBT and r.proof is not Proof.PERSON}
    assert len(final) <= 1, f"{op} was said to be {' and '.join(sorted(final))}"


def _judge_text(text: str, words: Sequence[tuple[Operation, Outcome | None]], executed: int) -> None:
    applied = sum(outcome is Outcome.APPLIED for _, outcome in words)
    unsure = sum(outcome in UNSURE for _, outcome in words)
    said = f"'{text}' was executed {executed} times, with {applied} times applied and {unsure} times in doubt"
    if any(operation.terms.idempotent or operation.terms.form is not None for operation, _ in words):
        assert bool(applied) <= bool(executed) <= bool(applied + unsure), said
    else:
        assert applied <= executed <= applied + unsure, said
