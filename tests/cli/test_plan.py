"""`ackonce plan`: what would change, told without sending anything."""

from pathlib import Path

import pytest

from agent.cli import output
from tests.cli.bench import Bench
from tests.cli.plan_project import (
    BOOTS_AFTER,
    QUIET_STEPS,
    STEPS,
    apply,
    objects,
    put_plan,
    still,
    unreachable,
    window,
    words,
)


def test_what_would_change(bench: Bench) -> None:
    """Every step with the value found and the one it leads to; the devices are only read."""
    first, second = bench.device(timeout="5s"), bench.device(timeout="5s")
    bench.send("d2", "SET", "interval", "30")
    put_plan(bench)
    ended = bench.type("plan", "p.yaml")
    assert ended.lines == [
        "send\td1\tSET interval 30\tresend\t10\t30\t-",
        "send\td1\tsummer: ADJUST offset +5\tresend\t10\t15\t-",
        "send\td1\tBEEP\tresend\t-\t-\t-",
        "unchanged\td2\tSET interval 30\tresend\t30\t30\t-",
        "send\td2\tsummer: ADJUST offset +5\tresend\t10\t15\t-",
        "send\td2\tBEEP\tresend\t-\t-\t-",
    ]
    assert still(bench, ended.err) == (
        "5 to change, 1 unchanged. Nothing was sent. Next: ackonce apply p.yaml\n"
    )
    assert ended.code == 0
    assert (first.copies, second.copies) == ([], ["SET interval 30"])


def test_json(bench: Bench) -> None:
    """One object a step, with the fields of the contract; a held one says by what."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    put_plan(bench, "steps:\n  - send: SET interval 30\n  - send: ADJUST offset +5\n")
    assert apply(bench, "--key", "k").code == 5
    done, held = bench.type("plan", "p.yaml", "--key", "k", "--json").records
    fields = {"device": "d1", "step": "SET interval 30", "command": "SET interval 30", "policy": "resend"}
    assert done == fields | {"before": None, "target": None, "action": "done"}
    assert (held["action"], held["command"]) == ("held", "ADJUST offset +5")
    assert "in doubt" in held.pop("reason")
    assert list(held) == list(done)


@pytest.mark.parametrize(("value", "code"), [("30", 0), ("31", 10)])
def test_exit_code(bench: Bench, value: str, code: int) -> None:
    """--exit-code: 10 where something would change, 0 where everything stands; without it always 0."""
    bench.device(timeout="5s")
    bench.send("d1", "SET", "interval", value)
    put_plan(bench, QUIET_STEPS)
    assert bench.type("plan", "p.yaml", "--exit-code").code == code
    assert bench.type("plan", "p.yaml").code == 0


def test_exit_code_of_what_is_held(bench: Bench) -> None:
    """What a doubt holds back is not said to stand already: 10."""
    bench.device("cmd 1: reboot_after", timeout="0.2s")
    bench.send("d1", "BEEP")
    put_plan(bench, QUIET_STEPS)
    assert bench.type("plan", "p.yaml", "--exit-code").code == 10


def test_a_device_that_cannot_be_asked(bench: Bench) -> None:
    """Its steps stand there without values, a warning says why, exit 7 even with --exit-code."""
    unreachable(bench)
    put_plan(bench)
    ended = bench.type("plan", "p.yaml", "--json", "--exit-code")
    assert [(row["action"], row["before"]) for row in ended.records] == [("send", None)] * 3
    assert ended.err.count("d1 could not be asked, so its values are not known") == 1
    assert ended.code == 7
    assert [row.split("\t")[-1] for row in bench.type("plan", "p.yaml").lines] == ["-"] * 3


def test_only_some_devices(bench: Bench) -> None:
    """Targets pick some of the plan's devices, and the line to type next names them and the key."""
    bench.device(timeout="5s")
    other = bench.device()
    put_plan(bench)
    ended = bench.type("plan", "p.yaml", "d1", "--key", "n 1")
    assert {line.split("\t")[1] for line in ended.lines} == {"d1"}
    assert ended.err.endswith("p.yaml d1 --key 'n 1'\n")
    assert other.connections == 0


