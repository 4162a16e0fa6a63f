"""What does a register map from a spreadsheet say of a Modbus device?

A row is a register; how makers write things is in `register_words`. Rules: everything that is wrong is a problem with
its line, and nothing is guessed, above all not whether 40003 is a Modicon number or an address of the wire; without a
word on access a register is only read; columns that are not known are left out and named, unless they look like a
known one.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from devices import register_words as words
from devices.csv_rows import Row, csv_rows, delimiter_of
from devices.problems import FileProblem, FileProblems
from devices.source import Place

_MODICON = re.compile(r"[0134][0-9]{4,5}")
_MODICON_SHORT = 5
"""Digits of a Modicon number that could be an address as well; with six it is none."""
_HEX = re.compile(r"0[xX]([0-9A-Fa-f]{1,4})|([0-9][0-9A-Fa-f]{0,3})[hH]")
_REQUIRED = ("name", "address", "type")


@dataclass(slots=True)
class Register:
    """One row.

    Attributes:
        line: where it begins, from 1.
        name: of the setting, made of what is written.
        keys: those of a setting in a profile, as data.
        access: r, rw or w.
        places: where each key stood, and `name`.
        written: the name as it stands there.
        description: what else is said of it.
        modicon: the number as it was written, where it was converted to an address.
    """

    line: int
    name: str
    keys: dict[str, object]
    access: str
    places: dict[str, Place]
    written: str
    description: str = ""
    modicon: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """The registers in the order of the rows, and the headings of the columns that were left out."""

    registers: tuple[Register, ...]
    unused: tuple[str, ...]


def register_map(path: str, text: str) -> RegisterMap:
    """Return the registers of a CSV text.

    Args:
        path: the file, as problems name it.
        text: its content.

    Raises:
        FileProblems: everything that is wrong with it, with line and column.
    """
    return _Reader(path, text).read()


class _Reader:
    """The rows of one file on their way to registers; collects problems and goes on."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.problems: list[FileProblem] = []
        self.names: dict[str, int] = {}
        self.unused: list[str] = []
        number = partial(words.number_of, decimal_comma=delimiter_of(text) != ",")
        self.readers: Mapping[str, Callable[[str], object]] = {
            "table": words.table_of,
            "function": words.table_read_by,
            "type": words.type_of,
            "unit": str,
            **dict.fromkeys(("scale", "gain", "min", "max", "step"), number),
            "bit": words.bit_of,
            "access": words.access_of,
        }

    def read(self) -> RegisterMap:
        rows = self.rows()
        number, header = next(rows, (1, []))
        columns = self.columns(number, header)
        self.stop_if_wrong()
        found = [self.row(columns, number, cells) for number, cells in rows]
        if not found and not self.problems:
            self.problem((number, 1), "no row describes a register")
        kept = [each for each in found if each is not None]
        self.addresses(kept)
        self.stop_if_wrong()
        return RegisterMap(tuple(register for register, _ in kept), tuple(self.unused))

    def rows(self) -> Iterator[Row]:
        try:
            yield from csv_rows(self.path, self.text)
        except FileProblem as problem:
            self.problems.append(problem)

    def problem(self, place: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(FileProblem(self.path, *place, message, hint))

    def stop_if_wrong(self) -> None:
        if self.problems:
            raise FileProblems(self.problems)

    def columns(self, number: int, header: Sequence[tuple[str, int]]) -> list[str | None]:
        """Return what each column is, None for those that are left out."""
        columns: list[str | None] = []
        for cell, start in header:
            key = words.column_of(cell)
            near = None if key else words.mistyped_column(cell)
            if near is not None:
                hint = f"Did you mean '{near}'? If not, give it another heading"
                self.problem((number, start), f"unknown column '{cell}'", hint)
            elif key is None and cell:
                self.unused.append(cell)
            elif key is not None and key in columns:
                self.problem(
                    (number, start), f"'{cell}' is a second column for the {key}", "Leave one of them out"
                )
            columns.append(key)
        for key in _REQUIRED:
            if key not in columns and not self.problems:
                headings = words.SPELLINGS[key].replace(", ", "', '")
                self.problem((number, 1), f"no column for the {key}", f"Its heading is one of '{headings}'")
        return columns

    # --- one row ---------------------------------------------------------------------------------------------------

    def row(
        self, columns: Sequence[str | None], number: int, cells: Sequence[tuple[str, int]]
    ) -> tuple[Register, str] | None:
        """Return the register and its address as it is written; None where that much cannot be said."""
        for cell, start in cells[len(columns) :]:
            if cell:
                self.problem((number, start), f"'{cell}' has no column: the first row names {len(columns)}")
                return None
        filled = {
            key: cell
            for key, cell in zip(columns, cells, strict=False)
            if key is not None and not words.is_empty(cell[0])
        }
        missing = [key for key in _REQUIRED if key not in filled]
        if missing:
            self.problem((number, 1), f"no {' and no '.join(missing)} in this row")
            return None
        places: dict[str, Place] = {key: (number, start) for key, (_, start) in filled.items()}
        texts = {key: cell for key, (cell, _) in filled.items()}
        said = {
            key: self.understood(places[key], read, texts[key])
            for key, read in self.readers.items()
            if key in texts
        }
        register = Register(
            line=number,
            name=self.name(texts["name"], number, places["name"]),
            keys={
                key: said[key]
                for key in ("type", "unit", "scale", "min", "max", "step", "bit")
                if said.get(key) is not None
            },
            access=str(said.get("access") or "r"),
            places=places,
            written=texts["name"],
            description=texts.get("description", ""),
        )
        self.table(register, said)
        self.scaling(register, said)
        if "bit" in register.keys:
            register.keys["type"] = "bool"
        return register, texts["address"]

    def understood(self, place: Place, read: Callable[[str], object], cell: str) -> object:
        try:
            return read(cell)
        except words.Misread as problem:
            self.problem(place, str(problem), problem.hint)
            return None

    def name(self, written: str, number: int, place: Place) -> str:
        """Return the name of the setting: small letters, digits and _."""
        plain = unicodedata.normalize("NFKD", written).encode("ascii", "ignore").decode().lower()
        name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
        name = f"r_{name}" if name[:1].isdigit() else name
        if not name:
            self.problem(place, f"no name can be made of '{written}'", "Give it a word of letters a to z")
        elif name in self.names:
            self.problem(place, f"the name '{name}' is given twice, first in line {self.names[name]}")
        self.names.setdefault(name, number)
        return name

    def table(self, register: Register, said: Mapping[str, object]) -> None:
        tables = {said[key] for key in ("table", "function") if said.get(key) is not None}
        if len(tables) > 1:
            message = f"the function reads table {said['function']}, and the table is {said['table']}"
            self.problem(register.places["function"], message)
        if tables:
            register.keys["table"] = next(iter(tables))
            register.places.setdefault("table", register.places.get("function", (register.line, 1)))

    def scaling(self, register: Register, said: Mapping[str, object]) -> None:
        gain = said.get("gain")
        if gain not in (None, 1):
            message = f"a gain of {gain} may mean times {gain} or divided by {gain}"
            self.problem(
                register.places["gain"], message, "Call the column 'scale', and say what one count is worth"
            )
        if register.keys.get("scale") == 1:
            del register.keys["scale"]

    # --- addresses -------------------------------------------------------------------------------------------------

    def addresses(self, rows: Sequence[tuple[Register, str]]) -> None:
        """Find out what the numbers of a file are: taken the wrong way, another register would be written."""
        looks = [(register, text, _looks_modicon(register, text)) for register, text in rows]
        plain = next((text for _, text, looks_so in looks if not looks_so and not _HEX.fullmatch(text)), None)
        for register, text, looks_so in looks:
            if looks_so and plain is not None and len(text) == _MODICON_SHORT:
                one = int(text[1:]) - 1
                message = (
                    f"{text} is address {one} if it is a Modicon number, and {plain} in this file is none"
                )
                hint = f"Write 0x{one:04X} for that, or 0x{int(text):04X} for address {text}"
                self.problem(register.places["address"], message, hint)
            else:
                self.address(register, text, modicon=looks_so)

    def address(self, register: Register, text: str, *, modicon: bool) -> None:
        place = register.places["address"]
        hexadecimal = _HEX.fullmatch(text)
        if modicon:
            register.modicon = text
            register.keys["table"] = words.MODICON_TABLES[text[0]]
            register.keys["address"] = int(text[1:]) - 1
            register.places.setdefault("table", place)
        elif hexadecimal is not None:
            register.keys["address"] = int(hexadecimal[1] or hexadecimal[2], 16)
        elif re.fullmatch(r"[0-9]{1,6}", text):
            register.keys["address"] = int(text)
        else:
            self.problem(place, f"'{text}' is no address", "Such as 2, 0x0002 or 40003")
        if "table" not in register.keys and "table" not in register.places:
            hint = "Add a column 'table': holding, input, coil or discrete"
            self.problem(place, f"nothing says in which table {text} is", hint)


def _looks_modicon(register: Register, text: str) -> bool:
    """Whether it is a number such as 40003, whose first digit names the table of the row; 40000 is none."""
    if not _MODICON.fullmatch(text) or int(text[1:]) == 0:
        return False
    return register.keys.get("table") in (None, words.MODICON_TABLES[text[0]])
