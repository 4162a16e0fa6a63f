"""Plan files: what they say, and everything that is wrong with one at its place."""

from contextlib import suppress
from datetime import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.plans.plan_file import PlanFile, Step, load_plan, parse_plan
from agent.plans.waves import NO_ABORT, REST, Abort, Amount
from agent.plans.window import Window
from devices.kinds import Policy
from devices.problems import FileProblems
from tests.plans.plan_files import plan_of

NIGHT = """\
plan: night
targets: [group:meters, pump-7]
limits: {parallel: 4, abort_after: {failed: "20%", in_doubt: 1}}
waves: [1, "10%", rest]
window: {from: 22:00, to: "4:30", tz: Europe/Lisbon}
on_refused: hold
reason_required: true
steps:
  - send: SET interval 30
  - set: {interval: 030, relay: on}
  - send: ADJUST offset +5
    devices: [pump-7, "tag:north"]
    id: summer offset
    policy: get-verify
"""


def complaints(text: str, path: str = "p.yaml") -> list[str]:
    """What is wrong with a text, each problem without the path."""
    with pytest.raises(FileProblems) as caught:
        parse_plan(text, path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def complaints_of(steps: str, more: str = "", targets: str = "[d1]") -> list[str]:
    """What is wrong with a plan of these parts; its steps stand in line 4."""
    with pytest.raises(FileProblems) as caught:
        plan_of(steps, more=more, targets=targets)
    return [line.removeprefix("p.yaml:") for line in str(caught.value).splitlines()]


def test_everything_a_plan_can_say(tmp_path: Path) -> None:
    """Every key of a plan arrives; a `set` of two settings is two steps; values are the words as typed."""
    path = tmp_path / "night.yaml"
    path.write_text(NIGHT, encoding="utf-8")
    plan = load_plan(path)
    assert plan == PlanFile(
        name="night",
        path=str(path),
        text=NIGHT,
        digest=plan.digest,
        targets=("group:meters", "pump-7"),
        targets_at=((2, 11), (2, 25)),
        steps=(
            Step(("SET", "interval", "30"), None, (), None, None, (9, 11)),
            Step(None, ("interval", "030"), (), None, None, (10, 11)),
            Step(None, ("relay", "on"), (), None, None, (10, 26)),
            Step(
                ("ADJUST", "offset", "+5"),
                None,
                ("pump-7", "tag:north"),
                "summer offset",
                Policy.GET_VERIFY,
                (11, 11),
            ),
        ),
        waves=(Amount(1), Amount(10, percent=True), REST),
        parallel=4,
        abort_after=Abort(failed=Amount(20, percent=True), in_doubt=Amount(1)),
        window=Window(time(22), time(4, 30), "Europe/Lisbon"),
        hold_after_refused=True,
        reason_required=True,
    )


def test_what_a_plan_leaves_out() -> None:
    """The defaults: one wave, 8 at once, no limit, any time, a refusal holds nothing back, no reason needed."""
    plan = plan_of("[{send: SET interval 30}]")
    assert (plan.waves, plan.parallel, plan.abort_after, plan.window) == ((), 8, NO_ABORT, None)
    assert not plan.hold_after_refused
    assert not plan.reason_required


def test_a_pinned_text_is_the_same_plan(tmp_path: Path) -> None:
    """What was loaded and what is parsed from its text have one digest, byte order mark or not."""
    path = tmp_path / "night.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + NIGHT.encode())
    plan = load_plan(path)
    assert parse_plan(plan.text, str(path)) == plan


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("on", "on"), ("off", "off"), ("true", "true"), ("True", "True"), ("007", "007"), ("0x1E", "0x1E"),
        ("1.50", "1.50"), ("-5", "-5"), ("+5", "+5"), ("1e3", "1e3"), ("'a b'", "a b"), ('""', ""),
        ("22:00", "22:00"), ("2026-11-29", "2026-11-29"),
    ],
)  # fmt: skip
def test_values_are_the_words_as_typed(typed: str, value: str) -> None:
    """YAML makes nothing else of a value than what stands there."""
    [step] = plan_of(f"[{{set: {{it: {typed}}}}}]").steps
    assert step.setting == ("it", value)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("SET interval 30", ("SET", "interval", "30")),
        ("'  SET   interval 30 '", ("SET", "interval", "30")),
        ('SET label "two words"', ("SET", "label", "two words")),
        ("'SET label \"\"'", ("SET", "label", "")),
        (r"SET label C:\new", ("SET", "label", r"C:\new")),
    ],
)  # fmt: skip
def test_words_of_a_command(typed: str, words: tuple[str, ...]) -> None:
    """Blanks part words, quotation marks keep them together, all else stays as it is."""
    plan = parse_plan(f"plan: p\ntargets: [d1]\nsteps:\n  - send: {typed}\n", "p.yaml")
    assert plan.steps[0].words == words


