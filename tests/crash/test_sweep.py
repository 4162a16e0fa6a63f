"""Does the truth about equipment that numbers its commands survive the end of a process at any write?

The process ends before, in the middle of and after every write to its store or to its link. Another process goes on
with the same store: it asks again under the same key, or sends something else. The device may have booted in between.
The ledger is the judge.
"""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from agent.journal import Entry
from agent.operation import Outcome
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk, change_faults
from tests.crash.crasher import Crash, Crasher, Point, Stop, stops

ADJUST = "ADJUST offset +5"
FAULTS = [
    "",
    "cmd 1: drop_ack",
    "cmd 1: drop_request",
    "cmd *: drop_ack",
    "cmd *: drop_request",
    "cmd 1: cut",
    "cmd 1: late_request 2",
]


@pytest.mark.parametrize("boots", [False, True], ids=["device stays up", "device boots in between"])
@pytest.mark.parametrize("again", ["same key", "next command"])
@pytest.mark.parametrize(
    ("tier", "faults"), [(0, FAULTS[0]), *((tier, faults) for faults in FAULTS for tier in (1, 2))]
)
def test_every_stop(faults: str, tier: int, again: str, boots: bool, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where a boot took the evidence."""
    points = run_through(faults, tier, quick_home / "through")
    tried = list(stops(points))
    for stop in tried:

        async def play(desk: Desk, device: SimulatedDevice, stop: Stop = stop) -> None:
            await end_once(desk, device, stop, again=again, boots=boots)

        home = quick_home / str(stop)
        at_a_desk(home, play, faults, tier=tier)
        shutil.rmtree(home)
    print(f"{len(tried)} stops")


def run_through(faults: str, tier: int, home: Path) -> list[Point]:
    """The writes of a process that nothing ends."""

    async def play(desk: Desk, _: SimulatedDevice) -> list[Point]:
        crasher = Crasher(desk.service, None)
        await desk.send(ADJUST, key="k")
        return crasher.points

    return at_a_desk(home, play, faults, tier=tier)


async def end_once(desk: Desk, device: SimulatedDevice, stop: Stop, *, again: str, boots: bool) -> None:
    """One end of a process and what follows."""
    crasher = Crasher(desk.service, stop)
    with suppress(Crash):
        await desk.send(ADJUST, key="k")
    assert crasher.dead, stop
    if boots:
        device.reboot()
    desk.restart()
    change_faults(device, "")
    if again == "same key":
        report = await desk.send(ADJUST, key="k")
        outcome = report.result.outcome
    else:
        await desk.send("BEEP")
        entries = [entry for entry in all_operations(desk) if entry.operation.command == ADJUST]
        outcome = entries[0].result.outcome if entries and entries[0].result else Outcome.NOT_SENT
    await asyncio.sleep(30)  # whatever is still on its way arrives

    executions = device.ledger.count(ADJUST)
    assert executions <= 1, stop
    if outcome is Outcome.APPLIED:
        assert executions == 1, stop
    elif outcome is Outcome.IN_DOUBT:
        assert boots, f"{stop}: an avoidable doubt"
    else:
        assert executions == 0, stop
    if again == "same key" and not boots:
        assert outcome is Outcome.APPLIED, stop


def all_operations(desk: Desk) -> list[Entry]:
    """Every operation of the store, oldest first."""
    rows = desk.service.database.read("SELECT op FROM operation ORDER BY created_utc, op")
    return [entry for (op,) in rows for entry in desk.service.journal.find(op)]
