"""Which devices does a person mean, and how patient is this run with each of them?"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.inventory import ATTEMPTS_DEFAULT, Defaults, Device, Inventory, load
from agent.patience import silence_s
from agent.profile_folders import load_profile
from agent.selection import select
from agent.settings import Settings
from agent.stations import Target, obstacle
from devices.problems import UsageProblem
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
    names = [pattern for pattern in patterns if not is_url(pattern)]
    if names:
        inventory = inventory_of(settings)
        devices += [(device, inventory.defaults) for device in select(inventory, names)]
    devices += [(_from_url(pattern, profile), Defaults()) for pattern in patterns if is_url(pattern)]
    return choose_devices(settings, devices, profile)


def choose_devices(
    settings: Settings, devices: Sequence[tuple[Device, Defaults]], profile: str | None = None
) -> list[Chosen]:
    """Devices that are found already, each with the defaults of its inventory, and now with its profile too.

    Raises:
        UsageProblem: one has no profile, or two are one device.
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
    _refuse_one_device_twice(chosen)
    return chosen


def _refuse_one_device_twice(chosen: Sequence[Chosen]) -> None:
    """Two names of one device in one order would make a command count twice."""
    seen: dict[tuple[object, ...], str] = {}
    for each in chosen:
        target, name = each.target, each.device.name
        marks: list[tuple[tuple[object, ...], str]] = [((target.url, target.unit), target.url)]
        if target.serial is not None:
            marks.append(((each.profile.name, target.serial), f"serial {target.serial}"))
        for mark, what in marks:
            first = seen.setdefault(mark, name)
            if first != name:
                raise UsageProblem(f"{first} and {name} are one device ({what})", "Name one of them")


def reachable_targets(settings: Settings, patterns: Sequence[str], profile: str | None) -> list[Chosen]:
    """As `choose_targets`, for work with the devices themselves: UsageProblem too where this version cannot."""
    chosen = choose_targets(settings, patterns, profile)
    for each in chosen:
        missing = obstacle(each.target)
        if missing is not None:
            raise UsageProblem(missing)
    return chosen


def is_url(pattern: str) -> bool:
    """Whether a target is an address and no name of the inventory."""
    return pattern.startswith(("tcp:", "serial:", "rfc2217:"))


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
            else not device.url.startswith("tcp:")
        ),
    )
    return Chosen(device, profile, target)
