"""Does what a profile says in one place agree with what it says in another?

Every check here refuses to load (CATALOG.md, section 4): unknown names, contradictions, texts that cannot be
used. A check yields `Misfit`s and goes on, so that all problems of a file are seen at once. Commands have
their own file, `command_checks`. What is merely unwise is `lint`'s.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from devices.command_checks import COMMAND_CHECKS, limits
from devices.kinds import CLASS_OF, EffectClass
from devices.misfit import Misfit, bad_name, bad_pattern, bad_text, bad_type, unknown_name
from devices.profile import Line
from devices.register_checks import register_misfits, setting_named
from devices.registers import value_type
from devices.schema import CommandSection, ProfileFile, SettingSection
from devices.source import Path
from devices.templates import TemplateError, is_control, may_give, names_of
from devices.values import check_type, normalise

EOL_LENGTH_MAX = 4
NAME_FORM = "vendor/model in letters, digits and . _ + -"
RUN_PLACEHOLDERS = frozenset({"device", "command", "url"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*/[A-Za-z0-9][A-Za-z0-9_.+-]*")
_ESCAPES = re.compile(r"(?:\\[rn])+")
_WORD = re.compile(r"[0-9A-Za-z]{2}")
_FIRMWARE = re.compile(r"(?:>=|<=|==|>|<)[0-9A-Za-z.]+(?:\s*,\s*(?:>=|<=|==|>|<)[0-9A-Za-z.]+)*")

# Sections that only one dialect understands.
_OWNERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "line": frozenset({"line"}),
        "sequence": frozenset({"line"}),
        "modbus": frozenset({"modbus"}),
        "run": frozenset({"exec"}),
    }
)


def is_profile_name(text: str) -> bool:
    """Tell whether a text can be the `profile` key: vendor/model."""
    return _NAME.fullmatch(text) is not None


def misfits(file: ProfileFile) -> list[Misfit]:
    """Return everything in the file that contradicts itself."""
    found = [misfit for check in _CHECKS for misfit in check(file)]
    for index, command in enumerate(file.commands):
        found += [misfit for check in COMMAND_CHECKS for misfit in check(file, command, ("commands", index))]
    return found


def _head(file: ProfileFile) -> Iterator[Misfit]:
    if not is_profile_name(file.profile):
        yield Misfit(("profile",), f"'{file.profile}' must be {NAME_FORM}")
    if file.firmware is not None and not _FIRMWARE.fullmatch(file.firmware):
        yield Misfit(("firmware",), f"'{file.firmware}' must be limits such as >=1.2,<2")
    yield from bad_text(("boot_read",), file.boot_read)
    yield from bad_pattern(("boot_reply",), file.boot_reply, ("value",))
    if file.identity is not None:
        yield from bad_text(("identity", "read"), file.identity.read)
        yield from _placeholders(("identity", "expect"), file.identity.expect, frozenset({"serial"}))
        yield from bad_pattern(("identity", "reply"), file.identity.reply, ("value",))


def _sections(file: ProfileFile) -> Iterator[Misfit]:
    for section, dialects in _OWNERS.items():
        if section in file.model_fields_set and file.dialect not in dialects:
            yield Misfit((section,), f"dialect {file.dialect} has no '{section}'", key=True)
    if file.dialect == "exec" and not file.run:
        yield Misfit(("dialect",), "dialect exec needs 'run', the program and its arguments")
    for index, word in enumerate(file.run):
        yield from _placeholders(("run", index), word, RUN_PLACEHOLDERS)


def _line(file: ProfileFile) -> Iterator[Misfit]:
    line = file.line
    if line is None:
        return
    for name in ("ack", "nak", "busy", "boot", "prompt"):
        yield from bad_pattern(("line", name), getattr(line, name))
    for index, notice in enumerate(line.notice):
        yield from bad_pattern(("line", "notice", index), notice)
    if line.eol is not None:
        yield from _eol(line.eol)


def _eol(eol: str) -> Iterator[Misfit]:
    r"""Refuse a line end that is spelled: single quotes make text of `\r\n`, and no line ends in the word CRLF."""
    path = ("line", "eol")
    if "\\" in eol or (_WORD.search(eol) and not is_control(eol)):
        own = eol if _ESCAPES.fullmatch(eol) else r"\r\n"
        message = f"'{eol}' would be sent letter by letter, it is no line end"
        yield Misfit(path, message, f'Write it in double quotes: "{own}"')
    elif len(eol) > EOL_LENGTH_MAX:
        yield Misfit(path, f"longer than {EOL_LENGTH_MAX} characters")


def _sequence(file: ProfileFile) -> Iterator[Misfit]:
    sequence = file.sequence
    if sequence is None:
        return
    wanted = {"seq", "command"} | ({"check"} if sequence.checksum is not None else set())
    yield from _placeholders(("sequence", "wrap"), sequence.wrap, frozenset(wanted), all_needed=True)
    yield from bad_pattern(("sequence", "reply"), sequence.reply, ("seq", "rest"))
    rejects = sequence.on_duplicate == "reject_with_last_seq"
    if rejects and sequence.last_seq is None:
        yield Misfit(
            ("sequence",), "reject_with_last_seq needs 'last_seq', the pattern that names the number"
        )
    if sequence.last_seq is not None:
        if not rejects:
            yield Misfit(("sequence", "last_seq"), "only reject_with_last_seq has 'last_seq'", key=True)
        yield from bad_pattern(("sequence", "last_seq"), sequence.last_seq, ("next",))


def _settings(file: ProfileFile) -> Iterator[Misfit]:
    for name, setting in file.settings.items():
        path = ("settings", name)
        yield from bad_name(path, "setting", name, key=True)
        yield from bad_text((*path, "read"), setting.read)
        yield from _setting_type(file, setting, path)
        yield from _at_start(file, setting, path)
        if file.dialect == "modbus":
            yield from register_misfits(file, setting, path)
        else:
            yield from _text_setting(setting, path)
            yield from _reply(file, setting, path)


def _at_start(file: ProfileFile, setting: SettingSection, path: Path) -> Iterator[Misfit]:
    if setting.at_start is None:
        return
    if setting.durable:
        yield Misfit(
            (*path, "at_start"),
            "a durable setting survives a restart, so nothing puts it to 'at_start'",
            key=True,
        )
    try:
        kind = value_type(setting.type, setting.scale) if file.dialect == "modbus" else setting.type
        normalise(kind, setting.at_start)
    except ValueError as error:
        yield Misfit((*path, "at_start"), f"no value of this setting: {error}")


def _setting_type(file: ProfileFile, setting: SettingSection, path: Path) -> Iterator[Misfit]:
    here = (*path, "type")
    kind = setting.type
    try:
        if file.dialect == "modbus":
            kind = value_type(setting.type, setting.scale)
    except ValueError as error:
        yield Misfit(here, str(error))
        return
    try:
        check_type(kind)
    except ValueError as error:
        yield bad_type(here, kind, error)
        return
    yield from limits(path, kind, setting)


def _text_setting(setting: SettingSection, path: Path) -> Iterator[Misfit]:
    if setting.read is None:
        yield Misfit(path, "'read' is missing: a setting is what can be read back")
    for key in ("table", "address", "scale", "bit", "sentinels"):
        if getattr(setting, key) not in (None, []):
            yield Misfit((*path, key), f"only dialect modbus has '{key}'", key=True)


def _reply(file: ProfileFile, setting: SettingSection, path: Path) -> Iterator[Misfit]:
    """Check how the value is found: an LSQ1 answer and a script's output may be the value themselves."""
    if file.dialect == "lsq":
        if setting.reply is not None:
            yield Misfit(
                (*path, "reply"), "LSQ1 carries the value alone, it has no 'reply' pattern", key=True
            )
        return
    yield from bad_pattern((*path, "reply"), setting.reply, ("value",))
    ack = (file.line and file.line.ack) or Line().ack
    if file.dialect == "line" and setting.reply is None and "(?P<value>" not in ack:
        yield Misfit(
            path, "no way to find the value: neither its own 'reply' nor line.ack has (?P<value>...)"
        )


