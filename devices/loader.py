"""How does a profile file become a `Profile`, and where is it looked for?

Everything that is wrong in a file is reported at once, with its place, and refuses to load (CATALOG.md,
section 4). A profile is found by its `profile:` key, the file's name is free.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from devices import profile as model
from devices.building import build
from devices.catalog import PolicyRefused, choose
from devices.checks import misfits
from devices.claims import contradictions
from devices.problems import FileProblem, FileProblems, UnknownProfile, did_you_mean
from devices.schema import ProfileFile
from devices.source import Document, peek, read
from devices.validation import validate

__all__ = [
    "SHIPPED",
    "FileProblem",
    "FileProblems",
    "UnknownProfile",
    "available",
    "find",
    "load",
    "profile_of",
]

SHIPPED = Path(__file__).parent / "profiles"


def load(path: Path) -> model.Profile:
    """Read one profile file.

    Raises:
        FileProblems: unreadable, malformed, or contradicting itself.
    """
    return profile_of(read(path))


def profile_of(document: Document) -> model.Profile:
    """Return the profile of a document, which may come from elsewhere than from a profile file.

    Raises:
        FileProblems: malformed, or contradicting itself; the places are those of the document.
    """
    file = validate(document, ProfileFile)
    problems = [document.problem(each.path, each.message, each.hint, key=each.key) for each in misfits(file)]
    if problems:
        raise FileProblems(problems)
    profile = build(file, document)
    refused = [document.problem(each.path, each.message) for each in contradictions(profile)]
    refused += [
        document.problem(("commands", index, "policy"), reason)
        for index, command in enumerate(profile.commands)
        if (reason := _refusal(profile, command)) is not None
    ]
    if refused:
        raise FileProblems(refused)
    return profile


def find(name: str, roots: Sequence[Path]) -> model.Profile:
    """Load the profile called `name`.

    Args:
        name: the `profile:` key, vendor/model.
        roots: folders in the order of search, those that do not exist are skipped; the shipped profiles come
            last.

    Raises:
        UnknownProfile: no file has that key.
        FileProblems: the key is given twice in one folder, or the file is wrong.
    """
    known: list[str] = []
    unreadable: list[str] = []
    for root in (*roots, SHIPPED):
        found: list[Path] = []
        for path in _files(root):
            try:
                key = peek(path, "profile")
            except FileProblems as problems:
                unreadable.append(str(problems.problems[0]))
                continue
            if key == name:
                found.append(path)
            elif key is not None:
                known.append(key)
        if len(found) > 1:
            others = ", ".join(str(path) for path in found[:-1])
            raise FileProblems(
                [FileProblem(str(found[-1]), 1, 1, f"the profile '{name}' is also in {others}")]
            )
        if found:
            return load(found[0])
    hint = did_you_mean(name, known) or f"Known profiles: {', '.join(sorted(set(known)))}"
    places = ", ".join(str(root) for root in (*roots, SHIPPED))
    skipped = f" Not readable: {' '.join(unreadable)}" if unreadable else ""
    raise UnknownProfile([FileProblem(places, None, None, f"no profile '{name}' here", hint + skipped)])


def available(roots: Sequence[Path]) -> list[tuple[str, Path, str]]:
    """Return (name, path, title) of each profile that `find` would find, by name.

    Files that cannot be read are left out.
    """
    found: dict[str, tuple[str, Path, str]] = {}
    for root in (*roots, SHIPPED):
        for path in _files(root):
            try:
                name, title = peek(path, "profile"), peek(path, "title")
            except FileProblems:
                continue
            if name is not None:
                found.setdefault(name, (name, path, title or ""))
    return [found[name] for name in sorted(found)]


def _files(root: Path) -> Iterator[Path]:
    return iter(sorted(path for path in root.rglob("*.yaml") if path.is_file()))


def _refusal(profile: model.Profile, command: model.Command) -> str | None:
    try:
        choose(profile, command)
    except PolicyRefused as refusal:
        return str(refusal).rstrip(".")
    return None
