"""Which files make up the log at a path?

The file at the path itself, and the one previous file that a rotation left. A writer or reader holds a file
open while another process rotates it, so a descriptor is asked where it stands, never assumed.
"""

import os
from pathlib import Path
from typing import Final

LOG_FILE: Final = "log.jsonl"
"""The log's name in the folder of its store."""


def previous_path(path: Path) -> Path:
    """Return where the records before the last rotation stand: `log.jsonl.1` for `log.jsonl`."""
    return path.with_name(path.name + ".1")


def stands_at(path: Path, descriptor: int) -> bool:
    """Say whether the open file is the one that `path` names now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
