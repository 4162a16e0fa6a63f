"""How are files written that a person is to go on with? All of them or none, and never over what is there."""

from collections.abc import Mapping
from pathlib import Path

from devices.problems import FileProblem, FileProblems, UsageProblem


def write_new(files: Mapping[Path, str], instead: str) -> None:
    """Write files that must not exist yet, with the folders that they need.

    Args:
        files: the text of each path.
        instead: what to type where a file is in the way, a sentence.

    Raises:
        UsageProblem: one is there already; nothing was written.
        FileProblems: one cannot be written; those before it are taken back.
    """
    there = [path for path in files if path.exists() or path.is_symlink()]
    if there:
        names = ", ".join(str(path) for path in there)
        raise UsageProblem(f"nothing was written, since this is there already: {names}", instead)
    written: list[Path] = []
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        except OSError as error:
            for each in written:
                each.unlink(missing_ok=True)
            reason = error.strerror or str(error)
            raise FileProblems([FileProblem(str(path), None, None, f"cannot be written: {reason}")]) from None
