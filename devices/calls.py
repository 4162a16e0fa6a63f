"""Which command of the catalog do these words mean, and what text leaves?

Rules (CLI.md, section 1): the longest `name` whose words stand at the front, letter by letter; the beginning
of a name never stands for the name; what follows are the arguments in order or as `name=value`. Everything is
checked before any
connection: count, type, range, step. Numbers stay decimal text. A secret argument is never typed but referred to, as
`env:NAME` or `file:PATH`; the text has the reference in braces where the device gets the value, and what was typed for
a secret is never quoted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from devices import templates, values
from devices.kinds import CLASS_OF, Kind, Policy
from devices.problems import UsageProblem, did_you_mean
from devices.profile import Argument, Command, Profile

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:(?:/|~/).+")


FITTING_MAX = 5
"""Commands that fit what was typed: so many are named."""


@dataclass(frozen=True, slots=True)
class Call:
    """A command with its arguments.

    Attributes:
        command: from the profile, or the nameless one of `raw`.
        args: (name, canonical text) in the declared order; of a secret `marked(reference)`.
        text: what the device is told, but for its secrets; for dialects without texts the words themselves.
        secrets: the references in the text, each once.
    """

    command: Command
    args: tuple[tuple[str, str], ...]
    text: str
    secrets: tuple[str, ...] = ()


def marked(reference: str) -> str:
    """What stands in a text for the value of a secret."""
    return f"{{{reference}}}"


def resolve(profile: Profile, words: Sequence[str]) -> Call:
    """Match typed words to a command and its arguments.

    A single word that holds blanks is taken apart first, so that `"ADJUST offset +5"` in quotes works too.

    Raises:
        UsageProblem: unknown or abbreviated command, wrong count, wrong type, out of range.
    """
    words = words[0].split() if len(words) == 1 else list(words)
    if not words:
        raise UsageProblem("no command given", _known_commands(profile))
    command = _longest_match(profile, words)
    if command is None:
        raise _unknown(profile, words)
    call = _bound(command, _assigned(command, words[len(command.name.split()) :]))
    if profile.dialect == "modbus" and not call.secrets:
        _check_registers(call)
    return call


def _check_registers(call: Call) -> None:
    """Raise UsageProblem where a register cannot hold a value; a secret's is not known before the command leaves."""
    from protocol.modbus.requests import request_of

    try:
        request_of(call.text)
    except ValueError as error:
        hint = f"Type: {usage(call.command)}" if call.command.in_catalog else "Such as fc06 0x0010 u16 30"
        raise UsageProblem(f"{call.command.name}: {error}", hint) from None


def raw(profile: Profile, text: str) -> Call:
    """Return the call of a text that the catalog does not know: cumulative, sent once, never again.

    Raises:
        UsageProblem: empty, or a control character, which could hide a second command; for Modbus also no request.
    """
    if not text.strip():
        raise UsageProblem("no text to send")
    if templates.is_control(text):
        raise UsageProblem("a raw command must be one line without control characters")
    command = Command(
        name=text,
        kind=Kind.TRIGGER,
        effect_class=CLASS_OF[Kind.TRIGGER],
        policy=Policy.NO_RETRY,
        in_catalog=False,
    )
    call = Call(command, (), text)
    if profile.dialect == "modbus":
        _check_registers(call)
    return call


def usage(command: Command) -> str:
    """Return what a person types: the name and each argument with its type, range and unit."""
    return " ".join(
        [command.name, *(f"<{argument.name}: {describe(argument)}>" for argument in command.args)]
    )


def describe(argument: Argument) -> str:
    """Return the type, range and unit of an argument in words, e.g. `int, -50 to 50 s`."""
    if argument.secret:
        return "env:NAME or file:PATH"
    allowed = values.enum_values(argument.type)
    text = " or ".join(allowed) if allowed else argument.type
    limits = _range(argument)
    unit = f" {argument.unit}" if argument.unit else ""
    return f"{text}, {limits}{unit}" if limits else f"{text}{unit}"


def _bound(command: Command, given: Mapping[str, str]) -> Call:
    """Return the call with a typed text for each argument, checked and in canonical form."""
    args = tuple(
        (argument.name, _checked(command, argument, given[argument.name])) for argument in command.args
    )
    if command.send is None:
        text = " ".join([command.name, *(value for _, value in args)])
        return Call(command, args, text, _secrets(command, dict(args), [name for name, _ in args], text))
    try:
        text = templates.render(command.send, dict(args))
    except templates.TemplateError as error:
        raise UsageProblem(f"{command.name}: {error}") from None
    fields = [part.name for part in templates.parse(command.send) if isinstance(part, templates.Field)]
    return Call(command, args, text, _secrets(command, dict(args), fields, text))


