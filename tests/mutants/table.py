"""Which deliberate faults are there, and what is known about each? The rows, and `TABLE.md` beside this file."""

from collections.abc import Sequence
from pathlib import Path

from tests.mutants.catalog_rules import CATALOG_RULES
from tests.mutants.decision_rules import DECISION_RULES
from tests.mutants.device_rules import DEVICE_RULES
from tests.mutants.evidence_rules import EVIDENCE_RULES
from tests.mutants.hunt import Caught
from tests.mutants.keeping_rules import KEEPING_RULES
from tests.mutants.mutant import Mutant

MUTANTS = [*DEVICE_RULES, *DECISION_RULES, *EVIDENCE_RULES, *KEEPING_RULES, *CATALOG_RULES]
FILE = Path(__file__).with_name("TABLE.md")
_HEAD = """# Deliberate faults, and the sequences that catch them

Each row breaks one rule of the product. The exhaustive suite (`tests/exhaustive`) plays the sequences of one setup,
those with fewer faults first, until one leads to a false word, a second effect or a doubt that could have been avoided.
What no sequence of one command at one address can show is caught by a test, in the table at the end. Rules of the
policy that a single decision shows have their mutants in `tests/agent/test_policy_mutants.py`.

One rule of CATALOG 2 has no row, because no line of the product stands for it. *Direct* (a reading is not from a cache)
holds by construction: stations keep no value, so that each `Read` of the policy is a question on the wire. Whether an
intermediary answers from a cache of its own nobody can see from here.

Written by `python -m tests.mutants --rewrite`; `tests/mutants/test_mutants.py` compares.

| what is wrong | where | caught by the setup | with the sequence | sequences played |
|---|---|---|---|---|
"""
_TESTED_HEAD = """
| what is wrong | where | caught by the test |
|---|---|---|
"""


def row(mutant: Mutant, caught: Caught) -> str:
    """One line of the table."""
    if mutant.is_tested:
        return f"| {mutant.words} | `{mutant.module}` | `{caught.line}` |"
    return f"| {mutant.words} | `{mutant.module}` | {mutant.by} | {caught.line} | {caught.played} |"


def rewrite(rows: Sequence[str]) -> None:
    """Write the table anew, from the rows of all mutants."""
    found = list(zip(MUTANTS, rows, strict=True))
    played = "".join(f"{line}\n" for mutant, line in found if not mutant.is_tested)
    tested = "".join(f"{line}\n" for mutant, line in found if mutant.is_tested)
    FILE.write_text(_HEAD + played + _TESTED_HEAD + tested, encoding="utf-8")
