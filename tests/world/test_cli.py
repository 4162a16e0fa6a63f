"""What does `simulate world` print, and how does it end?"""

import errno
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import pytest

from agent.cli.main import run
from worlds.campaign import campaign
from worlds.plan import NOTHING_CUT, Cut, Limits, plan_of
from worlds.run import Run, run_seed
from worlds.shrink import shrink, strangers
from worlds.world import World

BROKEN_FAULTS = ["--faults", "drop_ack,lost", "--devices", "1", "--agents", "1"]
Capture = pytest.CaptureFixture[str]


def world(*words: str) -> int:
    """The whole program; its exit code."""
    return run(["simulate", "world", *words])


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that every world breaks in which an answer is lost."""

    def judged(world: World) -> list[str]:
        lost = sum(road.weather.hits["drop_ack"] for road in world.roads.values())
        return [f"{lost} answers were lost"] if lost else []

    monkeypatch.setattr("worlds.run.judge", judged)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdout on a disk without room."""

    def no_room(*words: str, file: object = None, **how: Any) -> None:
        if file is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        print(*words, file=file, **how)  # type: ignore[call-overload]

    monkeypatch.setattr("agent.cli.output.forget_stdout", lambda: None)
    monkeypatch.setattr("agent.cli.output.print", no_room, raising=False)


def test_many_worlds_end_with_what_they_met(capsys: Capture) -> None:
    """Coverage, what was never met, and one line that sums up; exit 0."""
    assert world("--seeds", "4", "-q") == 0
    said = capsys.readouterr().out
    assert "fault on lsq: " in said
    assert "\nnever met, word of no-retry: " in said
    assert said.splitlines()[-1].startswith("4 worlds, ")
    assert "0 with violations" in said


def test_json_is_one_object(capsys: Capture) -> None:
    """With --json nothing else is on stdout."""
    assert world("--seeds", "2", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["worlds"], data["violations"], data["avoidable_doubts"]) == (2, {}, 0)


def test_one_seed_tells_its_story(capsys: Capture) -> None:
    """Time, who, what and detail in columns, and the trace."""
    assert world("--seed", "2") == 0
    said = capsys.readouterr().out
    assert "world        healed" in said
    assert "seed 2: 0 violations, trace " in said


@pytest.mark.usefixtures("broken")
def test_a_failing_world_is_shown_small_and_can_be_played_again(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1, the sum and the seeds that fail instead of coverage, the story, and the words that play it again."""
    monkeypatch.setattr("worlds.shrink.ROUNDS_MAX", 1)
    assert world("--seeds", "20", "-q", "--processes", "1", *BROKEN_FAULTS) == 1
    total, failing, *_, again = capsys.readouterr().out.splitlines()
    assert total.startswith("20 worlds, ")
    assert failing.startswith("seed ")
    seed, keep = again.split(" --seed ")[1].split()[0], again.split("--keep '")[1].rstrip("'")
    assert world("--seed", seed, "--keep", keep, *BROKEN_FAULTS) == 1
    said = capsys.readouterr().out
    assert f"seed {seed}: 1 violation, trace " in said
    assert again in said


def test_one_job_is_always_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails without anything is shown with one command, so that it can be played again."""
    monkeypatch.setattr("worlds.run.judge", lambda _: ["it always fails"])
    cut, _ = shrink(3, Limits())
    assert (len(cut.jobs or ()), cut.hits, cut.incidents) == (1, frozenset(), frozenset())


IDLE = {
    "--seed": ("--seeds", "--first", "--processes"),
    "-i": ("--first", "--seed", "--devices", "--agents", "--faults", "--keep", "--shrink", "--processes"),
}


@pytest.mark.parametrize(
    ("option", "sort"), [(option, sort) for sort, options in IDLE.items() for option in options]
)
def test_an_option_without_effect_is_no_run(option: str, sort: str, capsys: Capture) -> None:
    """Exit 2 and both are named, also where what is typed is the default."""
    value = [] if option == "--shrink" else ["2"]
    assert world(sort, "5", option, *value) == 2
    said = capsys.readouterr().err
    assert f"{option} and {sort} do not go together" in said
    assert f"Leave out {option}, or {sort}" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--keep", "jobs=1"],
            "--keep and many worlds do not go together. Add --seed N, or leave out --keep",
        ),
        (["--shrink"], "--shrink and many worlds do not go together. Add --seed N, or leave out --shrink"),
        (["--loss", "5"], "--loss and many worlds do not go together. Add -i FILE, or leave out --loss"),
        (["--profile-dir", "x", "--loss", "5"], "Add -i FILE, or leave out --profile-dir, --loss"),
        (["--seed", "1", "--loss", "5"], "--loss and --seed do not go together"),
        (["-i", "x", "--seed", "5", "--agents", "2"], "--seed, --agents and -i do not go together"),
        (["-i", "x", "--loss", "nan"], "--loss: 'nan' is no percentage from 0 to 50"),
        (["--faults", "rain"], "--faults: no kind of fault is called rain. Known: lost, "),
        (["--faults", "drop_akk"], "Did you mean 'drop_ack'?"),
        (["--faults", ""], "--faults '': a name is missing. Leave --faults out for all"),
        (["--faults", "lost,"], "--faults 'lost,': a name is missing"),
        (["--faults", "lost, crash,lost"], "--faults names lost more than once"),
        (["--seed", "1", "--keep", "jobs"], "--keep: 'jobs' is none of hits=…, jobs=…, incidents=…"),
        (["--seed", "1", "--keep", "jobs=x"], "--keep: 'x' in 'jobs=' is no number"),
        (["--seed", "1", "--keep", "jobs=-1"], "--keep: '-1' in 'jobs=' is no number"),
        (["--seed", "1", "--keep", "jobs="], "a name is missing in 'jobs='; 'jobs=none' keeps none"),
        (["--seed", "1", "--keep", "hits="], "a name is missing in 'hits='"),
        (["--seed", "1", "--keep", "jobs=1 jobs=2"], "--keep: 'jobs=' stands twice"),
        (["--seed", "1", "--keep", " "], "--keep names nothing"),
        (["--seed", "1", "--keep", "jobs=none"], "--keep leaves no command to play"),
        (
            ["--seed", "1", "--keep", "jobs=0,999 hits=d9.cmd.1 incidents=77"],
            "the world of seed 1 has no jobs=999, incidents=77, hits=d9.cmd.1. ",
        ),
    ],
)
def test_nonsense_is_refused(words: list[str], said: str, capsys: Capture) -> None:
    """Exit 2 and a sentence, before any world is played; nothing on stdout."""
    assert world(*words) == 2
    heard = capsys.readouterr()
    assert said in heard.err
    assert heard.out == ""


