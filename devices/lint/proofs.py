"""Does a reading prove what a profile wants it to prove?

Forms, read-backs and modes (CATALOG.md, section 2): what would make a reading say nothing, or something untrue.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal

from devices.expressions import clamps
from devices.lint.remark import Remark, commands_of, form_setting, is_cumulative
from devices.profile import Argument, Command, Profile, Setting
from devices.samples import outcomes
from devices.source import Path


def _form(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        form, setting = command.absolute_form, form_setting(profile, command)
        if form is None or setting is None:
            continue
        here = (*path, "absolute_form")
        if not form.equivalent:
            message = (
                f"absolute_form without 'equivalent: true' is not used: if '{form.command}' does anything "
                "else besides (stores, restarts, moves), it is not the same command"
            )
            yield Remark("error", here, command.name, message)
        if setting.other_writers:
            message = (
                f"others write '{setting.name}' too: a target computed from a reading could undo their change, "
                "so the form is not used"
            )
            yield Remark("warning", here, command.name, message)
        if not any(each.changes for each in outcomes(profile, command, form.value, setting, setting)):
            message = f"'{form.value}' is always what was read, so the form would never change anything"
            yield Remark("error", (*here, "value"), command.name, message)
        if not _has_limits(setting) and not _has_limits(_target(profile, command)):
            message = (
                f"neither '{setting.name}' nor the argument of '{form.command}' states 'min' and 'max': a target "
                "that the device cannot hold would be sent instead of being refused beforehand"
            )
            yield Remark("warning", here, command.name, message)


def _target(profile: Profile, command: Command) -> Argument | None:
    """Return the argument that takes the target of a form."""
    if command.absolute_form is None:
        return None
    own = {argument.name for argument in command.args}
    args = profile.command(command.absolute_form.command).args
    return next((argument for argument in args if argument.name not in own), None)


def _has_limits(valued: Setting | Argument | None) -> bool:
    """Tell whether every value is known to be within limits; only numbers need any."""
    if valued is None or valued.type not in ("int", "decimal"):
        return True
    return valued.min is not None and valued.max is not None


def _verify(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        verify = command.verify
        if verify is None:
            continue
        setting, here = profile.setting(verify.setting), (*path, "verify")
        yield from _tolerance(command, setting, here)
        if not any(each.changes for each in outcomes(profile, command, verify.expect, setting, setting)):
            message = f"'{verify.expect}' is always what was read before: no reading can tell applied from not applied"
            yield Remark("error", (*here, "expect"), command.name, message)
        elif setting.other_writers:
            message = (
                f"others write '{setting.name}' too, so a reading proves nothing and 'verify' is not used"
            )
            yield Remark("warning", here, command.name, message)
        elif is_cumulative(command):
            yield from _stops(command, verify.expect, setting, here)


def _tolerance(command: Command, setting: Setting, here: Path) -> Iterator[Remark]:
    tolerance = command.verify.tolerance if command.verify is not None else None
    if tolerance is None or setting.step is None or Decimal(tolerance) >= Decimal(setting.step) / 2:
        return
    message = (
        f"tolerance {tolerance} is finer than '{setting.name}' can tell "
        f"(step {setting.step}), so a value that was applied would look wrong"
    )
    yield Remark("error", (*here, "tolerance"), command.name, message)


def _stops(command: Command, expect: str, setting: Setting, here: Path) -> Iterator[Remark]:
    if clamps(expect) or setting.type not in ("int", "decimal"):
        return
    if setting.clamps:
        message = (
            f"'{setting.name}' stops at its limits but 'expect' does not: at a stop the reading is neither "
            f"expected nor unchanged and ends in doubt; write clamp({expect}, LOWEST, HIGHEST)"
        )
        yield Remark("warning", here, command.name, message)
    elif setting.clamps is None and not _has_limits(setting):
        message = (
            f"'{setting.name}' states neither 'min' and 'max' nor 'clamps: false', and 'expect' has no "
            "clamp: an unchanged reading could be a stop, so silence ends in doubt"
        )
        yield Remark("warning", here, command.name, message)


def _agreement(profile: Profile) -> Iterator[Remark]:
    """Compare what a form sets with what the read-back of the same setting expects."""
    for path, command in commands_of(profile):
        form, verify, setting = command.absolute_form, command.verify, form_setting(profile, command)
        if form is None or verify is None or setting is None or verify.setting != setting.name:
            continue
        set_to = outcomes(profile, command, form.value, setting, setting)
        expected = outcomes(profile, command, verify.expect, setting, setting)
        if not any(a.changes and a == b for a, b in zip(set_to, expected, strict=False)):
            message = (
                f"the form sets '{form.value}' but the read-back expects '{verify.expect}': one is wrong"
            )
            yield Remark("error", (*path, "verify", "expect"), command.name, message)


def _modes(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        if command.mode is None:
            continue
        setting = profile.setting(command.mode.setting)
        if setting.other_writers:
            message = (
                f"others write '{setting.name}' too: the mode can change between the reading and the command"
            )
            yield Remark("warning", (*path, "mode"), command.name, message)
        if not setting.durable and profile.boot_read is None and profile.dialect != "lsq":
            message = (
                f"'{setting.name}' is volatile and there is no 'boot_read': a restart would put the mode back "
                "unnoticed, and the same text would do something else"
            )
            yield Remark("warning", (*path, "mode"), command.name, message)


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_form, _verify, _agreement, _modes)
