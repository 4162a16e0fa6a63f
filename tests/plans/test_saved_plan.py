"""A plan kept with its readings: written whole, read back, and refused where anything has moved or was edited."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.operation import Cause
from agent.plans.course import Missed, Note
from agent.plans.layout import Layout
from agent.plans.look import DeviceReading, Row, device_rows
from agent.plans.saved_plan import SavedPlan, load_saved, moved, refuse_other_work, save
from agent.settings import Settings
from devices.problems import FileProblems
from tests.plans.plan_files import METER, laid_out, plan_of, project

STEPS = "[{set: {interval: 30}}, {send: SET label 'été', devices: [m1]}, {send: BEEP}]"
UNKNOWN = "not tried: nobody can tell whether it is as planned"
UTC = "2026-11-29T22:00:00.000Z"
READ = {
    "m1": DeviceReading({"interval": "10", "label": None}, {"label": "label could not be read: no answer"}),
    "m2": DeviceReading({"interval": "20"}),
}


def planned(settings: Settings, readings: Mapping[str, DeviceReading] = READ) -> tuple[Layout, list[Row]]:
    """A plan of two meters and what was read for it."""
    layout = laid_out(settings, plan_of(STEPS, targets="[m1, m2]"))
    rows = [
        row for work in layout.work for row in device_rows(work, readings[work.chosen.device.name], {}, None)
    ]
    return layout, rows


def kept(path: Path, settings: Settings) -> SavedPlan:
    """Save that plan and read it back."""
    save(path, *planned(settings), UTC)
    saved = load_saved(path)
    assert saved is not None
    return saved


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project with three meters and a pump."""
    return project(tmp_path)


def test_what_is_kept_comes_back(tmp_path: Path, settings: Settings) -> None:
    """Plan, key, time, steps and readings are the same after a round through the file, which is UTF-8 and whole."""
    layout, rows = planned(settings)
    save(tmp_path / "saved.json", layout, rows, UTC)
    saved = load_saved(tmp_path / "saved.json")
    assert saved is not None
    assert (saved.key, saved.made_utc, saved.path) == ("night-1", UTC, str(tmp_path / "saved.json"))
    assert saved.plan.steps == layout.plan.steps
    assert saved.plan.digest == layout.plan.digest
    assert saved.devices == ("m1", "m2")
    assert saved.readings == {"m1": {"interval": "10", "label": None}, "m2": {"interval": "20"}}
    assert [step.text for step in saved.steps] == [
        "SET interval 30",
        "SET label été",
        "BEEP",
        "SET interval 30",
        "BEEP",
    ]
    assert "été" in (tmp_path / "saved.json").read_text(encoding="utf-8")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_list_beside_the_plan_is_found_from_anywhere(tmp_path: Path, settings: Settings) -> None:
    """The plan's path is kept absolute, since the saved plan may be applied from another folder."""
    assert Path(kept(tmp_path / "saved.json", settings).plan.path).is_absolute()


@pytest.mark.parametrize(
    "text", ["plan: p\ntargets: [m1]\nsteps: [{send: BEEP}]\n", "", "{}", "[1]", '{"x": "saved_plan"}']
)
def test_other_files_are_no_saved_plans(tmp_path: Path, text: str) -> None:
    """A plan as people write it, or anything else, is left to whoever reads those."""
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_saved(path) is None


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.pop(key)


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["steps"].pop(),
        lambda content: content["readings"]["m1"].update(interval="11"),
        lambda content: content.update(key="night-2"),
        lambda content: content.update(text=content["text"].replace("30", "31")),
        lambda content: content.update(more=1),
        _without("digest"),
        _without("steps"),
    ],
)
def test_an_edited_one_is_refused(
    tmp_path: Path, settings: Settings, edit: Callable[[dict[str, Any]], object]
) -> None:
    """Whatever is changed in the file, it is not applied any more."""
    path = tmp_path / "saved.json"
    kept(path, settings)
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FileProblems, match=r"damaged, or was edited\. Make it anew: ackonce plan"):
        load_saved(path)


def test_another_layout_of_the_same_content_is_the_same(tmp_path: Path, settings: Settings) -> None:
    """Indentation and the order of keys are no content."""
    path = tmp_path / "saved.json"
    saved = kept(path, settings)
    content = json.loads(path.read_text(encoding="utf-8"))
    shuffled = {
        key: content[key] for key in ["saved_plan", *sorted(set(content) - {"saved_plan"}, reverse=True)]
    }
    path.write_text(json.dumps(shuffled), encoding="utf-8")
    assert load_saved(path) == saved


