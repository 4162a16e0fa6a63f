"""Are the files in order that commands go by: inventory, profiles, and the serial ports that they name?"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent.address import parse_url
from agent.cli.exit_codes import Exit
from agent.cli.health import Finding, State
from agent.profile_folders import profile_roots
from agent.settings import Settings
from devices.problems import FileProblem, FileProblems, UsageProblem

if TYPE_CHECKING:
    from agent.inventory import Inventory

_LINT = "ackonce profile lint FILE tells all of it"
_LIST = "Correct the name, or put the profile beside the inventory into profiles/: ackonce profile list"


def files(settings: Settings) -> Iterator[Finding]:
    """The findings about inventory, profiles and ports."""
    inventory, finding = _inventory(settings)
    yield finding
    yield _profiles(settings, inventory)
    yield _ports(inventory)


def _inventory(settings: Settings) -> tuple["Inventory | None", Finding]:
    from agent.inventory import load

    if settings.inventory is None:
        says = f"no inventory.yaml in {settings.project}, so devices have no names here"
        advice = "Give one with -i FILE, or a URL with --profile NAME"
        return None, Finding("inventory", State.WARN, says, advice)
    try:
        inventory = load(settings.inventory)
    except FileProblems as problems:
        return None, _broken("inventory", list(problems.problems), "Mend it, then: ackonce devices")
    return inventory, Finding(
        "inventory", State.OK, f"{_count(len(inventory.devices), 'device')} in {inventory.path}"
    )


def _profiles(settings: Settings, inventory: "Inventory | None") -> Finding:
    """Every profile file that commands could meet, and every profile that the inventory names."""
    from devices.loader import SHIPPED, UnknownProfile, find, load

    roots = profile_roots(settings)
    loaded: dict[str, str] = {}
    problems: list[FileProblem] = []
    for root in (*roots, SHIPPED):
        for path in sorted(root.rglob("*.yaml")):
            try:
                loaded.setdefault(load(path).name, str(path))
            except FileProblems as wrong:
                problems += wrong.problems
    unknown: list[FileProblem] = []
    for name, device in _first_of_each(inventory).items():
        try:
            if name not in loaded:
                find(name, roots)
        except UnknownProfile as wrong:
            unknown.append(_in_inventory(inventory, device, wrong.problems[0]))
        except FileProblems as wrong:
            problems += [each for each in wrong.problems if each not in problems]
    if problems or unknown:
        return _broken("profiles", [*problems, *unknown], _LINT if problems else _LIST)
    return Finding("profiles", State.OK, f"{_count(len(loaded), 'profile')} can be loaded")


def _first_of_each(inventory: "Inventory | None") -> dict[str, str]:
    """Every profile that the inventory names, with the first device that does."""
    first: dict[str, str] = {}
    for device in inventory.devices.values() if inventory is not None else ():
        if device.profile is not None:
            first.setdefault(device.profile, device.name)
    return first


def _in_inventory(inventory: "Inventory | None", device: str, problem: FileProblem) -> FileProblem:
    """A problem with a device's profile, at the place where the inventory names the profile."""
    from agent.inventory import document_of

    if inventory is None:
        return problem
    document = document_of(Path(inventory.path))
    message = f"device {device}: no profile of that name in {problem.path}"
    return document.problem(("devices", device, "profile"), message, problem.hint)


def _ports(inventory: "Inventory | None") -> Finding:
    """The ports that the inventory names must be there, free and ours to open; of the others the state is told."""
    from agent.links.port_trouble import unsuitable
    from agent.links.ports import holder_of, list_ports

    named = _named_ports(inventory) if inventory is not None else []
    there = [port.device for port in list_ports()]
    lost = [path for path in named if not Path(path).exists()]
    others = [path for path in named if path not in lost and unsuitable(path, {}) is not None]
    named = [path for path in named if path not in others]
    barred = [
        path for path in {*named, *there} if Path(path).exists() and not os.access(path, os.R_OK | os.W_OK)
    ]
    held = [f"{path}, open in {holder}" for path in named if (holder := holder_of(path)) is not None]
    says = "; ".join(
        f"{word}: {', '.join(sorted(paths))}"
        for word, paths in (
            ("not there", lost),
            ("not a serial port", others),
            ("no permission", barred),
            ("in use", held),
            ("there", sorted(set(there) - set(barred))),
        )
        if paths
    )
    locked = sorted(set(barred) & set(named))
    if locked:
        return Finding("ports", State.FAIL, says, _permission(locked[0]))
    if lost:
        return Finding("ports", State.FAIL, says, "Plug it in, or correct its URL: ackonce ports")
    if others:
        return Finding("ports", State.FAIL, says, "Correct its URL: ackonce ports")
    if held or barred:
        return Finding("ports", State.WARN, says, "ackonce ports")
    return Finding("ports", State.OK, says or "no serial port here, and none is named")


def _named_ports(inventory: "Inventory") -> list[str]:
    urls = {device.url for device in inventory.devices.values()}
    return sorted({address.path for url in urls if (address := parse_url(url)).scheme == "serial"})


def _permission(path: str) -> str:
    from agent.links.port_trouble import group_that_may

    try:
        group = group_that_may(path)
    except OSError:
        group = None
    return (
        f"sudo usermod -aG {group} $USER, then log in anew"
        if group is not None
        else f"See who may: ls -lL {path}"
    )


def _broken(check: str, problems: list[FileProblem], advice: str) -> Finding:
    first = str(problems[0]).rstrip(".")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Finding(check, State.FAIL, f"{first}{more}", advice, Exit.FILE)


def configuration(problem: UsageProblem | FileProblems) -> Finding:
    """The configuration itself makes no sense, so nothing that depends on it can be looked at."""
    if isinstance(problem, FileProblems):
        return _broken("configuration", list(problem.problems), "Mend it; the other checks need it")
    return Finding("configuration", State.FAIL, str(problem), None, Exit.USAGE)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
