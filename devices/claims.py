"""Do the expressions of a profile give what its settings can hold?

The last check before a profile is loaded (CATALOG.md, section 4: contradictions and wrong types refuse). Rule: only
what no sample value satisfies is refused; an expression that fails for some values stays a matter of the moment.
"""

from collections.abc import Iterator

from devices.kinds import EffectClass
from devices.misfit import Misfit
from devices.profile import Command, Profile
from devices.samples import Outcome, Valued, outcomes
from devices.source import Path


def contradictions(profile: Profile) -> Iterator[Misfit]:
    """Yield each expression that never gives a value of the setting, or argument, that it is for."""
    for index, command in enumerate(profile.commands):
        path: Path = ("commands", index)
        yield from _verify(profile, command, path)
        yield from _form(profile, command, path)
        yield from _own_setting(profile, command, path)


def _verify(profile: Profile, command: Command, path: Path) -> Iterator[Misfit]:
    verify = command.verify
    if verify is not None:
        setting = profile.setting(verify.setting)
        tried = outcomes(profile, command, verify.expect, setting, setting)
        yield from _never((*path, "verify", "expect"), tried, setting.name, setting)


def _form(profile: Profile, command: Command, path: Path) -> Iterator[Misfit]:
    form = command.absolute_form
    if form is None:
        return
    target = profile.command(form.command)
    setting = profile.setting(target.setting or "")
    own = {argument.name for argument in command.args}
    for argument in target.args:
        if argument.name not in own:
            tried = outcomes(profile, command, form.value, argument, setting)
            yield from _never((*path, "absolute_form", "value"), tried, argument.name, argument)


def _own_setting(profile: Profile, command: Command, path: Path) -> Iterator[Misfit]:
    """An absolute command is read back by its one argument, so that has to be a value of the setting."""
    if (
        command.setting is None
        or command.effect_class is not EffectClass.IDEMPOTENT
        or len(command.args) != 1
    ):
        return
    setting = profile.setting(command.setting)
    if command.verify is None:
        tried = outcomes(profile, command, command.args[0].name, setting, setting)
        yield from _never((*path, "setting"), tried, setting.name, setting)


def _never(path: Path, tried: list[Outcome], name: str, valued: Valued) -> Iterator[Misfit]:
    if tried and all(each.after is None for each in tried):
        yield Misfit(path, f"it never gives a value of '{name}' ({valued.type}): {tried[0].problem}")
