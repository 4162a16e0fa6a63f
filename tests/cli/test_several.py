"""Several devices in one run, and several runs at one device."""

import signal
from collections.abc import Callable, Iterable

import pytest

from agent.cli.exit_codes import Exit, worst
from tests.cli.bench import Bench
from tests.cli.process_rig import ProcessRig

StartRig = Callable[..., ProcessRig]


def test_held_by_another_process(start_rig: StartRig) -> None:
    """While another process works on the device: exit 8, nothing sent, and the holder is named by its process id."""
    rig = start_rig("hello 1: drop_request; cmd *: delay 60", timeout="60s")
    first = rig.start("send", "d1", "BEEP", "--yes")
    rig.device.wait_for("at hello 1")
    second = rig.run("send", "d1", "SET", "interval", "3", "--json")
    [record] = second.records
    assert (second.code, record["op"], record["outcome"]) == (8, None, "not_sent")
    assert f"process {first.process.pid} on" in record["message"]
    assert "Try again when that process has finished." in second.err
    assert rig.run("probe", "d1", "--take-over", "--reason", "x").code == 8
    first.signal(signal.SIGKILL)
    first.end()
    third = rig.start("send", "d1", "SET", "interval", "3", "-v")
    rig.device.wait_for("at cmd 1")  # a dead holder holds nothing
    third.stop()


@pytest.mark.parametrize(
    ("twin", "what"),
    [
        ('{profile: demo/controller, url: "%s"}', "tcp://"),
        ('{profile: demo/controller, url: "tcp://localhost:9", serial: SN-1}', "serial SN-1"),
    ],
)
def test_two_names_of_one_device(bench: Bench, twin: str, what: str) -> None:
    """An address or a serial under two names in one order is refused before any connection."""
    device = bench.device(entry="serial: SN-1")
    bench.enter("twin", twin % device.url if "%" in twin else twin)
    ended = bench.type("send", "*", "BEEP", "--yes")
    assert (ended.code, device.connections) == (2, 0)
    assert f"d1 and twin are one device ({what}" in ended.err


def test_in_the_order_of_the_inventory(bench: Bench) -> None:
    """Whatever the target's order, devices have their turn as the inventory lists them; nobody comes twice."""
    for _ in range(3):
        bench.device(timeout="5s")
    (bench.project.folder / "list.txt").write_text("d3\nd1  # first\nd3\n")
    ended = bench.type("send", f"@{bench.project.folder / 'list.txt'}", "SET", "interval", "3", "--json")
    assert [record["device"] for record in ended.records] == ["d1", "d3"]
    assert bench.devices[1].connections == 0


def test_mixed_ends(bench: Bench) -> None:
    """Each device has its own word, and nobody's failure stops the others; the code is the worst of all."""
    bench.device("cmd *: refuse", timeout="5s")
    bench.device("cmd 1: reboot_after", timeout="0.2s")
    bench.device().unplug()
    bench.device(timeout="5s")
    bench.send("d2", "BEEP")
    ended = bench.type("send", "d?", "SET", "interval", "3", "--json")
    outcomes = [record["outcome"] for record in ended.records]
    assert (ended.code, outcomes) == (1, ["refused", "not_sent", "not_sent", "applied"])
    plain = bench.type("send", "d[234]", "SET", "interval", "4")
    assert (plain.code, [line.split("\t")[2] for line in plain.lines]) == (
        6,
        ["not_sent", "not_sent", "applied"],
    )


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((0, 7, 8, 6, 5, 1, 70), 70),
        ((0, 7, 8, 6, 5, 1), 1),
        ((0, 7, 8, 6, 5), 5),
        ((5, 3, 6), 5),
        ((0, 7, 8, 6, 3), 3),
        ((0, 7, 8, 6), 6),
        ((0, 7, 8), 8),
        ((0, 7), 7),
        ((0,), 0),
        ((), 0),
        ((1, 130), 130),
    ],
)
def test_the_worst_code(codes: Iterable[int], code: int) -> None:
    """CLI.md 3: 70 > 1 > 5 > 6 > 8 > 7 > 0; a used key (3) counts between 5 and 6."""
    assert worst(Exit(each) for each in codes) == code


def test_names_that_mean_one_device(bench: Bench) -> None:
    """A device that is met again under another address is the same: its doubt holds it there too."""
    bench.device("cmd 1: reboot_after", timeout="0.2s")
    other = bench.devices[0].url.replace("127.0.0.1", "localhost")
    bench.enter("alias", f'{{profile: demo/controller, url: "{other}", timeout: 5s}}')
    _, doubt = bench.send("d1", "BEEP")
    code, record = bench.send("alias", "SET", "interval", "3")
    assert (code, record["outcome"]) == (6, "not_sent")
    assert doubt["op"] in record["message"]