def _own_readings(file: ProfileFile) -> Iterator[Misfit]:
    """Check that the answers to `boot_read` and to the identity's question can be read."""
    ack = (file.line and file.line.ack) or Line().ack
    if file.dialect != "line" or "(?P<value>" in ack:
        return
    asked: list[tuple[Path, str | None]] = []
    if file.boot_reply is None:
        asked.append((("boot_read",), file.boot_read))
    if file.identity is not None and file.identity.reply is None:
        asked.append((("identity", "read"), file.identity.read))
    for path, text in asked:
        if text is not None:
            yield Misfit(
                path,
                "no way to find the value of the answer: neither a 'reply' of its own nor line.ack has (?P<value>...)",
                "Give 'identity' a reply, or beside boot_read a boot_reply, such as '^ID (?P<value>.+)$'",
            )


def _settings_read(file: ProfileFile) -> Iterator[Misfit]:
    """Check that where Modbus asks for something by name, a setting of that name says how."""
    if file.dialect != "modbus":
        return
    for path, name in _reads(file):
        if path[0] != "settings":
            yield from setting_named(file, path, name)
    if file.boot_reply is not None:
        yield Misfit(("boot_reply",), "dialect modbus has no 'boot_reply' pattern", key=True)
    if file.identity is not None and file.identity.reply is not None:
        yield Misfit(("identity", "reply"), "dialect modbus has no 'reply' pattern", key=True)


