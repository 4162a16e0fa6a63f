"""What do people do about doubts? Each function is the work of one process that somebody starts."""

import asyncio
from contextlib import suppress

from agent.leases import Held
from worlds.process import Process
from worlds.truth import effects
from worlds.world import World


async def check(world: World, process: Process) -> None:
    """Ask the devices about everything that is in doubt."""
    for entry in process.service.doubts():
        with suppress(Held):
            world.history.met("check")
            result = await process.service.check(world.target(entry.operation.device), entry)
            world.told(process, entry.operation.op, result)


async def decide(world: World, process: Process) -> None:
    """Look at what really happened and decide what is in doubt; without numbers only once nothing is on its way."""
    await asyncio.sleep(0)
    for entry in process.service.doubts():
        o = entry.operation
        late_s = world.plan_of(o.device).sort.late_s
        last_s = max((copy.at_s for copy in world.history.copies if copy.op == o.op), default=0.0)
        if late_s is not None and world.history.now_s() < last_s + 2 * late_s:
            continue
        done = any(effect.op == o.op for effect in effects(world.history, world.roads))
        with suppress(Held):
            world.history.met("person")
            world.history.decides(process.name, o.op, applied=done)
            world.told(process, o.op, process.service.resolve(entry, applied=done, reason="looked at it"))
