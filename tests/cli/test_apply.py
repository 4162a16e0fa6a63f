"""`ackonce apply` and `resume`: what is typed, told and returned; the devices' ledgers judge."""

import os
import signal
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agent.cli.exit_codes import Exit
from agent.processes import this_process
from agent.store.sqlite import FILE_NAME
from tests.cli.bench import Bench
from tests.cli.plan_project import (
    BOOTS_AFTER,
    QUIET_STEPS,
    apply,
    objects,
    put_plan,
    still,
    unreachable,
    window,
    words,
)
from tests.cli.process_rig import ProcessRig

StartRig = Callable[..., ProcessRig]
DONE = ["SET interval 30", "ADJUST offset +5", "BEEP"]
LINE = "changed {}, unchanged {}, refused 0, not applied 0, in doubt 0, held 0, not sent 0; run ID1{}\n"


def test_all_went_plainly(bench: Bench) -> None:
    """Nothing but the counts, and one line for each finished device; exit 0."""
    first, second = bench.device(timeout="5s"), bench.device(timeout="5s")
    put_plan(bench, more="waves: [1, rest]\n")
    ended = apply(bench)
    assert still(bench, ended.out) == LINE.format(6, 0, "")
    assert ended.err.splitlines() == [
        "wave 1 of 2: 1 device",
        "d1: 3 changed (1 of 2 devices)",
        "wave 2 of 2: 1 device",
        "d2: 3 changed (2 of 2 devices)",
    ]
    assert (ended.code, first.executed, second.executed) == (0, DONE, DONE)


def test_what_stands_already(bench: Bench) -> None:
    """A value that is there is not sent."""
    device = bench.device(timeout="5s")
    bench.send("d1", "SET", "interval", "30")
    put_plan(bench, QUIET_STEPS)
    assert still(bench, apply(bench).out) == LINE.format(0, 1, "")
    assert device.executed == ["SET interval 30"]


TROUBLE = """\
d1	summer: ADJUST offset +5	applied	duplicate_ack	15	2	T s	the device confirmed it
d2	summer: ADJUST offset +5	in_doubt	-	-	1	T s	the device lost its memory of the session (restart or \
takeover) after the command left
d2	BEEP	held	-	-	-	-	held by operation ID1 ('ADJUST offset +5'), which is in doubt
d3	SET interval 30 and 2 more	not_sent	-	-	0	-	\
127.0.0.1 port PORT3 refuses connections: nothing listens there
changed 4, unchanged 0, refused 0, not applied 0, in doubt 1, held 1, not sent 3; run ID2 (key n1)
"""


IN_DOUBT = (
    "In doubt: 1 step. What was sent may have taken effect or not; until that is settled, nothing that changes the "
    "device is sent."
)


def test_what_did_not(bench: Bench) -> None:
    """Each step that was not plain is a row with its reason; then what to type. The worst of it is the exit code."""
    bench.device("cmd 2: drop_ack", timeout="0.2s")
    bench.device(BOOTS_AFTER, timeout="0.2s")
    unreachable(bench)
    put_plan(bench)
    ended = apply(bench, "--key", "n1")
    assert still(bench, ended.out) == TROUBLE
    said = still(bench, ended.err).splitlines()
    assert said[-4:] == [
        IN_DOUBT,
        "  d2: 'ADJUST offset +5': ackonce doubt check ID1",
        "  or, when you have looked: ackonce doubt resolve ID1 --applied|--not-applied --reason TEXT",
        "Go on with what is left: ackonce resume ID2",
    ]
    assert "d1 [WARN] seq=2 attempt=1 timeout" in said
    assert "d2: 1 changed, 1 in doubt, 1 held (" in ended.err
    assert ended.code == 5
    assert bench.devices[0].executed == DONE


def test_quiet(bench: Bench) -> None:
    """-q says nothing but the result."""
    unreachable(bench)
    put_plan(bench)
    ended = apply(bench, "-q")
    assert (len(ended.lines), ended.err, ended.code) == (2, "", 7)


