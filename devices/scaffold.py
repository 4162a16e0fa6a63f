"""What does somebody start from who describes new equipment?

A commented profile for each dialect, in `scaffolds/`, that loads as it stands. Rule: the lines to edit first are marked
EDIT 1, 2 and 3 in each.
"""

import re
from pathlib import Path

DIALECTS = ("line", "lsq", "exec", "modbus")
PLACEHOLDER = "vendor/model"

_FOLDER = Path(__file__).parent / "scaffolds"


def scaffold(name: str, dialect: str) -> str:
    """Return the text of a new profile.

    Args:
        name: vendor/model, checked by the caller.
        dialect: one of `DIALECTS`.
    """
    text = (_FOLDER / f"{dialect}.yaml").read_text(encoding="utf-8")
    return text.replace(PLACEHOLDER, name)


def lines_to_edit(text: str) -> list[int]:
    """Return the numbers, from 1, of the lines that are marked EDIT 1, 2, 3, in this order."""
    return [number for number, line in enumerate(text.splitlines(), 1) if re.search(r"# EDIT [123]\b", line)]
