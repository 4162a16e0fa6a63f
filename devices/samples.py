"""Which values can a setting or an argument have? A few of each, to try expressions, texts and patterns on.

Samples cannot prove that something always holds; they find what never does, which is what a mistake in a profile looks
like.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from typing import Protocol

from devices.expressions import ExpressionError, evaluate, names_of
from devices.misfit import BEFORE
from devices.profile import Command, Profile, Setting
from devices.templates import TemplateError, render
from devices.values import NUMBER_LENGTH_MAX, enum_values, operand, plain, text_of

TRIES_MAX = 200
_NUMBERS = (1, 7, 0, 2, 30, -1, -7)


class Valued(Protocol):
    """What has a type and limits: a setting or an argument."""

    @property
    def type(self) -> str:
        """A type of the catalog."""

    @property
    def min(self) -> Decimal | None:
        """The least value, if there is one."""

    @property
    def max(self) -> Decimal | None:
        """The greatest value, if there is one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an expression gave: the value read before, and the value after it or why there is none."""

    before: str
    after: str | None
    problem: str | None = None

    @property
    def changes(self) -> bool:
        """Whether the value after differs from the one before."""
        return self.after is not None and self.after != self.before


def values_of(valued: Valued) -> tuple[str, ...]:
    """Return a few values in canonical text, the plainest first, the limits among them."""
    allowed = enum_values(valued.type)
    if allowed is not None:
        return allowed
    if valued.type == "bool":
        return ("true", "false")
    if valued.type == "text":
        return ("1", "abc")
    limits = [limit for limit in (valued.min, valued.max) if limit is not None]
    inside = [Decimal(number) for number in _NUMBERS if _within(Decimal(number), valued)]
    steps = [limits[0] + 1] if limits and _within(limits[0] + 1, valued) else []
    texts = dict.fromkeys(plain(number) for number in (*inside, *steps, *limits))
    return tuple(text for text in texts if len(text) <= NUMBER_LENGTH_MAX)


def outcomes(
    profile: Profile, command: Command, expression: str, result: Valued, read: Setting
) -> list[Outcome]:
    """Return what an expression gives for samples of everything that it names.

    Args:
        profile: whose settings it may name.
        command: whose arguments it may name.
        expression: well formed, with known names only.
        result: what the value is for: the setting that is read back, or an argument.
        read: the setting whose value is `before`.
    """
    valued: dict[str, Valued] = {**profile.settings, **{argument.name: argument for argument in command.args}}
    names = sorted(names_of(expression) - {BEFORE})
    others = [[(name, valued[name].type, text) for text in values_of(valued[name])] for name in names]
    found = []
    for chosen, before in islice(product(product(*others), values_of(read)), TRIES_MAX):
        known = {name: operand(kind, text) for name, kind, text in chosen}
        known[read.name] = known[BEFORE] = operand(read.type, before)
        try:
            after = text_of(result.type, evaluate(expression, known), read.step)
        except ExpressionError as error:
            found.append(Outcome(before, None, error.message))
        except ValueError as error:
            found.append(Outcome(before, None, str(error)))
        else:
            found.append(Outcome(before, after))
    return found


def texts_of(command: Command) -> Iterator[str]:
    """Yield a few texts that the command sends; none for dialects without texts."""
    if command.send is None:
        return
    rows = (values_of(argument) for argument in command.args)
    names = [argument.name for argument in command.args]
    for values in islice(product(*rows), TRIES_MAX):
        try:
            yield render(command.send, dict(zip(names, values, strict=True)))
        except TemplateError:
            continue  # a value that its format cannot carry, such as 0.5 as .0f


def _within(number: Decimal, valued: Valued) -> bool:
    return (valued.min is None or valued.min <= number) and (valued.max is None or number <= valued.max)