def test_every_row(bench: Bench) -> None:
    """-v has a row for each step, the plain ones and those done before too."""
    bench.device(timeout="5s")
    put_plan(bench)
    assert [row.split("\t")[1:3] for row in apply(bench, "-v", "--key", "k").lines[:-1]] == [
        ["SET interval 30", "applied"],
        ["summer: ADJUST offset +5", "applied"],
        ["BEEP", "applied"],
    ]
    again = apply(bench, "-v", "--key", "k")
    assert [row.split("\t")[2] for row in again.lines[:-1]] == ["applied (done before)"] * 3


def test_json(bench: Bench) -> None:
    """An object for each step with run and step, one without a turn as not sent; the summary is the last."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    put_plan(bench)
    steps, summary = objects(apply(bench, "--key", "k", "--json"))
    assert words(steps) == [
        ("d1", "SET interval 30", "applied"),
        ("d1", "summer", "in_doubt"),
        ("d1", "BEEP", "not_sent"),
    ]
    assert {step["run"] for step in steps} == {summary["run"]}
    assert steps[2]["op"] is None
    assert "held by operation" in steps[2]["message"]
    assert [step.get("skipped") for step in steps] == [None] * 3
    counts = dict.fromkeys(summary, 0) | {"changed": 1, "in_doubt": 1, "held": 1}
    assert summary == counts | {"run": summary["run"], "plan": "night", "key": "k"}


def test_nothing_twice(bench: Bench) -> None:
    """Under the same key what is done is skipped, with its first outcome; without one it is a new run."""
    device = bench.device(timeout="5s")
    put_plan(bench)
    first, _ = objects(apply(bench, "--key", "k", "--json"))
    ended = apply(bench, "--key", "k", "--json")
    second, summary = objects(ended)
    assert second == [step | {"skipped": True} for step in first]
    assert (summary["skipped"], summary["changed"], ended.code) == (3, 0, 0)
    assert device.executed == DONE
    _, other = objects(apply(bench, "--json"))
    assert other["run"] != summary["run"]
    assert device.executed == [*DONE, "ADJUST offset +5", "BEEP"]


def test_an_edited_step_under_a_used_key(bench: Bench) -> None:
    """Other words under a used id: exit 3 with the place in the plan, and nothing is sent."""
    device = bench.device(timeout="5s")
    put_plan(bench)
    apply(bench, "--key", "k")
    text = (bench.project.folder / "p.yaml").read_text()
    bench.project.put("p.yaml", text.replace("+5", "+6"))
    ended = apply(bench, "--key", "k", "--json")
    assert ended.code == 3
    assert still(bench, ended.err).startswith("ackonce: DIR/p.yaml:5:")
    assert ended.err.endswith("Nothing was sent.\n")
    assert device.executed == DONE


def test_only_some_devices(bench: Bench) -> None:
    """Targets pick some of the plan's devices."""
    first, second = bench.device(timeout="5s"), bench.device(timeout="5s")
    put_plan(bench)
    assert apply(bench, "d2", "--parallel", "1").code == 0
    assert (first.connections, second.executed) == (0, DONE)


def test_an_aborted_run(bench: Bench) -> None:
    """Once a limit is reached nothing new begins: the reason is said once, the steps are counted, exit 6 at least."""
    unreachable(bench)
    other = bench.device()
    put_plan(bench, more="waves: [1, rest]\nlimits: {abort_after: {failed: 1}}\n")
    ended = apply(bench)
    assert ended.lines[-1].startswith("changed 0, ")
    assert "not sent 3, no turn 3;" in ended.lines[-1]
    assert ended.err.count("nothing more is begun: ") == 1
    assert "No turn: 3 steps, of which nothing was sent: the run was aborted before its turn: " in ended.err
    assert (len(ended.lines), ended.code, other.connections) == (2, 6, 0)


