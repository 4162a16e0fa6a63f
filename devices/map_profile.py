"""Which profile does a register map make?

Rules: a register that can be read is a setting, one that can be written has one absolute command, `SET name`, by the
function that suits its table and size. The same data is checked as a profile file is, with the places of the map, and
written as one; what a map cannot say (what survives a restart, whether writing is really absolute) is marked EDIT.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from devices import registers
from devices.loader import profile_of
from devices.problems import FileProblem, FileProblems
from devices.register_map import Register, RegisterMap
from devices.registers import Content
from devices.source import Document, Place
from devices.source import Path as DataPath
from devices.values import plain

_LIMITS = ("min", "max", "step", "unit")


@dataclass(frozen=True, slots=True)
class Origin:
    """What a map does not say: which file it is, its digest, the name of the profile, how the device is reached."""

    path: str
    digest: str
    name: str
    framing: str
    word_order: str


def check(found: RegisterMap, origin: Origin) -> None:
    """Raise FileProblems, with the places of the map, unless its profile will load."""
    problems = list(_unwritable(found, origin.path))
    if problems:
        raise FileProblems(problems)
    try:
        profile_of(_document(found, origin))
    except FileProblems as error:
        # Setting and command say the same of one cell.
        told = {str(each): each for each in error.problems}
        raise FileProblems(list(told.values())) from None


def _unwritable(found: RegisterMap, path: str) -> Iterator[FileProblem]:
    for each in found.registers:
        table = each.keys.get("table")
        if each.access != "r" and table in ("input", "discrete"):
            yield FileProblem(path, *each.places["access"], f"table {table} can only be read, not written")


def _document(found: RegisterMap, origin: Origin) -> Document:
    places: dict[DataPath, Place] = {(): (1, 1)}
    readable = [each for each in found.registers if each.access != "w"]
    writable = [each for each in found.registers if each.access != "r"]
    for each in readable:
        places |= _placed(each, ("settings", each.name))
    for index, each in enumerate(writable):
        places |= _placed(each, ("commands", index))
        places |= _placed(each, ("commands", index, "args", 0))
        places |= _placed(each, ("commands", index, "write"))
    data: dict[str, object] = {
        "profile": origin.name,
        "dialect": "modbus",
        "modbus": {"framing": origin.framing, "word_order": origin.word_order},
        "settings": {each.name: each.keys for each in readable},
        "commands": [_command(each) for each in writable],
    }
    return Document(origin.path, origin.digest, data, places, places)


def _placed(register: Register, path: DataPath) -> dict[DataPath, Place]:
    """The places of the keys of a register below `path`, and of the whole of it."""
    below = {(*path, key): place for key, place in register.places.items()}
    return {path: register.places["name"], **below}


def _content(register: Register) -> Content:
    scale, bit = register.keys.get("scale"), register.keys.get("bit")
    return Content(
        str(register.keys["type"]),
        Decimal(str(scale)) if scale is not None else None,
        bit if isinstance(bit, int) else None,
    )


def _command(register: Register) -> dict[str, object]:
    """Return the command that sets a register, as the data of a profile."""
    content = _content(register)
    write: dict[str, object] = {"function": _function(register, content), "address": register.keys["address"]}
    command: dict[str, object] = {
        "name": f"SET {register.name}",
        "kind": "absolute",
        "args": [_argument(register)],
    }
    if register.access == "rw":
        command["setting"] = register.name
    else:
        write |= {key: register.keys[key] for key in ("type", "scale", "bit") if key in register.keys}
    return {**command, "write": {**write, "value": "{value}"}}


def _argument(register: Register) -> dict[str, object]:
    try:
        kind = registers.value_type(str(register.keys["type"]), _content(register).scale)
    except ValueError:
        kind = "int"  # told beside the type
    return {"name": "value", "type": kind} | {
        key: register.keys[key] for key in _LIMITS if key in register.keys
    }


def _function(register: Register, content: Content) -> int:
    if register.keys.get("table") == "coil":
        return 15 if content.type.startswith("bits(") else 5
    if content.bit is not None:
        return 22
    try:
        return 6 if registers.size_of(content) == 1 else 16
    except ValueError:
        return 6  # told beside the type


# --- as a file -----------------------------------------------------------------------------------------------------


def profile_text(found: RegisterMap, origin: Origin, source: str) -> str:
    """Return the profile file of a map that `check` has passed; `source` is what it says of where it comes from."""
    readable = [each for each in found.registers if each.access != "w"]
    writable = [each for each in found.registers if each.access != "r"]
    return "\n".join(
        [
            *_HEAD,
            f"profile: {origin.name}",
            f"title: {_quoted(origin.name)}",
            f"sources: [{_quoted(source)}]",
            "verified_on_hardware: false                # true once you have tried these claims on the device",
            "dialect: modbus",
            "",
            *_REACHED,
            f"modbus: {{framing: {origin.framing}, word_order: {origin.word_order}}}    # EDIT 1: how it is reached",
            "",
            *_TIMES,
            *_SETTINGS,
            *(["settings:"] if readable else []),
            *(f"  {each.name}: {_flow(each.keys)}{_remark(each)}" for each in readable),
            "",
            *_COMMANDS,
            "commands:",
            *(line for each in writable for line in _lines(each)),
            "",
        ]
    )


_HEAD = (
    "# Made from a register map. Three things a map does not say, they are marked EDIT; after each change let",
    "# `ackonce profile lint FILE` read it. All that a profile can say: ackonce profile show generic/modbus",
    "",
)
_REACHED = (
    "# framing: rtu on a serial line, tcp for Modbus TCP. word_order: which register of a longer value comes first,",
    "# that with the high word (big) or with the low one (little). Compare such a value with the display.",
)
_TIMES = (
    "timing: {reply_s: 1.0, gap_s: 0.02, settle_s: 0.2}",
    "",
    "# Asked after every connect, before anything is written: `serial` in the inventory must be what it reads.",
    '# identity: {read: NAME OF A SETTING, expect: "{serial}"}',
    "# A setting that is another one after each restart; needed for those that are not `durable`.",
    "# boot_read: NAME OF A SETTING",
    "",
)
_SETTINGS = (
    "# EDIT 2: give `durable: true` to each that survives a restart. Without it a reading proves nothing across one.",
)
_COMMANDS = (
    "# EDIT 3: is each of them really absolute, the same value however often it is sent? A register that counts, flips",
    "# or starts something is of kind relative, toggle, reset or trigger: a second copy would do it again.",
)


def _lines(register: Register) -> Iterator[str]:
    command = _command(register)
    yield f"  - name: {command['name']}{'' if register.access == 'rw' else _remark(register)}"
    yield "    kind: absolute"
    yield f"    args: [{_flow(_argument(register))}]"
    if "setting" in command:
        yield f"    setting: {command['setting']}"
    write = command["write"]
    yield f"    write: {_flow(write if isinstance(write, dict) else {})}"


def _flow(keys: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{key}: {_value(key, value)}' for key, value in keys.items())}}}"


def _value(key: str, value: object) -> str:
    if key == "address" and isinstance(value, int):
        return f"0x{value:04X}"
    if isinstance(value, Decimal):
        return plain(value)
    return _quoted(value) if key in ("unit", "value") else str(value)


def _remark(register: Register) -> str:
    said = [
        register.modicon,
        register.written if register.written != register.name else None,
        register.description,
    ]
    text = "; ".join(_clean(each) for each in said if each)
    return f"    # {text}" if text else ""


def _quoted(value: object) -> str:
    return json.dumps(_clean(str(value)), ensure_ascii=False)


def _clean(text: str) -> str:
    """Return a text on one line, without what does not print."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