def _reads_change_nothing(file: ProfileFile) -> Iterator[Misfit]:
    """A read-back that pops or clears something would destroy the evidence that it looks for.

    A Modbus function that reads is never one that writes, so there nothing can be told from the texts.
    """
    if file.dialect == "modbus":
        return
    changing = [command for command in file.commands if CLASS_OF[command.kind] is EffectClass.CUMULATIVE]
    for path, text in _reads(file):
        for command in changing:
            types = {argument.name: argument.type for argument in command.args}
            if may_give(_template(command), types, text):
                message = f"reading with '{text}' changes the device: it is the command '{command.name}'"
                yield Misfit(path, message)
                break


def _reads(file: ProfileFile) -> Iterator[tuple[Path, str]]:
    reads: list[tuple[Path, str | None]] = [(("boot_read",), file.boot_read)]
    reads += [(("settings", name, "read"), setting.read) for name, setting in file.settings.items()]
    if file.identity is not None:
        reads.append((("identity", "read"), file.identity.read))
    for index, command in enumerate(file.commands):
        if command.confirm is not None:
            reads.append((("commands", index, "confirm", "read"), command.confirm.read))
    yield from ((path, text) for path, text in reads if text is not None)


def _template(command: CommandSection) -> str:
    """Return what is sent; a script without a text of its own is told the words themselves."""
    if command.send is not None:
        return command.send
    return " ".join([command.name, *(f"{{{argument.name}}}" for argument in command.args)])


def _command_names(file: ProfileFile) -> Iterator[Misfit]:
    seen: set[str] = set()
    for index, command in enumerate(file.commands):
        path = ("commands", index, "name")
        if command.name != " ".join(command.name.split()) or "=" in command.name:
            yield Misfit(path, f"'{command.name}' must be words with single blanks between, without =")
        yield from bad_text(path, command.name)
        if command.name in seen:
            yield Misfit(path, f"the command '{command.name}' is given twice")
        seen.add(command.name)


def _placeholders(
    path: Path, text: str, known: frozenset[str], *, all_needed: bool = False
) -> Iterator[Misfit]:
    try:
        names = names_of(text)
    except TemplateError as error:
        yield Misfit(path, str(error))
        return
    for name in sorted(names - known):
        yield unknown_name(path, "placeholder", name, sorted(known))
    for name in sorted(known - names) if all_needed else ():
        yield Misfit(path, f"'{{{name}}}' is missing")


_CHECKS: tuple[Callable[[ProfileFile], Iterator[Misfit]], ...] = (
    _head,
    _sections,
    _line,
    _sequence,
    _settings,
    _own_readings,
    _settings_read,
    _command_names,
    _reads_change_nothing,
)
