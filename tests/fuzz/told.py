"""How must a file that cannot be used be told of? With its path, a line, a column and a sentence, never otherwise."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from devices.problems import FileProblems

T = TypeVar("T")


def loaded_or_told(load: Callable[[Path], T], path: Path) -> T | None:
    """What is in the file, or None where its problems are told as they must be."""
    try:
        return load(path)
    except FileProblems as problems:
        told = problems.problems
    assert told
    for problem in told:
        assert str(problem).startswith(f"{path}:")
        assert problem.path == str(path)
        assert (problem.line or 1) >= 1
        assert (problem.column or 1) >= 1
        assert problem.message
    return None
