"""What happens in a world while anything goes?

Agents start a process for each batch of commands. Where it dies, they start the next one and ask again for what they
asked under a key. A rival starts its process without waiting for anybody. Meanwhile the incidents of the plan happen at
their times.
"""

import asyncio

from worlds.incidents import Incident
from worlds.jobs import Batch
from worlds.loop import NOBODY
from worlds.people import check, decide
from worlds.world import World

POWER_S = 10.0
"""So long a machine without power needs to be back: longer than any answer is late."""
ASKED_MAX = 4
"""So often a key is asked for while anything goes."""
NAMES = "abcdefgh"


async def anything_goes(world: World) -> None:
    """Everything that the plan knows, until all agents are done."""
    loop = asyncio.get_running_loop()
    agents = [loop.create_task(_life(world, number)) for number in range(world.plan.agents)]
    agents += [loop.create_task(_rival(world, batch)) for batch in world.plan.batches if batch.rival]
    incidents = [each for each in world.plan.incidents if each.batch is None]
    around = [loop.create_task(_happens(world, each)) for each in incidents]
    await asyncio.gather(*agents)
    for task in around:
        task.cancel()
    await asyncio.gather(*around, return_exceptions=True)


async def _life(world: World, agent: int) -> None:
    for batch in world.plan.batches:
        if batch.agent == agent and not batch.rival:
            await asyncio.sleep(max(0.0, batch.at_s - world.history.now_s()))
            await _batch(world, batch)


async def _rival(world: World, batch: Batch) -> None:
    await asyncio.sleep(batch.at_s)
    if world.is_held(batch.jobs[0].device):
        world.history.met("rival")
    await _batch(world, batch)


async def _batch(world: World, batch: Batch) -> None:
    numbers = {job.number for job in batch.jobs}
    wishes = [wish for wish in world.wishes if wish.job.number in numbers]
    incidents = [each for each in world.plan.incidents if each.batch == batch.number]
    for _ in range(ASKED_MAX):
        process = world.start(f"desk-{NAMES[batch.agent]}", incidents)
        if await world.through(process, world.do(process, wishes)):
            return
        wishes = [wish for wish in wishes if wish.job.key is not None and wish.result is None]
        incidents = []
        if not wishes:
            return
        power = process.stop is not None and process.stop.power
        await asyncio.sleep(POWER_S if power else world.plan.pause_s)


async def _happens(world: World, incident: Incident) -> None:
    await asyncio.sleep(incident.at_s)
    device = world.plan.devices[incident.device].name
    match incident.kind:
        case "boot":
            world.history.met("boot")
            world.note(device, "power", "switched off and on")
            NOBODY.copy().run(world.roads[device].device.reboot)
            world.history.saw(device, world.machines[device].values())
        case "unplug":
            await _unplug(world, device, incident.seconds)
        case "panel":
            _panel(world, device, int(incident.at_s * 100))
        case "person" | "check":
            process = world.start("person")
            await world.through(process, (decide if incident.kind == "person" else check)(world, process))
        case "clock":
            world.set_clock(incident.seconds)
        case "restore":
            backup = world.disk.backup()
            world.note("world", "backup")
            await asyncio.sleep(incident.seconds)
            world.history.met("restore")
            world.restore(backup)


async def _unplug(world: World, device: str, seconds: float) -> None:
    world.history.met("unplug")
    world.roads[device].down = True
    world.note(device, "unplugged")
    await asyncio.sleep(seconds)
    world.roads[device].down = False
    world.note(device, "plugged in")


def _panel(world: World, device: str, number: int) -> None:
    """Somebody writes at the device itself, where the profile says that this may be."""
    if not world.plan_of(device).sort.panel:
        return
    machine = world.machines[device]
    machine.put("level", number % 10)
    machine.put("offset", number % 40)
    world.history.met("panel")
    world.note(device, "panel", f"level {number % 10}, offset {number % 40}")
    world.history.saw(device, machine.values())
