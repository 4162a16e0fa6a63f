"""Would the exhaustive suite notice if somebody broke a rule of devices, policy, executor, journal or links?

Each mutant is put in place in a process of its own and must be caught by the sequence, or the test, that `TABLE.md`
names.
"""

import pytest

from tests.mutants.hook import broken
from tests.mutants.hunt import hunt
from tests.mutants.mutant import Mutant
from tests.mutants.table import FILE, MUTANTS, row

UNBROKEN = [
    Mutant("nothing", "agent.policy", "Rule 3: silence is not failure.", "Rule 3: silence is no failure.", by)
    for by in (
        "LSQ1 tier 1, no-retry, BEEP",
        "line over TCP, get-verify, void",
        "line over serial, get-verify, void",
        "tests/agent/test_policy_rules.py::test_rule[nothing left: not sent]",
    )
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.words)
def test_a_broken_rule_is_caught(mutant: Mutant) -> None:
    """The sequence of the table, which nobody can make shorter, leads to what must not be; or its test fails."""
    caught = hunt(mutant)
    assert caught.line is not None, f"survived {caught.played} sequences"
    found = row(mutant, caught)
    assert found in FILE.read_text(encoding="utf-8").splitlines(), (
        f"another sequence than the table's: {found}; if that is right: python -m tests.mutants --rewrite"
    )


@pytest.mark.parametrize("same", UNBROKEN, ids=lambda same: same.by)
def test_the_unbroken_product_is_clean(same: Mutant) -> None:
    """Replacing the text of a module does not by itself break anything: other words in a docstring change nothing."""
    caught = hunt(same)
    assert caught.line is None
    assert caught.played > 1 or same.is_tested


def test_the_table_names_every_mutant_once() -> None:
    """There are as many rows as mutants, and no two are the same."""
    rows = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert (
        len([line for line in rows if not line.startswith("| what is wrong")])
        == len(MUTANTS)
        == len({mutant.words for mutant in MUTANTS})
    )


def test_a_row_that_does_not_fit_the_source_is_refused() -> None:
    """A text that does not stand there exactly once breaks nothing unnoticed."""
    assert broken("a b", "b", "c", "m") == "a c"
    for text in ("a a", "b"):
        with pytest.raises(ValueError, match="must change with the source"):
            broken(text, "a", "c", "m")
