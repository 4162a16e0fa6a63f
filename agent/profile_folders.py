"""In which folders does a run look for profiles, and how does it load one?

Imported by commands that must start at once, so nothing here loads a parser before it is needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from agent.settings import Settings

if TYPE_CHECKING:
    from devices.profile import Profile

FOLDER = "profiles"
_SUFFIXES = (".yaml", ".yml")


def profile_roots(settings: Settings) -> list[Path]:
    """The folders in which a profile is looked for, the nearest first (CATALOG.md, section 4).

    They may not exist. The shipped profiles are not among them: the functions of `devices.loader` add them as the
    last place by themselves.
    """
    beside = settings.inventory.parent if settings.inventory is not None else settings.project
    return [beside / FOLDER, settings.home / FOLDER]


def load_profile(settings: Settings, name_or_file: str, *, folder: Path | None = None) -> "Profile":
    """Load a profile by its name, or from the file that was named instead.

    Args:
        settings: tell where profiles are looked for.
        name_or_file: vendor/model, or a path that ends in `.yaml` or `.yml`.
        folder: what a relative path starts from, `-C` where it was given; None is the current folder.

    Raises:
        UnknownProfile: no profile of that name.
        FileProblems: the file is unreadable, malformed, or contradicts itself.
    """
    from devices.loader import find, load
    from devices.problems import FileProblem, UnknownProfile

    if name_or_file.endswith(_SUFFIXES):
        return load((folder or Path()) / name_or_file)
    try:
        return find(name_or_file, profile_roots(settings))
    except UnknownProfile as unknown:
        [problem] = unknown.problems
        hint = problem.hint or ""
        hint += f"{'' if hint.endswith(('.', '?')) else '.'} If a project has it, give that: -C DIR"
        raise UnknownProfile(
            [FileProblem(problem.path, problem.line, problem.column, problem.message, hint)]
        ) from None
