"""Which devices does this agent lead to, and which of them does it probe?

All of its inventory. What cannot be probed keeps its route, and is told with why; so is a device that no target can be
made of, which has none. A device with two names is probed under the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.fleet.looks import unprobed
from agent.inventory import Device
from agent.settings import Settings
from agent.stations import Target
from agent.targets import inventory_of, named_twice, with_profiles
from devices.problems import FileProblems, UsageProblem


@dataclass(frozen=True, slots=True)
class Watched:
    """What this agent leads to.

    `targets`: what is probed. `routes`: every device, with its URL. `unprobed`: sentences about what is not probed.
    """

    targets: tuple[Target, ...] = ()
    routes: Mapping[str, str] = field(default_factory=dict)
    unprobed: tuple[str, ...] = ()


def watched(settings: Settings) -> Watched:
    """The devices of the inventory, none where there is none. Raises FileProblems where it makes no sense."""
    if settings.inventory is None:
        return Watched()
    inventory = inventory_of(settings)
    by_profile: dict[str | None, list[Device]] = {}
    for device in inventory.devices.values():
        by_profile.setdefault(device.profile, []).append(device)
    targets: list[Target] = []
    told: list[str] = []
    for devices in by_profile.values():
        try:
            chosen = with_profiles(settings, [(device, inventory.defaults) for device in devices])
        except (UsageProblem, FileProblems) as problem:
            told += [f"{_names(devices)}: not probed: {'; '.join(str(problem).splitlines())}"]
            continue
        again = {
            second: f"it is the same device as {first} ({what})"
            for first, second, what in named_twice(chosen)
        }
        for each in chosen:
            why = again.get(each.device.name) or unprobed(each.target)
            if why is None:
                targets.append(each.target)
            else:
                told.append(f"{each.target.name} is not probed: {why}")
    routes = {device.name: device.url for device in inventory.devices.values()}
    return Watched(tuple(targets), routes, tuple(told))


def _names(devices: Sequence[Device]) -> str:
    more = f" and {len(devices) - 3} more" if len(devices) > 3 else ""
    return ", ".join(device.name for device in devices[:3]) + more
