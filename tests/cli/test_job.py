"""`ackonce job`: what is typed, asked, told and returned; the devices' ledgers judge."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.cli.exit_codes import Exit
from agent.processes import this_process
from agent.store.sqlite import FILE_NAME
from tests.cli.bench import Bench
from tests.cli.plan_project import QUIET_STEPS, put_plan, window
from tests.cli.process_rig import ProcessRig
from tests.cli.project import Ended

CRON = ("--cron", "30 2 * * 1-5", "--tz", "Europe/Lisbon")
RESETS = "steps:\n  - send: RESET counter\n"


def add(bench: Bench, *words: str, name: str = "night") -> Ended:
    """`ackonce job add NAME` at half past two on working days."""
    return bench.type("job", "add", name, *CRON, "p.yaml", *words)


def jobs(bench: Bench) -> list[dict[str, Any]]:
    """What `job list --json` prints."""
    return bench.type("job", "list", "--json").records


# --- add, list, next, remove ------------------------------------------------------------------------------------------


def test_added_listed_and_removed(bench: Bench) -> None:
    """A job is there from `add` to `remove`, with the plan's absolute path and its next time in both clocks."""
    bench.device()
    put_plan(bench)
    assert bench.type("job", "list").err == (
        "There are no jobs. Add one: ackonce job add NAME --cron FIELDS --tz ZONE PLAN\n"
    )
    ended = add(bench, "--yes", "--reason", "CHG-1", "--missed", "once")
    assert (ended.code, ended.out) == (Exit.OK, "")
    assert "Job night is next due " in ended.err
    [job] = jobs(bench)
    assert job["plan"] == str(bench.project.folder / "p.yaml")
    assert [job[key] for key in ("job", "cron", "tz", "missed", "reason", "last", "state")] == [
        "night", "30 2 * * 1-5", "Europe/Lisbon", "once", "CHG-1", None, None,
    ]  # fmt: skip
    assert "T02:30" in job["next_local"]
    [row] = bench.type("job", "list").lines
    assert row.startswith("night\t30 2 * * 1-5\t")
    assert bench.type("job", "remove", "night").code == Exit.OK
    assert jobs(bench) == []


def test_the_next_times(bench: Bench) -> None:
    """`next` tells so many times as are wanted, of one job or of all in their order."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    for name in ("one", "two"):
        assert add(bench, name=name).code == Exit.OK
    rows = bench.type("job", "next", "one", "-n", "3", "--json").records
    assert [(row["job"], row["local"][10:16]) for row in rows] == [("one", "T02:30")] * 3
    assert len({row["utc"] for row in rows}) == 3
    both = bench.type("job", "next", "--json").records
    assert [row["job"] for row in both] == ["one", "two", "one", "two", "one"]
    assert both[0]["utc"] == both[1]["utc"] == rows[0]["utc"]
    assert bench.type("job", "next", "tow").err == "ackonce: there is no job tow. Did you mean 'two'?\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("night", "--cron", "61 * * * *", "--tz", "UTC", "p.yaml"), Exit.USAGE, "'61' is no minute"),
        (("night", "--cron", "* * * * *", "--tz", "Europe/Lisboa", "p.yaml"), Exit.USAGE, "mean 'Europe/Lisbon'?"),
        (("night", *CRON, "p.yaml", "--missed", "twice"), Exit.USAGE, "Known: skip, once"),
        (("../night", *CRON, "p.yaml"), Exit.USAGE, "cannot be a job's name"),
        (("--", "-x", "p.yaml"), Exit.USAGE, "--cron"),
        (("night", *CRON, "none.yaml"), Exit.FILE, "none.yaml"),
        (("night", *CRON, "bad.yaml"), Exit.FILE, "bad.yaml:4:11: unknown command 'SETT'"),
        (("night", *CRON, "reason.yaml"), Exit.USAGE, "wants a reason. Give --reason TEXT"),
    ],
)  # fmt: skip
def test_what_cannot_be_added(bench: Bench, words: tuple[str, ...], code: Exit, said: str) -> None:
    """Whatever is wrong with schedule, name or plan is said while somebody is there, and no job is added."""
    live = bench.device()
    put_plan(bench, QUIET_STEPS)
    bench.project.put("bad.yaml", "plan: bad\ntargets: [d1]\nsteps:\n  - send: SETT\n")
    bench.project.put("reason.yaml", f"plan: reason\ntargets: [d1]\nreason_required: true\n{QUIET_STEPS}")
    ended = bench.type("job", "add", *words)
    assert ended.code == code
    assert said in ended.err
    assert jobs(bench) == []
    assert live.do(lambda: live.device.counts["connections"]) == 0


def test_a_name_that_is_taken(bench: Bench) -> None:
    """It is refused, and --replace puts the new job in the old one's place."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    assert add(bench).code == Exit.OK
    again = bench.type("job", "add", "night", "--cron", "0 4 * * *", "--tz", "UTC", "p.yaml")
    assert again.code == Exit.USAGE
    assert "there is a job night already" in again.err
    assert jobs(bench)[0]["cron"] == "30 2 * * 1-5"
    assert add(bench, "--replace", "--cron", "0 4 * * *").code == Exit.OK
    assert [job["cron"] for job in jobs(bench)] == ["0 4 * * *"]