# --- what has to be allowed -------------------------------------------------------------------------------------------


def test_without_a_yes(bench: Bench) -> None:
    """What cannot be taken back, without a terminal and without --yes: exit 4 before any connection."""
    device = bench.device()
    put_plan(bench)
    ended = bench.type("apply", "p.yaml", "--json")
    [record] = ended.records
    assert (ended.code, record["op"], record["outcome"], device.connections) == (4, None, "not_sent", 0)
    assert ended.err.endswith("give --yes\nNothing was sent.\n")
    assert bench.type("runs").out == ""


def test_nothing_to_ask(bench: Bench) -> None:
    """A plan of absolute commands asks nobody."""
    device = bench.device(timeout="5s")
    put_plan(bench, QUIET_STEPS)
    assert bench.type("apply", "p.yaml").code == 0
    assert device.executed == ["SET interval 30"]


def test_a_reset_of_several(bench: Bench) -> None:
    """A reset on several devices wants the plan's name; --yes is not enough, and another name is not either."""
    bench.device(timeout="5s")
    device = bench.device(timeout="5s")
    put_plan(bench, "steps:\n  - send: RESET counter\n")
    assert apply(bench).code == 4
    assert apply(bench, "--confirm", "d*").code == 4
    assert device.connections == 0
    assert bench.type("apply", "p.yaml", "--confirm", "night").code == 0
    assert device.executed == ["RESET counter"]


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 4)])
def test_asked_once_for_the_whole_plan(start_rig: StartRig, typed: str, code: int) -> None:
    """On a terminal one question says how much it is and what cannot be taken back."""
    rig = start_rig(timeout="10s")
    steps = "steps:\n  - send: SET interval 30\n  - send: ADJUST offset +5\n  - send: BEEP\n"
    (rig.folder / "p.yaml").write_text(f"plan: night\ntargets: [d1]\n{steps}")
    sender, terminal = rig.on_terminal("apply", "p.yaml", answer=typed)
    ended = sender.end()
    os.close(terminal)
    question = (
        "Plan night: 3 steps on 1 device. What cannot be taken back: ADJUST offset +5 (relative), BEEP (trigger). "
        "Carry it out? [y/N]"
    )
    assert ended.err.count(question) == 1
    assert ended.code == code
    assert sum(rig.device.counts()["executed"].values()) == (0 if code else 3)


def test_a_shut_window(bench: Bench) -> None:
    """Outside the window: exit 4 before any connection, and when it opens."""
    device = bench.device(timeout="5s")
    put_plan(bench, more=window(2))
    ended = apply(bench, "--json")
    assert (ended.code, device.connections) == (4, 0)
    assert "the maintenance window is shut" in ended.records[0]["message"]
    assert f"It opens next at {datetime.now(UTC):%Y}" in ended.err
    put_plan(bench, QUIET_STEPS, more=window(0))
    assert apply(bench).code == 0


def test_a_reason(bench: Bench) -> None:
    """A plan that wants a reason is not carried out without one: exit 2; with one the journal keeps it."""
    device = bench.device(timeout="5s")
    put_plan(bench, QUIET_STEPS, more="reason_required: true\n")
    ended = apply(bench)
    assert (ended.code, device.connections) == (2, 0)
    assert "Give --reason TEXT" in ended.err
    assert apply(bench, "--reason", "CHG-1").code == 0
    [run] = bench.type("runs", "--json").records
    assert run["reason"] == "CHG-1"


def test_a_key_of_the_longest_kind(bench: Bench) -> None:
    """200 characters are a key, letters of any alphabet."""
    bench.device(timeout="5s")
    put_plan(bench, QUIET_STEPS)
    assert apply(bench, "--key", "é" * 200).code == 0


# --- going on ---------------------------------------------------------------------------------------------------------


