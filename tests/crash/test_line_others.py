"""Is the truth about plain equipment safe from those who were not meant: a frozen process, another device?

A process that was only frozen wakes up after another one has taken its device over. Between two processes somebody puts
another device of the same model in the place of ours.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from agent.operation import Outcome
from agent.service import Service
from agent.store.database import Cursor
from simulator.equipment import Controller
from simulator.text_device import TextDevice
from tests.agent.desk import Desk
from tests.agent.line_desk import CARRIERS, Bench, Port, at_a_bench
from tests.agent.line_profiles import PROFILE
from tests.crash.crasher import Moment, Point, Stop, stops
from tests.crash.plain import KEY, LEVEL, OFFSET, ROTATE, SET, Order, Trial, after_the_readings

T = TypeVar("T")
FAULTS = ("", "cmd 1: drop_request", "cmd 1: drop_ack")
orders = pytest.mark.parametrize("order", [SET, OFFSET, LEVEL, ROTATE], ids=lambda order: order.words)
carriers = pytest.mark.parametrize("carrier", CARRIERS)
faults = pytest.mark.parametrize("plan", FAULTS)


class Freezer:
    """Freezes a process at its n-th flushed write: there it stands until `thaw` is set."""

    def __init__(self, service: Service, at: int) -> None:
        self.frozen = asyncio.Event()
        self.thaw = asyncio.Event()
        commit, left = service.database.commit, at

        async def freezing_commit(work: Callable[[Cursor], T]) -> T:
            nonlocal left
            left -= 1
            if left == 0:
                self.frozen.set()
                await self.thaw.wait()
            return await commit(work)

        service.database.commit = freezing_commit  # type: ignore[method-assign, assignment]


@faults
@orders
@carriers
def test_a_frozen_process_changes_nothing_when_it_wakes_up(
    carrier: str, order: Order, plan: str, quick_home: Path
) -> None:
    """Frozen at any flushed write and overtaken by another process, it sends nothing more and says nothing false."""
    at = 0
    through = False
    while not through:
        at += 1

        async def play(bench: Bench, at: int = at) -> bool:
            return await freeze_once(Trial(bench, order, f"frozen at write {at}"), at)

        through = at_a_bench(quick_home / f"{at}", play, plan, carrier=carrier)
    assert at > 1


async def freeze_once(trial: Trial, at: int) -> bool:
    """One process is frozen and overtaken; True where it got through before."""
    bench = trial.bench
    freezer = Freezer(bench.desk.service, at)
    sender = asyncio.ensure_future(trial.ask())
    freezing = asyncio.ensure_future(freezer.frozen.wait())
    await asyncio.wait({sender, freezing}, return_when=asyncio.FIRST_COMPLETED)
    if not freezer.frozen.is_set():
        freezing.cancel()
        await sender
        return True
    bench.suffer("")
    other = Desk(
        bench.desk.home, bench.desk.network, profile=PROFILE, survives_reopen=bench.desk.survives_reopen
    )
    overtaking = (await other.send(trial.order.words, key=KEY)).result.outcome
    other.service.close()
    executed, copies = trial.executed, len(bench.device.copies)
    freezer.thaw.set()
    woken = (await sender).result
    assert len(bench.device.copies) == copies, f"{trial.where}: it sent something"
    assert trial.executed == executed, f"{trial.where}: {woken}"
    assert woken.outcome is not (Outcome.NOT_APPLIED if executed else Outcome.APPLIED), (
        f"{trial.where}: {woken}"
    )
    assert overtaking is Outcome.APPLIED or bench.port is not None, trial.where
    bench.desk.restart()
    await trial.ask()
    await trial.judge(wanted=True)
    return False


@faults
@orders
@carriers
def test_another_device_in_the_place_of_ours(carrier: str, order: Order, plan: str, quick_home: Path) -> None:
    """The other one is told nothing but questions; with ours back at its place the command reaches its word."""

    async def run_through(bench: Bench) -> list[Point]:
        return (await Trial(bench, order).run_until(None)).points

    points = at_a_bench(quick_home / "through", run_through, plan, carrier=carrier)
    for stop in stops(points, after_the_readings(points)):
        if stop.moment is not Moment.AFTER:
            continue

        async def play(bench: Bench, stop: Stop = stop) -> None:
            await replace_once(Trial(bench, order, str(stop)), stop)

        at_a_bench(quick_home / str(stop), play, plan, carrier=carrier)


async def replace_once(trial: Trial, stop: Stop) -> None:
    """The process ends at the stop, another device answers for a while, then ours again."""
    bench = trial.bench
    ours, port = bench.device, bench.port
    await trial.run_until(stop)
    other = TextDevice(Controller("SIM-2"), hangs_up_on_boot=ours._hangs_up_on_boot)
    bench.device, bench.port = other, Port(other) if port is not None else None
    await trial.restart()
    met = (await trial.ask()).result
    assert (len(other.copies), len(other.ledger)) == (0, 0), (
        f"{trial.where}: the other device was told to act"
    )
    assert met.outcome in (Outcome.NOT_SENT, Outcome.IN_DOUBT, Outcome.APPLIED), f"{trial.where}: {met}"
    bench.device, bench.port = ours, port
    bench.suffer("")
    await trial.restart()
    await trial.ask()
    await trial.judge(wanted=True)
