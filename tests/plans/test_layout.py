"""A plan laid out: which operation each device gets, under which id and key, and what does not fit."""

from pathlib import Path

import pytest

from agent.plans.layout import Layout, lay_out, step_key
from agent.plans.plan_file import draft_plan
from agent.settings import Settings
from devices.problems import FileProblems, UsageProblem
from tests.plans.plan_files import INVENTORY, METER, laid_out, plan_of, project


def ids(layout: Layout) -> dict[str, list[str]]:
    """The step ids of each device."""
    return {work.chosen.device.name: [step.id for step in work.steps] for work in layout.work}


def complaints(
    settings: Settings, steps: str, *, targets: str = "[group:meters]", only: tuple[str, ...] = ()
) -> list[str]:
    """What is wrong with a plan of these parts; its steps stand in line 4."""
    with pytest.raises(FileProblems) as caught:
        laid_out(settings, plan_of(steps, targets=targets), only=only)
    return [line.removeprefix("p.yaml:") for line in str(caught.value).splitlines()]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project with three meters and a pump."""
    return project(tmp_path)


def test_an_operation_carries_what_the_plan_says(settings: Settings) -> None:
    """Run, step, key, reason, policy and asker stand in each operation; its id is a ULID of its own."""
    plan = plan_of("[{send: ADJUST level +2, id: lift, policy: no-retry}]", targets="[pump]")
    [operation] = laid_out(settings, plan).operations()
    assert (operation.device, operation.command, operation.kind) == ("pump", "ADJUST level +2", "relative")
    assert (operation.run, operation.step, operation.key) == ("RUN", "lift", "plan:p:night-1:lift")
    assert (operation.reason, operation.submitted_by, operation.route) == ("CHG-1", "ana", "tcp://pump:1")
    assert operation.terms.policy == "no-retry"
    [again] = laid_out(settings, plan).operations()
    assert len(operation.op) == 26
    assert operation.op != again.op


def test_devices_in_the_order_of_the_inventory(settings: Settings) -> None:
    """However targets are ordered, each device comes once, in the order of the inventory."""
    layout = laid_out(settings, plan_of("[{send: SET interval 30}]", targets="[pump, m3, 'm*']"))
    assert list(ids(layout)) == ["m1", "m2", "m3", "pump"]


def test_a_step_for_some_of_the_devices(settings: Settings) -> None:
    """A step goes to those that it names; a device without a step is left out."""
    steps = "[{send: BEEP, devices: [m2]}, {send: SAVE, devices: ['tag:old', m2]}]"
    assert ids(laid_out(settings, plan_of(steps))) == {"m2": ["BEEP", "SAVE"], "m3": ["SAVE"]}


def test_devices_typed_on_the_command_line(settings: Settings) -> None:
    """Only the plan's devices that are named get work; a step that is for none of those is no error."""
    plan = plan_of("[{send: BEEP, devices: [m1]}, {send: SAVE}]")
    assert ids(laid_out(settings, plan, only=("m2",))) == {"m2": ["SAVE"]}
    assert list(ids(laid_out(settings, plan, only=("*", "tag:old")))) == ["m1", "m2", "m3"]
    with pytest.raises(UsageProblem, match=r"^pump is none of the devices of the plan p$"):
        laid_out(settings, plan, only=("m2", "pump"))
    with pytest.raises(UsageProblem, match="pump is none of the devices of the plan p"):
        laid_out(settings, plan, only=("pump",))
    with pytest.raises(UsageProblem, match="no step of the plan p is for m2"):
        laid_out(settings, plan_of("[{send: BEEP, devices: [m1]}]"), only=("m2",))
    with pytest.raises(UsageProblem, match="unknown device 'm9'"):
        laid_out(settings, plan, only=("m9",))


def test_ids_follow_from_content(settings: Settings) -> None:
    """An id is the command in one spelling; equal ones of a device are numbered, named ones do not count."""
    steps = (
        "[{send: SET interval value=030}, {set: {interval: 30}}, {send: SET interval 30, id: named},"
        " {send: SET interval 30, devices: [m1]}]"
    )
    assert ids(laid_out(settings, plan_of(steps, targets="[m1, m2]"))) == {
        "m1": ["SET interval 30", "SET interval 30 (2)", "named", "SET interval 30 (3)"],
        "m2": ["SET interval 30", "SET interval 30 (2)", "named"],
    }


def test_ids_stay_when_steps_move(settings: Settings) -> None:
    """Moving a step or inserting others changes no id."""
    before = laid_out(settings, plan_of("[{send: BEEP}, {send: SAVE}, {send: BEEP}]"))
    after = laid_out(settings, plan_of("[{send: SAVE}, {send: SET interval 5}, {send: BEEP}, {send: BEEP}]"))
    assert set(ids(before)["m1"]) < set(ids(after)["m1"])