def test_on_a_terminal(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal each row begins with a mark, under headings; the reason stands below where it is narrow."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    put_plan(bench)
    apply(bench, "--key", "k")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    ended = bench.type("plan", "p.yaml", "--key", "k", "-q")
    assert still(bench, ended.out) == (
        "        device  step                      policy  now  target\n"
        "✓ done  d1      SET interval 30           resend  -    -\n"
        "? held  d1      summer: ADJUST offset +5  resend  15   20\n"
        "    held by operation ID1 ('ADJUST offset +5'), which is in doubt. See: ackonce doubt show ID1\n"
        "? held  d1      BEEP                      resend  -    -\n"
        "    held by operation ID1 ('ADJUST offset +5'), which is in doubt. See: ackonce doubt show ID1\n"
    )
    monkeypatch.setattr(output, "can_show", lambda _: False)
    assert bench.type("plan", "p.yaml", "--key", "k").lines[1].startswith("* done")


def test_a_shut_window(bench: Bench) -> None:
    """Looking is allowed outside the window; it says when apply will be."""
    bench.device(timeout="5s")
    put_plan(bench, more=window(2))
    ended = bench.type("plan", "p.yaml")
    assert ended.code == 0
    assert "the maintenance window is shut" in ended.err
    assert "It opens next at" in ended.err


PROBLEMS = """\
steps:
  - send: SET intervall 30
  - send: SET interval 99999
  - set: {colour: red}
"""


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_everything_that_is_wrong_at_once(bench: Bench, verb: str) -> None:
    """Every problem of the file with its line and column, as text and as an object; nothing is sent, exit 3."""
    device = bench.device()
    put_plan(bench, PROBLEMS, targets="['d*', nobody]")
    ended = bench.type(verb, "p.yaml", "--json", "--yes")
    said = still(bench, ended.err).splitlines()
    [record] = ended.records
    assert [line.partition(" ")[0].removeprefix("ackonce:") for line in said[1:]] == [
        "DIR/p.yaml:4:11:",
        "DIR/p.yaml:5:11:",
        "DIR/p.yaml:6:11:",
        "Nothing",
    ]
    assert said[0].startswith("ackonce: DIR/p.yaml:2:17: unknown device 'nobody'")
    assert said[-1] == "Nothing was sent."
    assert (record["op"], record["outcome"]) == (None, "not_sent")
    assert record["message"].count("p.yaml:") == 4
    assert (ended.code, device.connections) == (3, 0)


@pytest.mark.parametrize(
    "plan", ["plan: [\n", "plan: a b\n", "plan: p\ntargets: [d1]\nsteps:\n  - {send: BEEP, id: ''}\n"]
)
@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_plan_and_inventory_at_once(bench: Bench, verb: str, plan: str) -> None:
    """What is wrong with the plan and what is wrong with the inventory is told in one go."""
    bench.project.put("inventory.yaml", "devices:\n  d1: {url: 7}\n")
    bench.project.put("p.yaml", plan)
    ended = bench.type(verb, "p.yaml", "--yes")
    assert ended.code == 3
    assert ended.err.index("p.yaml:") < ended.err.index("inventory.yaml:2:")


def test_everything_wrong_with_a_plan(bench: Bench) -> None:
    """What the file alone shows and what devices cannot do is told together, in the order of the lines."""
    bench.device()
    steps = """\
steps:
  - {send: BEEEP, id: a}
  - {sned: BEEP}
  - {send: SET interval 0, id: a}
"""
    put_plan(bench, steps, more="window: {from: '25:00', to: '04:00'}\n", targets="['d*', nobody]")
    ended = bench.type("apply", "p.yaml", "--yes")
    assert ended.code == 3
    assert [
        line.split(" ")[0] for line in still(bench, ended.err.removeprefix("ackonce: ")).splitlines()
    ] == [
        *(f"DIR/p.yaml:{place}:" for place in ("2:17", "3:16", "5:12", "6:5", "6:6", "7:12", "7:32")),
        "Nothing",
    ]


def test_targets_that_are_none_of_the_plan(bench: Bench) -> None:
    """A target that the plan does not mean is named and nothing is done, whatever else is typed."""
    device = bench.device()
    bench.device()
    put_plan(bench, targets="[d1]")
    for verb in ("plan", "apply"):
        ended = bench.type(verb, "p.yaml", "d1", "d2", "d9", "--yes")
        assert (ended.code, device.connections) == (2, 0)
        assert "d2 is none of the devices of the plan night\nunknown device 'd9'" in ended.err


def test_an_edited_step_under_a_used_key(bench: Bench) -> None:
    """With --key other words under a used id are refused as `apply` does: exit 3, and no device is asked."""
    device = bench.device(timeout="5s")
    put_plan(bench)
    apply(bench, "--key", "k")
    connections = device.connections
    put_plan(bench, STEPS.replace("+5", "+6"))
    ended = bench.type("plan", "p.yaml", "--key", "k")
    assert (ended.code, ended.out, device.connections) == (3, "", connections)
    assert "step 'summer' is now 'ADJUST offset +6', but in run " in ended.err
    assert bench.type("plan", "p.yaml", "--key", "k2").code == 0


@pytest.mark.parametrize("key", ["", " ", "a\nb", "\x1b[2J", "k" * 201])
@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_what_cannot_be_a_key(bench: Bench, verb: str, key: str) -> None:
    """A key is one line of 200 characters at most; anything else is a usage error before any connection."""
    device = bench.device()
    put_plan(bench)
    assert (bench.type(verb, "p.yaml", "--yes", "--key", key).code, device.connections) == (2, 0)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("inventory.yaml", "devices:\n  d1: {url: 7}\n", "inventory.yaml:2:"),
        ("profiles/demo/own.yaml", "profile: demo/own\ndialect: morse\n", "own.yaml:2:"),
        ("p.yaml", "plan: [\n", "p.yaml:"),
    ],
)
def test_other_files(bench: Bench, name: str, text: str, place: str) -> None:
    """A fault of inventory, profile or YAML is told with its place: exit 3, nothing sent."""
    bench.enter("d1", '{profile: demo/own, url: "tcp://127.0.0.1:9"}')
    put_plan(bench)
    bench.project.put(name, text)
    ended = bench.type("apply", "p.yaml", "--yes", "--json")
    assert ended.code == 3
    assert place in ended.err
    assert ended.err.endswith("Nothing was sent.\n")
    assert ended.records[0]["outcome"] == "not_sent"


