"""Which devices does a TARGET mean?

A name, a glob, `group:NAME`, `tag:NAME` or `@FILE` (CLI.md, section 1). Rules: the order is the inventory's
and nobody comes twice; a target that means no device is an error, since a typing error must not look like
success.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from devices.problems import UsageProblem, did_you_mean

if TYPE_CHECKING:
    from agent.inventory import Device, Inventory

LIST_BYTES_MAX = 4_000_000


def select(inventory: Inventory, targets: Sequence[str]) -> list[Device]:
    """Return the devices that the targets mean, in the order of the inventory.

    Raises:
        UsageProblem: no target, an unknown name, a pattern that matches nothing, an unreadable list.
    """
    if not targets:
        raise UsageProblem("no target given", "Type a device, group:NAME, tag:NAME, a pattern or @FILE")
    wanted: set[str] = set()
    for target in targets:
        wanted |= _meant(inventory, target)
    return [device for name, device in inventory.devices.items() if name in wanted]


def _meant(inventory: Inventory, target: str) -> set[str]:
    if target.startswith("@"):
        return _listed(inventory, Path(target[1:]))
    prefix, colon, name = target.partition(":")
    if colon and prefix in _BY_PREFIX:
        return _BY_PREFIX[prefix](inventory, name)
    if target in inventory.devices:
        return {target}
    if any(char in target for char in "*?["):
        matching = {name for name in inventory.devices if fnmatch.fnmatchcase(name, target)}
        if not matching:
            raise UsageProblem(f"no device matches '{target}'", f"{inventory.path} lists all devices")
        return matching
    raise _unknown(inventory, "device", target, inventory.devices)


def _in_group(inventory: Inventory, name: str) -> set[str]:
    members = {device.name for device in inventory.devices.values() if device.group == name}
    if name not in inventory.groups:
        raise _unknown(inventory, "group", name, inventory.groups)
    if not members:
        raise UsageProblem(f"the group '{name}' has no device")
    return members


def _tagged(inventory: Inventory, name: str) -> set[str]:
    members = {device.name for device in inventory.devices.values() if name in device.tags}
    if not members:
        known = {tag for device in inventory.devices.values() for tag in device.tags}
        raise _unknown(inventory, "tag", name, sorted(known))
    return members


_BY_PREFIX: Mapping[str, Callable[[Inventory, str], set[str]]] = MappingProxyType(
    {"group": _in_group, "tag": _tagged}
)


def _listed(inventory: Inventory, path: Path) -> set[str]:
    """Return the names in a file, one a line; blanks and what follows # do not count."""
    try:
        if path.exists() and not path.is_file():
            raise UsageProblem(f"the list '{path}' is no file", "Give a file with one name a line")
        with path.open(encoding="utf-8-sig") as file:
            lines = file.read(LIST_BYTES_MAX).splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a UTF-8 text"
        raise UsageProblem(f"the list '{path}' cannot be read: {reason}") from None
    names: set[str] = set()
    for number, line in enumerate(lines, start=1):
        name = line.partition("#")[0].strip()
        if name and name not in inventory.devices:
            problem = _unknown(inventory, "device", name, inventory.devices)
            raise UsageProblem(f"{path}:{number}: {problem.message}", problem.hint)
        names |= {name} if name else set()
    if not names:
        raise UsageProblem(f"the list '{path}' names no device")
    return names


def _unknown(inventory: Inventory, what: str, name: str, known: Iterable[str]) -> UsageProblem:
    hint = did_you_mean(name, known) or f"{inventory.path} has {len(inventory.devices)} devices"
    return UsageProblem(f"unknown {what} '{name}'", hint)