def test_a_window_that_never_fits(bench: Bench) -> None:
    """A job whose next time is outside the plan's window is added with a warning."""
    bench.device()
    put_plan(bench, QUIET_STEPS, more='window: {from: "05:00", to: "06:00", tz: Europe/Lisbon}\n')
    ended = add(bench)
    assert ended.code == Exit.OK
    assert (
        "is outside the plan's maintenance window (05:00 to 06:00 (Europe/Lisbon)): not run then."
        in ended.err
    )


def test_two_jobs_of_one_plan(bench: Bench) -> None:
    """Whoever adds a second one is told with which it shares a time, and when first; other plans and times are fine."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    bench.project.put("copy.yaml", f"plan: night\ntargets: [d1]\n{QUIET_STEPS}")
    bench.project.put("other.yaml", f"plan: other\ntargets: [d1]\n{QUIET_STEPS}")
    assert "Warning" not in add(bench, name="m").err
    assert "Warning" not in add(bench, "--replace", name="m").err
    cron = ("--cron", "30 * * * *", "--tz", "UTC")
    ended = bench.type("job", "add", "m2", *cron, "copy.yaml", "--json")
    assert ended.code == Exit.OK
    [said] = ended.err.splitlines()
    assert said.startswith(
        "Warning: job m is a job of the plan night too. At a time at which both are due, first "
    )
    assert ":30 UTC, the plan is carried out once." in said
    for plan, minute in (("other.yaml", "30"), ("p.yaml", "31")):
        alone = bench.type(
            "job", "add", "m3", "--cron", f"{minute} * * * *", "--tz", "UTC", plan, "--replace"
        )
        assert (alone.code, "Warning" in alone.err) == (Exit.OK, False)


def test_a_second_job_of_a_plan_that_has_gone(bench: Bench) -> None:
    """A job whose plan cannot be read any more is in nobody's way."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    bench.project.put("q.yaml", f"plan: night\ntargets: [d1]\n{QUIET_STEPS}")
    assert add(bench, name="m").code == Exit.OK
    (bench.project.folder / "p.yaml").unlink()
    ended = bench.type("job", "add", "m2", *CRON, "q.yaml")
    assert (ended.code, "Warning" in ended.err) == (Exit.OK, False)


# --- consent ----------------------------------------------------------------------------------------------------------


def test_nobody_to_ask(bench: Bench) -> None:
    """Commands that count every time need a yes when the job is added: without a terminal and --yes, exit 4."""
    live = bench.device()
    put_plan(bench)
    ended = add(bench, "--json")
    assert ended.code == Exit.NOT_ALLOWED
    assert ended.records[0]["outcome"] == "not_sent"
    assert "give --yes" in ended.err
    assert "No job was added, and nothing was sent." in ended.err
    assert jobs(bench) == []
    assert live.do(lambda: live.device.counts["connections"]) == 0


def test_the_name_is_wanted(bench: Bench) -> None:
    """A reset of several devices needs the plan's name, which --yes does not give."""
    bench.device()
    bench.device()
    put_plan(bench, RESETS)
    refused = add(bench, "--yes")
    assert refused.code == Exit.NOT_ALLOWED
    assert "this needs --confirm night" in refused.err
    assert add(bench, "--confirm", "night").code == Exit.OK


@pytest.mark.parametrize(("typed", "code"), [("y\n", Exit.OK), ("n\n", Exit.NOT_ALLOWED)])
def test_the_question(start_rig: Callable[..., ProcessRig], typed: str, code: Exit) -> None:
    """On a terminal it is asked, with what the plan does and how often."""
    rig = start_rig()
    (rig.folder / "p.yaml").write_text("plan: night\ntargets: [d1]\nsteps:\n  - send: BEEP\n")
    adding, terminal = rig.on_terminal("job", "add", "night", *CRON, "p.yaml", answer=typed)
    ended = adding.end()
    os.close(terminal)
    assert ended.code == code
    assert "Job night will carry out the plan night on 1 device at each of its times" in ended.err
    assert "count every time (trigger)" in ended.err
    assert len(rig.run("job", "list", "--json").lines) == (code == Exit.OK)


# --- run --------------------------------------------------------------------------------------------------------------


