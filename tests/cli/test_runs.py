"""`ackonce runs`: which runs there were, and how their steps stand today."""

import os
import sqlite3

from agent.processes import this_process
from agent.store.sqlite import FILE_NAME
from tests.cli.bench import Bench
from tests.cli.plan_project import BOOTS_AFTER, apply, objects, put_plan, still, unreachable


def test_none_yet(bench: Bench) -> None:
    """No run: an empty list, and what to type first."""
    ended = bench.type("runs")
    assert (ended.code, ended.out, ended.err) == (0, "", "No run of a plan yet. Next: ackonce plan FILE\n")


def test_newest_first(bench: Bench) -> None:
    """The newest run first, each with how its steps stand; a key only where somebody gave one."""
    bench.device(timeout="5s")
    unreachable(bench)
    put_plan(bench)
    apply(bench, "d1", "--key", "n1")
    apply(bench)
    assert still(bench, bench.type("runs").out) == (
        "ID1\tnight\t-\tWHEN\tT s\tunfinished\t2 applied, 1 unchanged, 3 not sent\n"
        "ID2\tnight\tn1\tWHEN\tT s\tdone\t3 applied\n"
    )
    assert len(bench.type("runs", "--limit", "1").lines) == 1


def test_a_doubt_that_was_settled(bench: Bench) -> None:
    """A run is told as the journal has it today: what a person decided counts, not what it ended with."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    put_plan(bench)
    steps, summary = objects(apply(bench, "--json"))
    bench.type("doubt", "resolve", steps[1]["op"], "--applied", "--reason", "I looked")
    [run] = bench.type("runs", "--json").records
    assert run["steps"] == {"applied": 2, "held": 1}
    assert (run["run"], run["state"]) == (summary["run"], "unfinished")


def test_the_steps_of_a_run(bench: Bench) -> None:
    """RUN, or its beginning: a row for each step, in the plan's order, with its operation; then what to type."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    unreachable(bench)
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    ended = bench.type("runs", summary["run"][:20])
    assert still(bench, ended.out) == (
        "d1\tSET interval 30\tapplied\tack\t30\t1\tID1\tthe device confirmed it\n"
        "d1\tsummer: ADJUST offset +5\tin doubt\t-\t-\t1\tID2\t"
        "the device lost its memory of the session (restart or takeover) after the command left\n"
        "d1\tBEEP\theld\t-\t-\t-\t-\theld by operation ID2 ('ADJUST offset +5'), which is in doubt\n"
        "d2\tSET interval 30\tnot sent\t-\t-\t0\tID3\t127.0.0.1 port PORT2 refuses connections: nothing listens there\n"
        "d2\tsummer: ADJUST offset +5\tnot sent\t-\t-\t-\t-\t"
        "not tried: 127.0.0.1 port PORT2 refuses connections: nothing listens there\n"
        "d2\tBEEP\tnot sent\t-\t-\t-\t-\tnot tried: 127.0.0.1 port PORT2 refuses connections: nothing listens there\n"
    )
    assert f"Go on with it: ackonce resume {summary['run']}" in ended.err
    records = bench.type("runs", summary["run"], "--json").records
    assert [record["outcome"] for record in records] == ["applied", "in_doubt", *["not_sent"] * 4]
    assert [record["step"] for record in records[:3]] == ["SET interval 30", "summer", "BEEP"]
    assert records[2]["op"] is None


def test_no_such_run(bench: Bench) -> None:
    """An unknown run, or a beginning that fits several: exit 2, and which ones."""
    bench.device(timeout="5s")
    put_plan(bench)
    assert "See: ackonce runs" in bench.type("runs", "X").err
    apply(bench)
    apply(bench)
    ended = bench.type("runs", "0")
    assert ended.code == 2
    assert "several runs begin with 0. Which of " in ended.err


def test_a_run_under_way(bench: Bench) -> None:
    """A run whose process lives says so and who it is; where that is gone, it is unfinished and not running."""
    unreachable(bench)
    put_plan(bench)
    apply(bench)
    alive = this_process("shed")
    store = sqlite3.connect(bench.project.home / FILE_NAME)
    for pid, state in ((os.getpid(), f"running ({alive})"), (2**22 + 1, "unfinished")):
        holder = alive.to_json().replace(f'"pid":{os.getpid()}', f'"pid":{pid}')
        with store:
            store.execute("UPDATE run SET state = 'running', ended_utc = NULL, holder = ?", (holder,))
        [row] = bench.type("runs").lines
        assert row.split("\t")[4:6] == ["-", state]
    store.close()


def test_a_renamed_device(bench: Bench) -> None:
    """Under its new name it is told what was done before, once and everywhere; the old name is no part of it."""
    device = bench.device(timeout="5s")
    put_plan(bench)
    steps, summary = objects(apply(bench, "--key", "k", "--json"))
    bench.extra["d9"] = bench.extra.pop("d1")
    bench.enter("d9", bench.extra["d9"])
    again, _ = objects(apply(bench, "--key", "k", "--json"))
    assert [(step["device"], step["op"], step["skipped"]) for step in again] == [
        ("d9", step["op"], True) for step in steps
    ]
    run = summary["run"]
    assert still(bench, bench.type("runs").out) == "ID1\tnight\tk\tWHEN\tT s\tdone\t3 applied\n"
    rows = [line.split("\t") for line in bench.type("runs", run).lines]
    assert [(row[0], row[2]) for row in rows] == [("d9", "applied")] * 3
    assert all(row[-1].endswith("(done before, when the device was called d1)") for row in rows)
    records = bench.type("runs", run, "--json").records
    assert [(each["device"], each["op"], each.get("skipped")) for each in records] == [
        ("d9", step["op"], True) for step in steps
    ]
    told = bench.type("report", run).out
    assert told.count("done before, when the device was called d1") == 3
    assert "**3 applied**" in told
    assert len(device.executed) == 3
