"""Is it told what worlds met and what they never met?"""

from collections import Counter

from worlds.coverage import possible, table, unmet
from worlds.disk import Disk
from worlds.history import History, Phase
from worlds.plan import TO, WAYS, Limits, fault_kinds, plan_of
from worlds.records import Word
from worlds.run import run_seed
from worlds.sorts import sorts


def test_no_name_is_a_fault_of_the_way_and_of_the_device() -> None:
    """One counter counts one thing, and each kind can be switched on alone."""
    assert not {*WAYS} & {str(name) for sort in sorts() for name in sort.faults}
    assert len(set(fault_kinds())) == len(fault_kinds())
    assert set(TO) < set(WAYS)


def test_what_was_switched_off_is_not_missed() -> None:
    """With limits only what they allow is listed, as met and as never met."""
    limits = Limits(faults=frozenset({"crash", "lost"}))
    counts = Counter({"around: crash": 3, "fault on lsq: lost": 2})
    missing = unmet(counts, limits)
    assert "fault on line: lost" in missing
    assert f"process killed: {Phase.SILENCE}" in missing
    assert not any(name.startswith(("around", "process frozen", "fault on lsq")) for name in missing)
    assert ("around", "crash 3") in table(counts, limits)
    assert set(missing) < set(unmet(counts))
    assert possible(limits)["fault on lsq"] == ["lost"]


def test_nothing_counts_once_everything_is_healed() -> None:
    """What the healing does is no case that the worlds came to, nor is a person's word one of a policy."""
    limits = Limits(faults=frozenset({"lost"}))
    run = run_seed(0, limits)
    assert not [name for name in run.counts if name.startswith(("around", "process"))]
    asked = sum(len(batch.jobs) for batch in plan_of(0, limits).batches)
    assert 0 < words(run.counts) <= asked


def test_a_person_is_no_policy() -> None:
    """What a person decided is no word of the policy that left the doubt."""
    history = History(lambda: 0.0, Disk(1))
    for proof in ("person", "ack"):
        history.told(Word("OP1", 0, "applied", proof, "", 0.0, "p", "", None, 1, None, None, None))
    assert words(history.counts) == 1


def words(counts: Counter[str]) -> int:
    """How many words of policies were counted."""
    return sum(n for name, n in counts.items() if name.startswith("word of"))
