"""Does every sequence of faults end with a true word, and with at most one effect?

The whole agent against whole devices, in virtual time. What is played stands in `setups.py`, what may go wrong in
`fates.py`, what must not come of it in `judge.py`. The bounds, for each setup (`setup.Bounds`):

* Copies of the command meet every combination of the fates that the setup has for them, over all attempts that there
  are (three, in some setups one or two; where one attempt is played, the NOP that settles comes after it). What is late
  arrives before any message that follows it; two late ones overtake each other in two setups.
* Of the other messages one meets a fate: in every setup as the only fault, in some beside one of a copy too.
* The process of the agent is stopped before, in the middle of and after every write to store or link, and somebody asks
  again under the same key, or for another command: in every setup as the only fault. Beside one fault of a copy, or a
  start of the device meanwhile, it is played on plain equipment for resend, read-then-set, get-verify and no-retry,
  over TCP and serial lines, and on LSQ1 for ADJUST: of tier 1 over both, and of tier 2 (`stops=2` in `setups.py`).
* A message that arrives twice is the fault of a first copy in three setups.

Every sequence within the bounds is played, none twice, those with fewer faults first. Left out are those that nobody
can tell from another one (`World._fate_of`, `fates._SAME_AS`). A failure names its setup and its sequence, which
`runs.play_again` plays again; a run ends with how many there were.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.exhaustive.bench import Bench
from tests.exhaustive.conftest import TALLY, pytest_terminal_summary
from tests.exhaustive.fates import Fate
from tests.exhaustive.oracle import Choices, Fork, NoSuchWay, Option, Oracle, explore, line_of, script_of
from tests.exhaustive.runs import Tally, play_again, play_all
from tests.exhaustive.setup import Setup
from tests.exhaustive.setups import SETUPS


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench of its own."""
    made = Bench(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_every_sequence(setup: Setup, bench: Bench, record_property: Callable[[str, object], None]) -> None:
    """Nothing runs twice, no word is false, no doubt could have been avoided, whatever goes wrong."""
    tally = play_all(bench, setup)
    record_property(TALLY, (setup.name, tally.total, str(tally)))
    assert tally.by_faults[0] == 1
    assert tally.stopped


def test_a_run_ends_with_how_many_were_played() -> None:
    """A line for each setup and the total, from what the tests have recorded; nothing where no setup was played."""
    told: list[str] = []

    class Reporter:
        def __init__(self, *recorded: tuple[str, int, str]) -> None:
            self.recorded = recorded
            self.section = self.write_line = told.append

        def getreports(self, _: str) -> list[SimpleNamespace]:
            return [SimpleNamespace(user_properties=[(TALLY, each)]) for each in self.recorded]

    pytest_terminal_summary(cast("pytest.TerminalReporter", Reporter()))
    assert not told
    tally = Tally(Counter({0: 1, 1: 2}), stopped=4)
    reporter = Reporter(("b", tally.total, str(tally)), ("a", 5, "5"))
    pytest_terminal_summary(cast("pytest.TerminalReporter", reporter))
    assert told[1:] == [
        "a: 5",
        "b: 7 (1 with 0, 2 with 1; 4 with a stop)",
        "12 sequences of 2 setups, none twice, every rule kept",
    ]


def test_no_sequence_is_left_out_or_played_twice() -> None:
    """Of a tree whose points depend on what happened before, every way is gone exactly once, by its faults."""
    ways = (Option("right", 0), Option("lost"), Option("late", 0), Option("cut", 2))

    def play(choices: Choices) -> list[Fork]:
        oracle = Oracle(script_of(line_of(choices)))
        for n in range(3):
            if oracle.choose(f"message {n}", ways).words == "cut":
                break
        oracle.check_done()
        assert tuple(oracle.taken) == choices
        return oracle.forks

    gone = list(explore(play, lambda _: True))
    assert len(gone) == len({choices for _, choices in gone}) == 3**3 + 3**2 + 3 + 1
    assert [faults for faults, _ in gone] == sorted(faults for faults, _ in gone)
    assert Counter(faults for faults, _ in gone)[0] == 2**3


def test_a_line_is_played_again(bench: Bench) -> None:
    """What a failure prints plays the same sequence again; what cannot happen there is refused."""
    name, line = (
        "LSQ1 tier 1, resend, ADJUST",
        "copy 1: late · agent: stopped after write 9 · before copy 2: copy 1 in",
    )
    played = play_again(bench, name, line)
    assert line_of(played.oracle.taken) == line
    assert played.world.said["copy 1"] is Fate.LATE
    for other in ("copy 9: lost", "copy 1: eaten"):
        with pytest.raises(NoSuchWay):
            play_again(bench, name, other)
