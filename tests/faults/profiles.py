"""Which profiles do the tests of public fault reports need, beside the demo controller's own?"""

from dataclasses import replace

from devices.profile import Command, Profile, Setting
from tests.agent.line_desk import PROFILE


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


def _changed(command: Command, changes: dict[str, object]) -> Command:
    return replace(command, **changes)  # type: ignore[arg-type]