def test_set_finds_the_absolute_command(settings: Settings) -> None:
    """`set` becomes the one absolute command of the device's own profile, to be sent only if needed."""
    plan = plan_of("[{set: {interval: 30}}, {set: {label: 'text=b c'}, devices: [m1]}]", targets="[m1, pump]")
    operations = list(laid_out(settings, plan).operations())
    assert [o.terms.text for o in operations] == ["SET interval 30", "SET label text=b c", "SET interval 30"]
    assert [o.profile for o in operations] == ["test/meter", "test/meter", "demo/controller-line"]
    assert all(o.terms.if_needed for o in operations)


@pytest.mark.parametrize(
    ("step", "if_needed"),
    [("SET interval 30", True), ("SET shared 5", False), ("SAVE", False), ("BEEP", False)],
)
def test_what_is_read_first(settings: Settings, step: str, *, if_needed: bool) -> None:
    """An absolute command is sent only if needed, where its setting can be read; others are sent."""
    [operation] = laid_out(settings, plan_of(f"[{{send: {step}}}]"), only=("m1",)).operations()
    assert operation.terms.if_needed is if_needed


def test_a_problem_of_many_devices_is_told_once(settings: Settings) -> None:
    """One complaint per profile and step, with how many devices it is about, at the place of the step."""
    assert complaints(
        settings, "[{send: SET intervall 30}, {send: SET interval 0}]", targets="[group:meters, pump]"
    ) == [
        "4:16: unknown command 'SET intervall' (m1 and 2 more, test/meter). Did you mean 'SET interval'?",
        "4:16: unknown command 'SET intervall' (pump, demo/controller-line). Did you mean 'SET interval'?",
        "4:42: SET interval: value must be 1 to 3600, not 0 (m1 and 2 more, test/meter).",
        "4:42: SET interval: value must be 1 to 3600 s, not 0 (pump, demo/controller-line).",
    ]


M1 = "(m1, test/meter)"
CHANGE = "Those that change it"
SEND = "Name one with 'send'"


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ("set: {intervall: 3}", f"no setting 'intervall' {M1}. Did you mean 'interval'?"),
        ("set: {mode: on}", f"no command that sets 'mode' to a value {M1}. {CHANGE}: MODE ON. {SEND}"),
        ("set: {tariff: 5}", f"more than one command that sets 'tariff' to a value {M1}. {CHANGE}: DAY, NIGHT. {SEND}"),
        ("set: {ratio: 5}", f"no command that sets 'ratio' to a value {M1}. {CHANGE}: SET ratio. {SEND}"),
        ("set: {interval: x}", f"not a whole number: 'x' {M1}. Type: SET interval <value: int, 1 to 3600>"),
        ("set: {interval: 0}", f"must be 1 to 3600, not 0 {M1}."),
        ("send: BEEP, policy: resend", f"would make it happen again {M1}."),
        ("send: BEEP, devices: [pump]", "means none of the plan's devices. Add it to 'targets', or leave it out"),
        ("send: BEEP, devices: [pumpe]", "unknown device 'pumpe'. Did you mean 'pump'?"),
    ],
)  # fmt: skip
def test_steps_that_do_not_fit(settings: Settings, step: str, complaint: str) -> None:
    """Whatever a device's profile cannot do is told at the step, before any connection."""
    [told] = complaints(settings, f"[{{{step}}}]", only=("m1",))
    assert told.startswith("4:16: ")
    assert told.endswith(complaint)


def test_an_id_that_a_step_has_by_itself(settings: Settings) -> None:
    """A given id may not be what another step is called already: its key would mean two things."""
    assert complaints(settings, "[{send: SAVE, id: BEEP}, {send: BEEP}]") == [
        "4:16: the id 'BEEP' is what the step in line 4 is called by itself. Give it another one"
    ]


def test_everything_wrong_is_told_at_once(settings: Settings) -> None:
    """Targets and steps are looked at together."""
    assert complaints(settings, "[{send: BEEEP}, {send: BEEP, devices: ['x*']}]", targets="[m1, group:metres]") == [
        "2:15: unknown group 'metres'. Did you mean 'meters'?",
        "4:16: unknown command 'BEEEP' (m1, test/meter). Did you mean 'BEEP'?",
        f"4:31: no device matches 'x*'. {settings.inventory} lists all devices",
    ]  # fmt: skip


def test_what_the_file_alone_shows_is_told_with_it(settings: Settings) -> None:
    """Steps that are wrong by themselves hide nothing of the others, nor does a wrong section or a wrong id."""
    text = """\
plan: p
targets: [m1, m9]
waves: [0]
steps:
  - {send: BEEEP, id: a}
  - {sned: BEEP}
  - {set: {interval: 0}, id: a}
  - {send: BEEP, devices: [x]}
"""
    draft = draft_plan(text, "p.yaml")
    with pytest.raises(FileProblems) as caught:
        lay_out(settings, draft.plan, run="R", key="k", reason=None, found=draft.problems)
    places = [f"{each.line}:{each.column}" for each in caught.value.problems]
    assert places == ["2:15", "3:9", "5:12", "6:5", "6:6", "7:12", "7:30", "8:12"]


