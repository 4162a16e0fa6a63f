"""What is known about each model of equipment? `ackonce profile list | show | lint | new | import`.

`show` answers what somebody beside the equipment asks: which commands may be repeated, which must not, and what the
agent does about silence. `lint` prints one finding a line in the form that editors jump to. `new` and `import` have
their own files.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command
from agent.cli.places import settings_of
from agent.cli.profile_import import import_map
from agent.cli.profile_new import new
from agent.profile_folders import load_profile, profile_roots

if TYPE_CHECKING:
    from agent.settings import Settings
    from devices.problems import FileProblems
    from devices.profile import Command, Profile, Setting

Named = Annotated[str, typer.Argument(metavar="NAME|FILE", help="As in demo/controller, or a .yaml file.")]

_DIALECTS = {
    "lsq": "lsq, the last-seq protocol: the device knows a repeat by its number and does not act again",
    "line": "line, text over TCP or a serial line",
    "modbus": "modbus, registers and coils",
    "exec": "exec, a program of yours that talks to the device",
}
_CLASSES = {
    "idempotent": "SAFE TO REPEAT: the same result however often it arrives",
    "cumulative": "EVERY COPY COUNTS: a second one would act again",
}


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="What is known about each model of equipment."
    )
    command(group, "list")(list_profiles)
    command(group, "show")(show)
    command(group, "lint")(lint)
    command(group, "new")(new)
    command(group, "import")(import_map)
    app.add_typer(group, name="profile")


# --- list -----------------------------------------------------------------------------------------------------


def list_profiles(common: Common) -> None:
    """List the profiles that an inventory may name, and where each comes from."""
    from devices.loader import available
    from devices.source import peek

    settings = settings_of(common)
    rows = [
        {"name": name, "dialect": peek(path, "dialect"), "title": title, "from": _origin(path)}
        for name, path, title in available(profile_roots(settings))
    ]
    if common.json:
        for row in rows:
            output.put_json(row)
    else:
        output.put_table(("name", "dialect", "title", "from"), [tuple(row.values()) for row in rows])
    for root in profile_roots(settings):
        for path in () if common.quiet else sorted(root.rglob("*.yaml")):
            _say_if_unlisted(path)


def _origin(path: Path) -> str:
    from devices.loader import SHIPPED

    return "shipped" if path.is_relative_to(SHIPPED) else str(path)


def _say_if_unlisted(path: Path) -> None:
    from devices.problems import FileProblems
    from devices.source import peek

    try:
        if peek(path, "profile") is None:
            output.say(f"Not listed: {path} has no 'profile:' key.")
    except FileProblems as problems:
        output.say(f"Not listed: {problems.problems[0]}")


# --- show -----------------------------------------------------------------------------------------------------


def show(common: Common, profile: Named) -> None:
    """Show the commands of a model in their two classes, with the policy of each and why."""
    found = load_profile(settings_of(common), profile, folder=common.project)
    if common.json:
        for each in found.commands:
            output.put_json(_command_json(found, each))
        return
    for line in _shown(found):
        output.put(line)


def _shown(profile: "Profile") -> Iterator[str]:
    timing = profile.timing
    yield f"{profile.name}  {profile.title}".rstrip()
    yield f"  file      {profile.source}"
    yield f"  speaks    {_DIALECTS[profile.dialect]}{_framing(profile)}"
    for number, source in enumerate(profile.sources or ("none are stated",)):
        yield f"  {'' if number else 'sources':<8}  {source}"
    yield f"  tried     {'on real equipment' if profile.verified_on_hardware else 'not on real equipment yet'}"
    yield f"  silence   no answer for {timing.reply_s:g} s; a late one may come for {timing.late_s:g} s"
    for effect_class, heading in _CLASSES.items():
        commands = [each for each in profile.commands if each.effect_class == effect_class]
        if commands:
            yield from ("", heading)
        for each in commands:
            yield from _shown_command(profile, each)
    if profile.settings:
        yield from ("", "SETTINGS")
        width = max(len(name) for name in profile.settings)
        yield from (f"  {s.name:<{width}}  {_shown_setting(s)}" for s in profile.settings.values())


def _framing(profile: "Profile") -> str:
    return f", framing {profile.modbus.framing}" if profile.modbus is not None else ""


def _shown_command(profile: "Profile", command: "Command") -> Iterator[str]:
    from devices.calls import usage
    from devices.catalog import choose

    choice = choose(profile, command)
    yield f"  {usage(command)}"
    yield f"      {command.kind}, policy {choice.policy}: {choice.why}"
    if command.mode is not None:
        yield f"      Only while {command.mode.setting} reads {command.mode.value}."
    if command.danger is not None:
        yield f"      Danger: {command.danger}"


def _shown_setting(setting: "Setting") -> str:
    from devices.calls import describe
    from devices.profile import Argument

    unit = f", in {setting.unit}" if setting.unit else ""
    facts = [describe(Argument(setting.name, setting.type, setting.min, setting.max)) + unit]
    facts.append(f"read by {setting.read}" if setting.read is not None else "cannot be read")
    facts.append(_after_a_restart(setting))
    if setting.other_writers:
        facts.append("others write it too")
    return "; ".join(facts)


def _after_a_restart(setting: "Setting") -> str:
    if setting.durable:
        return "survives a restart"
    return (
        f"{setting.at_start} after a restart"
        if setting.at_start is not None
        else "not known to survive a restart"
    )


def _command_json(profile: "Profile", command: "Command") -> dict[str, Any]:
    from devices.calls import usage
    from devices.catalog import choose
    from devices.values import plain

    choice = choose(profile, command)
    return {
        "profile": profile.name,
        "command": command.name,
        "usage": usage(command),
        "class": command.effect_class.value,
        "kind": command.kind.value,
        "policy": choice.policy.value,
        "why": choice.why,
        "args": [
            {
                "name": argument.name,
                "type": argument.type,
                "min": None if argument.min is None else plain(argument.min),
                "max": None if argument.max is None else plain(argument.max),
                "unit": argument.unit,
            }
            for argument in command.args
        ],
        "setting": command.setting,
        "danger": command.danger,
    }


# --- lint -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Remark:
    """One finding as it is printed; `line` and `column` count from 1, None where the file as a whole is meant."""

    file: str
    line: int | None
    column: int | None
    level: str
    where: str | None
    message: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.level, self.where, self.message) if part)


def lint(
    common: Common,
    profiles: Annotated[list[str], typer.Argument(metavar="FILE|NAME...", help="What to look through.")],
) -> None:
    """Say what in a profile is wrong or unwise. Exit 3 where something is wrong, 0 where it is only unwise."""
    settings = settings_of(common)
    wrong = False
    for each in profiles:
        remarks = list(_remarks(settings, each, common.project))
        wrong = wrong or any(remark.level == "error" for remark in remarks)
        for remark in remarks:
            if common.json:
                output.put_json(asdict(remark))
            else:
                output.put(str(remark))
        if not remarks and not common.json:
            output.put(f"{each}: no findings")
    raise typer.Exit(Exit.FILE if wrong else Exit.OK)


def _remarks(settings: "Settings", name_or_file: str, folder: Path | None) -> Iterator[_Remark]:
    from devices.lint import lint as findings_of
    from devices.problems import FileProblems, UnknownProfile

    try:
        profile = load_profile(settings, name_or_file, folder=folder)
    except UnknownProfile:
        raise
    except FileProblems as problems:
        yield from _refusals(problems)
        return
    for found in findings_of(profile):
        yield _Remark(profile.source, found.line, None, found.level, found.where, found.message)


def _refusals(problems: "FileProblems") -> Iterator[_Remark]:
    """Why a file does not even load."""
    for each in problems.problems:
        message = f"{each.message}. {each.hint}" if each.hint else each.message
        yield _Remark(each.path, each.line, each.column, "error", None, message)
