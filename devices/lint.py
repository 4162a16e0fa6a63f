"""What in a profile loads but is unwise, and what could go wrong because of it?

The part of CATALOG.md section 4 that does not refuse to load. `error` means that a claim of the profile would
let the agent believe something untrue or has no effect; `warning` means slower, blinder or harder to check.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Literal

from devices.expressions import clamps
from devices.kinds import EffectClass, Kind
from devices.loader import load
from devices.problems import FileProblems
from devices.profile import Command, Profile
from devices.source import Document, Path, read
from devices.templates import Field, parse

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark.

    Attributes:
        level: error or warning.
        line: of the profile's file, from 1; None where the file is not at hand or as a whole is meant.
        where: the part of the profile, such as a command's name.
        message: what could go wrong, one sentence.
    """

    level: Level
    line: int | None
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class _Remark:
    level: Level
    path: Path
    where: str
    message: str


def lint(profile: Profile) -> list[Finding]:
    """Return the findings about a loaded profile, in the order of its file.

    Lines are known only while the file is as it was loaded.
    """
    document = _document(profile)
    findings = [
        Finding(
            each.level,
            document.place(each.path)[0] if document and each.path else None,
            each.where,
            each.message,
        )
        for rule in _RULES
        for each in rule(profile)
    ]
    return sorted(findings, key=lambda finding: finding.line or 0)


def lint_file(path: FilePath) -> list[Finding]:
    """Return the findings about a file; where it does not even load, its problems as errors."""
    try:
        return lint(load(path))
    except FileProblems as error:
        return [
            Finding(
                "error",
                each.line,
                f"column {each.column}" if each.column else "",
                _sentence(each.message, each.hint),
            )
            for each in error.problems
        ]


def _sentence(message: str, hint: str | None) -> str:
    return f"{message}." if hint is None else f"{message}. {hint}"


def _document(profile: Profile) -> Document | None:
    try:
        document = read(FilePath(profile.source))
    except FileProblems:
        return None
    return document if document.digest == profile.digest else None


def _head(profile: Profile) -> Iterator[_Remark]:
    if not profile.sources:
        message = "no 'sources': nobody can check its claims against the maker's text"
        yield _Remark("warning", ("profile",), "sources", message)
    if profile.identity is None and profile.dialect != "lsq":
        message = "no 'identity': another device behind the same address would be written to unnoticed"
        yield _Remark("warning", ("profile",), "identity", message)
    volatile = [setting.name for setting in profile.settings.values() if not setting.durable]
    if profile.boot_read is None and profile.dialect != "lsq" and volatile:
        message = (
            "no 'boot_read': after a reconnect a restart cannot be ruled out, so readings of "
            f"{', '.join(volatile)} prove nothing"
        )
        yield _Remark("warning", ("profile",), "boot_read", message)


def _form(profile: Profile) -> Iterator[_Remark]:
    for path, command in _commands(profile):
        form = command.absolute_form
        if form is not None and not form.equivalent:
            message = (
                f"absolute_form without 'equivalent: true' is not used: if '{form.command}' does anything "
                "else besides (stores, restarts, moves), it is not the same command"
            )
            yield _Remark("error", (*path, "absolute_form"), command.name, message)


def _verify(profile: Profile) -> Iterator[_Remark]:
    for path, command in _commands(profile):
        verify = command.verify
        if verify is None:
            continue
        setting = profile.setting(verify.setting)
        if (
            verify.tolerance is not None
            and setting.step is not None
            and Decimal(verify.tolerance) < Decimal(setting.step) / 2
        ):
            message = (
                f"tolerance {verify.tolerance} is finer than '{setting.name}' can tell "
                f"(step {setting.step}), so a value that was applied would look wrong"
            )
            yield _Remark("error", (*path, "verify", "tolerance"), command.name, message)
        if setting.other_writers:
            message = (
                f"others write '{setting.name}' too, so a reading proves nothing and 'verify' is not used"
            )
            yield _Remark("warning", (*path, "verify"), command.name, message)
        elif command.effect_class is EffectClass.CUMULATIVE and not _stops_known(profile, command):
            message = (
                f"'{setting.name}' states neither 'min' and 'max' nor 'clamps: false', and 'expect' has no "
                "clamp: an unchanged reading could be a stop, so silence ends in doubt"
            )
            yield _Remark("warning", (*path, "verify"), command.name, message)


def _stops_known(profile: Profile, command: Command) -> bool:
    """Tell whether an unchanged reading can prove that nothing happened (CATALOG.md, section 2)."""
    verify = command.verify
    if verify is None or clamps(verify.expect):
        return True
    setting = profile.setting(verify.setting)
    unordered = setting.type not in ("int", "decimal")
    return unordered or setting.clamps is False or (setting.min is not None and setting.max is not None)


def _replies(profile: Profile) -> Iterator[_Remark]:
    line = profile.line
    if line is None:
        return
    for path, command in _commands(profile):
        sample = _sample(command)
        if not line.echo and sample is not None and re.fullmatch(line.ack, sample):
            message = (
                f"line.ack matches the request itself ({sample!r}): an echo on the line would pass for an "
                "answer and a lost command for applied"
            )
            yield _Remark("error", (*path, "send"), command.name, message)
    alike = [setting.name for setting in profile.settings.values() if setting.reply is None]
    if len(alike) > 1 and profile.sequence is None:
        message = (
            f"the answers of {', '.join(alike)} look alike: after a silence the agent must wait "
            f"{profile.timing.late_s:g} s before it may believe the next one; give each its own 'reply'"
        )
        yield _Remark("warning", ("settings",), "settings", message)


def _times(profile: Profile) -> Iterator[_Remark]:
    for path, command in _commands(profile):
        if command.execution_s is not None and command.execution_s > profile.timing.reply_s:
            stated = "reply_s" if profile.timing.reply_given else "the default reply_s"
            message = (
                f"it may take {command.execution_s:g} s but {stated} is {profile.timing.reply_s:g} s: "
                "a slow execution would look like silence"
            )
            yield _Remark("warning", (*path, "execution_s"), command.name, message)


def _links(profile: Profile) -> Iterator[_Remark]:
    for path, command in _commands(profile):
        if command.kind is Kind.LINK and command.confirm is None:
            message = "no 'confirm': the device is not looked for on its new settings, so it ends in doubt"
            yield _Remark("warning", path, command.name, message)


def _commands(profile: Profile) -> Iterator[tuple[Path, Command]]:
    for index, command in enumerate(profile.commands):
        yield ("commands", index), command


def _sample(command: Command) -> str | None:
    """Return a text that the command could send, each argument as a plain number."""
    if command.send is None:
        return None
    return "".join("1" if isinstance(part, Field) else part for part in parse(command.send))


_RULES: tuple[Callable[[Profile], Iterator[_Remark]], ...] = (_head, _form, _verify, _replies, _times, _links)