def test_nothing_to_resume(bench: Bench) -> None:
    """No unfinished run, or one that is done: said, exit 0."""
    bench.device(timeout="5s")
    assert "No run is unfinished" in bench.type("resume").err
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    for words_typed in (["resume"], ["resume", summary["run"]]):
        ended = bench.type(*words_typed)
        assert (ended.code, ended.out) == (0, "")
        assert "nothing to go on with. Nothing was sent." in ended.err
    assert bench.type("resume", "nosuch").code == 2


def test_resume(bench: Bench) -> None:
    """The rest of the newest unfinished run, as its plan was, whatever has become of the file."""
    first, second = bench.device(timeout="5s"), unreachable(bench)
    put_plan(bench)
    assert apply(bench, "d1", "d2", "--reason", "CHG-1").code == 7
    bench.project.put("p.yaml", "no plan any more")
    bench.enter(
        "d9", '{profile: demo/controller, url: "tcp://127.0.0.1:9"}'
    )  # the plan means it, the run did not
    second.plug_in()
    ended = bench.type("resume", "--json", "--yes")
    steps, summary = objects(ended)
    assert [step.get("skipped", False) for step in steps] == [True] * 3 + [False] * 3
    assert (summary["skipped"], summary["changed"], ended.code) == (3, 3, 0)
    assert (first.executed, second.executed) == (DONE, DONE)
    [run] = bench.type("runs", "--json").records
    assert (run["state"], run["reason"]) == ("done", "CHG-1")


def test_resume_has_the_reason(bench: Bench) -> None:
    """A plan that wants a reason is gone on with for the one that was given."""
    device = unreachable(bench)
    put_plan(bench, QUIET_STEPS, more="reason_required: true\n")
    apply(bench, "--reason", "CHG-1")
    device.plug_in()
    [step], _ = objects(bench.type("resume", "--json"))
    assert step["outcome"] == "applied"
    assert "  reason: CHG-1" in bench.type("doubt", "show", step["op"]).lines


def test_resume_asks_as_apply_does(bench: Bench) -> None:
    """Whatever was answered when the run began: without a yes exit 4, before any connection."""
    device = unreachable(bench)
    put_plan(bench)
    apply(bench)
    device.plug_in()
    for words_typed in (["resume"], ["resume", "--no-input"]):
        ended = bench.type(*words_typed)
        assert (ended.code, device.connections) == (4, 0)
        assert ended.err.endswith("give --yes\nNothing was sent.\n")
    assert bench.type("resume", "--yes").code == 0
    assert device.executed == DONE


def test_resume_of_a_reset_of_several(bench: Bench) -> None:
    """What wants the plan's name wants it again."""
    first, second = bench.device(timeout="5s"), unreachable(bench)
    put_plan(bench, "steps:\n  - send: RESET counter\n")
    assert apply(bench, "--confirm", "night").code == 7
    second.plug_in()
    assert bench.type("resume", "--yes").code == 4
    assert bench.type("resume", "--confirm", "night").code == 0
    assert (first.executed, second.executed) == (["RESET counter"], ["RESET counter"])


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 4)])
def test_resume_asks_on_a_terminal(start_rig: StartRig, typed: str, code: int) -> None:
    """On a terminal it is the question of `apply`."""
    rig = start_rig("cmd 1: refuse", timeout="10s")
    (rig.folder / "p.yaml").write_text("plan: night\ntargets: [d1]\nsteps:\n  - send: BEEP\n")
    assert rig.run("apply", "p.yaml", "--yes").code == Exit.REFUSED
    sender, terminal = rig.on_terminal("resume", answer=typed)
    ended = sender.end()
    os.close(terminal)
    assert ended.err.count("What cannot be taken back: BEEP (trigger). Carry it out? [y/N]") == 1
    assert ended.code == code


