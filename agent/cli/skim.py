"""Which names stand in an inventory or a profile, at a glance?

For completion, which must answer while somebody types: importing the loaders takes longer than that. Files as people
write them are understood, an entry on a line or in a block of its own; of others some names are not seen. Nothing is
checked, and nothing may be decided by what is found here.
"""

import csv
import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BYTES_MAX = 4_000_000

_WORD = r"""("[^"]*"|'[^']*'|[^\s,\[\]{}#"']+)"""
_SECTION = re.compile(r"([A-Za-z_]+):\s*(?:#.*)?$")
_ENTRY = re.compile(rf"(\s+){_WORD}\s*:(?:\s+(.*))?$")
_ITEM = re.compile(r"(\s*)-\s+\{?\s*name:\s*(\"[^\"]*\"|'[^']*'|[^,}#]+)")
_PROFILE = re.compile(rf"^profile:\s*{_WORD}", re.MULTILINE)
_FIELD = re.compile(rf"(?<!\w)(profile|group):\s*{_WORD}")
_TAGS = re.compile(r"(?<!\w)tags:\s*\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Named:
    """A device or a group: its name, and what the file says of it; None where it says nothing."""

    name: str
    profile: str | None
    group: str | None
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of an inventory, in its order; devices have what their groups say."""

    devices: tuple[Named, ...] = ()
    groups: tuple[str, ...] = ()

    def meant(self, target: str) -> list[Named]:
        """The devices of a TARGET: a name, a glob, `group:NAME` or `tag:NAME`."""
        sort, colon, name = target.partition(":")
        if colon and sort == "group":
            return [each for each in self.devices if each.group == name]
        if colon and sort == "tag":
            return [each for each in self.devices if name in each.tags]
        return [each for each in self.devices if fnmatch.fnmatchcase(each.name, target)]


@dataclass(frozen=True, slots=True)
class Words:
    """What a profile calls its commands and settings."""

    commands: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def names_in(inventory: Path) -> Names:
    """The names of an inventory. Raises OSError, ValueError, csv.Error."""
    text = _read(inventory)
    if inventory.suffix.lower() == ".csv":
        lines = text.splitlines()
        comma = next((mark for mark in ";\t" if mark in "".join(lines[:1])), ",")
        devices = [_from_row(row) for row in csv.DictReader(lines, delimiter=comma)]
        return Names(tuple(devices), tuple(dict.fromkeys(each.group for each in devices if each.group)))
    groups = {name: _from_entry(name, entry) for name, entry in _entries(text, "groups")}
    nobody = Named("", None, None, frozenset())
    devices = []
    for name, entry in _entries(text, "devices"):
        own = _from_entry(name, entry)
        above = groups.get(own.group or "", nobody)
        devices.append(Named(name, own.profile or above.profile, own.group, own.tags | above.tags))
    return Names(tuple(devices), tuple(groups))


def words_in(profile: str, folders: Sequence[Path]) -> Words:
    """The words of a profile that is in one of the folders, the nearest first. Raises OSError, ValueError."""
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")):
            text = _read(path)
            found = _PROFILE.search(text)
            if found is not None and _bare(found[1]) == profile:
                settings = tuple(name for name, _ in _entries(text, "settings"))
                return Words(tuple(_items(text, "commands")), settings)
    return Words()


def _read(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as file:
        return file.read(BYTES_MAX)


def _bare(word: str) -> str:
    return word.strip().strip("\"'")


def _section(text: str, wanted: str) -> Iterator[str]:
    """The lines under a key of the outermost level."""
    inside = False
    for line in text.splitlines():
        if line[:1] not in ("", " ", "#", "-"):
            head = _SECTION.match(line)
            inside = head is not None and head[1] == wanted
        elif inside and line.strip() and not line.lstrip().startswith("#"):
            yield line


def _entries(text: str, section: str) -> Iterator[tuple[str, str]]:
    """The keys of a section, each with all that stands under it."""
    depth, name, entry = "", None, ""
    for line in _section(text, section):
        found = _ENTRY.match(line)
        if found is not None and found[1] == (depth or found[1]):
            if name is not None:
                yield name, entry
            depth, name, entry = found[1], _bare(found[2]), found[3] or ""
        else:
            entry += f"\n{line}"
    if name is not None:
        yield name, entry


def _items(text: str, section: str) -> Iterator[str]:
    """The names of the items of a section, and not of lists within them."""
    depth = None
    for line in _section(text, section):
        found = _ITEM.match(line)
        if found is not None and found[1] == (found[1] if depth is None else depth):
            depth = found[1]
            yield _bare(found[2])


def _from_entry(name: str, entry: str) -> Named:
    fields = {key: _bare(value) for key, value in _FIELD.findall(entry)}
    tags = _TAGS.search(entry)
    words = tags[1].split(",") if tags is not None else []
    return Named(name, fields.get("profile"), fields.get("group"), frozenset(_bare(word) for word in words))


def _from_row(row: dict[str, str]) -> Named:
    tags = frozenset((row.get("tags") or "").replace(";", " ").split())
    return Named(row.get("name") or "", row.get("profile") or None, row.get("group") or None, tags)