def _secrets(command: Command, args: Mapping[str, str], fields: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the references of a call; `fields` are the arguments as they stand in the text.

    Raises UsageProblem where one stands where no secret is meant: the device would get the value there too.
    """
    marks = {argument.name: args[argument.name] for argument in command.args if argument.secret}
    meant = [marks[name] for name in fields if name in marks]
    for mark in meant:
        if text.count(mark) != meant.count(mark):
            raise UsageProblem(f"{command.name}: {mark} may stand only where the secret does")
    return tuple(mark[1:-1] for mark in dict.fromkeys(meant))


def _longest_match(profile: Profile, words: Sequence[str]) -> Command | None:
    matches = [
        command
        for command in profile.commands
        if list(words[: len(command.name.split())]) == command.name.split()
    ]
    return max(matches, key=lambda command: len(command.name.split()), default=None)


def _unknown(profile: Profile, words: Sequence[str]) -> UsageProblem:
    """Say that no command matches, with those that the words begin, or the one that they come nearest to.

    Where commands take secrets only the first word is looked at: those behind it may be one.
    """
    if takes_secrets(profile):
        words = words[:1]
    begun = [command.name for command in profile.commands if _begin(words, command.name.split())]
    if begun:
        longest = max(len(name.split()) for name in begun)
        return UsageProblem(f"unknown command '{' '.join(words[:longest])}'", _did_you_mean_one_of(begun))
    lengths = sorted({len(command.name.split()) for command in profile.commands}, reverse=True)
    names = [command.name for command in profile.commands]
    for length in lengths:
        hint = did_you_mean(" ".join(words[:length]), names)
        if hint is not None:
            return UsageProblem(f"unknown command '{' '.join(words[:length])}'", hint)
    return UsageProblem(f"unknown command '{' '.join(words)}'", _known_commands(profile))


def _begin(words: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether each word that stands where a part of a name does is that part or its beginning, in any case."""
    return all(part.casefold().startswith(word.casefold()) for part, word in zip(parts, words, strict=False))


def _did_you_mean_one_of(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:FITTING_MAX]]
    if len(names) > FITTING_MAX:
        shown.append(f"one of {len(names) - FITTING_MAX} more")
    *front, last = shown
    return f"Did you mean {', '.join(front)} or {last}?" if front else f"Did you mean {last}?"


def as_settings(profile: Profile, words: Sequence[str]) -> list[str]:
    """Return the words of `ackonce set` where that is what was typed: NAME=VALUE of settings, perhaps behind SET.

    Empty where it was not, or where a value may be a secret.
    """
    pairs = list(words[1:] if words[:1] and words[0].upper() == "SET" else words)
    fits = all(
        equals and value and name in profile.settings
        for name, equals, value in (pair.partition("=") for pair in pairs)
    )
    return pairs if fits and not takes_secrets(profile) else []


def takes_secrets(profile: Profile) -> bool:
    """Whether any argument of its commands is a secret, so that typed words may hold one."""
    return any(argument.secret for command in profile.commands for argument in command.args)


def _known_commands(profile: Profile) -> str:
    return f"Commands of {profile.name}: {', '.join(command.name for command in profile.commands)}"


def _assigned(command: Command, words: Sequence[str]) -> dict[str, str]:
    """Give each word to an argument: `name=value` by name, the others to the free arguments in order."""
    names = [argument.name for argument in command.args]
    given: dict[str, str] = {}
    in_order: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in names:
            in_order.append(word)
        elif name in given:
            raise UsageProblem(f"{command.name}: '{name}' is given twice", f"Type: {usage(command)}")
        else:
            given[name] = value
    free = [name for name in names if name not in given]
    if len(in_order) != len(free):
        count = len(in_order) + len(given)
        takes = f"{len(names)} argument{'' if len(names) == 1 else 's'}" if names else "no argument"
        raise UsageProblem(f"{command.name} takes {takes}, {count} given", f"Type: {usage(command)}")
    return given | dict(zip(free, in_order, strict=True))


def _checked(command: Command, argument: Argument, raw_text: str) -> str:
    where = f"{command.name}: {argument.name}"
    if templates.is_control(raw_text):
        raise UsageProblem(f"{where} must not hold control characters")
    if argument.secret:
        if not _REFERENCE.fullmatch(raw_text):
            hint = "Give it by reference: env:NAME, or file: and the whole path, as in file:~/meter.key"
            raise UsageProblem(f"{where} is a secret, which is never typed", hint)
        return marked(raw_text)
    try:
        value = values.normalise(argument.type, raw_text)
    except ValueError as error:
        hint = did_you_mean(raw_text, values.enum_values(argument.type) or ()) or f"Type: {usage(command)}"
        name, equals, meant = raw_text.partition("=")
        near = [each.name for each in command.args if equals and did_you_mean(name, [each.name])]
        hint = f"Did you mean {near[0]}={meant}? {hint}" if near else hint
        raise UsageProblem(f"{where} is {error}", hint) from None
    if argument.type not in ("int", "decimal"):
        return value
    number = Decimal(value)
    unit = f" {argument.unit}" if argument.unit else ""
    too_low = argument.min is not None and number < argument.min
    if too_low or (argument.max is not None and number > argument.max):
        raise UsageProblem(f"{where} must be {_range(argument)}{unit}, not {value}")
    if argument.step is not None and (number - (argument.min or 0)) % Decimal(argument.step):
        raise UsageProblem(f"{where} goes in steps of {argument.step}{unit}, {value} lies between")
    return value


def _range(argument: Argument) -> str:
    low, high = argument.min, argument.max
    if low is not None and high is not None:
        return f"{values.plain(low)} to {values.plain(high)}"
    if low is not None:
        return f"at least {values.plain(low)}"
    return f"at most {values.plain(high)}" if high is not None else ""
