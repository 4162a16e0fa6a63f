"""What is unwise about a profile as a whole: its sources, its identity, restarts, the program that it runs?"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

from devices.lint.remark import Remark, commands_of, is_cumulative, read_back
from devices.profile import Profile, Setting


def _claims(profile: Profile) -> Iterator[Remark]:
    if not profile.sources:
        message = "no 'sources': nobody can check its claims against the maker's text"
        yield Remark("warning", ("profile",), "sources", message)
    if profile.identity is None and profile.dialect != "lsq":
        message = "no 'identity': another device behind the same address would be written to unnoticed"
        yield Remark("warning", ("profile",), "identity", message)
    if not profile.commands:
        message = "none, so that nothing can be sent with this profile, only read"
        yield Remark("note", ("commands",), "commands", message)


def _restarts(profile: Profile) -> Iterator[Remark]:
    if profile.dialect == "lsq" or profile.boot_read is not None:
        return
    volatile = [setting.name for setting in profile.settings.values() if _forgets(setting)]
    if volatile:
        using = [command.name for command in profile.commands if _reads_volatile(profile, command.name)]
        needed = f"; {', '.join(using)} would end in doubt" if using else ""
        message = (
            "no 'boot_read': after a reconnect a restart cannot be ruled out, so readings of "
            f"{', '.join(volatile)} prove nothing{needed}"
        )
        yield Remark("warning", ("profile",), "boot_read", message)
    if profile.sequence is not None and profile.sequence.memory == "volatile":
        message = (
            "the numbers are forgotten in a restart, which without 'boot_read' cannot be ruled out after a "
            "reconnect: repeats are not trusted to be dropped then"
        )
        yield Remark("warning", ("sequence",), "sequence", message)


def _openings(profile: Profile) -> Iterator[Remark]:
    if not profile.opening_resets:
        return
    volatile = [command.name for command in profile.commands if _reads_volatile(profile, command.name)]
    if volatile:
        message = (
            "opening the port restarts the board and puts volatile values back, so a reading after a reconnect "
            f"proves nothing: {', '.join(volatile)} would end in doubt after silence"
        )
        yield Remark("warning", ("opening_resets",), "opening_resets", message)
    recognised = profile.line is not None and profile.line.boot is not None
    if not profile.timing.connect_settle_s and not recognised:
        message = (
            "opening the port restarts the board, and neither 'connect_settle_s' nor line.boot says when it is "
            "up: the first request could come before it listens"
        )
        yield Remark("warning", ("opening_resets",), "opening_resets", message)


def _reads_volatile(profile: Profile, name: str) -> bool:
    command = profile.command(name)
    setting = read_back(profile, command)
    return is_cumulative(command) and setting is not None and _forgets(setting)


def _forgets(setting: Setting) -> bool:
    """Whether a restart changes it, and to nobody knows what."""
    return not setting.durable and setting.at_start is None


def _program(profile: Profile) -> Iterator[Remark]:
    if profile.dialect != "exec":
        return
    yield from _program_beside_it(profile)
    given = " ".join(profile.run)
    reads = [setting.read for setting in profile.settings.values()] + [profile.boot_read]
    if "{command}" not in given and len(profile.commands) + sum(read is not None for read in reads) > 1:
        message = "no {command}: the program cannot tell which of its commands and readings is wanted"
        yield Remark("error", ("run",), "run", message)
    if "{device}" not in given and "{url}" not in given:
        message = "neither {device} nor {url}: the program is not told which device is meant"
        yield Remark("warning", ("run",), "run", message)
    for path, command in commands_of(profile):
        if any(argument.secret for argument in command.args):
            message = (
                "a secret: while the program runs, its arguments are shown to everybody on the machine (ps)"
            )
            yield Remark("warning", (*path, "args"), command.name, message)
        if is_cumulative(command) and not command.nak_may_follow_effect:
            message = (
                "without 'nak_may_follow_effect: true' a program that fails after it has sent would be believed "
                "to have refused: leave it out only where every failure comes before any effect"
            )
            yield Remark("warning", path, command.name, message)


def _program_beside_it(profile: Profile) -> Iterator[Remark]:
    """A program that the file names relative to itself belongs to it, so it can be looked for."""
    program, folder = FilePath(profile.run[0]), FilePath(profile.source).absolute().parent
    if folder in program.parents and not (program.is_file() and os.access(program, os.X_OK)):
        wrong = "is not executable (chmod +x)" if program.is_file() else "is not there"
        message = f"{program} {wrong}, so that nothing can be sent or read"
        yield Remark("warning", ("run",), "run", message)


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_claims, _restarts, _openings, _program)
