"""What does the README tell its readers to type, to write and to expect?

* A block marked `console`: lines with `$ ` are typed, the others are what the terminal then shows. `…` alone in a line
  stands for any lines, `OP` for the id of an operation, `N` for a number, `TIME` for a moment; how wide the columns of
  a table are does not matter. `OP` in a command is the id that was shown last.
* A block after a line with a file's name and a colon is that file; after `, at its end:` it is added to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
_FENCE = re.compile(
    r"(?:^`(?P<path>[\w./-]+)`(?P<more>, at its end)?:\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MOVES = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")
"""What moves the cursor: progress that is drawn and wiped out again."""
_OP = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader writes, or adds to."""

    path: str
    text: str
    added: bool


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that the reader types, and the lines that follow."""

    command: str
    expected: tuple[str, ...]

    @property
    def serves(self) -> bool:
        """Whether it goes on until somebody ends it, in a terminal of its own."""
        return self.command.startswith("ackonce simulate ")


def instructions(text: str) -> Iterator[File | Typed]:
    """Everything that a reader is to write and type, in order."""
    for block in _FENCE.finditer(text):
        if block["path"]:
            yield File(block["path"], block["text"], added=bool(block["more"]))
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, *expected = part.splitlines()
                yield Typed(command, tuple(expected))


def spans(text: str) -> list[str]:
    """Commands of ours that the prose names."""
    return [match[1] for match in re.finditer(r"`ackonce ([^`\n]+)`", _FENCE.sub("", text))]


def symptoms(text: str) -> list[str]:
    """What the reader sees according to the table of troubles, where that is a text of the program."""
    table = text.partition("## Troubleshooting")[2]
    cells = re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)
    return [symptom for cell in cells for symptom in re.findall(r"`([^`]+)`", cell)]


def said_by_the_program() -> str:
    """The sources of everything that speaks to users, with texts in one piece that stand on several lines."""
    parts = ("agent", "devices", "protocol", "logs")
    sources = (path.read_text() for part in parts for path in sorted((README.parent / part).rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", "\n".join(sources))


def shown(text: str) -> list[str]:
    """What a terminal has shown, with everything that differs from run to run replaced by the README's stand-ins."""
    text = _OP.sub("OP", text.replace("\r\n", "\n"))
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\b\d+\.\d+ (m?s)\b", r"N \1", text)
    return [_plain(line) for line in text.splitlines()]


def last_op(text: str) -> str | None:
    """The id of an operation that was shown last."""
    found = _OP.findall(text)
    return found[-1] if found else None


def matches(expected: tuple[str, ...], lines: list[str]) -> bool:
    """Whether the lines are those that the README shows."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(_plain(line)) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def _plain(line: str) -> str:
    return re.sub(r" {2,}", "  ", _MOVES.sub("", line).rstrip())