def test_blanks_around_the_names_of_faults_do_no_harm(capsys: Capture) -> None:
    """`lost, crash` is what people type."""
    assert world("--seeds", "1", "--faults", " lost, crash") == 0
    capsys.readouterr()


def test_each_fault_is_listed_once(capsys: Capture) -> None:
    """Whatever sorts of faults share a name."""
    assert world("--faults", "?") == 2
    names = capsys.readouterr().err.split("Known: ")[1].strip().split(", ")
    assert len(names) == len(set(names)) > 20


def test_parts_that_a_world_has_are_kept() -> None:
    """A hit is known by the cut world, by that world with all its hits, or by the whole one."""
    limits = Limits()
    for seed in range(100):
        jobs = [job.number for batch in plan_of(seed, limits).batches for job in batch.jobs]
        whole, one = run_seed(seed, limits), frozenset(jobs[-1:])
        alone = run_seed(seed, limits, Cut(jobs=one))
        if set(alone.hits) - set(whole.hits):  # where less is asked, other messages are struck
            break
    incidents = frozenset(each.number for each in plan_of(seed, limits).incidents)
    assert strangers(seed, limits, Cut(frozenset(whole.hits), frozenset(jobs), incidents)) == []
    assert strangers(seed, limits, Cut(frozenset([*whole.hits, *alone.hits]), one)) == []
    assert strangers(seed, limits, Cut(frozenset({"d0.cmd.9999"}), one)) == ["hits=d0.cmd.9999"]
    assert strangers(seed, limits, NOTHING_CUT) == []


@pytest.mark.parametrize("words", [["--seeds", "2", "-q"], ["--seed", "2"]])
@pytest.mark.usefixtures("full")
def test_an_output_without_room(words: list[str], capsys: Capture) -> None:
    """Exit 7, as of everything that only reads; no talk of commands that had left."""
    assert world(*words) == 7
    assert capsys.readouterr().err == "ackonce: the output cannot be written: No space left on device\n"


@pytest.mark.usefixtures("full")
def test_a_violation_ends_with_1_whoever_listens(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk does not hide it."""
    monkeypatch.setattr("worlds.run.judge", lambda _: ["it always fails"])
    assert world("--seeds", "1", "-q") == 1
    assert "No space left" in capsys.readouterr().err


def test_no_more_processes_than_have_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty seeds are three portions, however many processes are allowed."""
    pools: list[int] = []

    class Pool:
        def __init__(self, workers: int) -> None:
            pools.append(workers)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def map(self, work: Callable[[int], Run], seeds: Sequence[int], chunksize: int) -> Iterator[Run]:
            return map(work, seeds[::chunksize])

    monkeypatch.setattr("worlds.campaign.ProcessPoolExecutor", Pool)
    assert campaign(range(60), Limits(devices=1), processes=64).worlds == pools[0] == 3
    campaign(range(3), Limits(devices=1), processes=64)
    assert len(pools) == 1


def test_help_names_exit_codes_and_examples(capsys: Capture) -> None:
    """One of each sort of run, and every code."""
    assert world("--help") == 0
    said = capsys.readouterr().out
    for words in ("--seeds 1000", "--seed 7 ", "--seed 7 --shrink", "-i inventory.yaml"):
        assert f"    ackonce simulate world {words}" in said
    codes = said.split("Exit codes:")[1].split("Options:")[0]
    assert [code for code in ("0 ", "1 ", "2 ", "3 ", "7 ", "70 ", "130 ") if code not in codes] == []
