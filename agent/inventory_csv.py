"""How does a field list from a spreadsheet become an inventory?

Columns `name,profile,url,line,unit,group,tags,serial` in any order; how cells are told apart is `devices/csv_rows`'.
Rules: the outcome has the shape of `inventory.yaml`, so that both are checked by the same code; places are those of the
CSV; groups and lines exist by being named, a line's `url` stands in one of its rows at least.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from devices.csv_rows import Row, csv_rows
from devices.problems import FileProblem, FileProblems, did_you_mean
from devices.source import Document, Place, read_text
from devices.source import Path as DataPath

COLUMNS = ("name", "profile", "url", "line", "unit", "group", "tags", "serial")

_TAG_SEPARATORS = re.compile(r"[\s,;|]+")


def read_csv(path: Path) -> Document:
    """Read a CSV inventory as the document of the inventory that it means.

    Raises:
        FileProblems: unreadable, unknown or missing columns, a row without a name or too long, a name given
            twice.
    """
    text, digest = read_text(path)
    return _Table(str(path), text).document(digest)


class _Table:
    """The rows of one file on their way to a document; collects problems and goes on."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.problems: list[FileProblem] = []
        self.places: dict[DataPath, Place] = {(): (1, 1)}
        self.devices: dict[str, dict[str, object]] = {}
        self.lines: dict[str, dict[str, object]] = {}
        self.groups: dict[str, None] = {}

    def document(self, digest: str) -> Document:
        rows = self.rows()
        number, header = next(rows, (1, []))
        columns = self.columns(header, number)
        self.stop_if_wrong()
        for number, cells in rows:
            self.row(number, columns, cells)
        if not self.devices and not self.problems:
            self.problem((number, 1), "no row names a device")
        for name, device in self.devices.items():
            if device.get("line") in self.lines:
                device.pop("url", None)
            elif "line" in device:
                self.problem(
                    self.places["devices", name, "line"], f"no row of the line '{device['line']}' has a url"
                )
        self.stop_if_wrong()
        data = {"lines": self.lines, "groups": self.groups, "devices": self.devices}
        return Document(self.path, digest, data, self.places, self.places)

    def problem(self, place: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(FileProblem(self.path, *place, message, hint))

    def stop_if_wrong(self) -> None:
        if self.problems:
            raise FileProblems(self.problems)

    def rows(self) -> Iterator[Row]:
        """Yield the rows; where the file ends to be CSV they end with a problem."""
        try:
            yield from csv_rows(self.path, self.text)
        except FileProblem as problem:
            self.problems.append(problem)

    def columns(self, header: list[tuple[str, int]], number: int) -> list[str]:
        names = [cell.lower() for cell, _ in header]
        for (cell, column), name in zip(header, names, strict=True):
            if name not in COLUMNS:
                hint = did_you_mean(name, COLUMNS) or f"Known columns: {', '.join(COLUMNS)}"
                self.problem((number, column), f"unknown column '{cell}'", hint)
            elif names.count(name) > 1:
                self.problem((number, column), f"the column '{name}' is given twice")
        if "name" not in names:
            self.problem((number, 1), "the column 'name' is missing", f"Known columns: {', '.join(COLUMNS)}")
        return names

    def row(self, number: int, columns: list[str], cells: list[tuple[str, int]]) -> None:
        for cell, column in cells[len(columns) :]:
            if cell:
                self.problem((number, column), f"'{cell}' has no column: the first row names {len(columns)}")
                return
        filled = {name: cell for name, cell in zip(columns, cells, strict=False) if cell[0]}
        name, column = filled.pop("name", ("", 1))
        if not name or name in self.devices:
            first = f" twice, first in line {self.places['devices', name][0]}" if name else ""
            self.problem(
                (number, column),
                f"the device '{name}' is given{first}" if name else "a device without a name",
            )
            return
        self.places["devices", name] = (number, column)
        for key, (_, start) in filled.items():
            self.places["devices", name, key] = (number, start)
        self.devices[name] = {key: self.value(key, cell) for key, (cell, _) in filled.items()}
        if "group" in filled:
            self.groups[filled["group"][0]] = None
        if "line" in filled and "url" in filled:
            self.line(filled["line"][0], filled["url"], number)

    def value(self, key: str, cell: str) -> object:
        """What a cell means; one that cannot be stays as it is, and is told with all other values."""
        if key == "tags":
            return [tag for tag in _TAG_SEPARATORS.split(cell) if tag]
        return int(cell) if key == "unit" and re.fullmatch(r"[0-9]{1,6}", cell) else cell

    def line(self, name: str, url: tuple[str, int], number: int) -> None:
        known = self.lines.setdefault(name, {"url": url[0]})
        if known["url"] != url[0]:
            self.problem((number, url[1]), f"the line '{name}' has another url further up: {known['url']}")
        self.places.setdefault(("lines", name, "url"), (number, url[1]))