@pytest.mark.parametrize(
    "how", [["resume"], ["resume", "RUN", "--yes"], ["apply", "p.yaml", "--yes", "--key", "k"]]
)
def test_another_process_has_the_run(bench: Bench, how: list[str]) -> None:
    """A run that a living process works on is left to it: exit 8 and who it is, or another run is looked for."""
    unreachable(bench)
    put_plan(bench)
    _, summary = objects(apply(bench, "--key", "k", "--json"))
    store = sqlite3.connect(bench.project.home / FILE_NAME)
    with store:
        store.execute("UPDATE run SET state = 'running', holder = ?", (this_process("other").to_json(),))
    store.close()
    ended = bench.type(*[summary["run"] if word == "RUN" else word for word in how])
    if how == ["resume"]:
        assert (ended.code, "No run is unfinished" in ended.err) == (0, True)
    else:
        assert ended.code == Exit.HELD
        assert f"agent other, process {os.getpid()}" in ended.err
    assert f"running (agent other, process {os.getpid()}" in bench.type("runs").out


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------

SLOW = "cmd 2: delay 2"


def start(rig: ProcessRig) -> None:
    """Write a plan of three steps for d1 and for a device that is not there."""
    with (rig.folder / "inventory.yaml").open("a") as inventory:
        inventory.write('  d2: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n')
    steps = "steps:\n  - send: SET interval 30\n  - send: ADJUST offset +5\n  - send: BEEP\n"
    (rig.folder / "p.yaml").write_text(f"plan: night\ntargets: [d1, d2]\nwaves: [1, rest]\n{steps}")


def test_interrupted_once(start_rig: StartRig) -> None:
    """One Ctrl-C: what is in flight reaches its word, nothing new begins, exit 130; resume does the rest once."""
    rig = start_rig(SLOW, timeout="30s")
    start(rig)
    sender = rig.start("apply", "p.yaml", "--yes", "--json")
    rig.device.wait_for("command: ADJUST")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    *steps, last = ended.records
    assert [step["outcome"] for step in steps] == ["applied", "applied", *["not_sent"] * 4]
    assert (last["summary"]["no_turn"], ended.code) == (4, 130)
    assert "No turn: 4 steps, of which nothing was sent: interrupted before its turn." in ended.err
    assert rig.run("resume", "--yes", "--json").code == 7
    assert rig.device.executed == {"SET interval 30": 1, "ADJUST offset +5": 1, "BEEP": 1}


def test_interrupted_twice(start_rig: StartRig) -> None:
    """Two leave at once: exit 130, what may have left is told as in doubt, the rest as not sent; resume settles it."""
    rig = start_rig(SLOW, timeout="30s")
    start(rig)
    sender = rig.start("apply", "p.yaml", "--yes", "--json")
    rig.device.wait_for("command: ADJUST")
    sender.signal(signal.SIGINT)
    assert sender.err is not None
    sender.err.wait_for("waiting for what is in flight")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    *steps, last = ended.records
    assert [step["outcome"] for step in steps] == ["applied", "in_doubt", *["not_sent"] * 4]
    assert (steps[1]["attempts"], steps[2]["op"], ended.code) == (1, None, 130)
    assert f"ackonce doubt check {steps[1]['op']}" in ended.err
    assert last["summary"]["in_doubt"] == 1
    assert rig.run("resume", "--yes", "--json").code == 7
    assert rig.device.executed == {"SET interval 30": 1, "ADJUST offset +5": 1, "BEEP": 1}


def test_interrupted_twice_at_the_last_step(start_rig: StartRig) -> None:
    """Exit 130 where the one step left is in doubt too, and not the code of a doubt."""
    rig = start_rig("cmd 1: delay 2", timeout="30s")
    (rig.folder / "p.yaml").write_text("plan: night\ntargets: [d1]\nsteps:\n  - send: BEEP\n")
    sender = rig.start("apply", "p.yaml", "--yes")
    rig.device.wait_for("command: BEEP")
    sender.signal(signal.SIGINT)
    assert sender.err is not None
    sender.err.wait_for("waiting for what is in flight")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    assert (ended.code, ended.lines[0].split("\t")[:3]) == (130, ["d1", "BEEP", "in_doubt"])
