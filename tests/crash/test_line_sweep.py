"""Does the truth about plain equipment survive the end of a process at any write?

The process ends before, in the middle of and after every write to its store or to its link. Another process on the same
store goes on: it asks again under the same key, sends another command (which gets lost, so that no late ack may be
credited to it), or a newer value (which no late copy may undo).
"""

import shutil
from pathlib import Path

import pytest

from agent.operation import Outcome
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench
from tests.crash.crasher import Point, Stop, stops
from tests.crash.plain import BEEP, ORDERS, ROTATE, Order, Trial, after_the_readings

BOOT = "boot in between"
FAULTS = {
    "none": "",
    "lost request": "cmd 1: drop_request",
    "lost ack": "cmd 1: drop_ack",
    "late ack": "cmd 1: delay 0.8",
    "ack past next": "cmd 1: hold 2.9",
    "late copy": "cmd 1: late_request 2.0",
    "boot before": "cmd 1: reboot_before",
    "boot after": "cmd 1: reboot_after",
    BOOT: "",
    "cut": "cmd 1: cut",
    "late readings": "read 2: delay 0.8; cmd 1: drop_ack; read 4: delay 0.8",
}
FROM_THE_START = ("none", "late readings")
"""Under these faults the process is ended at its readings too; under others that would show nothing new."""
AGAIN = ("same key", "next command", "newer value")


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.words)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_stop(carrier: str, fault: str, order: Order, again: str, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where the evidence is gone."""
    points = run_through(carrier, fault, order, quick_home / "through")
    first = 1 if fault in FROM_THE_START else after_the_readings(points)
    number = 0
    for number, stop in enumerate(stops(points, first), 1):
        home = quick_home / f"{number}"

        async def play(bench: Bench, stop: Stop = stop) -> None:
            where = f"{stop}, {points[stop.point - 1]}"
            trial = Trial(bench, order, where, booted="boot" in fault)
            crasher = await trial.run_until(stop)
            assert crasher.dead, where
            if fault == BOOT:
                bench.device.reboot()
            bench.desk.restart()
            await GOING_ON[again](trial)

        at_a_bench(home, play, FAULTS[fault], carrier=carrier)
        shutil.rmtree(home)
    print(f"{number} stops")


def run_through(carrier: str, fault: str, order: Order, home: Path) -> list[Point]:
    """The writes of a process that nothing ends."""

    async def play(bench: Bench) -> list[Point]:
        return (await Trial(bench, order, "", booted=False).run_until(None)).points

    return at_a_bench(home, play, FAULTS[fault], carrier=carrier)


async def ask_again(trial: Trial) -> None:
    """Somebody wants the command done: it is, once."""
    trial.bench.suffer("")
    await trial.ask()
    await trial.arrive()
    trial.judge(wanted=True)


async def send_something_else(trial: Trial) -> None:
    """Another command gets lost: settling sent nothing, and no answer that was owed to the first is its ack."""
    bench, other = trial.bench, BEEP if trial.order is ROTATE else ROTATE
    copies = len(bench.device.copies)
    bench.suffer("cmd *: drop_request")
    report = await bench.desk.send(other.words, attempts=1)
    await trial.arrive()
    assert report.result.outcome is not Outcome.APPLIED, f"{trial.where}: a foreign ack"
    assert bench.count(other.effect) == 0
    assert {copy.text for copy in bench.device.copies[copies:]} <= {other.effect}, trial.where
    trial.judge(wanted=False)


async def send_a_newer_value(trial: Trial) -> None:
    """Where a newer value may be sent at all it stays, whatever arrives late."""
    bench = trial.bench
    words, name, value = trial.order.newer or pytest.skip("nothing newer")
    bench.suffer("")
    report = await bench.desk.send(words)
    await trial.arrive()
    if report.result.outcome is Outcome.APPLIED:
        assert bench.device.values()[name] == value, f"{trial.where}: an old copy came after the newer one"
    else:
        assert report.result.outcome is Outcome.NOT_SENT, f"{trial.where}: {report.result}"
        assert bench.count(words) == 0, trial.where
    trial.judge(wanted=False)


GOING_ON = {"same key": ask_again, "next command": send_something_else, "newer value": send_a_newer_value}
