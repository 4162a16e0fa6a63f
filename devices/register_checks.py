"""Can the registers and writes of a Modbus profile be asked for as they are described?

Part of `checks`, for dialect modbus: whatever `registers` could not turn into a request text, or what the equipment
would be asked in vain or wrongly, is found here with its place (CATALOG.md, section 4). Commands have their own file,
`write_checks`.
"""

from collections.abc import Iterator
from decimal import Decimal

from devices import registers
from devices.misfit import Misfit, unknown_name
from devices.registers import BIT_TABLES, Content
from devices.schema import ProfileFile, SettingSection
from devices.source import Path
from protocol.modbus.requests import ADDRESS_MAX, OBJECT_MAX, request_of


def register_misfits(file: ProfileFile, setting: SettingSection, path: Path) -> Iterator[Misfit]:
    """Yield what is wrong with a setting of a Modbus profile."""
    for key, instead in _INSTEAD.items():
        if getattr(setting, key) is not None:
            yield Misfit((*path, key), instead, key=True)
    missing = [key for key in ("table", "address") if getattr(setting, key) is None]
    yield from (Misfit(path, f"'{key}' is missing") for key in missing)
    if missing or not _is_known(setting):
        return
    content = registers.content_of(setting)
    found = [*_fits_table(setting, path), *_no_registers(setting, path), *_place(setting, path)] or [
        *_sentinels(content, path),
        *_limits(setting, content, path),
    ]
    yield from found
    if not found:
        try:
            request_of(registers.read_of(setting, file.modbus))
        except ValueError as error:
            yield Misfit(path, f"cannot be read: {error}")


def _is_known(setting: SettingSection) -> bool:
    try:
        registers.value_type(setting.type, setting.scale)
    except ValueError:
        return False  # told beside the types of other dialects
    return True


_INSTEAD = {
    "reply": "dialect modbus has no 'reply' pattern",
    "read": "dialect modbus reads by 'table' and 'address'",
}


def _fits_table(setting: SettingSection, path: Path) -> Iterator[Misfit]:
    """Check the type against what a table holds: bits, registers or names."""
    kind, table = setting.type, setting.table
    if table in BIT_TABLES:
        if kind != "bool" and not kind.startswith("bits("):
            yield Misfit((*path, "type"), f"table {table} holds bits: type bool or bits(n), not {kind}")
    elif table == "identification":
        if kind != "text":
            yield Misfit((*path, "type"), f"table identification holds names: type text, not {kind}")
    elif setting.bit is not None and kind != "bool":
        yield Misfit((*path, "type"), f"'bit' is one bit of a register: type bool, not {kind}")
    elif kind == "bool" and setting.bit is None:
        hint = "Give 'bit', 0 (lowest) to 15, or type u16"
        yield Misfit((*path, "type"), f"table {table} holds registers, and a bool is one bit of one", hint)
    elif kind == "text" or kind.startswith("bits("):
        known = "text(n), with the number of characters" if kind == "text" else "bool with 'bit', or u16"
        yield Misfit((*path, "type"), f"table {table} holds registers, not {kind}", f"Give {known}")


def _no_registers(setting: SettingSection, path: Path) -> Iterator[Misfit]:
    """Check that what is about registers stands only where there are some."""
    if setting.table in ("holding", "input"):
        return
    for key in ("bit", "sentinels"):
        if getattr(setting, key) not in (None, []):
            yield Misfit(
                (*path, key), f"table {setting.table} has no registers, so it has no '{key}'", key=True
            )


def _place(setting: SettingSection, path: Path) -> Iterator[Misfit]:
    address, kind = setting.address or 0, setting.type
    if setting.table == "identification":
        if address > OBJECT_MAX:
            yield Misfit((*path, "address"), f"the objects of an identification are 0 to {OBJECT_MAX}")
        return
    if kind == "text":
        return  # told beside its type
    last = address + registers.size_of(registers.content_of(setting)) - 1
    if last > ADDRESS_MAX:
        yield Misfit(
            (*path, "address"), f"{kind} at {address} ends at {last}, the last address is {ADDRESS_MAX}"
        )


def _sentinels(content: Content, path: Path) -> Iterator[Misfit]:
    """Check the sentinels: hex digits, as many as the registers hold."""
    for index, sentinel in enumerate(content.sentinels):
        here = (*path, "sentinels", index)
        try:
            given = bytes.fromhex(sentinel.removeprefix("0x"))
        except ValueError:
            yield Misfit(here, f"'{sentinel}' must be 0x and pairs of hex digits, such as 0xFFFF")
            continue
        held = 2 * registers.size_of(content)
        if len(given) != held:
            message = f"a sentinel of {content.type} has {2 * held} hex digits, not {2 * len(given)}"
            yield Misfit(here, message, "It is the content of the registers as on the wire")


def _limits(setting: SettingSection, content: Content, path: Path) -> Iterator[Misfit]:
    """Check 'min', 'max' and 'step' of a setting against what its registers can hold."""
    for key in ("min", "max"):
        value = getattr(setting, key)
        message = beyond(content, value) if value is not None else None
        if message is not None:
            yield Misfit((*path, key), f"'{key}' {message}")
    message = between_steps(content, setting.step)
    if message is not None:
        yield Misfit((*path, "step"), f"'step' {message}")


def beyond(content: Content, value: Decimal) -> str | None:
    """Say that registers cannot hold a number; None where they can, or hold no numbers."""
    limits = registers.limits_of(content)
    if limits is None or limits[0] <= value <= limits[1]:
        return None
    low, high = (registers.shown(limit) for limit in limits)
    return f"{value} is beyond what {content.type} can hold, {low} to {high}"


def between_steps(content: Content, step: Decimal | None) -> str | None:
    """Say that values cannot go in a step, since the registers go in another; None where they can."""
    resolution = registers.resolution_of(content)
    if step is None or resolution is None or step <= 0 or not step % resolution:
        return None
    return f"{step} is no multiple of {registers.shown(resolution)}, the step of the register"


def setting_named(file: ProfileFile, path: Path, name: str) -> Iterator[Misfit]:
    """Check that what is read, such as `identity.read`, is a setting: Modbus has no texts to ask with."""
    if name not in file.settings:
        yield unknown_name(path, "setting", name, file.settings)
