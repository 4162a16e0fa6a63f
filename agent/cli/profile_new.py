"""How does somebody start to describe equipment? `ackonce profile new VENDOR/MODEL`.

Writes a commented profile that loads as it stands, and says which three lines to edit first.
"""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import output
from agent.cli.new_files import write_new
from agent.cli.options import Common
from agent.cli.places import settings_of
from agent.profile_folders import profile_roots
from devices.problems import UsageProblem


class Dialect(StrEnum):
    """How the equipment is spoken to."""

    LINE = "line"
    LSQ = "lsq"
    EXEC = "exec"
    MODBUS = "modbus"


_WHAT = ("how it answers or is reached", "what can be read", "what can be sent")


def new(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="VENDOR/MODEL", help="The name that inventories will use.")],
    dialect: Annotated[
        Dialect,
        typer.Option(
            help="line: text; lsq: the last-seq protocol; exec: a program of yours; modbus: registers."
        ),
    ] = Dialect.LINE,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Where to; default: profiles/ beside the inventory."),
    ] = None,
) -> None:
    """Write a profile to start from. Never overwrites anything."""
    from devices.scaffold import lines_to_edit, scaffold

    name = checked_name(name)
    root = profile_root(common, folder)
    shipped = insist_on_new_name(name, root)
    path = root / f"{name}.yaml"
    text = scaffold(name, dialect)
    write_new({path: text}, "Give another name, or another folder with --dir")
    check = f"ackonce profile lint {shlex.quote(str(path))}"
    edits = [{"line": line, "what": what} for line, what in zip(lines_to_edit(text), _WHAT, strict=True)]
    if common.json:
        output.put_json({"profile": name, "file": str(path), "edit": edits, "next": [check]})
        return
    output.put(str(path))
    if not common.quiet:
        if shipped:
            output.say(f"Where {root} is searched, it stands for the shipped {name} from now on.")
        output.say("Edit these lines of it first, each is marked EDIT:")
        for edit in edits:
            output.say(f"  line {edit['line']}: {edit['what']}")
        output.say(f"Then: {check}")


def checked_name(name: str) -> str:
    """Return the name of a profile; raise UsageProblem where it can be none."""
    from devices.checks import NAME_FORM, is_profile_name

    if not is_profile_name(name):
        raise UsageProblem(f"'{name}' must be {NAME_FORM}", "Such as: acme/logger")
    return name


def profile_root(common: Common, folder: Path | None) -> Path:
    """Return where profiles are written: the folder that was given, else the one beside the inventory."""
    if folder is not None:
        return ((common.project or Path()) / folder).absolute()
    return profile_roots(settings_of(common))[0]


def insist_on_new_name(name: str, root: Path) -> bool:
    """Refuse a name that the folder has already, since then neither would load; tell whether one of it is shipped.

    Raises UsageProblem.
    """
    from devices.loader import SHIPPED, available

    path = next((path for known, path, _ in available([root]) if known == name), None)
    if path is not None and not path.is_relative_to(SHIPPED):
        raise UsageProblem(
            f"nothing was written, since {path} is the profile '{name}' already",
            "Edit that one, or give another name",
        )
    return path is not None
