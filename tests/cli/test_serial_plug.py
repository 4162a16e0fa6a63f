"""Which equipment is at the end of a serial port, and what if there is none? Plugs that are swapped, pulled and absent.

A real pseudo terminal behind a name that stays, as the names under /dev/serial/by-id do.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.live_text import LiveText, TextBench
from tests.cli.process_rig import DeviceProcess
from tests.cli.project import Ended

StartDevice = Callable[..., DeviceProcess]
SEE_PORTS = "See: ackonce ports"


@pytest.fixture
def plug(text_bench: TextBench) -> Path:
    """A name of a port that leads to the real one."""
    return text_bench.shell.folder / "by-id"


def lead(plug: Path, live: LiveText) -> None:
    """Let the name lead to a device's port."""
    beside = plug.with_suffix(".new")
    beside.symlink_to(os.path.realpath(live.url.removeprefix("serial:")))
    beside.replace(plug)


@pytest.mark.parametrize("named", [False, True], ids=["pinned", "named in the inventory"])
def test_another_device_under_the_same_name(text_bench: TextBench, plug: Path, named: bool) -> None:
    """Where another serial answers than the one met before, or named: exit 7, both are told, and nothing is sent."""
    first, second = text_bench.device(serial="SN-1"), text_bench.device(serial="SN-2")
    text_bench.enter("pump", f"serial:{plug}", ', serial: "SN-1"' if named else "")
    lead(plug, first)
    assert text_bench.send("pump", "ROTATE", "log")[0] == 0
    lead(plug, second)
    code, record = text_bench.send("pump", "ROTATE", "log")
    assert (code, record["outcome"], record["attempts"]) == (7, "not_sent", 0)
    assert "wrong device" in record["message"]
    assert {"SN-1", "SN-2"} <= {word.strip(".,;:()'") for word in record["message"].split()}
    ended = text_bench.run("get", "pump", "offset", "--json")
    assert (ended.code, ended.records[0]["value"]) == (7, None)
    assert text_bench.run("probe", "pump", "--json").records[0]["state"] == "wrong device"
    assert second.copies == []
    lead(plug, first)
    assert text_bench.send("pump", "ROTATE", "log")[0] == 0
    assert first.executed == {"ROTATE log": 2}


def test_the_same_device_at_another_port(text_bench: TextBench, plug: Path) -> None:
    """A device that moved to another port is still the same one: its doubt holds it there too."""
    live = text_bench.device("cmd 1: drop_ack")
    text_bench.enter("pump", f"serial:{plug}")
    lead(plug, live)
    code, doubt = text_bench.send("pump", "BEEP")
    assert code == 5
    code, record = text_bench.send("d1", "BEEP")
    assert (code, record["outcome"]) == (6, "not_sent")
    assert doubt["op"] in record["message"]
    assert live.executed == {"BEEP": 1}


def test_no_port(text_bench: TextBench, plug: Path) -> None:
    """Exit 7, nothing was sent, and `ackonce ports` is what to type next."""
    text_bench.enter("d1", f"serial:{plug}")
    code, record = text_bench.send("d1", "BEEP")
    assert (code, record["outcome"], record["attempts"]) == (7, "not_sent", 0)
    assert f"there is no serial port {plug}" in record["message"]
    assert SEE_PORTS in record["message"]
    told = text_bench.run("send", "d1", "BEEP", "--yes").err
    assert "d1: nothing of 'BEEP' was sent" in told
    assert SEE_PORTS in told
    for words in (["get", "d1", "offset"], ["probe", "d1"]):
        ended = text_bench.run(*words, "--json")
        assert (ended.code, len(ended.records)) == (7, 1)
        assert SEE_PORTS in ended.out + ended.err


@pytest.fixture
def start_device(text_bench: TextBench, quick_home: Path) -> Iterator[StartDevice]:
    """Start d1 as a process of its own, on a port whose plug can be pulled: `start_device(faults)`."""
    started: list[DeviceProcess] = []

    def start(faults: str = "") -> DeviceProcess:
        port = text_bench.shell.folder / "d1-port"
        device = DeviceProcess(quick_home, faults, profile="demo/controller-line", port=port)
        started.append(device)
        text_bench.enter("d1", device.url)
        return device

    yield start
    for device in started:
        device.close()


def test_pulled_before(text_bench: TextBench, start_device: StartDevice) -> None:
    """Without the plug nothing is sent, exit 7; with it again the command is carried out."""
    device = start_device()
    device.pull()
    code, record = text_bench.send("d1", "RESET", "counter")
    assert (code, record["outcome"]) == (7, "not_sent")
    assert SEE_PORTS in record["message"]
    device.plug_in()
    assert text_bench.send("d1", "RESET", "counter")[0] == 0
    assert device.executed == {"RESET counter": 1}


def pulled_during(bench: TextBench, device: DeviceProcess, *, put_back: bool) -> tuple[Ended, dict[str, Any]]:
    """Pull the plug while a command waits for its ack: how the sender ended, and its object."""
    sender = bench.start("d1", "RESET", "counter")
    device.wait_for("at cmd 1")
    device.pull()
    if put_back:
        device.plug_in()
    ended = sender.end()
    [record] = ended.records
    return ended, record


def test_pulled_and_put_back_during(text_bench: TextBench, start_device: StartDevice) -> None:
    """A plug that comes back in time costs nothing but the ack: what the device did is read back."""
    device = start_device("cmd 1: delay 60")
    ended, record = pulled_during(text_bench, device, put_back=True)
    assert (ended.code, record["outcome"], record["evidence"]) == (0, "applied", "verified")
    assert device.executed == {"RESET counter": 1}


@pytest.mark.parametrize(
    ("fault", "code", "outcome"),
    [("delay 60", 0, "applied"), ("drop_request", 1, "not_applied")],
    ids=["after the effect", "before the effect"],
)
def test_pulled_during(
    text_bench: TextBench, start_device: StartDevice, fault: str, code: int, outcome: str
) -> None:
    """Without a way back the command is in doubt, exit 5, until the plug is back and `doubt check` reads it."""
    device = start_device(f"cmd 1: {fault}")
    ended, record = pulled_during(text_bench, device, put_back=False)
    assert (ended.code, record["outcome"]) == (5, "in_doubt")
    assert "no way back to the device" in record["message"]
    assert "nobody can tell yet whether it took effect" in ended.err
    device.plug_in()
    checked = text_bench.run("doubt", "check", record["op"], "--json")
    assert (checked.code, checked.records[0]["outcome"]) == (code, outcome)
    counts = device.counts()
    assert (counts["copies"], counts["executed"].get("RESET counter", 0)) == (1, 1 - code)
