"""`ackonce serve`: real processes and real signals; the devices' ledgers judge."""

import json
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.cli.exit_codes import Exit
from agent.processes import this_process
from agent.store.sqlite import FILE_NAME
from tests.cli.bench import Bench
from tests.cli.plan_project import BOOTS_AFTER, QUIET_STEPS, STEPS, put_plan
from tests.cli.process_rig import ProcessRig, Running

ONCE_A_YEAR = ("--cron", "0 0 1 1 *", "--tz", "UTC", "--missed", "once")
LONG_AGO = "UPDATE job SET added_utc = '2020-01-01T00:00:00.000Z'"
"""Makes a yearly job one that has missed its time."""


def late_job(bench: Bench, steps: str = QUIET_STEPS) -> None:
    """A job that has missed its time and is to catch up."""
    put_plan(bench, steps)
    assert bench.type("job", "add", "yearly", *ONCE_A_YEAR, "p.yaml", "--yes").code == Exit.OK
    with sqlite3.connect(bench.project.home / FILE_NAME) as store:
        store.execute(LONG_AGO)


def test_nothing_is_due(bench: Bench) -> None:
    """`--once` with nothing to do says nothing and is fine, also where there is no job."""
    ended = bench.type("serve", "--once")
    assert (ended.code, ended.out, ended.err) == (Exit.OK, "", "")


def test_once(bench: Bench) -> None:
    """`--once` runs what is due, one line and one object for each event, and the second time nothing."""
    live = bench.device(timeout="5s")
    late_job(bench)
    ended = bench.type("serve", "--once", "--json")
    assert ended.code == Exit.OK
    assert [(event["event"], event["job"]) for event in ended.records] == [
        ("missed", "yearly"),
        ("started", "yearly"),
        ("done", "yearly"),
    ]
    assert all(event["schema"] == 1 for event in ended.records)
    assert "to be run once, for the last one" in ended.records[0]["message"]
    assert ended.records[2]["key"].endswith("-01-01T00:00+00:00")
    assert ended.records[2]["summary"]["changed"] == 1
    assert len(ended.err.splitlines()) == 3
    again = bench.type("serve", "--once", "--json")
    assert (again.code, again.out) == (Exit.OK, "")
    assert live.do(lambda: live.device.ledger.count("SET interval 30")) == 1


def test_quiet(bench: Bench) -> None:
    """With --quiet only what did not go plainly is said."""
    bench.device(timeout="5s")
    late_job(bench)
    ended = bench.type("serve", "--once", "--quiet")
    assert [line.partition(": ")[2].split()[0] for line in ended.err.splitlines()] == ["missed"]


def test_a_turn_that_never_began(bench: Bench) -> None:
    """It is told, then made up for; what counts for the exit code is the last word on it."""
    live = bench.device(timeout="5s")
    late_job(bench)
    with sqlite3.connect(bench.project.home / FILE_NAME) as store:
        gone = replace(this_process("other"), pid=2**22 + 7)
        store.execute(
            "INSERT INTO due (job, due_utc, state, claimed_by, claimed_utc) VALUES ('yearly', "
            "strftime('%Y', 'now') || '-01-01T00:00+00:00', 'running', ?, '2099-01-01T00:00:00.000Z')",
            (gone.to_json(),),
        )
    ended = bench.type("serve", "--once", "--json")
    assert [event["event"] for event in ended.records] == ["not_begun", "missed", "started", "done"]
    assert ended.code == Exit.OK
    assert ": not_begun, its process ended before it began\n" in ended.err
    assert live.do(lambda: live.device.ledger.count("SET interval 30")) == 1


def test_two_jobs_of_a_plan(bench: Bench) -> None:
    """The line of the second one says which job has done it, and in which run."""
    bench.device(timeout="5s")
    late_job(bench)
    assert bench.type("job", "add", "again", *ONCE_A_YEAR, "p.yaml").code == Exit.OK
    with sqlite3.connect(bench.project.home / FILE_NAME) as store:
        store.execute(LONG_AGO)
    ended = bench.type("serve", "--once", "--json")
    [first, second] = [event for event in ended.records if event["event"] == "done"]
    by = f"done already by job {first['job']} (run {first['run']})"
    assert (second["message"], second["summary"]["skipped"]) == (by, 1)
    assert f"{second['job']} {second['key']}: {by}\n" in ended.err


