"""What does `simulate world` print, and how does it end?"""

import json

import pytest
from typer.testing import CliRunner

from agent import policy
from worlds.cli import app

RUNNER = CliRunner()


def test_many_worlds_end_with_what_they_met() -> None:
    """Coverage, what was never met, and one line that sums up; exit 0."""
    done = RUNNER.invoke(app, ["--seeds", "4", "-q"])
    assert done.exit_code == 0
    assert "fault on lsq: " in done.stdout
    assert "never met: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("4 worlds, ")
    assert "0 with violations" in done.stdout


def test_json_is_one_object() -> None:
    """With --json nothing else is on stdout."""
    done = RUNNER.invoke(app, ["--seeds", "2", "--json"])
    data = json.loads(done.stdout)
    assert (data["worlds"], data["violations"], data["avoidable_doubts"]) == (2, {}, 0)


def test_one_seed_tells_its_story() -> None:
    """Time, who, what and detail in columns, and the trace."""
    done = RUNNER.invoke(app, ["--seed", "2"])
    assert done.exit_code == 0
    assert "world        healed" in done.stdout
    assert "seed 2: 0 violations, trace " in done.stdout


def test_a_failing_world_is_shown_small_and_can_be_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, the story up to the violation, and the words that play it again."""
    monkeypatch.setattr(policy, "_may_settle", lambda *_: False)
    words = ["--faults", "drop_ack,cut", "--devices", "1", "--agents", "1"]
    done = RUNNER.invoke(app, ["--seeds", "30", "-q", "--processes", "1", *words])
    assert done.exit_code == 1
    again = next(line for line in done.stdout.splitlines() if line.startswith("again: "))
    seed, keep = again.split(" --seed ")[1].split()[0], again.split("--keep '")[1].rstrip("'")
    same = RUNNER.invoke(app, ["--seed", seed, "--keep", keep, *words])
    assert same.exit_code == 1
    assert "VIOLATION" in same.stdout
    assert again in same.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--faults", "rain"], "--faults: no kind of fault is called rain"),
        (["--seed", "1", "--keep", "jobs"], "--keep: 'jobs' is none of"),
    ],
)
def test_nonsense_is_refused(words: list[str], said: str) -> None:
    """Exit 2 and a sentence, before any world is made."""
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 2
    assert said in done.stderr
