"""Which devices does a person mean, and how patient is this run with each of them?"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.inventory import ATTEMPTS_DEFAULT, Defaults, Device, Inventory, document_of, load
from agent.patience import silence_s
from agent.profile_folders import load_profile
from agent.selection import select
from agent.settings import Settings
from agent.stations import Target, mismatch, obstacle
from devices.problems import FileProblem, FileProblems, UsageProblem
from devices.profile import Profile


@dataclass(frozen=True, slots=True)
class Chosen:
    """A device with its profile, and as the service wants it."""

    device: Device
    profile: Profile
    target: Target


def inventory_of(settings: Settings) -> Inventory:
    """The inventory of this run. Raises UsageProblem where there is none, FileProblems."""
    if settings.inventory is None:
        raise UsageProblem(
            f"there is no inventory.yaml in {settings.project}",
            "Give one with -i FILE, or a URL such as tcp://10.3.0.12:7001 with --profile NAME",
        )
    return load(settings.inventory)


def choose_targets(settings: Settings, patterns: Sequence[str], profile: str | None) -> list[Chosen]:
    """The devices of names, globs, groups, tags, files or URLs, each with its profile.

    Raises:
        UsageProblem: nothing fits, or a URL without `--profile`.
        FileProblems: inventory or profile.
    """
    devices: list[tuple[Device, Defaults]] = []
    addresses = [pattern for pattern in patterns if is_url(pattern) or _is_port(settings, pattern)]
    names = [pattern for pattern in patterns if pattern not in addresses]
    if names:
        inventory = inventory_of(settings)
        devices += [(device, inventory.defaults) for device in select(inventory, names)]
    devices += [(_from_url(address, profile), Defaults()) for address in addresses]
    return choose_devices(settings, devices, profile)


def choose_devices(
    settings: Settings, devices: Sequence[tuple[Device, Defaults]], profile: str | None = None
) -> list[Chosen]:
    """As `with_profiles`, for one order: UsageProblem too where two are one device."""
    chosen = with_profiles(settings, devices, profile)
    for first, second, what in named_twice(chosen):
        raise UsageProblem(f"{first} and {second} are one device ({what})", "Name one of them")
    return chosen


def with_profiles(
    settings: Settings, devices: Sequence[tuple[Device, Defaults]], profile: str | None = None
) -> list[Chosen]:
    """Devices that are found already, each with the defaults of its inventory, and now with its profile too.

    Raises:
        UsageProblem: one has no profile.
        FileProblems: a profile.
    """
    profiles: dict[str, Profile] = {}
    chosen = []
    for device, defaults in devices:
        name = profile or device.profile
        if name is None:
            raise UsageProblem(
                f"device {device.name} has no profile", "Write one into the inventory or give --profile"
            )
        if name not in profiles:
            profiles[name] = load_profile(settings, name)
        chosen.append(_chosen(settings, device, defaults, profiles[name]))
    return chosen


def named_twice(chosen: Sequence[Chosen]) -> Iterator[tuple[str, str, str]]:
    """Devices that have two names here, and would count twice what is sent to both: both names, and what shows it."""
    seen: dict[tuple[object, ...], str] = {}
    for each in chosen:
        target, name = each.target, each.device.name
        marks: list[tuple[tuple[object, ...], str]] = [((target.url, target.unit), target.url)]
        if target.serial is not None:
            marks.append(((each.profile.name, target.serial), f"serial {target.serial}"))
        for mark, what in marks:
            first = seen.setdefault(mark, name)
            if first != name:
                yield first, name, what
                break


def reachable_targets(settings: Settings, patterns: Sequence[str], profile: str | None) -> list[Chosen]:
    """As `choose_targets`, for work with the devices themselves: UsageProblem too where this version cannot.

    FileProblems too where the inventory gives a device an address that is none for its profile.
    """
    chosen = choose_targets(settings, patterns, profile)
    for each in chosen:
        wrong = mismatch(each.target)
        if wrong is not None and profile is None and settings.inventory is not None:
            raise FileProblems([_at_its_url(settings.inventory, each.device, wrong)])
        missing = obstacle(each.target)
        if missing is not None:
            raise UsageProblem(missing)
    return chosen


def _at_its_url(inventory: Path, device: Device, wrong: str) -> FileProblem:
    where = ("devices", device.name, "url") if device.line is None else ("lines", device.line, "url")
    return document_of(inventory).problem(where, wrong, "Correct the address, or the profile")


_URL = re.compile(
    r"(?!group:|tag:|@)(?:(?:tcp|serial|rfc2217|exec):.*|.*://.*|[^/]+:[0-9]+)", re.IGNORECASE | re.DOTALL
)


def is_url(pattern: str) -> bool:
    """Whether a target is an address, whole or not (`parse_url` says what is missing): no device's name has a colon."""
    return _URL.fullmatch(pattern) is not None


def _is_port(settings: Settings, pattern: str) -> bool:
    """Whether a target is the bare path of a serial port, and no device of the inventory has it for a name."""
    if not pattern.startswith("/dev/"):
        return False
    return settings.inventory is None or pattern not in load(settings.inventory).devices


def _from_url(url: str, profile: str | None) -> Device:
    from agent.address import parse_url

    try:
        address = parse_url(url)
    except ValueError as problem:
        raise UsageProblem(str(problem)) from None
    if profile is None:
        raise UsageProblem(
            f"{url} is not in an inventory, so its profile is not known", "Give it with --profile NAME"
        )
    return Device(name=address.url, url=address.url, profile=profile)


def _chosen(settings: Settings, device: Device, defaults: Defaults, profile: Profile) -> Chosen:
    target = Target(
        name=device.name,
        url=device.url,
        unit=device.unit,
        serial=device.serial,
        profile=profile,
        timeout_s=silence_s(settings, device, defaults, profile),
        attempts=device.attempts or defaults.attempts or ATTEMPTS_DEFAULT,
        busy_max_s=profile.timing.busy_max_s,
        gap_s=device.gap_s if device.gap_s is not None else profile.timing.gap_s,
        survives_reopen=(
            device.survives_reopen
            if device.survives_reopen is not None
            else not device.url.startswith(("tcp:", "exec:"))
        ),
    )
    return Chosen(device, profile, target)
