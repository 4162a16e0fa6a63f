"""How does a register map become a profile? `ackonce profile import MAP.csv --name VENDOR/MODEL`.

Everything that is wrong with the map is said with its line, and nothing is written then. What was converted or left out
is said too: a number that was taken for another one would set another register.
"""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.new_files import write_new
from agent.cli.options import Common
from agent.cli.profile_new import checked_name, insist_on_new_name, profile_root
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from devices.lint import Finding
    from devices.register_map import RegisterMap

_WHAT = ("how it is reached", "what survives a restart", "what a second copy of each command would do")


class Framing(StrEnum):
    """How requests travel."""

    RTU = "rtu"
    TCP = "tcp"


class WordOrder(StrEnum):
    """Which register of a longer value comes first."""

    BIG = "big"
    LITTLE = "little"


def import_map(
    common: Common,
    file: Annotated[
        Path, typer.Argument(metavar="MAP.csv", help="A register map, one register in each row.")
    ],
    name: Annotated[str, typer.Option(metavar="VENDOR/MODEL", help="The name that inventories will use.")],
    framing: Annotated[
        Framing, typer.Option(help="rtu: serial lines; tcp: Modbus TCP and gateways.")
    ] = Framing.RTU,
    word_order: Annotated[
        WordOrder,
        typer.Option(help="Of values in several registers: the high word first (big), or the low one."),
    ] = WordOrder.BIG,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where to; default: profiles/ beside the inventory."
        ),
    ] = None,
) -> None:
    """Make a Modbus profile from a register map. Never overwrites anything.

    Columns, in any order and the usual spellings: name, table, address, type, unit, scale, min, max, step, access,
    bit, description. Addresses as on the wire (2, 0x0002) or as Modicon numbers (40003).
    """
    from devices.lint import lint_file
    from devices.map_profile import Origin, check, profile_text
    from devices.register_map import register_map
    from devices.source import read_text

    name = checked_name(name)
    source, root = (common.project or Path()) / file, profile_root(common, None)
    shipped = insist_on_new_name(name, root)
    path = root / f"{name}.yaml" if out is None else ((common.project or Path()) / out).absolute()
    if path.suffix != ".yaml":
        raise UsageProblem(f"'{path.name}' would not be found: profiles are in files that end in .yaml")
    text, digest = read_text(source)
    found = register_map(str(source), text)
    origin = Origin(str(source), digest, name, framing.value, word_order.value)
    check(found, origin)
    profile = profile_text(found, origin, f"register map {source.name}")
    write_new({path: profile}, "Give another file with -o")
    if shipped and not common.quiet:
        output.say(f"Where {root} is searched, it stands for the shipped {name} from now on.")
    _tell(common, found, path, profile, lint_file(path))


def _tell(common: Common, found: "RegisterMap", path: Path, text: str, findings: "list[Finding]") -> None:
    from devices.scaffold import lines_to_edit

    lint = f"ackonce profile lint {shlex.quote(str(path))}"
    edits = [{"line": line, "what": what} for line, what in zip(lines_to_edit(text), _WHAT, strict=True)]
    converted = [(each.modicon, each.keys) for each in found.registers if each.modicon is not None]
    settings = sum(each.access != "w" for each in found.registers)
    commands = sum(each.access != "r" for each in found.registers)
    if common.json:
        output.put_json(
            {
                "file": str(path),
                "settings": settings,
                "commands": commands,
                "converted": {number: keys["address"] for number, keys in converted},
                "unused": list(found.unused),
                "findings": [
                    {"level": each.level, "where": each.where, "message": each.message} for each in findings
                ],
                "edit": edits,
                "next": [lint],
            }
        )
        return
    output.put(str(path))
    if common.quiet:
        return
    setting = "one command sets one" if commands == 1 else f"{commands} commands set one each"
    output.say(f"{settings} settings can be read, {setting}.")
    if converted:
        number, keys = converted[0]
        output.say(
            f"Modicon numbers were converted, {len(converted)} of them: {number} is address {keys['address']} of table "
            f"{keys['table']}. Where they are addresses already, write them in hex, as in 0x{int(number):04X}."
        )
    if found.unused:
        output.say(f"Columns that were left out: {', '.join(map(repr, found.unused))}.")
    for each in findings:
        output.say(f"{each.level}: {each.where}: {each.message}")
    output.say("Edit these lines of it first, each is marked EDIT:")
    for edit in edits:
        output.say(f"  line {edit['line']}: {edit['what']}")
    output.say(f"Then: {lint}")