def test_targets_are_looked_at_where_no_step_is_right(settings: Settings) -> None:
    """A plan whose steps are all wrong still has its targets."""
    draft = draft_plan("plan: p\ntargets: [m9]\nsteps: [{sned: BEEP}]\n", "p.yaml")
    with pytest.raises(FileProblems, match=r"2:11: unknown device 'm9'[\s\S]*3:10: unknown key 'sned'"):
        lay_out(settings, draft.plan, run="R", key="k", reason=None, found=draft.problems)


def test_profiles_and_twins_hide_nothing(tmp_path: Path) -> None:
    """Each profile that is wrong is told, two names of one device too, and what is wrong for the others."""
    more = """\
  b1: {profile: test/bad, url: "tcp://b1:1"}
  b2: {profile: test/none, url: "tcp://b2:1"}
  twin: {profile: test/meter, url: "tcp://m1:1"}
"""
    settings = project(tmp_path, INVENTORY + more)
    bad = tmp_path / "profiles" / "test" / "bad.yaml"
    bad.write_text("profile: test/bad\ndialect: morse\n", encoding="utf-8")
    with pytest.raises(FileProblems) as caught:
        laid_out(settings, plan_of("[{send: BEEEP}]", targets="[m1, b1, b2, twin]"))
    said = str(caught.value).splitlines()
    assert "2:11: m1 and twin are one device" in said[0]
    assert "4:16: unknown command 'BEEEP' (m1, test/meter)" in said[1]
    assert sum(f"{bad}:2:" in line for line in said) == 1
    assert sum("test/none" in line for line in said) == 1


def test_devices_that_cannot_be_worked_with(tmp_path: Path) -> None:
    """No profile, one device under two names, a dialect of another version: told at the targets."""
    more = '  bare: {url: "tcp://bare:1"}\n  twin: {profile: test/meter, url: "tcp://m1:1"}\n'
    settings = project(tmp_path, INVENTORY + more)
    assert complaints(settings, "[{send: BEEP}]", targets="[bare]") == [
        "2:11: the inventory names no profile (bare). Write one there"
    ]
    assert complaints(settings, "[{send: BEEP}]", targets="[m1, twin]") == [
        "2:11: m1 and twin are one device (tcp://m1:1). Name one of them"
    ]


def test_equipment_of_another_version(tmp_path: Path) -> None:
    """Devices that this version cannot work with are told once for their profile, at the targets."""
    more = "".join(f'  n{n}: {{profile: test/numbering, url: "tcp://n{n}:1"}}\n' for n in range(3))
    settings = project(tmp_path, INVENTORY + more)
    numbering = (
        METER.replace("test/meter", "test/numbering")
        + 'sequence: {wrap: "N{seq} {command}", reply: "^N(?P<seq>[0-9]+) (?P<rest>.*)$"}\n'
    )
    (tmp_path / "profiles" / "test" / "numbering.yaml").write_text(numbering, encoding="utf-8")
    what = "equipment that numbers its lines ('sequence') is not supported by this version"
    assert complaints(settings, "[{send: BEEP}]", targets="['n*']") == [
        f"2:11: {what} (n0 and 2 more, test/numbering)."
    ]


def test_a_list_stands_beside_the_plan(tmp_path: Path, settings: Settings) -> None:
    """`@FILE` in a plan is looked for in the plan's folder, wherever one works."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "field.txt").write_text("m2\n", encoding="utf-8")
    plan = plan_of("[{send: BEEP}]", targets='["@field.txt"]', path=str(tmp_path / "plans" / "p.yaml"))
    assert list(ids(laid_out(settings, plan))) == ["m2"]


def test_without_an_inventory(tmp_path: Path) -> None:
    """A plan needs an inventory, and the message says how to give one."""
    settings = Settings(tmp_path, tmp_path, None, None, None, "ana")
    with pytest.raises(UsageProblem, match="no inventory"):
        laid_out(settings, plan_of("[{send: BEEP}]"))


def test_keys_do_not_run_into_each_other() -> None:
    """Whatever plan, key and step are called, two steps of two runs never share a key."""
    parts = ["a", "a:b", "a%3Ab", "b", "a b", "é", "+5", ""]
    keys = {step_key(plan, key, step) for plan in parts for key in parts for step in parts}
    assert len(keys) == len(parts) ** 3
    assert step_key("night", "2026-11-29", "ADJUST offset +5") == "plan:night:2026-11-29:ADJUST offset +5"
