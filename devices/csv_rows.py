"""How does a table from a spreadsheet become rows of cells that remember where they stood?

Separated by commas, semicolons or tabs, whichever the first line has most of; cells may be quoted and hold line breaks.
Rules: blank rows do not count; blanks around a cell do not count.
"""

import csv
import io
from collections.abc import Iterator
from itertools import chain, repeat

from devices.problems import FileProblem

DELIMITERS = ",;\t"

Row = tuple[int, list[tuple[str, int]]]
"""The line in which a row begins, and its cells, each with the column where it begins; both from 1."""


def delimiter_of(text: str) -> str:
    """Return what separates the cells of a table."""
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    return max(DELIMITERS, key=first.count)


def csv_rows(path: str, text: str) -> Iterator[Row]:
    """Yield each row that is not blank.

    Raises:
        FileProblem: from here on it is no CSV; `path` is what it names.
    """
    lines = list(io.StringIO(text, newline=""))
    delimiter = delimiter_of(text)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begins = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileProblem(path, reader.line_num, 1, f"not CSV: {error}") from None
        if any(cell.strip() for cell in cells):
            starts = chain(_starts(lines[begins - 1], delimiter), repeat(1))
            yield begins, [(cell.strip(), start) for cell, start in zip(cells, starts, strict=False)]
        begins = reader.line_num + 1


def _starts(line: str, delimiter: str) -> list[int]:
    """Return the column, from 1, where each cell of a line begins; a delimiter in quotes begins none."""
    starts = [1]
    quoted = False
    for index, char in enumerate(line):
        quoted ^= char == '"'
        if char == delimiter and not quoted:
            starts.append(index + 2)
    return starts
