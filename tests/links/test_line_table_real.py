"""What becomes of each kind of command over real sockets and real ports? The table of `line_table.py`, by the clock.

Each cell has its own device behind its own socket or pseudo terminal, and its own store. All are played side by side in
one loop, at PACE times the seconds of virtual time; they start one after the other, so that the work of starting makes
nobody late.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.inventory import Device
from agent.operation import Outcome, Proof
from agent.orders import order_for
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.targets import Chosen
from simulator.equipment import Controller
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from simulator.pty_server import serve_pty
from simulator.server import serve_tcp, url_of
from simulator.text_device import TextDevice
from tests.agent.line_profiles import PROFILE, with_timing
from tests.agent.line_table import Cell, cells
from tests.agent.replay import assert_replays

PACE = 0.5
SILENCE_S = 0.5 * PACE
QUICK = with_timing(
    reply_s=SILENCE_S,
    settle_s=PROFILE.timing.settle_s * PACE,
    late_max_s=PROFILE.timing.late_s * PACE,
)
BETWEEN_STARTS_S = 0.02
BEHIND_MAX_S = 0.01
Seen = tuple[str, tuple[Outcome, Proof | None], int, int]
"""The policy, the word, and how often the effect, and anything at all, took place."""


def test_the_word_and_the_ledger(quick_home: Path) -> None:
    """Every word is the table's, and the device's own ledger agrees with it after everything late has arrived."""
    seen = asyncio.run(_play_all(quick_home))
    wanted = {cell.name: (cell.policy, cell.word, cell.executions, cell.executions) for cell in cells()}
    assert seen == wanted


async def _play_all(home: Path) -> dict[str, Seen]:
    longest_first = sorted(cells(), key=lambda cell: -cell.copies)
    async with asyncio.TaskGroup() as side_by_side:
        plays = {}
        for number, cell in enumerate(longest_first):
            plays[cell.name] = side_by_side.create_task(_play(cell, home / f"{number}"))
            await _until_on_time()
    return {name: play.result() for name, play in plays.items()}


async def _until_on_time() -> None:
    """Wait a little, and for as long as the loop is behind: a machine with other work starts fewer at a time."""
    clock_s = asyncio.get_running_loop().time
    behind_s = BEHIND_MAX_S
    while behind_s >= BEHIND_MAX_S:
        due_s = clock_s() + BETWEEN_STARTS_S
        await asyncio.sleep(BETWEEN_STARTS_S)
        behind_s = clock_s() - due_s


async def _play(cell: Cell, home: Path) -> Seen:
    """Send one command to a device of its own, and ask its ledger when nothing can come any more."""
    device = TextDevice(
        Controller(), plan=parse(cell.faults(PACE), TEXT), hangs_up_on_boot=cell.carrier == "tcp"
    )
    settings = Settings(home, home, None, None, "desk", "ana")
    service = Service(settings)
    try:
        async with _served(device, cell.carrier, home) as url:
            target = Target("d1", url, 1, None, QUICK, SILENCE_S, 3, 5.0, 0.0, cell.carrier == "pty")
            order = order_for(settings, Chosen(Device("d1", url), QUICK, target), cell.words.split())
            report = await service.send(target, order)
            await asyncio.sleep(cell.lasts_s(PACE))
    finally:
        service.close()
    assert_replays(home)
    word = (report.result.outcome, report.result.proof)
    return order.terms.policy, word, device.ledger.count(cell.effect), len(device.ledger)


@asynccontextmanager
async def _served(device: TextDevice, carrier: str, folder: Path) -> AsyncIterator[str]:
    """The URL of a device on a socket or a port of its own."""
    if carrier == "tcp":
        server = await serve_tcp(device, "127.0.0.1", 0)
        close, url = server.close, url_of(server)
    else:
        port = serve_pty(device, folder / "port")
        close, url = port.close, port.url
    try:
        yield url
    finally:
        close()
        device.hang_up()
        await asyncio.sleep(0)