def test_everything_wrong_is_told_at_once() -> None:
    """One look at a bad plan names every problem, in the order of the lines, with the likely word."""
    assert complaints(
        "plan: my plan\n"
        "targets: []\n"
        "limits: {paralel: 0, abort_after: {failed: 0, in_doubt: 101%}}\n"
        "waves: [rest, 0%, 5x]\n"
        "window: {from: 25:00, to: 2, tz: Europe/Lisbonn}\n"
        "steps:\n"
        "  - {send: A, set: {b: 1}, id: one}\n"
        "  - {sent: A}\n"
        "  - {send: 5, id: one, policy: resent}\n"
        "  - {set: {}, devices: []}\n"
        "  - {set: {a: , b: [1]}, id: two}\n"
    ) == [
        "1:7: 'my plan' cannot be a plan's name: 1 to 100 letters, digits and . _ -.",
        "2:10: 'targets' must not be empty.",
        "3:10: unknown key 'paralel'. Did you mean 'parallel'?",
        "3:44: 'failed' must be 1 to 100000 devices, not '0'.",
        "3:57: 'in_doubt' must be 1% to 100%, not '101%'.",
        "4:9: 'rest' takes every device that is left, so it can only be the last wave.",
        "4:15: item 2 must be 1% to 100%, not '0%'.",
        "4:19: item 3 must be a number of devices, a percentage, or rest, not '5x'.",
        "5:16: 'from' must be a time of the day such as 22:00, not '25:00'.",
        "5:27: 'to' must be a time of the day such as 22:00, not '2'.",
        "5:34: there is no time zone 'Europe/Lisbonn'. Did you mean 'Europe/Lisbon'?",
        "7:15: a step has 'send' or 'set', not both. Make them two steps",
        "8:5: a step needs 'send' or 'set'. Such as: send: SET interval 30",
        "8:6: unknown key 'sent'. Did you mean 'set'?",
        "9:12: 'send' must be text, not '5'. Put it in quotes",
        "9:19: the id 'one' is given to another step already.",
        f"9:32: 'policy' must be one of {', '.join(Policy)}, not 'resent'. Did you mean 'resend'?",
        "10:11: 'set' must not be empty.",
        "10:24: 'devices' must not be empty.",
        "11:14: 'a' must be one value, such as 30 or on, not empty.",
        "11:20: 'b' must be one value, such as 30 or on.",
        "11:26: an id names one step, and this 'set' makes 2. Make it one step for each setting",
    ]