# --- saved plans ------------------------------------------------------------------------------------------------------


def save(bench: Bench) -> str:
    """`plan --out`; the saved plan's own key."""
    put_plan(bench)
    ended = bench.type("plan", "p.yaml", "--out", "night.plan")
    assert ended.code == 0
    assert still(bench, ended.err).endswith("Next: ackonce apply night.plan\n")
    _, summary = objects(bench.type("apply", "night.plan", "--yes", "--json"))
    return str(summary["key"])


def test_a_saved_plan_is_applied_once(bench: Bench) -> None:
    """A saved plan has its own key: applied twice it does nothing twice, though its steps have moved its values."""
    device = bench.device(timeout="5s")
    key = save(bench)
    assert len(key) == 26
    steps, summary = objects(bench.type("apply", "night.plan", "--yes", "--json"))
    assert [step["skipped"] for step in steps] == [True] * 3
    assert (summary["key"], summary["stale"], device.executed) == (
        key,
        0,
        ["SET interval 30", "ADJUST offset +5", "BEEP"],
    )


def test_what_the_run_has_changed_itself_has_not_moved(bench: Bench) -> None:
    """A device on which the run has done a step already gets the others, though its values are no longer as planned."""
    device = bench.device("cmd 2: refuse", timeout="5s")
    put_plan(bench, "steps:\n  - send: SET interval 30\n  - send: ADJUST offset +5\n")
    bench.type("plan", "p.yaml", "--out", "night.plan")
    assert bench.type("apply", "night.plan", "--yes").code == 1
    assert bench.type("apply", "night.plan", "--yes").code == 0
    assert device.executed == ["SET interval 30", "ADJUST offset +5"]


def test_a_stale_plan(bench: Bench) -> None:
    """A device that has moved since gets nothing, the others get their steps; exit 6, and what to do is said."""
    moved, other = bench.device(timeout="5s"), bench.device(timeout="5s")
    put_plan(bench)
    bench.type("plan", "p.yaml", "--out", "night.plan")
    bench.send("d1", "SET", "offset", "40")
    ended = bench.type("apply", "night.plan", "--yes")
    assert still(bench, ended.out) == (
        "d1\tSET interval 30 and 2 more\tstale\t-\t-\t-\t-\toffset was 10 when this was planned and is 40 now\n"
        "changed 3, unchanged 0, refused 0, not applied 0, in doubt 0, held 0, not sent 0, stale 3; run ID1 (key ID2)\n"
    )
    assert "Look again: ackonce plan FILE --out FILE" in ended.err
    assert "ackonce resume" not in ended.err
    assert (ended.code, moved.executed, len(other.executed)) == (6, ["SET offset 40"], 3)


def test_a_saved_plan_is_for_its_devices(bench: Bench) -> None:
    """Targets beside a saved plan are a usage error: nothing is sent."""
    bench.device(timeout="5s")
    put_plan(bench)
    bench.type("plan", "p.yaml", "--out", "night.plan")
    ended = bench.type("apply", "night.plan", "d1", "--yes")
    assert ended.code == 2
    assert "the devices that it was made for" in ended.err


def test_out_never_replaces_another_file(bench: Bench) -> None:
    """--out over a file that is no saved plan: exit 3, and the file is as it was."""
    bench.device(timeout="5s")
    put_plan(bench)
    before = (bench.project.folder / "p.yaml").read_text()
    assert bench.type("plan", "p.yaml", "--out", "p.yaml").code == 3
    assert Path(bench.project.folder / "p.yaml").read_text() == before


def test_resume_of_a_saved_plan_still_looks(bench: Bench) -> None:
    """A run begun from a saved plan goes on with it: what has moved meanwhile gets nothing; without it, exit 3."""
    live = unreachable(bench)
    live.plug_in()
    put_plan(bench)
    bench.type("plan", "p.yaml", "--out", "night.plan")
    live.unplug()
    assert bench.type("apply", "night.plan", "--yes").code == 7  # nobody can tell whether it has moved
    live.plug_in()
    bench.send("d1", "SET", "offset", "40")
    steps, _ = objects(bench.type("resume", "--yes", "--json"))
    assert {word for _, _, word in words(steps)} == {"not_sent"}
    assert live.executed == ["SET offset 40"]
    (bench.project.folder / "night.plan").unlink()
    ended = bench.type("resume")
    assert (ended.code, ended.err.endswith("Nothing was sent.\n")) == (3, True)
