"""What is unwise about the registers of a Modbus profile?

Everything is asked of the request texts that the profile was compiled to, so that the rules see what will be sent.
"""

from collections.abc import Callable, Iterator

from devices.kinds import EffectClass
from devices.lint.remark import Remark, commands_of
from devices.profile import Command, Profile
from devices.samples import texts_of
from devices.source import Path
from protocol.modbus.requests import Request, request_of

_SINGLE_WRITES = frozenset({5, 6, 22})
"""Functions whose ack is the request, byte for byte."""

_TABLE_READ_BY = {1: "coils", 2: "coils", 3: "registers", 4: "registers"}
_TABLE_WRITTEN_BY = {
    5: "coils",
    6: "registers",
    15: "coils",
    16: "registers",
    22: "registers",
    23: "registers",
}
_WRITTEN_THERE = frozenset({1, 3})
"""Functions that read what can be written: coils and holding registers."""


def _echoes(profile: Profile) -> Iterator[Remark]:
    if profile.modbus is None or profile.modbus.framing != "rtu" or profile.settings:
        return
    names = [command.name for _, command in commands_of(profile) if _functions(command) & _SINGLE_WRITES]
    if names:
        message = (
            "nothing can be read, so it is never known whether the line gives our own requests back, and an ack of "
            f"function 5, 6 or 22 looks like its request: {', '.join(names)} would end in doubt; give one setting"
        )
        yield Remark("warning", ("profile",), "settings", message)


def _addresses(profile: Profile) -> Iterator[Remark]:
    """Find a command that writes elsewhere than its setting is read, or only a part of it."""
    if profile.modbus is None:
        return
    for path, command in commands_of(profile):
        written = _writes(command)
        if written is None:
            continue
        for setting in profile.settings.values():
            read = request_of(setting.read or "")
            if read.function in _WRITTEN_THERE and _is_part(written, read):
                message = (
                    f"it writes a part of '{setting.name}': between this and the command for the rest the device holds "
                    "a value that nobody asked for; write all of it by function 16, in one request"
                )
                yield Remark("warning", (*path, "write"), command.name, message)
        if command.setting is not None and command.effect_class is EffectClass.IDEMPOTENT:
            yield from _elsewhere(profile, command, written, path)


def _elsewhere(profile: Profile, command: Command, written: Request, path: Path) -> Iterator[Remark]:
    setting = profile.setting(command.setting or "")
    read = request_of(setting.read or "")
    same_table = (
        read.function in _WRITTEN_THERE
        and _TABLE_READ_BY[read.function] == _TABLE_WRITTEN_BY[written.function]
    )
    if same_table and written.address != read.address:
        message = (
            f"it writes address {written.address}, and '{setting.name}' is read from {read.address} of the same table: "
            "unless the equipment is made so, the reading tells nothing of what was written"
        )
        yield Remark("warning", (*path, "write", "address"), command.name, message)


def _writes(command: Command) -> Request | None:
    """What a command writes, where that is always the same place; None where its address goes by an argument."""
    requests = [request_of(text) for text in texts_of(command) if _is_request(text)]
    places = {(each.address, each.count) for each in requests}
    return requests[0] if len(places) == 1 else None


def _functions(command: Command) -> frozenset[int]:
    return frozenset({int(command.send[2:4])}) if command.send is not None else frozenset()


def _is_request(text: str) -> bool:
    try:
        request_of(text)
    except ValueError:
        return False  # a sample that the registers cannot hold
    return True


def _is_part(written: Request, read: Request) -> bool:
    """Whether one request writes some registers of a value that stands in several, and not all of them."""
    if _TABLE_READ_BY[read.function] != _TABLE_WRITTEN_BY[written.function] or read.function != 3:
        return False
    first, end = written.address, written.address + written.count
    inside = read.address < end and first < read.address + read.count
    whole = first <= read.address and read.address + read.count <= end
    return inside and not whole


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_echoes, _addresses)
