"""Are worlds true, and does a seed always come to the same?"""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from worlds.disk import Disk, make_tables
from worlds.jobs import CLOSE_S
from worlds.plan import Cut, Limits, Plan, plan_of
from worlds.run import run_seed

LIMITS = Limits()
SEED = int(os.environ.get("ACKONCE_SEED", "1"), 16) % 1_000_000
"""Where the worlds of this run begin, besides the fixed ones."""


@pytest.mark.parametrize("first", [*range(0, 60, 20), SEED])
def test_every_word_is_true_whatever_goes_wrong(first: int) -> None:
    """Commands take effect at most once, every word is true and no doubt could have been avoided, in twenty worlds."""
    for seed in range(first, first + 20):
        assert run_seed(seed, LIMITS).violations == [], f"ackonce simulate world --seed {seed}"


def test_a_seed_tells_one_story_in_every_process() -> None:
    """The trace of a seed is the same in another process with another hash seed."""
    script = (
        "from worlds.run import run_seed; from worlds.plan import Limits; "
        "print(*(run_seed(n, Limits()).trace for n in range(8)))"
    )
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert other.stdout.split() == [run_seed(seed, LIMITS).trace for seed in range(8)]


def test_the_store_in_memory_behaves_as_one_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worlds on a real database file tell the same stories as worlds in memory."""
    seeds = [n for n in range(60) if not plan_of(n, LIMITS).kinds & {"power_cut", "restore"}][:10]
    in_memory = [run_seed(seed, LIMITS).trace for seed in seeds]
    files = iter(range(100))

    def on_a_file(agent_id: int) -> Disk:
        connection = sqlite3.connect(tmp_path / f"{next(files)}.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
        make_tables(connection)
        return Disk(agent_id, connection)

    monkeypatch.setattr("worlds.world.Disk", on_a_file)
    assert [run_seed(seed, LIMITS).trace for seed in seeds] == in_memory


def test_what_is_cut_out_does_not_happen() -> None:
    """A world without jobs, incidents and hits is healed at once."""
    run = run_seed(3, LIMITS, Cut(frozenset(), frozenset(), frozenset()), keep_story=True)
    assert run.violations == []
    assert run.hits == []
    assert [line.what for line in run.lines][:3] == ["healed", "started", "exits"]


def test_a_cut_to_everything_changes_nothing() -> None:
    """Keeping every hit, job and incident by name tells the same story."""
    plan, whole = plan_of(7, LIMITS), run_seed(7, LIMITS)
    cut = Cut(
        frozenset(whole.hits),
        frozenset(job.number for batch in plan.batches for job in batch.jobs),
        frozenset(each.number for each in plan.incidents),
    )
    assert run_seed(7, LIMITS, Cut.parse(str(cut))).trace == whole.trace


@pytest.mark.parametrize("text", ["", "hits=d0.cmd.3,d1.to.2 jobs=1,2", "jobs=none incidents=4"])
def test_a_cut_can_be_typed(text: str) -> None:
    """What a cut says of itself is read back as the same cut."""
    assert str(Cut.parse(text)) == text


@pytest.mark.parametrize("text", ["jobs", "jobs=x", "words=1"])
def test_a_cut_that_makes_no_sense_is_refused(text: str) -> None:
    """Anything else is a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        Cut.parse(text)


def test_commands_meet_each_other() -> None:
    """Devices get bursts of commands, values come again, and batches follow or overlap each other closely."""
    plans = list(map(partial(plan_of, limits=LIMITS), range(100)))
    batches = [batch for plan in plans for batch in plan.batches]
    bursts = [
        batch for batch in batches if len(batch.jobs) > 2 and len({job.device for job in batch.jobs}) == 1
    ]
    assert len(bursts) > len(batches) // 4
    again = [plan for plan in plans if any(n > 2 for n in Counter(_values(plan)).values())]
    assert len(again) > len(plans) // 6
    pairs = [pair for plan in plans for pair in pairwise(plan.batches)]
    near = [one for one, next_ in pairs if round(next_.at_s - one.at_s, 2) in CLOSE_S]
    assert len(near) > len(batches) // 5
    assert any(batch.rival for batch in batches)


def _values(plan: Plan) -> list[tuple[int, str]]:
    """What is asked of which device, where it has many values to choose from."""
    jobs = (job for batch in plan.batches for job in batch.jobs)
    return [(job.device, job.words) for job in jobs if job.words.startswith(("SET interval", "SET offset"))]


def test_the_wall_clock_is_set_both_ways() -> None:
    """A clock is set forward and back, whatever the equipment is."""
    limits = Limits(faults=frozenset({"clock"}))
    plans = list(map(partial(plan_of, limits=limits), range(200)))
    steps = {(each.seconds > 0, plan.devices[0].tier is None) for plan in plans for each in plan.incidents}
    assert len(steps) == 4


@pytest.mark.parametrize("kind", ["interrupt_twice", "clock", "rival"])
def test_what_happens_around_is_met(kind: str) -> None:
    """A second Ctrl-C, a clock that is set and a process beside another one do happen, and worlds stay true."""
    limits = Limits(faults=frozenset({kind, "delay"}))
    runs = [run_seed(seed, limits) for seed in range(12)]
    assert [run.violations for run in runs if run.violations] == []
    assert sum(run.counts[f"around: {kind}"] for run in runs) > 0


def test_limits_are_kept() -> None:
    """No world has more devices, agents or kinds of faults than its limits allow."""
    limits = Limits(devices=2, agents=1, faults=frozenset({"crash", "drop_ack"}))
    plans = list(map(partial(plan_of, limits=limits), range(50)))
    assert max(len(plan.devices) for plan in plans) == 2
    assert max(plan.agents for plan in plans) == 1
    assert frozenset.union(*(plan.kinds for plan in plans)) == limits.faults
