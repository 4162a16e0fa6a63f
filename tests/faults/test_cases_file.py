"""Does `tests/CASES.md` name every fault report, edge case and behaviour of a fleet, with tests that exist or a reason?

A test exists where pytest collects it, under the file and name, and with the row, that are written.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
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
EDGES = {
    "Numbers on the device": range(1, 24),
    "Sessions, restarts and takeovers": range(24, 40),
    "Transport and framing": range(40, 58),
    "Time": range(58, 64),
    "The journal and the end of the agent": range(64, 78),
    "Equipment without numbers": range(78, 109),
    "Catalog and person": range(109, 116),
    "Schedules, several agents, routes": range(116, 127),
}
FLEET = {
    "Many observers, one target": [f"H{number}" for number in range(1, 14)],
    "Errors that find their person": [*(f"E{number}" for number in range(1, 7)), "O1"],
    "Self reports, votes and references": [f"M{number}" for number in range(1, 35)],
}
IDS = (
    {title: [f"B{number:02}" for number in numbers] for title, numbers in REPORTS.items()}
    | {title: [str(number) for number in numbers] for title, numbers in EDGES.items()}
    | FLEET
)
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
    """No report, no edge case and no behaviour is missing, doubled, or among those of another sort."""
    found: dict[str, list[str]] = {}
    for row in ROWS:
        found.setdefault(row.section, []).append(row.id)
    assert found == IDS


def test_edge_cases_are_counted_through() -> None:
    """The sections together have each number from 1 to 126 exactly once, in order."""
    assert list(chain.from_iterable(EDGES.values())) == list(range(1, 127))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_entry_has_tests_or_a_reason(row: Row) -> None:
    """Each row says in words what went wrong, and names tests, or why there is none, in a sentence."""
    assert row.words
    references = [match[0] for match in _REFERENCE.finditer(row.tests)]
    assert ", ".join(references) == row.tests, "something else than references"
    assert len(set(references)) == len(references), "a test is named twice"
    assert references or row.left, "neither tests nor a reason"
    assert not row.left or row.left.endswith("."), "a reason is a sentence"


def test_every_named_test_is_collected() -> None:
    """Whatever a row names is a test that pytest finds, in that file and with that row of its table."""
    named = [(row.id, match) for row in ROWS for match in _REFERENCE.finditer(row.tests)]
    collected = _collected({match["file"] for _, match in named})
    missing = [
        f"{id_}: {match[0]}"
        for id_, match in named
        if not any((match["row"] or "") in of for of in collected.get((match["file"], match["test"]), ()))
    ]
    assert not missing, "\n".join(missing)


def test_a_case_in_a_name_is_the_case_of_the_row() -> None:
    """A test with `case_N` in its name stands in the row of N, and every one in `tests/cases/` does."""
    named = {
        (number, match["test"])
        for row in ROWS
        for match in _REFERENCE.finditer(row.tests)
        for number in re.findall(r"case_(\d+)_", match["test"])
        if number == row.id
    }
    files = {path.relative_to(TESTS).as_posix() for path in (TESTS / "cases").glob("test_*.py")}
    written = {(number, test) for _, test in _collected(files) for number in re.findall(r"case_(\d+)_", test)}
    assert written
    assert written == named


def _collected(files: set[str]) -> dict[tuple[str, str], list[str]]:
    """The rows that pytest collects in files below `tests/`, by file and test; of a test without rows one empty row."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
    ]
    paths = sorted(str(TESTS / file) for file in files)
    run = subprocess.run([*command, *paths], cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    found: dict[tuple[str, str], list[str]] = {}
    for line in run.stdout.splitlines():
        file, separator, name = line.partition("::")
        if separator:
            test, _, row = name.partition("[")
            found.setdefault((file.removeprefix("tests/"), test), []).append(row.removesuffix("]"))
    return found
