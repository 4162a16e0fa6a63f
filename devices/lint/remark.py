"""What does a rule of the lint report, and what do rules ask of a profile?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from devices.catalog import trusts_dedup
from devices.kinds import EffectClass
from devices.profile import Command, Profile, Setting
from devices.source import Path

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding that still names its place by the path in the file; `where` is the part of the profile for people."""

    level: Level
    path: Path
    where: str
    message: str


def commands_of(profile: Profile) -> Iterator[tuple[Path, Command]]:
    """Yield the commands with their paths."""
    for index, command in enumerate(profile.commands):
        yield ("commands", index), command


def is_cumulative(command: Command) -> bool:
    """Tell whether a second copy would change something."""
    return command.effect_class is EffectClass.CUMULATIVE


def is_plain(profile: Profile) -> bool:
    """Tell whether the equipment has no numbers, so that only readings can tell what happened."""
    return not trusts_dedup(profile)


def form_setting(profile: Profile, command: Command) -> Setting | None:
    """Return the setting that the absolute form of a command writes, None where it has no form."""
    if command.absolute_form is None:
        return None
    return profile.setting(profile.command(command.absolute_form.command).setting or "")


def read_back(profile: Profile, command: Command) -> Setting | None:
    """Return the setting whose reading shows the effect of a command; None where nothing does."""
    form = form_setting(profile, command)
    if form is not None and command.absolute_form is not None and command.absolute_form.equivalent:
        return form
    if command.verify is not None:
        return profile.setting(command.verify.setting)
    one_value = command.setting is not None and len(command.args) == 1
    if one_value and command.effect_class is EffectClass.IDEMPOTENT:
        return profile.setting(command.setting or "")
    return None
