"""How does a story look as a sequence of lanes: agent, wire, device?

Rule 1. Rows are neutral: a time, a way and words. What they mean is for whoever makes them.
Rule 2. No arrow is ever drawn as lost: every arrow crosses the whole wire, and where nothing was heard only
        the silence is drawn, on the wire. Nobody at the near end can know which way was lost (CLI.md 2).
Rule 3. What the agent wrote or did stands in its lane, what the device said in the other, so that neither
        is ever taken for the other.
Rule 4. Text from outside is escaped, and never markup: not for the terminal, not for Mermaid.
"""

import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from logs.text import escape


class Way(StrEnum):
    """What a row shows."""

    COPY = "copy"  # the agent writes what may change the device
    ASK = "ask"  # the agent writes a harmless question
    ANSWER = "answer"  # the device says something
    SILENCE = "silence"  # nothing was heard on the wire
    NOTE = "note"  # the agent does or decides something


@dataclass(frozen=True, slots=True)
class Row:
    """One moment: `at_s` seconds after the beginning, None where nobody noted it; `label` stands on the wire."""

    at_s: float | None
    way: Way
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole story: `device` names the lane at the right, `end` is the sentence below."""

    device: str
    rows: tuple[Row, ...]
    end: str


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What arrows are drawn with: the shaft of a copy and an answer, of a question, the heads, a silence."""

    shaft: str
    ask: str
    right: str
    left: str
    dots: str
    ascii: bool


LINES: Final = Glyphs("─", "┄", "►", "◄", "…", ascii=False)
ASCII: Final = Glyphs("-", ".", ">", "<", "...", ascii=True)
"""For outputs whose encoding lacks the lines."""

LINES_USED: Final = "─┄►◄…│┼"
"""Every character of `LINES` and its lanes: an output that lacks one of them gets `ASCII`."""

WIDTH_MIN: Final = 60
"""Columns below which lanes could not be read any more; a narrower place wraps the lines itself."""

_LANES: Final = ("agent", "wire", "device")
_ENDS: Final = ((0, "agent"), (2, "device"))
_GAP: Final = len(" | ")
_EDGES: Final = 2  # a blank at each side
_ARROW_MIN: Final = 8
_WIRE_MAX: Final = 32


def as_text(picture: Picture, width: int, glyphs: Glyphs = LINES) -> list[str]:
    """Return the picture as lines of at most `width` columns (but `WIDTH_MIN`), without colour or line ends.

    Words that do not fit into their lane are continued below; arrows never are.
    """
    width = max(width, WIDTH_MIN)
    end = textwrap.wrap(_shown(picture.end), width, break_long_words=False, break_on_hyphens=False)
    return [*_table(picture.rows, width, glyphs), "", *end] if picture.rows else end


def as_mermaid(picture: Picture) -> list[str]:
    """Return the picture as the lines of a Mermaid `sequenceDiagram`."""
    lines = [
        "sequenceDiagram",
        "    participant agent",
        "    participant wire",
        f"    participant device as {_harmless(picture.device)}",
    ]
    for row in picture.rows:
        words = ", ".join(part for part in (_offset(row.at_s), row.text, row.label) if part)
        lines.append(f"    {_MERMAID[row.way]}: {_harmless(words)}")
    return [*lines, f"    Note over agent,device: {_harmless(picture.end)}"]


_MERMAID: Final = {
    Way.COPY: "agent->>device",
    Way.ASK: "agent->>device",
    Way.ANSWER: "device-->>agent",
    Way.SILENCE: "Note over wire",
    Way.NOTE: "Note over agent",
}
_SPECIAL: Final = re.compile(r"[^\w .,+=()/'?!*@-]")


def _table(rows: Sequence[Row], width: int, glyphs: Glyphs) -> list[str]:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    wire = min(max(_on_the_wire(row, glyphs) for row in rows), _WIRE_MAX)
    cells = [_lanes(row, wire, glyphs) for row in rows]
    agent, device = (max(len(name), *(cell_len(cell[lane]) for cell in cells)) for lane, name in _ENDS)
    time = max(len("time"), *(len(_offset(row.at_s)) for row in rows))
    room = width - _EDGES - time - wire - len(_LANES) * _GAP
    agent, device = _shared(agent, device, room)
    table = Table(box=box.ASCII2 if glyphs.ascii else box.SQUARE, show_edge=False, header_style="")
    table.add_column("time", width=time, justify="right")
    for name, columns in zip(_LANES, (agent, wire, device), strict=True):
        table.add_column(name, width=columns, overflow="fold")
    for row, lanes in zip(rows, cells, strict=True):
        table.add_row(*map(Text, (_offset(row.at_s), *lanes)))
    page = io.StringIO()
    Console(file=page, width=width, height=1, color_system=None, force_terminal=False, _environ={}).print(
        table
    )
    return [line.rstrip() for line in page.getvalue().splitlines()]


def _on_the_wire(row: Row, glyphs: Glyphs) -> int:
    """The columns that a row wants between the outer lanes."""
    if row.way is Way.SILENCE:
        return len(f"{glyphs.dots} {row.text}")
    return len(row.label) + (0 if row.way is Way.NOTE else 1 + _ARROW_MIN)


def _shared(agent: int, device: int, room: int) -> tuple[int, int]:
    """The columns of both outer lanes: what they need, or half the room where both need more than that."""
    if agent + device <= room:
        return agent, device
    agent = min(agent, max(room // 2, room - device))
    return agent, room - agent


def _lanes(row: Row, wire: int, glyphs: Glyphs) -> tuple[str, str, str]:
    """The cells of a row: what stands with the agent, on the wire, with the device."""
    text, label = _shown(row.text), _shown(row.label)
    long = wire - 1 - (len(label) + 1 if label else 0)
    match row.way:
        case Way.COPY | Way.ASK:
            arrow = (glyphs.shaft if row.way is Way.COPY else glyphs.ask) * long + glyphs.right
            return text, f"{label} {arrow}".lstrip(), ""
        case Way.ANSWER:
            return "", f"{glyphs.left}{glyphs.shaft * long} {label}".rstrip(), text
        case Way.SILENCE:
            return "", f"{glyphs.dots} {text}", ""
        case Way.NOTE:
            return f"({text})", label, ""


def _offset(at_s: float | None) -> str:
    """`+0.250 s`, from ten minutes on `+2h 05m`, from two days on `+3d 07h`; empty where unknown."""
    if at_s is None:
        return ""
    if at_s < 600:  # a clock that was set back shows as a negative time
        return f"{at_s:+.3f} s"
    minutes, hours = int(at_s) // 60, int(at_s) // 3600
    if hours < 48:
        return f"+{hours}h {minutes % 60:02}m"
    return f"+{hours // 24}d {hours % 24:02}h"


def _shown(text: str) -> str:
    return escape(text)


def _harmless(text: str) -> str:
    """Text in which Mermaid finds nothing to obey: all but plain characters as entities."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", _shown(text)) or "-"
