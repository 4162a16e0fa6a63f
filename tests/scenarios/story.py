"""What stands in a story's file, and how is it written again?

    The ack is lost                              a title, and below it what a reader should know

    device:  LSQ1, tier 1                        what is there: `setup.py` knows the words
    faults:  cmd 1: drop_ack

    > send ADJUST offset +5                      what is typed: `deeds.py` knows the words
      0.0  [INFO] seq=1 cmd=ADJUST ...         the log, with seconds since the beginning
      = applied (ack), exit 0: ...               the word
    ~ 10 s pass                                  what happens

    The device's own ledger:                     what was really done

`night> send BEEP` is typed in a process called night. Lines that begin with `#` are remarks. Indented lines and the
ledger are the expected part: they are compared, and written anew by `python -m tests.scenarios --rewrite`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
LEDGER = "The device's own ledger:"
_SETUP = re.compile(r"(?P<key>[a-z ]+): +(?P<value>\S.*)")
_STEP = re.compile(r"(?P<who>[a-z]+)?(?P<sign>[>~]) +(?P<text>\S.*)")


class StoryError(ValueError):
    """A story that cannot be read or played; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One typed line (`typed`) or one thing that happens.

    Attributes:
        where: File and line, for messages.
        above: The blank lines and remarks above it.
        line: As it stands in the file.
        typed: By a person; else it happens.
        who: The process at which it is typed; empty where there is but one.
        text: What is typed or happens.
    """

    where: str
    above: tuple[str, ...]
    line: str
    typed: bool
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """One file. `head` are its lines above the first step, `setup` the pairs among them, in order."""

    path: Path
    head: tuple[str, ...]
    setup: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]

    @property
    def title(self) -> str:
        """Its first line."""
        return self.head[0]

    def write(self, played: Sequence[Sequence[str]], ledger: Sequence[str]) -> str:
        """The whole text.

        Args:
            played: For each step the lines that it led to.
            ledger: The lines of the ledger.
        """
        lines = list(self.head)
        for step, told in zip(self.steps, played, strict=True):
            lines += [*step.above, step.line, *(f"  {line}" for line in told)]
        lines += ["", LEDGER, *(f"  {line}" for line in ledger)]
        return "\n".join(lines) + "\n"


def stories() -> list[Path]:
    """Every story's file, by name."""
    return sorted(FOLDER.glob("*.txt"))


def read(path: Path) -> Story:
    """Read a story but for its expected part. Raises StoryError."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next((n for n, line in enumerate(lines) if _STEP.fullmatch(line)), None)
    if first is None:
        raise StoryError(f"{path.name}: nothing is typed and nothing happens")
    head = lines[:first]
    while head and (not head[-1] or head[-1].startswith("#")):
        head.pop()
    blank = head.index("") if "" in head else len(head)
    return Story(
        path, tuple(head), tuple(_setup(path, head, blank + 1)), tuple(_steps(path, lines, len(head)))
    )


def _setup(path: Path, head: Sequence[str], start: int) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(head[start:], start + 1):
        found = _SETUP.fullmatch(line)
        if found is None:
            raise StoryError(f"{path.name}:{number}: not 'what: how': {line}")
        pairs.append((found["key"], found["value"]))
    return pairs


def _steps(path: Path, lines: Sequence[str], start: int) -> list[Step]:
    steps: list[Step] = []
    above: list[str] = []
    for number, line in enumerate(lines[start:], start + 1):
        if line == LEDGER:
            break
        found = _STEP.fullmatch(line)
        if found is not None:
            where = f"{path.name}:{number}"
            steps.append(
                Step(where, tuple(above), line, found["sign"] == ">", found["who"] or "", found["text"])
            )
            above = []
        elif not line or line.startswith("#"):
            above.append(line)
        elif not line.startswith("  "):
            raise StoryError(f"{path.name}:{number}: neither typed, nor a happening, nor a remark: {line}")
    return steps


def one_of(where: str, what: str, word: str, known: Mapping[str, object]) -> str:
    """The word, if it is known. Raises StoryError."""
    if word not in known:
        raise StoryError(f"{where}: no {what} '{word}'. Known: {', '.join(known)}")
    return word
