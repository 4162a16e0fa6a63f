"""Does a command of a profile agree with the settings and commands that it names?

Part of `checks`: each check takes the file, one command and the command's path, and yields what contradicts.
What a command claims about safety (class, form, verify) is looked at as strictly as its spelling.
"""

from collections.abc import Callable, Iterator

from devices import expressions, templates
from devices.kinds import CLASS_OF, EffectClass, Kind
from devices.misfit import BEFORE, Misfit, bad_name, bad_type, unknown_name
from devices.registers import value_type
from devices.schema import ArgumentSection, CommandSection, ProfileFile, SettingSection
from devices.secret_checks import secret_misfits
from devices.source import Path
from devices.values import check_type, is_type, normalise
from devices.write_checks import write_misfits

Check = Callable[[ProfileFile, CommandSection, Path], Iterator[Misfit]]


def limits(path: Path, kind: str, section: SettingSection | ArgumentSection) -> Iterator[Misfit]:
    """Check `min`, `max` and `step` of a setting or argument of the catalog's type `kind`."""
    for key in ("min", "max", "step"):
        value = getattr(section, key)
        if value is None:
            continue
        if kind not in ("int", "decimal"):
            yield Misfit((*path, key), f"type {kind} has no '{key}'", key=True)
        elif kind == "int" and value != value.to_integral_value():
            yield Misfit((*path, key), f"'{key}' of type int must be a whole number, not {value}")
    if section.min is not None and section.max is not None and section.min > section.max:
        yield Misfit((*path, "max"), f"'max' {section.max} is below 'min' {section.min}")
    if section.step is not None and section.step <= 0:
        yield Misfit((*path, "step"), "'step' must be more than 0")


