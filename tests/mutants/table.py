"""Which deliberate faults are there, and what is known about each? The rows, and `TABLE.md` beside this file."""

from collections.abc import Iterable
from pathlib import Path

from tests.mutants.decision_rules import DECISION_RULES
from tests.mutants.device_rules import DEVICE_RULES
from tests.mutants.evidence_rules import EVIDENCE_RULES
from tests.mutants.hunt import Caught
from tests.mutants.keeping_rules import KEEPING_RULES
from tests.mutants.mutant import Mutant

MUTANTS = [*DEVICE_RULES, *DECISION_RULES, *EVIDENCE_RULES, *KEEPING_RULES]
FILE = Path(__file__).with_name("TABLE.md")
_HEAD = """# Deliberate faults, and the sequences that catch them

Each row breaks one rule of the product. The exhaustive suite (`tests/exhaustive`) plays the sequences of one setup,
those with fewer faults first, until one leads to a false word, a second effect or a doubt that could have been avoided.
Written by `python -m tests.mutants --rewrite`; `tests/mutants/test_mutants.py` compares.

| what is wrong | where | caught by the setup | with the sequence | sequences played |
|---|---|---|---|---|
"""


def row(mutant: Mutant, caught: Caught) -> str:
    """One line of the table."""
    return f"| {mutant.words} | `{mutant.module}` | {mutant.setup} | {caught.line} | {caught.played} |"


def rewrite(rows: Iterable[str]) -> None:
    """Write the table anew."""
    FILE.write_text(_HEAD + "\n".join(rows) + "\n", encoding="utf-8")
