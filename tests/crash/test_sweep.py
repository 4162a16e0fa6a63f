"""Does the truth survive a crash at every point? Stop at store or link write 1, 2, 3 ... until a run gets through.

After each crash another process goes on with the same store: it asks again under the same key, or sends something else.
The device may have booted in between. The ledger is the judge.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent.journal import Entry
from agent.operation import Outcome
from agent.store.database import Cursor
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, DeviceLink, at_a_desk, change_faults
from tests.agent.replay import assert_replays

T = TypeVar("T")
ADJUST = "ADJUST offset +5"
POINTS_MAX = 60


class Crash(BaseException):
    """The process is gone."""


class Crasher:
    """Ends a process at its n-th write, before it, after it, or in the middle of a frame."""

    def __init__(self, desk: Desk, at: int, mode: str) -> None:
        self.left = at
        self.mode = mode
        self.dead = False
        database = desk.service.database
        commit, commit_now, write = database.commit, database.commit_now, DeviceLink.write

        async def crashing_commit(work: Callable[[Cursor], T]) -> T:
            self.before()
            result = await commit(work)
            self.after()
            return result

        def crashing_commit_now(work: Callable[[Cursor], T]) -> T:
            self.before()
            result = commit_now(work)
            self.after()
            return result

        def crashing_write(link: DeviceLink, data: bytes) -> None:
            if self.left == 1 and self.mode == "half" and not self.dead:
                write(link, data[: len(data) // 2])
            self.before()
            write(link, data)
            self.after()

        database.commit = crashing_commit  # type: ignore[assignment, method-assign]
        database.commit_now = crashing_commit_now  # type: ignore[assignment, method-assign]
        self._undo: Any = lambda: setattr(DeviceLink, "write", write)
        DeviceLink.write = crashing_write  # type: ignore[method-assign,assignment]

    def before(self) -> None:
        if self.dead:
            raise Crash
        self.left -= 1
        if self.left == 0 and self.mode != "after":
            self.die()

    def after(self) -> None:
        if self.left == 0 and self.mode == "after":
            self.die()

    def die(self) -> None:
        self.dead = True
        raise Crash

    def stop(self) -> None:
        self._undo()


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
def test_every_crash_point(faults: str, tier: int, again: str, boots: bool, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where a boot took the evidence."""
    for mode in ("before", "after", "half"):
        for point in count(1):
            assert point < POINTS_MAX
            home = quick_home / f"{mode}-{point}"

            async def play(desk: Desk, device: SimulatedDevice, point: int = point, mode: str = mode) -> bool:
                return await crash_once(desk, device, point, mode, again=again, boots=boots)

            if not at_a_desk(home, play, faults, tier=tier):
                break
            assert_replays(home)


async def crash_once(
    desk: Desk, device: SimulatedDevice, point: int, mode: str, *, again: str, boots: bool
) -> bool:
    """One crash and what follows; False where the process got through before the point."""
    where = f"crash {mode} write {point}"
    crasher = Crasher(desk, point, mode)
    try:
        await desk.send(ADJUST, key="k")
    except Crash:
        pass
    finally:
        crasher.stop()
    if not crasher.dead:
        return False
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
    assert executions <= 1, where
    if outcome is Outcome.APPLIED:
        assert executions == 1, where
    elif outcome is Outcome.IN_DOUBT:
        assert boots, f"{where}: an avoidable doubt"
    else:
        assert executions == 0, where
    if again == "same key" and not boots:
        assert outcome is Outcome.APPLIED, where
    return True


def all_operations(desk: Desk) -> list[Entry]:
    """Every operation of the store, oldest first."""
    rows = desk.service.database.read("SELECT op FROM operation ORDER BY created_utc, op")
    return [entry for (op,) in rows for entry in desk.service.journal.find(op)]
