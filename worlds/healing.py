"""Once nothing goes wrong any more: does every operation reach its word, and which doubts are left?

Everything that was late arrives. Then every doubt is checked once; what is left is a doubt that the papers leave, or a
violation (`doubts.py`). A person decides those. Everybody who asked under a key asks again, and in the end each device
does one more command.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from agent.leases import Held
from agent.links.link import Unreachable
from agent.operation import Cause, Outcome
from agent.registry import WrongDevice
from worlds.doubts import avoidable
from worlds.jobs import Job
from worlds.people import check, decide
from worlds.process import Process
from worlds.world import Wish, World

LONG_S = 120.0
"""After so long whatever was on its way has arrived."""
ROUNDS_MAX = 3
_DONE = (Outcome.APPLIED, Outcome.REFUSED)


@dataclass(frozen=True, slots=True)
class Left:
    """A doubt that was left after everything was healed; `evidence` is what would have settled it, if anything."""

    op: str
    policy: str
    evidence: str | None


async def heal(world: World) -> list[Left]:
    """The second phase; returns the doubts that were left before a person decided them."""
    for road in world.roads.values():
        road.weather.calm = True
        road.down = False
    for process in world.processes:
        process.thaw()
    world.note("world", "healed")
    world.history.healed = True
    await asyncio.sleep(LONG_S)
    healer = world.start("healer")
    await world.through(healer, _settle(world, healer))
    left = _judge_doubts(world)
    await _decide(world)
    for wish in world.wishes:
        if wish.job.key is not None and wish.begun:
            left += await _insist(world, wish)
    for number in range(len(world.plan.devices)):
        last = Wish(Job(-1 - number, number, world.plan.devices[number].sort.last, None, 3, f"last-{number}"))
        left += await _insist(world, last)
    await asyncio.sleep(LONG_S)
    return left


_DOUBTS = "SELECT op FROM operation WHERE outcome = 'in_doubt' ORDER BY op"


def _judge_doubts(world: World) -> list[Left]:
    return [_judged(world, op) for (op,) in world.disk.rows(_DOUBTS)]


def _judged(world: World, op: str) -> Left:
    evidence = avoidable(world, op)
    [(policy,)] = world.disk.rows("SELECT policy FROM operation WHERE op = ?", (op,))
    if evidence is not None:
        world.history.violated(f"an avoidable doubt: {op}, {evidence}")
    return Left(op, policy, evidence)


async def _settle(world: World, process: Process) -> None:
    """What somebody else has taken is taken back; then every doubt is checked."""
    if world.restored:
        for name in world.roads:
            with suppress(Unreachable, WrongDevice, Held):
                await process.service.take_over(world.target(name), "the store was restored")
    await check(world, process)


async def _decide(world: World) -> None:
    """A person decides every doubt, after looking."""
    if world.disk.rows(_DOUBTS):
        person = world.start("person")
        await world.through(person, decide(world, person))


async def _insist(world: World, wish: Wish) -> list[Left]:
    """Somebody asks until it is done, and lets a person decide the doubts on the way."""
    left: list[Left] = []
    for _ in range(ROUNDS_MAX):
        if wish.result is not None and (wish.result.outcome in _DONE or wish.result.cause is Cause.UNFIT):
            return left
        healer = world.start("healer")
        await world.through(healer, world.do(healer, [wish]))
        if world.disk.rows(_DOUBTS):
            await asyncio.sleep(LONG_S)
            asker = world.start("healer")
            await world.through(asker, check(world, asker))
            left += _judge_doubts(world)
            await _decide(world)
            if wish.result is not None and wish.result.outcome is Outcome.IN_DOUBT:
                return left
    if wish.result is None or wish.result.outcome not in _DONE:
        world.history.violated(f"'{wish.job.words}' for d{wish.job.device} ends with {wish.result}")
    return left