def test_a_torn_one_is_refused(tmp_path: Path, settings: Settings) -> None:
    """Wherever a saved plan was cut off, it is refused as damaged, and never with a traceback."""
    path = tmp_path / "saved.json"
    kept(path, settings)
    whole = path.read_bytes()
    for length in range(20, len(whole) - 2, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(FileProblems):
            load_saved(path)


def test_one_of_another_version_is_refused(tmp_path: Path) -> None:
    """A file that says that it is of another format is told as that."""
    path = tmp_path / "saved.json"
    path.write_text('{"saved_plan": 2, "x": []}', encoding="utf-8")
    with pytest.raises(FileProblems, match="another version of ackonce saved this plan"):
        load_saved(path)


def test_nothing_else_is_replaced(tmp_path: Path, settings: Settings) -> None:
    """An older saved plan is replaced; a plan, a folder, or a file of any other kind stays as it is."""
    path = tmp_path / "saved.json"
    kept(path, settings)
    kept(path, settings)
    plan = tmp_path / "p.yaml"
    plan.write_text("plan: p\n", encoding="utf-8")
    for there in (plan, tmp_path):
        with pytest.raises(FileProblems, match="is there already, and it is no saved plan"):
            save(there, *planned(settings), UTC)
    assert plan.read_text(encoding="utf-8") == "plan: p\n"


def test_where_nothing_can_be_written(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder, or a disk that is full: the problem names the path, and what was there is still whole."""
    path = tmp_path / "saved.json"
    saved = kept(path, settings)
    with pytest.raises(FileProblems, match="cannot be written: No such file or directory"):
        save(tmp_path / "nowhere" / "saved.json", *planned(settings), UTC)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agent.plans.saved_plan.os.fsync", full)
    with pytest.raises(FileProblems, match="cannot be written: No space left on device"):
        save(path, *planned(settings), "2026-11-30T22:00:00.000Z")
    assert load_saved(path) == saved
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_the_same_work_is_let_through(tmp_path: Path, settings: Settings) -> None:
    """A layout of the same plan over the same files is what was planned, whatever its run and key."""
    saved = kept(tmp_path / "saved.json", settings)
    refuse_other_work(saved, laid_out(settings, saved.plan, key="other", only=saved.devices))


@pytest.mark.parametrize(
    ("old", "new"), [('send: "BEEP"', 'send: "BOOP"'), ("kind: trigger", "kind: absolute")]
)
def test_other_work_is_refused(tmp_path: Path, settings: Settings, old: str, new: str) -> None:
    """After an edit of a profile that changes text or policy, what was planned is not what would be done."""
    saved = kept(tmp_path / "saved.json", settings)
    profile = tmp_path / "profiles" / "test" / "meter.yaml"
    profile.write_text(METER.replace(old, new), encoding="utf-8")
    with pytest.raises(
        FileProblems, match="by now the plan means something else than was planned: 'BEEP' on m1 and 1 more"
    ):
        refuse_other_work(saved, laid_out(settings, saved.plan, only=saved.devices))


def test_a_device_more_is_other_work(tmp_path: Path, settings: Settings) -> None:
    """What was planned for two devices is not applied to a third, nor to one only, nor at another address."""
    saved = kept(tmp_path / "saved.json", settings)
    third = laid_out(settings, plan_of(STEPS, targets="[m1, m2, m3]"))
    with pytest.raises(FileProblems, match="'SET interval 30' on m3 and 1 more"):
        refuse_other_work(saved, third)
    with pytest.raises(FileProblems, match="'SET interval 30' on m2 and 1 more"):
        refuse_other_work(saved, laid_out(settings, saved.plan, only=("m1",)))
    elsewhere = project(
        tmp_path, (tmp_path / "inventory.yaml").read_text(encoding="utf-8").replace("//m2", "//m9")
    )
    with pytest.raises(FileProblems, match="'SET interval 30' on m2 and 1 more"):
        refuse_other_work(saved, laid_out(elsewhere, saved.plan))


@pytest.mark.parametrize(
    ("now", "sentence", "cause"),
    [
        (DeviceReading({"interval": "10", "label": "x"}), None, None),
        (DeviceReading({"interval": "11"}), "interval was 10 when this was planned and is 11 now", None),
        (
            DeviceReading({"interval": None}, {"interval": "interval could not be read: no answer"}),
            f"{UNKNOWN}: interval could not be read: no answer",
            Cause.UNREACHABLE,
        ),
        (DeviceReading({}), f"{UNKNOWN}: interval was not read", Cause.UNREACHABLE),
        (DeviceReading(unreached="refused"), f"{UNKNOWN}: refused", Cause.UNREACHABLE),
        (DeviceReading(unreached="n", cause=Cause.WRONG_DEVICE), f"{UNKNOWN}: n", Cause.WRONG_DEVICE),
    ],
)
def test_what_has_moved(
    tmp_path: Path, settings: Settings, now: DeviceReading, sentence: str | None, cause: Cause | None
) -> None:
    """A device whose known values differ is stale; one that cannot be read is not, and nothing is sent to it either."""
    saved = kept(tmp_path / "saved.json", settings)
    why = Missed.STALE if cause is None else Missed.AFTER_FAILURE
    told = {} if sentence is None else {"m1": Note(why, sentence, cause=cause)}
    assert moved(saved, {"m1": now}) == told


def test_one_value_that_differs_is_enough(tmp_path: Path, settings: Settings) -> None:
    """A device of which one value has moved and another cannot be read is stale."""
    steps = "[{set: {interval: 30}}, {send: SET label x}]"
    layout = laid_out(settings, plan_of(steps, targets="[m1]"))
    rows = list(device_rows(layout.work[0], DeviceReading({"interval": "10", "label": "a"}), {}, None))
    save(tmp_path / "saved.json", layout, rows, UTC)
    saved = load_saved(tmp_path / "saved.json")
    assert saved is not None
    assert moved(saved, {"m1": DeviceReading({"interval": None, "label": "b"})})["m1"].why is Missed.STALE


def test_one_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan too large to be loaded again is refused when it is saved."""
    layout, rows = planned(settings)
    monkeypatch.setattr("devices.source.BYTES_MAX", 500)
    with pytest.raises(FileProblems, match="too large to be saved"):
        save(tmp_path / "saved.json", layout, rows, UTC)
    assert not (tmp_path / "saved.json").exists()


def test_without_a_claim_nothing_moves(tmp_path: Path, settings: Settings) -> None:
    """A device that could not be read when the plan was made may be anything now."""
    unread = {"m1": DeviceReading(unreached="refused"), "m2": DeviceReading(unreached="refused")}
    save(tmp_path / "saved.json", *planned(settings, unread), UTC)
    saved = load_saved(tmp_path / "saved.json")
    assert saved is not None
    assert moved(saved, unread) == moved(saved, READ) == {}
