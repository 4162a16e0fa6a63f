"""Where are the files that one run works with?

Imported by commands that must start at once, so nothing here loads a parser before it is needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.options import Common
from logs.place import LOG_FILE

if TYPE_CHECKING:
    from agent.settings import Settings


def settings_of(common: Common) -> "Settings":
    """The settings of this run. Raises UsageProblem, FileProblems."""
    from agent.settings import resolve

    return resolve(project=common.project, inventory=common.inventory, timeout=common.timeout)


def log_path(settings: "Settings") -> Path:
    """The file that the log of this store is written to."""
    return settings.home / LOG_FILE
