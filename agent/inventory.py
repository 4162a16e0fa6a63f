"""Which devices are there, how are they reached, and which of them does a person mean?

`inventory.yaml` or a CSV of the same devices (CLI.md, section 4). Rules: every problem has its place in the
file; a device says how it is reached by `url` or by a shared `line`; what it leaves out comes from its group,
then its line. This is the one file of the agent that needs pydantic: import it where an inventory is read,
not at start.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from agent.address import parse_url
from agent.duration import parse_duration
from agent.inventory_csv import read_csv
from devices.problems import FileProblem, FileProblems, did_you_mean
from devices.source import Document, read
from devices.validation import SENTENCE, Seconds, Strict, validate

__all__ = ["Defaults", "Device", "Group", "Inventory", "SharedLine", "load", "parse_duration"]

T = TypeVar("T")

ATTEMPTS_DEFAULT = 3
ATTEMPTS_MAX = 100
UNIT_MAX = 255


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where nothing nearer says otherwise; `timeout_s` is None where the file states none."""

    timeout_s: float | None = None
    attempts: int = ATTEMPTS_DEFAULT


@dataclass(frozen=True, slots=True)
class Group:
    """What devices have in common; None where the group does not say."""

    name: str
    profile: str | None = None
    line: str | None = None
    tags: frozenset[str] = frozenset()
    timeout_s: float | None = None
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A link that several devices share, one exchange at a time; `gap_s` is the pause between two."""

    name: str
    url: str
    gap_s: float | None = None
    timeout_s: float | None = None
    attempts: int | None = None
    survives_reopen: bool | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One device with what its group and line add.

    `timeout_s` is set by device, group or line only, so that a profile's `reply_s` can come before the
    defaults. `url` is normalised. `survives_reopen`: whether answers outlive reopening the link, None where
    not stated.
    """

    name: str
    url: str
    profile: str | None = None
    unit: int = 1
    serial: str | None = None
    group: str | None = None
    tags: frozenset[str] = frozenset()
    line: str | None = None
    timeout_s: float | None = None
    attempts: int | None = None
    gap_s: float | None = None
    survives_reopen: bool | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All devices in the order of the file; `Device.attempts` is None where only the defaults speak."""

    path: str
    devices: Mapping[str, Device]
    groups: Mapping[str, Group] = field(default_factory=lambda: MappingProxyType({}))
    lines: Mapping[str, SharedLine] = field(default_factory=lambda: MappingProxyType({}))
    defaults: Defaults = Defaults()


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise PydanticCustomError("duration", "must be a duration such as 2s, 500ms or 1.5")
    try:
        return parse_duration(value)
    except ValueError as error:
        raise PydanticCustomError(SENTENCE, "{sentence}", {"sentence": str(error)}) from None


def _url(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("url", "must be an address such as tcp://10.3.0.12:7001")
    try:
        return parse_url(value).url
    except ValueError as error:
        raise PydanticCustomError(SENTENCE, "{sentence}", {"sentence": str(error)}) from None


Duration = Annotated[float, BeforeValidator(_duration)]
Url = Annotated[str, BeforeValidator(_url)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Attempts = Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)]


class _DefaultsSection(Strict):
    timeout: Duration | None = None
    attempts: Attempts = ATTEMPTS_DEFAULT


class _LineSection(Strict):
    url: Url
    gap_s: Seconds | None = None
    timeout: Duration | None = None
    attempts: Attempts | None = None
    survives_reopen: bool | None = None


class _GroupSection(Strict):
    profile: Word | None = None
    line: Word | None = None
    tags: list[Word] = Field(default_factory=list)
    timeout: Duration | None = None
    attempts: Attempts | None = None


class _DeviceSection(_GroupSection):
    url: Url | None = None
    unit: Annotated[int, Field(ge=0, le=UNIT_MAX)] = 1
    serial: Word | None = None
    group: Word | None = None
    gap_s: Seconds | None = None
    survives_reopen: bool | None = None


class _InventoryFile(Strict):
    defaults: _DefaultsSection = _DefaultsSection()
    lines: dict[str, _LineSection] = Field(default_factory=dict)
    groups: dict[str, _GroupSection | None] = Field(default_factory=dict)
    devices: Annotated[dict[str, _DeviceSection], Field(min_length=1)]


def load(path: Path) -> Inventory:
    """Read an inventory: CSV where the name ends in `.csv`, else YAML.

    Raises:
        FileProblems: unreadable, malformed, or naming what is not there.
    """
    document = document_of(path)
    unknown = list(_unknown_names(document))
    try:
        file = validate(document, _InventoryFile)
    except FileProblems as wrong:
        raise FileProblems([*wrong.problems, *unknown]) from None
    problems = [*unknown, *_misfits(file, document)]
    if problems:
        raise FileProblems(problems)
    lines = {
        name: SharedLine(name, line.url, line.gap_s, line.timeout, line.attempts, line.survives_reopen)
        for name, line in file.lines.items()
    }
    groups = {
        name: Group(name, each.profile, each.line, frozenset(each.tags), each.timeout, each.attempts)
        for name, each in ((name, section or _GroupSection()) for name, section in file.groups.items())
    }
    devices = {
        name: _device(name, section, groups.get(section.group or ""), lines)
        for name, section in file.devices.items()
    }
    return Inventory(
        str(path),
        MappingProxyType(devices),
        MappingProxyType(groups),
        MappingProxyType(lines),
        Defaults(file.defaults.timeout, file.defaults.attempts),
    )


def document_of(path: Path) -> Document:
    """An inventory as plain data that remembers where it stood. Raises FileProblems."""
    return read_csv(path) if path.suffix.lower() == ".csv" else read(path)


def _unknown_names(document: Document) -> Iterator[FileProblem]:
    """Names of groups and lines that are not there, told from the bare data and so with whatever else is wrong."""
    for section, what in (("groups", "line"), ("devices", "group"), ("devices", "line")):
        known = _table(document.data, f"{what}s")
        if known is None:
            continue  # not even a table, which is told by itself
        for name, entry in (_table(document.data, section) or {}).items():
            word = entry.get(what) if isinstance(entry, dict) else None
            if isinstance(word, str) and word and word not in known:
                yield _unknown(document, (section, name, what), what, word, known)


def _table(data: object, key: str) -> dict[str, object] | None:
    """The table below a key of the file, empty where the key is not there; None: something else stands there."""
    table = data.get(key, {}) if isinstance(data, dict) else None
    return table if isinstance(table, dict) else None


def _misfits(file: _InventoryFile, document: Document) -> Iterator[FileProblem]:
    for name, device in file.devices.items():
        here = ("devices", name)
        if not _is_name(name):
            hint = "A name has no blanks, none of *?[]:,= and does not begin with @ or -"
            yield document.problem(here, f"'{name}' cannot be a device's name", hint, key=True)
        if device.url is not None and device.line is not None:
            yield document.problem((*here, "url"), f"'{name}' has 'url' and 'line': give one", key=True)
        group = file.groups.get(device.group or "")
        if device.url is None and device.line is None and (group is None or group.line is None):
            yield document.problem(here, f"'{name}' has neither 'url' nor 'line'", key=True)


def _unknown(
    document: Document, path: tuple[str, ...], what: str, name: str, known: Mapping[str, object]
) -> FileProblem:
    hint = did_you_mean(name, known) or (
        f"Known: {', '.join(known)}" if known else f"The file has no '{what}s' section"
    )
    return document.problem(path, f"unknown {what} '{name}'", hint)


def _is_name(name: str) -> bool:
    return bool(name) and name[0] not in "@-" and name.isprintable() and not set(name) & set("*?[]:,= ")


def _device(
    name: str, section: _DeviceSection, group: Group | None, lines: Mapping[str, SharedLine]
) -> Device:
    group = group or Group("")
    line = None if section.url is not None else lines[section.line or group.line or ""]
    shared = line or SharedLine("", section.url or "")
    return Device(
        name=name,
        url=shared.url,
        profile=section.profile or group.profile,
        unit=section.unit,
        serial=section.serial,
        group=section.group,
        tags=frozenset(section.tags) | group.tags,
        line=line.name if line else None,
        timeout_s=_first(section.timeout, group.timeout_s, shared.timeout_s),
        attempts=_first(section.attempts, group.attempts, shared.attempts),
        gap_s=_first(section.gap_s, shared.gap_s),
        survives_reopen=_first(section.survives_reopen, shared.survives_reopen),
    )


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)
