"""Does `tests/CASES.md` name every public fault report and edge case, each with tests that exist or with a reason?"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
REPORTS = {
    "Commands that took effect twice": (*range(1, 21),),
    "Late answers": (21, 22, 23, 24, 25, 27, 28, 29, 30, 31),
    "Framing": (32, 33, 34, 35, 37, 38, 41, 42, 44),
    "Serial ports": (45, 46, 47, 48, 49, 50, 51, 52, 54),
    "TCP": (55, 56, 57, 58, 60, 61, 62),
    "Verification": (63, 64, 66, 67, 68, 70, 71, 72, 73),
    "Values": (75, 76, 77, 78, 80, 82),
}
EDGES = {"Transport and framing": range(40, 58), "Equipment without numbers": range(78, 109)}
IDS = {title: [f"B{number:02}" for number in numbers] for title, numbers in REPORTS.items()} | {
    title: [str(number) for number in numbers] for title, numbers in EDGES.items()
}
_REFERENCE = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<test>\w+)(?:\[(?P<row>[^`]+)\])?`")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: `tests` as written, `left` is the reason."""

    section: str
    id: str
    words: str
    tests: str
    left: str


def rows() -> Iterator[Row]:
    """The lines of all tables, without their heads."""
    section = ""
    for line in (TESTS / "CASES.md").read_text().splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith(("| id ", "|---")):
            yield Row(section, *(cell.strip() for cell in line.strip("|").split("|")))


ROWS = list(rows())


def test_every_entry_is_there_once_and_in_its_section() -> None:
    """No report and no edge case is missing, doubled, or among those of another sort."""
    found: dict[str, list[str]] = {}
    for row in ROWS:
        found.setdefault(row.section, []).append(row.id)
    assert found == IDS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_entry_has_tests_that_exist_or_a_reason(row: Row) -> None:
    """What is named is a test, in the file and with the row that are named; where nothing is, it is said why."""
    assert row.words
    references = list(_REFERENCE.finditer(row.tests))
    assert ", ".join(match[0] for match in references) == row.tests, "something else than references"
    assert references or row.left, "neither tests nor a reason"
    for reference in references:
        path = TESTS / reference["file"]
        assert reference["test"] in _tests_of(path), reference[0]
        wanted = reference["row"]
        assert wanted is None or any(wanted in text for text in _texts_of(path)), reference[0]


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _tests_of(path: Path) -> set[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name
        for node in _tree_of(path).body
        if isinstance(node, functions) and node.name.startswith("test_")
    }


@cache
def _texts_of(path: Path) -> tuple[str, ...]:
    """Every text in a file of tests and in the tables that it imports from beside it."""
    tree = _tree_of(path)
    beside = [
        TESTS.parent / f"{node.module.replace('.', '/')}.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("tests.")
    ]
    trees = [tree, *(_tree_of(file) for file in beside if file.exists())]
    return tuple(
        node.value
        for each in trees
        for node in ast.walk(each)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
