"""How do words fit a terminal?

Rule 1. A sentence is folded between its words, never within one; what follows stands indented.
Rule 2. Columns stand beside each other as far as they fit. What does not fit stands under its row.
Rule 3. Without a terminal (`columns` is None) nothing is ever folded or moved.

Pure: the width comes as an argument (`output.columns`).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

GAP, UNDER = "  ", "    "
"""What stands between two columns, and before what stands under its row."""

SENTENCE_MIN = 30
"""Columns that a sentence beside others needs; where fewer are left it stands under them."""


def width(text: str) -> int:
    """Columns that a printable text takes on a terminal: East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum((unicodedata.combining(c) == 0) + (unicodedata.east_asian_width(c) in "WF") for c in text)


def padded(text: str, columns: int) -> str:
    """The text with blanks up to so many columns."""
    return text + " " * (columns - width(text))


def folded(text: str, columns: int | None, under: str = "") -> list[str]:
    """One line as lines of at most `columns`, where its words allow; each but the first begins with `under`."""
    if columns is None or width(text) <= columns:
        return [text]
    words = text.lstrip(" ").split(" ")  # blanks in a row are empty words, and come through
    lines, line = [], text[: len(text) - len(text.lstrip(" "))] + words[0]
    for word in words[1:]:
        if width(line) + 1 + width(word) <= columns:
            line = f"{line} {word}"
        else:
            lines.append(line.rstrip())
            line = under + word
    return [*lines, line.rstrip()]


def aligned(rows: Sequence[Sequence[str]], columns: int | None, indent: str = "") -> list[str]:
    """Rows whose last cell is a sentence, as lines: every other column as wide as its widest cell."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)][:-1]
    return [line for row in rows for line in fitted(row, widths, columns, indent)]


def fitted(row: Sequence[str], widths: Sequence[int], columns: int | None, indent: str = "") -> Iterator[str]:
    """One row whose last cell is a sentence, as lines. `widths` are those of the columns before it."""
    front = GAP.join(padded(cell, wide) for cell, wide in zip(row[:-1], widths, strict=True))
    start = len(indent) + width(front) + len(GAP)
    if columns is None or start + min(width(row[-1]), SENTENCE_MIN) <= columns:
        yield from folded(f"{indent}{front}{GAP}{row[-1]}", columns, " " * start)
        return
    alone = start - len(GAP) > columns  # the first cell: the others do not fit beside it either
    yield from folded(indent + row[0], columns, indent + GAP) if alone else [f"{indent}{front}".rstrip()]
    for cell in row[1:] if alone else row[-1:]:
        yield from folded(f"{indent}{UNDER}{cell}", columns, f"{indent}{UNDER}{GAP}")


def beside(widths: Iterable[int], columns: int) -> int:
    """How many columns of a table fit beside each other, the first in any case."""
    count, taken = 0, -len(GAP)
    for wide in widths:
        taken += len(GAP) + wide
        if taken > columns:
            break
        count += 1
    return max(count, 1)


def packed(cells: Iterable[str], columns: int) -> Iterator[str]:
    """Cells behind each other under a row, on as many lines as they need; none is folded."""
    line = ""
    for cell in cells:
        longer = f"{line}{GAP}{cell}" if line else UNDER + cell
        if line and width(longer) > columns:
            yield line
            longer = UNDER + cell
        line = longer
    if line:
        yield line
