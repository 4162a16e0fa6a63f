"""May a command of a profile have its secrets, or would they come to light?

Part of `checks`, and a check as those of `command_checks`. Rule: what is compared with a reading, computed with or
looked for afterwards ends in journal and log, so no secret can be.
"""

from collections.abc import Iterator

from devices import expressions, templates
from devices.kinds import CLASS_OF, EffectClass
from devices.misfit import Misfit
from devices.schema import CommandSection, ProfileFile, WriteSection
from devices.source import Path


def secret_misfits(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    """Yield what is wrong with the secret arguments of a command at `path`."""
    for index, argument in enumerate(command.args):
        if not argument.secret:
            continue
        here = (*path, "args", index, "secret")
        if argument.type != "text":
            yield Misfit((*path, "args", index, "type"), f"a secret is of type text, not {argument.type}")
        for where in _uses(command, argument.name):
            message = f"the secret '{argument.name}' cannot be part of it, since journal and log show it"
            yield Misfit((*path, *where), message)
        if _is_read_back(command):
            message = (
                f"'{command.setting}' would be read back and compared with the secret '{argument.name}', so that "
                "journal and log show it"
            )
            yield Misfit(here, message, "Leave out the command's 'setting'")
    yield from _secrets_of_the_form(file, command, path)


def _uses(command: CommandSection, name: str) -> Iterator[Path]:
    """The places in which an argument is made use of, but for `send` and the value of `write`."""
    verify, form, confirm = command.verify, command.absolute_form, command.confirm
    expressions_in: list[tuple[Path, str]] = []
    if verify is not None:
        expressions_in.append((("verify", "expect"), verify.expect))
    if form is not None:
        expressions_in.append((("absolute_form", "value"), form.value))
    if command.write is not None:
        expressions_in.append((("write", "address"), command.write.address))
        yield from _hex_or_arithmetic(command.write, name)
    for where, text in expressions_in:
        try:
            if name in expressions.names_of(text):
                yield where
        except expressions.ExpressionError:
            continue  # told by others
    for key in ("at", "read", "expect"):
        try:
            if confirm is not None and name in templates.names_of(getattr(confirm, key)):
                yield ("confirm", key)
        except templates.TemplateError:
            continue


def _hex_or_arithmetic(write: WriteSection, name: str) -> Iterator[Path]:
    """A secret is put in as it is, so it can be neither hex digits nor computed with."""
    for key in ("value", "raw"):
        try:
            parts = templates.parse(getattr(write, key) or "")
        except templates.TemplateError:
            continue  # told by others
        fields = [part for part in parts if isinstance(part, templates.Field) and name in part.names]
        if fields and (key == "raw" or not all(field.is_plain for field in fields)):
            yield ("write", key)


def _is_read_back(command: CommandSection) -> bool:
    """Whether the command's only argument is what its setting reads afterwards."""
    repeatable = CLASS_OF[command.kind] is EffectClass.IDEMPOTENT
    return repeatable and command.setting is not None and len(command.args) == 1 and command.verify is None


def _secrets_of_the_form(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    """The absolute form is sent with the arguments of the command, and with a target that is read back."""
    form = command.absolute_form
    target = next((each for each in file.commands if form is not None and each.name == form.command), None)
    if target is None:
        return
    own = {argument.name: argument.secret for argument in command.args}
    for argument in target.args:
        if own.get(argument.name, False) is not argument.secret:
            message = f"'{argument.name}' of '{target.name}' is secret in one of the two commands only"
            yield Misfit((*path, "absolute_form", "command"), message)