def test_run_now(bench: Bench) -> None:
    """`run` is a run of its own each time, told as `apply` tells it, and kept as the job's last."""
    live = bench.device(timeout="5s")
    put_plan(bench)
    add(bench, "--yes")
    first, second = bench.type("job", "run", "night", "--json"), bench.type("job", "run", "night")
    assert (first.code, second.code) == (Exit.OK, Exit.OK)
    *steps, last = first.records
    assert [step["outcome"] for step in steps] == ["applied"] * 3
    assert last["summary"]["key"].startswith("manual-")
    assert last["summary"]["changed"] == 3
    assert second.lines[-1].startswith("changed 2, unchanged 1, ")
    assert live.do(lambda: live.device.ledger.count("BEEP")) == 2
    [job] = jobs(bench)
    assert job["state"] == "done"
    assert job["last"].startswith("manual-")
    assert len(bench.type("runs", "--json").lines) == 2


def test_run_what_was_not_agreed_to(bench: Bench) -> None:
    """A plan that was edited since is not run, by hand neither: exit 4 with what to type."""
    live = bench.device()
    put_plan(bench)
    add(bench, "--yes")
    put_plan(bench, "steps:\n  - send: ADJUST offset +6\n")
    ended = bench.type("job", "run", "night", "--json")
    assert ended.code == Exit.NOT_ALLOWED
    assert ended.records[0]["op"] is None
    assert "the plan has changed since it was agreed to" in ended.records[0]["message"]
    assert "ackonce job add night ... --replace" in ended.err
    assert live.do(lambda: live.device.counts["connections"]) == 0


def test_run_outside_the_window(bench: Bench) -> None:
    """A shut window holds a run by hand too: exit 4, and when it opens."""
    bench.device()
    put_plan(bench, QUIET_STEPS, more=window(2))
    add(bench)
    ended = bench.type("job", "run", "night")
    assert ended.code == Exit.NOT_ALLOWED
    assert "the maintenance window is shut" in ended.err
    assert "it opens at" in ended.err


def test_run_while_it_runs(bench: Bench) -> None:
    """While a living process runs the job: exit 8, with its name, and nothing sent."""
    live = bench.device()
    put_plan(bench, QUIET_STEPS)
    add(bench)
    with sqlite3.connect(bench.project.home / FILE_NAME) as store:
        store.execute(
            "INSERT INTO due (job, due_utc, state, claimed_by, claimed_utc) VALUES ('night', '2026-11-29T02:30+00:00', "
            "'running', ?, '2099-01-01T00:00:00.000Z')",
            (this_process("other").to_json(),),
        )
    ended = bench.type("job", "run", "night")
    assert ended.code == Exit.HELD
    assert "not run: its run of 2026-11-29T02:30+00:00 is still running (agent other, process" in ended.err
    assert live.do(lambda: live.device.counts["connections"]) == 0


def test_run_that_fails(bench: Bench) -> None:
    """The exit code is that of the worst step, and it is said how to go on."""
    live = bench.device()
    live.unplug()
    put_plan(bench, QUIET_STEPS)
    add(bench)
    ended = bench.type("job", "run", "night")
    assert ended.code == Exit.NOT_SENT
    assert "Go on with what is left: ackonce resume " in ended.err


# --- export -----------------------------------------------------------------------------------------------------------


def test_exported(bench: Bench) -> None:
    """The unit files are printed, or written where nothing is in the way; paths in them are absolute."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    add(bench)
    printed = bench.type("job", "export", "night", "--systemd")
    assert printed.code == Exit.OK
    assert "OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 02:30:00 Europe/Lisbon" in printed.lines
    assert f"Environment=ACKONCE_HOME={bench.project.home}" in printed.lines
    [start] = [line for line in printed.lines if line.startswith("ExecStart=")]
    assert Path(start.removeprefix("ExecStart=").split()[0]).is_absolute()
    written = bench.type("job", "export", "night", "--systemd", "--dir", "units")
    names = ["ackonce-night.service", "ackonce-night.timer"]
    assert written.lines == [str(bench.project.folder / "units" / name) for name in names]
    assert "\n".join(
        (bench.project.folder / "units" / name).read_text() for name in names
    ) in printed.out.replace("# ackonce-night.service\n", "").replace("# ackonce-night.timer\n", "")
    again = bench.type("job", "export", "night", "--systemd", "--dir", "units")
    assert again.code == Exit.USAGE
    assert "there already" in again.err


def test_what_cannot_be_exported(bench: Bench) -> None:
    """A schedule that systemd cannot express is refused, and so is an export for nothing in particular."""
    bench.device()
    put_plan(bench, QUIET_STEPS)
    add(bench, "--cron", "0 2 L * *")
    refused = bench.type("job", "export", "night", "--systemd")
    assert refused.code == Exit.USAGE
    assert "'0 2 L * *' cannot be exported" in refused.err
    assert bench.type("job", "export", "night").code == Exit.USAGE
