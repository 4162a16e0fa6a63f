"""Which profiles do the tests of plain equipment need, beside the demo controller's own?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from devices.loader import load
from devices.profile import Command, Profile, Setting

PROFILE = load(Path(__file__).parents[2] / "devices/profiles/demo/controller-line.yaml")
LATE_S = PROFILE.timing.late_s


def with_command(name: str, profile: Profile = PROFILE, **changes: object) -> Profile:
    """The profile with one command changed."""
    commands = tuple(_changed(each, changes) if each.name == name else each for each in profile.commands)
    return replace(profile, commands=commands)


def with_setting(name: str, profile: Profile = PROFILE, **changes: object) -> Profile:
    """The profile with one setting changed, or with one more, which is read as `GET name`."""
    plain = Setting(name, "int", read=f"GET {name}")
    setting = replace(profile.settings.get(name, plain), **changes)  # type: ignore[arg-type]
    return replace(profile, settings={**profile.settings, name: setting})


def taking(name: str, execution_s: float) -> Profile:
    """The profile with a command that takes its time."""
    return with_command(name, execution_s=execution_s)


def nameless() -> Profile:
    """The profile of equipment that cannot say who it is, so that no reading comes before a command."""
    return replace(PROFILE, identity=None)


def naming(profile: Profile = PROFILE) -> Profile:
    """The profile of a `NamingDevice`: each reading has a pattern of its own, which no ack matches."""
    settings = {
        name: replace(each, reply=f"^{name}=(?P<value>.*)$") for name, each in profile.settings.items()
    }
    return replace(profile, settings=settings, identity=None, boot_read=None)


def with_timing(profile: Profile = PROFILE, **timing: Any) -> Profile:
    """The profile with other times."""
    return replace(profile, timing=replace(profile.timing, **timing))


def _changed(command: Command, changes: dict[str, object]) -> Command:
    return replace(command, **changes)  # type: ignore[arg-type]