@pytest.mark.parametrize(
    ("steps", "more", "complaint"),
    [
        ("[{send: '  '}]", "", "4:16: 'send' has no command in it."),
        ("[{send: \"SET 'x\"}]", "", "4:16: a quotation mark is not closed: SET 'x."),
        ("[{send: x, id: ' a'}]", "", "4:23: ' a' cannot be an id: 1 to 100 characters, no blank at an end."),
        ("[{send: x, id: ''}]", "", "4:23: '' cannot be an id: 1 to 100 characters, no blank at an end."),
        ("[]", "", "4:8: 'steps' must not be empty."),
        ("{send: x}", "", "4:8: 'steps' must be a list. Each entry begins with a dash, such as: - send: ..."),
        ("[send]", "", "4:9: item 1 must be a mapping (key: value), not 'send'."),
        (
            "[{send: x}]",
            "window: {from: '2:00', to: 02:00}",
            "3:9: 'from' and 'to' are the same: leave 'window' out if any time will do.",
        ),
        (
            "[{send: x}]",
            "window: {from: 22:00, to: 24:00}",
            "3:27: 'to' must be a time of the day such as 22:00: midnight is 00:00, not '24:00'.",
        ),
        ("[{send: x}]", "window: {from: 22:00}", "3:9: 'to' is missing."),
        (
            "[{send: x}]",
            "window: {from: 2:00, to: 3:00, tz: ../../etc/passwd}",
            "3:36: there is no time zone '../../etc/passwd'. One is Europe/Lisbon",
        ),
        (
            "[{send: x}]",
            "waves: [true]",
            "3:9: item 1 must be a number of devices, or a percentage such as 10%, not true.",
        ),
        ("[{send: x}]", "limits: {parallel: 0}", "3:20: 'parallel' must be at least 1, not '0'."),
        ("[{send: x}]", "on_refused: stop", "3:13: 'on_refused' must be one of continue, hold, not 'stop'."),
        ("[{send: x}]", "reason_required: yes", "3:18: 'reason_required' must be true or false, not 'yes'."),
        ("[{send: x}]", "steps: []", "4:1: 'steps' is given twice, first in line 3."),
    ],
)  # fmt: skip
def test_what_is_refused(steps: str, more: str, complaint: str) -> None:
    """Each thing that makes no sense has one problem, where it stands."""
    assert complaints_of(steps, more) == [complaint]


def test_targets_are_names() -> None:
    """A plan names devices of the inventory: an address would need a profile that nobody gave."""
    assert complaints_of("[{send: x, devices: ['serial:/dev/ttyUSB0']}]", targets="['tcp://d1:1', 5]") == [
        "2:11: 'tcp://d1:1' is an address: a plan names devices of the inventory.",
        "2:25: item 2 must be text, not '5'. Put it in quotes",
        "4:29: 'serial:/dev/ttyUSB0' is an address: a plan names devices of the inventory.",
    ]


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("@field.txt", "Put the word in quotes"),
        ("*", "Put a word that begins with * or & in quotes"),
    ],
)
def test_targets_that_yaml_trips_over(target: str, hint: str) -> None:
    """A list or a glob without quotes is no YAML, and the problem says what helps."""
    [complaint] = complaints_of("[{send: x}]", targets=f"[{target}]")
    assert complaint.startswith("2:1")
    assert complaint.endswith(hint)


def test_no_more_steps_than_a_plan_can_have() -> None:
    """A plan of thousands of steps is a mistake, and told as one."""
    [complaint] = complaints_of(f"[{', '.join(['{send: x}'] * 1001)}]")
    assert complaint.startswith("4:8: 'steps'")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("p.yaml", b"plan: p\ntargets: [\xe9]\n", ":2:11: not UTF-8. Save the file as UTF-8"),
        ("p.yaml", b"", ": the file is empty."),
        ("p.yaml", b"#" * 4_000_001, ": larger than 4 MB."),
        ("p.yaml", b"just words", ":1:1: the file must be a mapping (key: value), not 'just words'."),
        ("p.yaml", b"- a\n", ":1:1: the file must be a mapping (key: value)."),
        (
            "p.CSV",
            b"name,profile\nm1,test/meter\n",
            ": a plan is a YAML file, not a table. A table of devices is an inventory: give it with -i",
        ),
    ],
)
def test_files_that_are_no_plans(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    """What is no YAML, no text or no plan is told in one problem, and never with a traceback."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileProblems) as caught:
        load_plan(path)
    assert str(caught.value) == f"{path}{complaint}"


def test_a_folder_or_nothing(tmp_path: Path) -> None:
    """A folder is no plan, nor is what is not there."""
    for path, complaint in (
        (tmp_path, "this is a folder, not a file"),
        (tmp_path / "x", "there is no such file"),
    ):
        with pytest.raises(FileProblems, match=complaint):
            load_plan(path)


@settings(max_examples=200)
@given(text=st.text(max_size=200) | st.text("plan:steptargws[]{}-,\n '\"*&@%0", max_size=120))
def test_no_text_breaks_the_loader(text: str) -> None:
    """Any text is a plan or has problems."""
    with suppress(FileProblems):
        assert parse_plan(text, "p.yaml").steps
