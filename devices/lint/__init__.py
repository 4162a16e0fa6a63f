"""What in a profile loads but is unwise, and what could go wrong because of it?

The part of CATALOG.md sections 2 and 4 that does not refuse to load. `error` means that a claim of the profile would
let the agent believe something untrue, or has no effect; `warning` means slower, blinder or harder to check; `note`
is what may well be meant so and should be known. The rules are in `whole` (the profile as a whole), `times`, `lines`
(telling lines apart), `registers` (Modbus), `proofs` (what a reading proves) and `commands` (their nature).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath

from devices.lint import commands, lines, proofs, registers, times, whole
from devices.lint.remark import Level, Remark
from devices.loader import load
from devices.problems import FileProblems
from devices.profile import Profile
from devices.source import Document, read

__all__ = ["Finding", "Level", "lint", "lint_file"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark.

    Attributes:
        level: error, warning or note.
        line: of the profile's file, from 1; None where the file is not at hand or as a whole is meant.
        where: the part of the profile, such as a command's name.
        message: what could go wrong, one sentence.
    """

    level: Level
    line: int | None
    where: str
    message: str


def lint(profile: Profile) -> list[Finding]:
    """Return the findings about a loaded profile, in the order of its file.

    Lines are known only while the file is as it was loaded.
    """
    document = _document(profile)
    findings = [
        Finding(
            each.level,
            document.place(each.path)[0] if document and each.path else None,
            each.where,
            each.message,
        )
        for rule in _RULES
        for each in rule(profile)
    ]
    return sorted(findings, key=lambda finding: finding.line or 0)


def lint_file(path: FilePath) -> list[Finding]:
    """Return the findings about a file; where it does not even load, its problems as errors."""
    try:
        return lint(load(path))
    except FileProblems as error:
        return [
            Finding(
                "error",
                each.line,
                f"column {each.column}" if each.column else "",
                _sentence(each.message, each.hint),
            )
            for each in error.problems
        ]


def _sentence(message: str, hint: str | None) -> str:
    return f"{message}." if hint is None else f"{message}. {hint}"


def _document(profile: Profile) -> Document | None:
    try:
        document = read(FilePath(profile.source))
    except FileProblems:
        return None
    return document if document.digest == profile.digest else None


_RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (
    *whole.RULES,
    *times.RULES,
    *lines.RULES,
    *registers.RULES,
    *proofs.RULES,
    *commands.RULES,
)
