"""`ackonce set` and `send --if-needed`: make it so, and write nothing where it is so already."""

from typing import Any

import pytest

from tests.cli.bench import Bench


def _set(bench: Bench, *words: str) -> tuple[int, list[dict[str, Any]]]:
    run = bench.type("set", "d1", *words, "--json")
    return run.code, run.records


def test_written_once(bench: Bench) -> None:
    """A value that is not there is written; asked for again it is `unchanged`, with exit 0 and nothing sent."""
    device = bench.device()
    code, [first] = _set(bench, "interval=30")
    assert (code, first["command"], first["outcome"]) == (0, "SET interval 30", "applied")
    code, [again] = _set(bench, "interval=30")
    assert (code, again["outcome"], again["evidence"], again["attempts"]) == (0, "unchanged", "verified", 0)
    assert (again["before"], again["expected"], again["value"]) == ("30", "30", "30")
    assert device.executed == ["SET interval 30"]


def test_several_settings(bench: Bench) -> None:
    """Settings are written in the order in which they were typed, a negative value too."""
    device = bench.device()
    code, records = _set(bench, "offset=-5", "interval=45")
    assert (code, [record["outcome"] for record in records]) == (0, ["applied", "applied"])
    assert device.executed == ["SET offset -5", "SET interval 45"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["intervall=3"], "no setting 'intervall'. Did you mean 'interval'?"),
        (["interval=0"], "value must be 1 to 3600"),
        (["counter=3"], "no command that sets 'counter' to a value"),
        (["interval"], "'interval' is not SETTING=VALUE"),
        (["interval="], "'interval=' is not SETTING=VALUE"),
        (["interval=3", "interval=4"], "'interval' is given twice"),
        (["--now", "interval=3"], "no such option: --now"),
    ],
)
def test_wrong_words(bench: Bench, words: list[str], says: str) -> None:
    """What cannot be set is a usage error that says why, before any connection."""
    device = bench.device()
    run = bench.type("set", "d1", *words)
    assert run.code == 2
    assert says in run.err
    assert "Nothing was sent." in run.err
    assert device.executed == []


def test_everything_wrong_is_told_at_once(bench: Bench) -> None:
    """Each word that cannot be set is told, once for all devices, and the target too."""
    bench.device()
    bench.device()
    said = bench.type("set", "d*", "offset=abc", "intervall=3", "label", "--now").err.splitlines()
    assert said == [
        "ackonce: 'label' is not SETTING=VALUE. As in: ackonce set logger-1 interval=30",
        "no such option: --now. Try: ackonce set --help",
        "SET offset: value is not a whole number: 'abc'. Type: SET offset <value: int, -100 to 100 0.1 K>",
        "demo/controller has no setting 'intervall'. Did you mean 'interval'?",
        "Nothing was sent.",
    ]
    ended = bench.type("set", "d9", "interval")
    assert (ended.code, len(ended.err.splitlines())) == (2, 3)


def test_send_if_needed(bench: Bench) -> None:
    """`send --if-needed` writes once; for what counts every time it is a usage error."""
    device = bench.device()
    outcomes = [bench.send("d1", "SET", "interval", "30", "--if-needed")[1]["outcome"] for _ in range(2)]
    assert outcomes == ["applied", "unchanged"]
    run = bench.type("send", "d1", "BEEP", "--if-needed", "--yes")
    assert run.code == 2
    assert "whether d1 needs 'BEEP' cannot be read" in run.err
    assert device.executed == ["SET interval 30"]


@pytest.mark.parametrize("key", ["a\nb", "k" * 201, "\x1b[2J"])
def test_keys_that_are_no_line(bench: Bench, key: str) -> None:
    """A key is one printable line."""
    device = bench.device()
    run = bench.type("send", "d1", "SET", "interval", "30", "--key", key)
    assert (run.code, device.connections) == (2, 0)
    assert "a key is one line of at most 200 characters" in run.err


def test_keys_of_plans(bench: Bench) -> None:
    """A key that could be the key of a plan's step is refused."""
    bench.device()
    run = bench.type("send", "d1", "SET", "interval", "30", "--key", "plan:night:n1:x")
    assert run.code == 2
    assert "keys that begin with 'plan:' are those of plans" in run.err
