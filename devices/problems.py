"""How do we say that a file or an argument is wrong?

Rules: a problem in a file names the place as editors understand it (`path:line:column`), says what is wrong
    in one sentence and, where one exists, the likely intended word. Nothing here reads files, so that whoever
    catches these errors does not pay for the parsers.
"""

import difflib
from collections.abc import Iterable, Sequence


class UsageProblem(Exception):  # noqa: N818  # it reads as what it is
    """Words that a person typed do not fit the catalog or the inventory (exit code 2).

    Attributes:
        message: what is wrong, one sentence.
        hint: what to type instead, a sentence; None where nobody can guess.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}. {self.hint}"


def together(problems: Sequence[UsageProblem]) -> UsageProblem:
    """Several things that are wrong with what was typed as one problem, a line for each; the same thing once."""
    lines = list(dict.fromkeys(map(str, problems)))
    return problems[0] if len(lines) == 1 else UsageProblem("\n".join(lines))


class FileProblem(Exception):  # noqa: N818
    """One thing that is wrong in one file (exit code 3).

    `line` and `column` count from 1, None where the whole file is meant.
    """

    def __init__(
        self, path: str, line: int | None, column: int | None, message: str, hint: str | None = None
    ) -> None:
        super().__init__(path, line, column, message, hint)
        self.path = path
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        text = f"{place}: {self.message}."
        return text if self.hint is None else f"{text} {self.hint}"


class FileProblems(Exception):  # noqa: N818
    """Everything that is wrong in a file, or in several, in the order of the lines: one look mends them all."""

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        super().__init__(tuple(problems))
        files = list(dict.fromkeys(each.path for each in problems))
        self.problems = tuple(
            sorted(problems, key=lambda each: (files.index(each.path), each.line or 0, each.column or 0))
        )

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class UnknownProfile(FileProblems):
    """No file holds the profile that was asked for; the one problem inside names the places searched."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return "Did you mean 'x'?" for the nearest of `known`, whatever its case; None if none is near."""
    by_folded: dict[str, str] = {}
    for each in known:
        by_folded.setdefault(each.casefold(), each)
    near = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return f"Did you mean '{by_folded[near[0]]}'?" if near else None