def test_a_doubt(bench: Bench) -> None:
    """What ends in doubt is exit 5, as of `apply`, and said with what to type."""
    bench.device(BOOTS_AFTER, tier=0, timeout="5s")
    late_job(bench, "steps:\n  - send: SET interval 30\n  - send: BEEP\n")
    ended = bench.type("serve", "--once")
    assert ended.code == Exit.IN_DOUBT
    assert "unfinished, 1 changed, 1 in doubt. See: ackonce runs " in ended.err
    assert "ackonce resume" in ended.err


def test_a_plan_that_is_gone(bench: Bench) -> None:
    """A job whose plan cannot be read is exit 3."""
    bench.device()
    late_job(bench, STEPS)
    (bench.project.folder / "p.yaml").unlink()
    ended = bench.type("serve", "--once", "--json")
    assert ended.code == Exit.FILE
    assert [event["event"] for event in ended.records] == ["missed", "unusable"]


def test_a_job_that_is_not_there(bench: Bench) -> None:
    """A name that is no job is a usage error."""
    ended = bench.type("serve", "--once", "--job", "nigth")
    assert ended.code == Exit.USAGE
    assert "there is no job nigth" in ended.err


# --- signals ----------------------------------------------------------------------------------------------------------


def serving(rig: ProcessRig) -> Running:
    """`ackonce serve` in a process, with a job that is to catch up."""
    (rig.folder / "p.yaml").write_text(
        f"plan: night\ntargets: [d1]\nsteps:\n  - send: BEEP\n{QUIET_STEPS[7:]}"
    )
    assert rig.run("job", "add", "yearly", *ONCE_A_YEAR, "p.yaml", "--yes").code == Exit.OK
    with sqlite3.connect(rig.home / FILE_NAME) as store:
        store.execute(LONG_AGO)
    return rig.start("serve", "--json")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ended_while_idle(start_rig: Callable[..., ProcessRig], number: signal.Signals) -> None:
    """With nothing under way a signal ends it within a second, exit 0."""
    rig = start_rig(timeout="10s")
    server = serving(rig)
    assert server.out is not None
    server.out.wait_for('"done"')
    server.signal(number)
    ended = server.end()
    assert ended.code == Exit.OK
    assert rig.device.executed == {"BEEP": 1, "SET interval 30": 1}


def test_ended_while_a_step_is_in_flight(start_rig: Callable[..., ProcessRig]) -> None:
    """The step reaches its word, the next does not begin, and the run may be gone on with: exit 130."""
    rig = start_rig("cmd 1: delay 2", timeout="30s")
    server = serving(rig)
    rig.device.wait_for("command: BEEP")
    server.signal(signal.SIGTERM)
    ended = server.end()
    assert ended.code == Exit.INTERRUPTED
    last = json.loads(ended.lines[-1])
    assert (last["event"], last["summary"]["changed"], last["summary"]["no_turn"]) == ("unfinished", 1, 1)
    assert rig.device.executed == {"BEEP": 1}
    assert rig.run("resume", "--yes").code == Exit.OK
    assert rig.device.executed == {"BEEP": 1, "SET interval 30": 1}


def test_ended_twice(start_rig: Callable[..., ProcessRig]) -> None:
    """A second signal leaves at once; the next server tells what was cut off and runs it no second time."""
    rig = start_rig("cmd 1: delay 60", timeout="90s")
    server = serving(rig)
    rig.device.wait_for("command: BEEP")
    assert server.err is not None
    server.signal(signal.SIGTERM)
    server.err.wait_for("waiting for what is in flight")
    server.signal(signal.SIGTERM)
    assert server.end().code == Exit.INTERRUPTED
    ended = rig.run("serve", "--once", "--json")
    [event] = ended.records
    assert (ended.code, event["event"]) == (Exit.NOT_ALL_DONE, "cut_off")
    assert f"ackonce resume {event['run']}" in event["message"]
    assert rig.device.executed == {"BEEP": 1}
