"""Can the `write` of a Modbus command be sent as it is described, for each of its arguments?

Part of `checks`, and a check as those of `command_checks`. Rules: a function writes what it can carry and nothing
besides (a bit is never written as a whole register, which would change its neighbours); the values at the edges of each
argument are tried, so that what could only fail in the field fails here.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType

from devices import expressions, registers, templates
from devices.misfit import Misfit, unknown_name
from devices.register_checks import between_steps, beyond, register_misfits
from devices.registers import Content
from devices.schema import ArgumentSection, CommandSection, ProfileFile, SettingSection, WriteSection
from devices.source import Path
from devices.values import enum_values, is_type, plain
from protocol.modbus.requests import ADDRESS_MAX, request_of

RAW_BYTES_MAX = 246
"""Bytes of 123 registers, or of 1968 coils: what one request writes."""

_CARRIES: Mapping[int, str] = MappingProxyType(
    {
        5: "one coil: type bool",
        6: "one register: type u16 or s16",
        15: "coils: type bool or bits(n)",
        16: "registers: a number type or text(n)",
        22: "one bit of a register: 'bit'",
        23: "registers: a number type or text(n)",
    }
)
_RAW_CARRIES: Mapping[int, str] = MappingProxyType(
    {
        5: "2 bytes, the value of the coil",
        6: "2 bytes, one register",
        15: "at least 1 byte, 8 coils in each",
        16: "an even number of bytes, 2 for each register",
        22: "4 bytes, the mask that keeps and the one that sets",
        23: "no 'raw', since it reads the value back: give 'type' and 'value'",
    }
)
_RAW_SIZES: Mapping[int, int] = MappingProxyType({5: 2, 6: 2, 22: 4})


def write_misfits(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    """Yield what is wrong with the `write` of a command at `path`, in a profile of dialect modbus."""
    write = command.write
    if command.send is not None:
        yield Misfit((*path, "send"), "dialect modbus has no 'send', it has 'write'", key=True)
    if write is None:
        yield Misfit(path, "'write' is missing")
        return
    here = (*path, "write")
    found = [*_address(command, write, here), *_payload(command, write, here)]
    setting = file.settings.get(command.setting or "")
    whose = setting if write.raw is None and write.type is None and write.bit is None else None
    told_there = whose is not None and any(register_misfits(file, whose, ()))
    if write.raw is not None:
        found += _raw(write, here)
    elif not told_there:
        found += _content(command, write, setting, path)
    yield from found
    yield from _unused(command, write, here)
    if not found and not told_there:
        yield from _tried(file, command, path)


# --- where -------------------------------------------------------------------------------------------------------


def _address(command: CommandSection, write: WriteSection, path: Path) -> Iterator[Misfit]:
    here = (*path, "address")
    try:
        names = expressions.names_of(write.address)
        value = registers.constant(write.address)
    except expressions.ExpressionError as error:
        yield Misfit(here, f"bad expression: {error}")
        return
    arguments = {argument.name: argument for argument in command.args}
    for name in sorted(names):
        if name not in arguments:
            yield unknown_name(here, "argument", name, arguments)
        elif arguments[name].type != "int":
            yield Misfit(
                here, f"an address goes by whole numbers, and '{name}' is of type {arguments[name].type}"
            )
        elif arguments[name].min is None or arguments[name].max is None:
            message = f"the address goes by '{name}', so it needs 'min' and 'max': any register could be written else"
            yield Misfit(here, message)
    if not names and not _is_address(value):
        yield Misfit(here, f"an address is a whole number, 0 to {ADDRESS_MAX}, as on the wire")


def _is_address(value: Decimal | None) -> bool:
    return value is not None and value == value.to_integral_value() and 0 <= value <= ADDRESS_MAX


# --- what --------------------------------------------------------------------------------------------------------


def _payload(command: CommandSection, write: WriteSection, path: Path) -> Iterator[Misfit]:
    """Check that there is one of 'value' and 'raw', made from arguments only."""
    if (write.value is None) == (write.raw is None):
        yield Misfit(path, "'write' needs either 'value' or 'raw'")
    types = {argument.name: argument.type for argument in command.args}
    for key in ("value", "raw"):
        text = getattr(write, key)
        if text is None:
            continue
        try:
            fields = [part for part in templates.parse(text) if isinstance(part, templates.Field)]
            for field in fields:
                for name in sorted(field.names - set(types)):
                    yield unknown_name((*path, key), "argument", name, types)
                for name in sorted(field.names & set(types)):
                    templates.check_field_type(field, types[name])
        except templates.TemplateError as error:
            yield Misfit((*path, key), str(error))


def _unused(command: CommandSection, write: WriteSection, path: Path) -> Iterator[Misfit]:
    used: set[str] = set()
    try:
        used |= expressions.names_of(write.address)
        used |= templates.names_of(write.value or "") | templates.names_of(write.raw or "")
    except (expressions.ExpressionError, templates.TemplateError):
        return  # told already
    for argument in command.args:
        if argument.name not in used:
            yield Misfit(
                path, f"the argument '{argument.name}' is not in 'write', the device would never see it"
            )


def _raw(write: WriteSection, path: Path) -> Iterator[Misfit]:
    for key in ("type", "scale", "bit"):
        if getattr(write, key) is not None:
            yield Misfit((*path, key), f"'raw' is sent as it stands, it has no '{key}'", key=True)
    here = (*path, "raw")
    digits = _digits(write.raw or "")
    if digits is None:
        message = "'raw' must be 0x and pairs of hex digits"
        yield Misfit(here, message, "An argument stands in it as hex digits of fixed number: 0x00{value:02X}")
        return
    size = digits // 2
    even = write.function == 16 and size % 2 == 0
    if size > RAW_BYTES_MAX:
        yield Misfit(here, f"'raw' has {size} bytes, a request carries {RAW_BYTES_MAX}")
    elif not (even or write.function == 15 or size == _RAW_SIZES.get(write.function)):
        yield Misfit(
            here, f"function {write.function} carries {_RAW_CARRIES[write.function]}; these are {size}"
        )


def _digits(raw: str) -> int | None:
    """How many hex digits `raw` gives; None where that depends, is odd, or is no hex."""
    count = 0
    try:
        parts = templates.parse(raw.removeprefix("0x"))
    except templates.TemplateError:
        return None
    for part in parts:
        if isinstance(part, str):
            if set(part) - set("0123456789abcdefABCDEF"):
                return None
            count += len(part)
        elif not (part.spec[-1:] in ("x", "X") and part.spec.startswith("0") and part.spec[:-1].isdigit()):
            return None
        else:
            count += int(part.spec[:-1])
    return count if raw.startswith("0x") and count and count % 2 == 0 else None


def _content(
    command: CommandSection, write: WriteSection, setting: SettingSection | None, path: Path
) -> Iterator[Misfit]:
    """Check that the function can carry the content, and the content the arguments."""
    here = (*path, "write")
    content = registers.written_content(write, setting)
    if content is None:
        yield Misfit(here, "'type' is missing, and the command has no 'setting' that would say it")
        return
    try:
        registers.value_type(content.type, content.scale)
    except ValueError as error:
        yield Misfit((*here, "type"), str(error))
        return
    if write.type is None and write.scale is not None:
        yield Misfit(
            (*here, "scale"), "'scale' belongs to a 'type', and the write has none of its own", key=True
        )
    if write.bit is not None and write.type not in (None, "bool"):
        yield Misfit((*here, "type"), f"'bit' is one bit of a register: type bool, not {write.type}")
    elif not _suits(write.function, content):
        where = next(((*here, key) for key in ("bit", "type") if getattr(write, key) is not None), here)
        yield _unsuited(write.function, content, where)
    for index, argument in enumerate(command.args):
        if (write.value or "").strip() == f"{{{argument.name}}}":
            yield from _holds(content, argument, (*path, "args", index))


def _unsuited(function: int, content: Content, path: Path) -> Misfit:
    what, hint = content.type, None
    if content.bit is not None:
        what = f"bit {content.bit} of a register"
        hint = "Function 22 writes one bit; writing the register would change its other bits"
    return Misfit(path, f"function {function} writes {_CARRIES[function]}, not {what}", hint)


def _suits(function: int, content: Content) -> bool:
    is_bits = content.type.startswith("bits(")
    if function == 22:
        return content.bit is not None
    if content.bit is not None:
        return False
    if function == 5:
        return content.type == "bool"
    if function == 15:
        return content.type == "bool" or is_bits
    if content.type in ("bool", "text") or is_bits:
        return False
    return function != 6 or registers.size_of(content) == 1


def _holds(content: Content, argument: ArgumentSection, path: Path) -> Iterator[Misfit]:
    """Check the limits of an argument that is written as it was given."""
    if argument.type == "decimal" and content.scale is None and content.type in registers.WHOLE_NUMBERS:
        yield Misfit((*path, "type"), f"{content.type} without 'scale' holds whole numbers: type int")
    for key in ("min", "max"):
        value = getattr(argument, key)
        message = beyond(content, value) if value is not None else None
        if message is not None:
            yield Misfit((*path, key), f"'{key}' {message}")
    message = between_steps(content, argument.step)
    if message is not None:
        yield Misfit((*path, "step"), f"'step' {message}")


# --- the edges -----------------------------------------------------------------------------------------------------


def _tried(file: ProfileFile, command: CommandSection, path: Path) -> Iterator[Misfit]:
    """Make the request for the edges of each argument; what nobody knows beforehand, such as a secret, is left out."""
    if command.write is None or any(
        argument.secret or not is_type(argument.type) for argument in command.args
    ):
        return
    try:
        send = registers.send_of(command.write, file.settings.get(command.setting or ""), file.modbus)
    except ValueError as error:
        yield Misfit((*path, "write"), f"cannot be sent: {error}")
        return
    edges = {argument.name: _edges(argument) for argument in command.args}
    plainest = {name: values[0] for name, values in edges.items()}
    problem = _refusal(send, plainest)
    if problem is not None:
        yield Misfit((*path, "write"), f"cannot be sent{_with(plainest)}: {problem}")
        return
    for index, (name, values) in enumerate(edges.items()):
        for value in values[1:]:
            problem = _refusal(send, {**plainest, name: value})
            if problem is not None:
                yield Misfit((*path, "args", index), f"cannot be sent with {name} {value}: {problem}")


def _edges(argument: ArgumentSection) -> list[str]:
    """The values of an argument that are tried, the plainest first; at least one."""
    allowed = enum_values(argument.type)
    if allowed is not None:
        return list(allowed)
    if argument.type == "bool":
        return ["true", "false"]
    if argument.type == "text":
        return ["A"]
    limits = [limit for limit in (argument.min, argument.max) if limit is not None]
    first = argument.min if argument.min is not None else min([Decimal(0), *limits])
    return list(dict.fromkeys(plain(limit) for limit in (first, *limits)))


def _refusal(send: str, values: Mapping[str, str]) -> str | None:
    try:
        text = templates.render(send, values)
        address = int(text.split(" ")[1], 16)
        if address > ADDRESS_MAX:
            return f"its address is {address}, the last one is {ADDRESS_MAX}"
        request_of(text)
    except ValueError as error:
        return str(error)
    return None


def _with(values: Mapping[str, str]) -> str:
    return f" with {', '.join(f'{name} {value}' for name, value in values.items())}" if values else ""
