"""`ackonce init`: a sample project that works as it stands, and never over what is there."""

import shlex
from pathlib import Path

import pytest

from agent.cli import init
from agent.cli.main import run
from agent.inventory import load
from agent.plans.layout import lay_out
from agent.plans.plan_file import parse_plan
from agent.settings import resolve
from devices.loader import SHIPPED, find
from tests.cli.live_device import LiveDevice
from tests.cli.project import Project

FILES = ["ackonce.toml", "inventory.yaml", "plans/night.yaml", "profiles/site/controller.yaml"]


def _commands(err: str) -> list[list[str]]:
    return [shlex.split(line) for line in err.splitlines() if line.startswith("  ackonce ")]


def test_the_project_is_complete(project: Project) -> None:
    """Inventory, settings and profile load, every profile named is found, and lint has nothing to say."""
    ended = project.type("init")
    assert (ended.code, ended.lines) == (0, [str(project.folder / name) for name in FILES])
    inventory = load(project.folder / "inventory.yaml")
    assert list(inventory.devices) == ["pump-1", "logger-1"]
    for device in inventory.devices.values():
        assert find(device.profile or "", [project.folder / "profiles"]).name == device.profile
    assert project.type("profile", "lint", "site/controller").lines == ["site/controller: no findings"]
    assert len(project.type("devices").lines) == 2


def test_its_plan_is_a_plan(project: Project) -> None:
    """The plan loads and means operations of its devices, also with the window that stands in a comment."""
    project.type("init")
    place = project.folder / "plans" / "night.yaml"
    text = place.read_text(encoding="utf-8")
    for written in (text, text.replace("# window:", "window:")):
        plan = parse_plan(written, str(place))
        layout = lay_out(resolve(project=project.folder), plan, run="R", key="k", reason=None)
        assert [(o.device, o.command) for o in layout.operations()] == [
            ("pump-1", "ADJUST offset +5"),
            ("logger-1", "SET interval 30"),
            ("logger-1", "ADJUST offset +5"),
        ]


def test_the_printed_commands_work_as_typed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device starts with the printed words, and the command finds its way from where it was printed."""
    monkeypatch.chdir(project.folder)
    assert run(["init", "my site"]) == 0
    device, send = _commands(project.capsys.readouterr().err)
    assert device[:3] == ["ackonce", "simulate", "device"]
    assert device[device.index("--tcp") + 1] == init.NUMBERED
    device[device.index("--tcp") + 1] = "127.0.0.1:0"
    assert run([*device[1:], "--for", "0"]) == 0
    place = project.folder / "my site" / "inventory.yaml"
    with LiveDevice("cmd 1: drop_ack", serial="SIM-1") as live:
        text = place.read_text(encoding="utf-8")
        place.write_text(
            text.replace(f"tcp://{init.NUMBERED}", live.url).replace("timeout: 1s", "timeout: 0.2s")
        )
        assert run(send[1:]) == 0
        assert (live.executed, live.copies) == (["ADJUST offset +5"], ["ADJUST offset +5"] * 2)


def test_the_devices_of_the_inventory_can_be_simulated(project: Project) -> None:
    """The comments say how to have each device: where, which machine, and the serial that is expected."""
    project.type("init")
    text = (project.folder / "inventory.yaml").read_text(encoding="utf-8")
    told = [shlex.split(line.strip(" #")) for line in text.splitlines() if "ackonce simulate device" in line]
    devices = list(load(project.folder / "inventory.yaml").devices.values())
    for words, device in zip(told, devices, strict=True):
        options = dict(zip(words[3::2], words[4::2], strict=True))
        assert f"tcp://{options['--tcp']}" == device.url
        assert options.get("--serial", "SIM-1") == device.serial
        words[words.index("--tcp") + 1] = "127.0.0.1:0"
        assert run([*words[1:], "--for", "0"]) == 0


def test_in_a_folder_of_its_own(project: Project) -> None:
    """A folder that is named is made; without one the folder worked in is meant, and commands need no -C there."""
    assert project.type("init", "a/b").lines[0] == str(project.folder / "a" / "b" / "ackonce.toml")
    send = _commands(project.type("init", "c").err)[1]
    assert send[-2:] == ["-C", str(project.folder / "c")]


def test_here_needs_no_folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the current folder the printed commands are as short as can be."""
    monkeypatch.chdir(project.folder)
    assert run(["init"]) == 0
    assert "-C" not in _commands(project.capsys.readouterr().err)[1]


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(project: Project, name: str) -> None:
    """One file in the way, and nothing at all is written; it is named, and what to type instead."""
    path = project.put(name, "# mine\n")
    ended = project.type("init")
    assert (ended.code, ended.out) == (2, "")
    assert f"nothing was written, since this is there already: {path}" in ended.err
    assert "ackonce init DIR" in ended.err
    assert [
        str(each.relative_to(project.folder)) for each in project.folder.rglob("*") if each.is_file()
    ] == [name]
    assert path.read_text(encoding="utf-8") == "# mine\n"


def test_a_link_in_the_way_is_no_free_place(project: Project, tmp_path: Path) -> None:
    """A link that leads nowhere is something that is there."""
    (project.folder / "inventory.yaml").symlink_to(tmp_path / "gone")
    assert project.type("init").code == 2


def test_half_a_project_is_taken_back(project: Project) -> None:
    """Where a file cannot be written, those before it go again, and the reason is said with exit 3."""
    project.put("profiles/site", "a file\n")
    ended = project.type("init")
    assert ended.code == 3
    assert "cannot be written" in ended.err
    assert [path.name for path in project.folder.rglob("*") if path.is_file()] == ["site"]


def test_a_file_is_no_folder(project: Project) -> None:
    """DIR has to be a folder, or nothing yet."""
    project.put("notes", "mine\n")
    ended = project.type("init", "notes")
    assert ended.code == 2
    assert "is no folder" in ended.err


def test_as_json(project: Project) -> None:
    """--json has the files and the commands; -q leaves the advice out."""
    [record] = project.type("init", "--json").records
    assert record["files"] == [str(project.folder / name) for name in FILES]
    assert [words.split()[1] for words in record["next"]] == ["simulate", "send"]
    assert project.type("init", "quiet", "-q").err == ""


def test_its_own_profile_is_not_shipped() -> None:
    """The profile of the sample is one's own from the first day."""
    assert not (SHIPPED / f"{init.OWN_PROFILE}.yaml").exists()
