"""What would equipment do that is exactly what its profile says?

This machine believes the profile. It knows nothing of the real equipment: each effect, range, durability and answer is
the profile's own claim. So a run against it shows what the profile's *evidence* is worth where messages are lost, and
never whether the profile is right. Whether a reset really counts in `resets` only the equipment can tell.

| command | what it does here |
|---|---|
| with `verify` | its setting becomes what `expect` gives |
| with `absolute_form` | the setting of that form becomes what `value` gives |
| absolute, with a `setting` and one argument | the setting becomes the argument |
| anything else | nothing but an entry in the ledger |

Values stop where `min` and `max` are stated. A restart puts back what is not `durable`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from devices import templates
from devices.calls import Call
from devices.expressions import Value, evaluate
from devices.kinds import EffectClass
from devices.misfit import BEFORE
from devices.profile import Command, Profile, Setting
from devices.samples import values_of
from devices.values import normalise, operand, plain, text_of
from simulator.equipment import Result, Verdict

_FREE_START = Decimal(10)
_BASES = {"x": 16, "X": 16}


def start_values(profile: Profile, command: Command) -> dict[str, str]:
    """A value inside its range for each setting, and the one that the command's `mode` asks for."""
    start = {setting.name: _start(setting) for setting in profile.settings.values()}
    if command.mode is not None:
        start[command.mode.setting] = command.mode.value
    return start


def _start(setting: Setting) -> str:
    if setting.type not in ("int", "decimal"):
        return values_of(setting)[-1]
    low, high = setting.min, setting.max
    step = Decimal(setting.step or (1 if setting.type == "int" else "0.1"))
    if low is not None and high is not None:
        try:
            return plain(low + (high - low) / 2 // step * step)
        except InvalidOperation:  # more steps than can be counted
            return plain(low)
    if low is not None:
        return plain(low + _FREE_START * step)
    return plain(_FREE_START * step if high is None else high - _FREE_START * step)


class ClaimedMachine:
    """Equipment as its profile claims it to be, with canonical texts for values."""

    def __init__(
        self, profile: Profile, serial: str, start: Mapping[str, str], asked: Call | None = None
    ) -> None:
        """Fresh, in its first boot.

        Args:
            profile: what it is.
            serial: its number, as `identity` shows it.
            start: the value of each setting, to which it falls back where it is volatile.
            asked: a call whose text need not be read, because it is known.
        """
        self._profile = profile
        self._start = dict(start)
        self._now = dict(start)
        self._boots = 1
        self._asked = asked
        self._who = profile.identity.expect.replace("{serial}", serial) if profile.identity else ""
        self._queries = {s.read: s.name for s in profile.settings.values() if s.read is not None}

    def execute(self, text: str) -> Result:
        """Carry out one command; the answer is the first value that it changed, empty where there is none."""
        known = self._asked
        if known is not None and text == known.text:
            found: tuple[Command, Mapping[str, str]] | None = known.command, dict(known.args)
        else:
            found = command_of(self._profile, text)
        if found is None:
            return Result(Verdict.BAD_COMMAND, "no such command")
        after = self.foretold(*found)
        self._now |= after
        return Result(Verdict.OK, next(iter(after.values()), ""))

    def foretold(self, command: Command, args: Mapping[str, str]) -> dict[str, str]:
        """What the settings that a command changes would be after it."""
        wanted: dict[str, str] = {}
        if command.verify is not None:
            wanted[command.verify.setting] = command.verify.expect
        form = command.absolute_form
        if form is not None:
            setting = self._profile.command(form.command).setting
            if setting is not None:
                wanted.setdefault(setting, form.value)
        is_set = command.effect_class is EffectClass.IDEMPOTENT and command.setting is not None
        if is_set and len(args) == 1 and command.setting is not None:
            wanted.setdefault(command.setting, next(iter(args)))
        types = {argument.name: argument.type for argument in command.args}
        known = {name: operand(self._profile.settings[name].type, text) for name, text in self._now.items()}
        known |= {name: operand(types[name], text) for name, text in args.items()}
        after: dict[str, str] = {}
        for name, expression in wanted.items():
            text = self._computed(self._profile.settings[name], expression, known)
            if text is not None:
                after[name] = text
        return after

    def _computed(self, setting: Setting, expression: str, known: Mapping[str, Value]) -> str | None:
        before = operand(setting.type, self._now[setting.name])
        try:
            result = evaluate(expression, {**known, BEFORE: before})
            if isinstance(result, Decimal):
                result = _stopped(setting, result)
            return text_of(setting.type, result, setting.step)
        except ValueError:  # an expression that has no value here; the command has no effect that can be read
            return None

    def read(self, text: str) -> Result:
        """Answer a query of a setting, of the boots, or of the identity."""
        if text in self._queries:
            return Result(Verdict.OK, self._now[self._queries[text]])
        if text == self._profile.boot_read:
            return Result(Verdict.OK, str(self._boots))
        return Result(Verdict.OK, self._who)

    def is_query(self, text: str) -> bool:
        """Whether the profile reads with this text."""
        identity = self._profile.identity
        return text in self._queries or text in (self._profile.boot_read, identity.read if identity else None)

    def boot(self) -> None:
        """Switch off and on."""
        self._boots += 1
        for name, setting in self._profile.settings.items():
            if not setting.durable:
                self._now[name] = self._start[name]

    def put(self, name: str, number: int) -> None:
        """Nobody else writes here. Raises KeyError."""
        raise KeyError(name, number)

    def values(self) -> dict[str, int]:
        """Only which boot this is; values are texts here."""
        return {"boots": self._boots}

    def durable(self) -> dict[str, int]:
        """Nothing outlives the run."""
        return {}

    def restore(self, saved: Mapping[str, int]) -> None:
        """Nothing was saved. Raises ValueError."""
        if saved:
            raise ValueError("a claimed machine saves nothing")


def _stopped(setting: Setting, number: Decimal) -> Decimal:
    if setting.min is not None:
        number = max(setting.min, number)
    return number if setting.max is None else min(setting.max, number)


def command_of(profile: Profile, text: str) -> tuple[Command, Mapping[str, str]] | None:
    """The command that gives this text, with its arguments in canonical text; None where none was found."""
    for command in profile.commands:
        if command.send is None:
            continue
        match = _inverse(command.send).fullmatch(text)
        args = _arguments(command, match) if match is not None else None
        if args is not None and templates.render(command.send, args) == text:
            return command, args
    return None


@lru_cache(maxsize=512)
def _inverse(send: str) -> re.Pattern[str]:
    seen: set[str] = set()
    pattern = ""
    for part in templates.parse(send):
        if isinstance(part, str):
            pattern += re.escape(part)
        elif part.name in seen:
            pattern += ".+?"
        else:
            seen.add(part.name)
            pattern += f"(?P<{part.name}>.+?)"
    return re.compile(pattern)


def _arguments(command: Command, match: re.Match[str]) -> dict[str, str] | None:
    fields = [part for part in templates.parse(command.send or "") if not isinstance(part, str)]
    bases = {part.name: _BASES.get(part.spec[-1:], 10) for part in reversed(fields)}  # the first one is read
    args = {}
    for argument in command.args:
        raw = match[argument.name]
        try:
            text = str(int(raw, bases[argument.name])) if bases[argument.name] != 10 else raw
            args[argument.name] = normalise(argument.type, text)
        except ValueError:
            return None
    return args