def _class(_file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    given = CLASS_OF[command.kind]
    if command.stated_class not in (None, given):
        yield Misfit(
            (*path, "class"),
            f"class {command.stated_class} contradicts kind {command.kind}, which is {given}",
        )


def _arguments(_file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    seen: set[str] = set()
    for index, argument in enumerate(command.args):
        here = (*path, "args", index)
        yield from bad_name((*here, "name"), "argument", argument.name)
        if argument.name in seen:
            yield Misfit((*here, "name"), f"the argument '{argument.name}' is given twice")
        seen.add(argument.name)
        try:
            check_type(argument.type)
        except ValueError as error:
            yield bad_type((*here, "type"), argument.type, error)
        else:
            yield from limits(here, argument.type, argument)


def _send(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    if file.dialect == "modbus":
        yield from write_misfits(file, command, path)
        return
    if command.write is not None:
        yield Misfit((*path, "write"), f"dialect {file.dialect} has no 'write'", key=True)
    if command.send is None:
        if file.dialect != "exec":
            yield Misfit(path, "'send' is missing")
        return
    here = (*path, "send")
    try:
        parts = templates.parse(command.send)
        fields = [part for part in parts if isinstance(part, templates.Field)]
        types = {argument.name: argument.type for argument in command.args}
        for field in fields:
            if not field.is_plain:
                yield Misfit(here, f"'{{{field.name}}}' must be a plain name in braces")
            elif field.name not in types:
                yield unknown_name(here, "argument", field.name, types)
            elif is_type(types[field.name]):  # else it is told beside the argument
                templates.check_field_type(field, types[field.name])
    except templates.TemplateError as error:
        yield Misfit(here, str(error))
        return
    for name in types:
        if not any(name in field.names for field in fields):
            yield Misfit(here, f"the argument '{name}' is not in 'send', the device would never see it")


def _setting(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    if command.setting is not None and command.setting not in file.settings:
        yield unknown_name((*path, "setting"), "setting", command.setting, file.settings)


def _absolute_form(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    form = command.absolute_form
    if form is None:
        return
    here = (*path, "absolute_form")
    if CLASS_OF[command.kind] is EffectClass.IDEMPOTENT:
        yield Misfit(here, f"a command of kind {command.kind} needs no absolute form", key=True)
    yield from _expression(file, command, (*here, "value"), form.value)
    target = next((each for each in file.commands if each.name == form.command), None)
    if target is None:
        yield unknown_name((*here, "command"), "command", form.command, [each.name for each in file.commands])
        return
    if target.kind is not Kind.ABSOLUTE:
        yield Misfit((*here, "command"), f"'{target.name}' is of kind {target.kind}, not absolute")
    if target.setting is None:
        yield Misfit(
            (*here, "command"), f"'{target.name}' names no 'setting', so there is no baseline to read"
        )
    if file.dialect == "modbus" and target.write is not None and _depends(target.write.address):
        message = (
            f"the address of '{target.name}' depends on its arguments, so no single reading is its baseline"
        )
        yield Misfit((*here, "command"), message, "Give each address a command of its own")
    own = {argument.name for argument in command.args}
    free = [argument.name for argument in target.args if argument.name not in own]
    if len(free) != 1:
        yield Misfit(
            (*here, "command"),
            f"'{target.name}' must have exactly one argument that '{command.name}' lacks, for the target",
        )


def _depends(address: str) -> bool:
    try:
        return bool(expressions.names_of(address))
    except expressions.ExpressionError:
        return False  # told beside the command itself


def _verify(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    verify = command.verify
    if verify is None:
        return
    if verify.setting not in file.settings:
        yield unknown_name((*path, "verify", "setting"), "setting", verify.setting, file.settings)
    if verify.tolerance is not None and verify.tolerance < 0:
        yield Misfit((*path, "verify", "tolerance"), "'tolerance' must not be negative")
    yield from _expression(file, command, (*path, "verify", "expect"), verify.expect)


def _expression(file: ProfileFile, command: CommandSection, path: Path, text: str) -> Iterator[Misfit]:
    try:
        names = expressions.names_of(text)
    except expressions.ExpressionError as error:
        yield Misfit(path, f"bad expression: {error}")
        return
    arguments = {argument.name for argument in command.args}
    known = [BEFORE, *sorted(arguments - {BEFORE}), *file.settings]
    for name in sorted(names):
        if name not in known:
            yield unknown_name(path, "name in the expression", name, known)
        elif name in arguments and name in file.settings:
            yield Misfit(path, f"'{name}' could be the argument or the setting: rename the argument")


def _mode(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    mode = command.mode
    if mode is None:
        return
    setting = file.settings.get(mode.setting)
    if setting is None:
        yield unknown_name((*path, "mode", "setting"), "setting", mode.setting, file.settings)
        return
    try:
        kind = value_type(setting.type, setting.scale) if file.dialect == "modbus" else setting.type
        normalise(kind, mode.value)
    except ValueError as error:
        yield Misfit((*path, "mode", "value"), f"no value of '{mode.setting}': {error}")


def _certain_words(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    """An LSQ1 device says for certain what became of a command (WIRE.md 2), so a profile cannot say otherwise."""
    if file.dialect != "lsq":
        return
    if command.nak_may_follow_effect:
        message = "an LSQ1 device refuses before any effect, so 'nak_may_follow_effect' cannot be true"
        yield Misfit((*path, "nak_may_follow_effect"), message)
    if command.ack_means != "done":
        yield Misfit(
            (*path, "ack_means"), "an LSQ1 device acks what it has executed, so 'ack_means' is always done"
        )


def _confirm(_file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    confirm = command.confirm
    if confirm is None:
        return
    if command.kind is not Kind.LINK:
        yield Misfit((*path, "confirm"), f"only kind link has 'confirm', not {command.kind}", key=True)
    arguments = [argument.name for argument in command.args]
    for key in ("at", "read", "expect"):
        here = (*path, "confirm", key)
        try:
            names = templates.names_of(getattr(confirm, key))
        except templates.TemplateError as error:
            yield Misfit(here, str(error))
            continue
        for name in sorted(names - set(arguments)):
            yield unknown_name(here, "argument", name, arguments)


COMMAND_CHECKS: tuple[Check, ...] = (
    _class,
    _arguments,
    _send,
    _setting,
    _absolute_form,
    _verify,
    _mode,
    _certain_words,
    _confirm,
    secret_misfits,
)
