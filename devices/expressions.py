"""What value does an expression of a profile give?

Arithmetic over names (`before`, arguments, settings) with `+ - * / // %`, `not`, `min`, `max`, `clamp(x, lo,
hi)`, parentheses, decimal literals, `true` and `false` (CATALOG.md, section 4). Rules: decimals, never
floats; `//` and `%` round down as in Python; a result that cannot be exact is an error, except of `/`;
nothing else of Python exists here: no attribute, call, comparison, power or text operation, so that a profile
cannot run code or burn memory.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from types import MappingProxyType

Value = Decimal | bool | str

LENGTH_MAX = 200
DEPTH_MAX = 20
DIGITS = 80

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)(?![0-9A-Za-z_.])|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>//|[-+*/%(),]))"
)
_TRAPS = [InvalidOperation, DivisionByZero, Overflow]
_EXACT = Context(prec=DIGITS, traps=[*_TRAPS, Inexact])
_ROUNDED = Context(prec=DIGITS, traps=_TRAPS)


class ExpressionError(ValueError):
    """An expression is malformed or gives no value; `column` counts from 1 within the expression."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message, column)
        self.message = message
        self.column = column

    def __str__(self) -> str:
        return f"{self.message} (column {self.column})"


@dataclass(frozen=True, slots=True)
class _Node:
    """An operator or function over its operands, or a leaf: a `literal` or a name."""

    what: str
    column: int
    operands: tuple["_Node", ...] = ()
    literal: Decimal | bool | None = None


def _floor_divide(a: Decimal, b: Decimal) -> Decimal:
    quotient = _EXACT.divide_int(a, b)
    remainder = _EXACT.subtract(a, _EXACT.multiply(quotient, b))
    return _EXACT.subtract(quotient, Decimal(1)) if remainder and (remainder < 0) != (b < 0) else quotient


def _modulo(a: Decimal, b: Decimal) -> Decimal:
    return _EXACT.subtract(a, _EXACT.multiply(_floor_divide(a, b), b))


def _clamp(x: Decimal, low: Decimal, high: Decimal) -> Decimal:
    if low > high:
        raise ValueError("the lower limit of clamp is above the upper one")
    return max(low, min(x, high))


_OPERATIONS: Mapping[str, Callable[..., Decimal]] = MappingProxyType(
    {
        "+": _EXACT.add,
        "-": _EXACT.subtract,
        "*": _EXACT.multiply,
        "/": _ROUNDED.divide,
        "//": _floor_divide,
        "%": _modulo,
        "negative": _EXACT.minus,
        "positive": _EXACT.plus,
        "min": min,
        "max": max,
        "clamp": _clamp,
    }
)
_FUNCTIONS = MappingProxyType({"min": (2, LENGTH_MAX), "max": (2, LENGTH_MAX), "clamp": (3, 3)})
_LITERALS = MappingProxyType({"true": True, "false": False})
RESERVED = frozenset({*_FUNCTIONS, *_LITERALS, "not"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise ExpressionError(f"'{text[column - 1]}' does not belong here", column)
        yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1)
        at = match.end()
    yield _Token("end", "", end + 1)


class _Parser:
    """Recursive descent; every method leaves `self.next` at the first token that it did not take."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.next = next(self._tokens)
        self._depth = 0

    def take(self) -> _Token:
        token = self.next
        if token.kind != "end":
            self.next = next(self._tokens)
        return token

    def whole(self) -> _Node:
        node = self.expression()
        if self.next.kind != "end":
            raise self.unexpected()
        return node

    def unexpected(self) -> ExpressionError:
        what = (
            f"'{self.next.text}' does not belong here"
            if self.next.text
            else "something is missing at the end"
        )
        return ExpressionError(what, self.next.column)

    def expression(self) -> _Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ExpressionError("nested too deeply", self.next.column)
        if self.next.text == "not":
            column = self.take().column
            node = _Node("not", column, (self.expression(),))
        else:
            node = self.chain(("+", "-"), lambda: self.chain(("*", "/", "//", "%"), self.signed))
        self._depth -= 1
        return node

    def chain(self, signs: tuple[str, ...], operand: Callable[[], _Node]) -> _Node:
        node = operand()
        while self.next.text in signs:
            sign = self.take()
            node = _Node(sign.text, sign.column, (node, operand()))
        return node

    def signed(self) -> _Node:
        if self.next.text not in ("+", "-"):
            return self.atom()
        sign = self.take()
        return _Node("negative" if sign.text == "-" else "positive", sign.column, (self.atom(),))

    def atom(self) -> _Node:
        if self.next.text == "(":
            self.take()
            node = self.expression()
            self.close()
            return node
        if self.next.kind == "number":
            token = self.take()
            return _Node("number", token.column, literal=Decimal(token.text))
        if self.next.kind != "name" or self.next.text == "not":
            raise self.unexpected()
        token = self.take()
        if token.text in _FUNCTIONS:
            return self.call(token)
        return _Node(token.text, token.column, literal=_LITERALS.get(token.text))

    def call(self, function: _Token) -> _Node:
        if self.next.text != "(":
            raise ExpressionError(f"'{function.text}' is a function: {function.text}(...)", function.column)
        self.take()
        operands = [self.expression()]
        while self.next.text == ",":
            self.take()
            operands.append(self.expression())
        self.close()
        least, most = _FUNCTIONS[function.text]
        if not least <= len(operands) <= most:
            count = str(least) if least == most else f"at least {least}"
            raise ExpressionError(
                f"'{function.text}' takes {count} values, not {len(operands)}", function.column
            )
        return _Node(function.text, function.column, tuple(operands))

    def close(self) -> None:
        if self.next.text != ")":
            raise self.unexpected()
        self.take()


@lru_cache(maxsize=256)
def _parse(text: str) -> _Node:
    if len(text) > LENGTH_MAX:
        raise ExpressionError(f"longer than {LENGTH_MAX} characters", LENGTH_MAX + 1)
    if not text.strip():
        raise ExpressionError("empty expression", 1)
    return _Parser(text).whole()


def _walk(node: _Node) -> Iterator[_Node]:
    yield node
    for operand in node.operands:
        yield from _walk(operand)


def check(text: str) -> None:
    """Raise ExpressionError unless `text` is a well-formed expression."""
    _parse(text)


def names_of(text: str) -> frozenset[str]:
    """Return the names whose values the expression needs; ExpressionError if it is malformed."""
    return frozenset(node.what for node in _walk(_parse(text)) if not node.operands and node.literal is None)


def clamps(text: str) -> bool:
    """Tell whether the expression itself states the stops of the device, by `clamp(...)`."""
    return any(node.what == "clamp" for node in _walk(_parse(text)))


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Return the value of an expression.

    Args:
        text: the expression.
        names: a value for each name in it; numbers as Decimal.

    Raises:
        ExpressionError: malformed, a name without a value, a value of the wrong sort, division by zero, a
            result that is not exact within 80 digits (except of `/`).
    """
    return _value(_parse(text), names)


def _value(node: _Node, names: Mapping[str, Value]) -> Value:
    if node.literal is not None:
        return node.literal
    if not node.operands:
        if node.what not in names:
            raise ExpressionError(f"'{node.what}' has no value", node.column)
        return names[node.what]
    values = [_value(operand, names) for operand in node.operands]
    if node.what == "not":
        if not isinstance(values[0], bool):
            raise ExpressionError("'not' needs on or off", node.column)
        return not values[0]
    numbers = []
    for operand, value in zip(node.operands, values, strict=True):
        if not isinstance(value, Decimal) or not value.is_finite():
            shown = str(value).lower() if isinstance(value, bool) else value
            raise ExpressionError(f"'{shown}' is not a number", operand.column)
        numbers.append(value)
    try:
        return _OPERATIONS[node.what](*numbers)
    except (DivisionByZero, ZeroDivisionError):
        raise ExpressionError("division by zero", node.column) from None
    except DecimalException as error:
        # 0 / 0 and 0 % 0 are reported as an invalid operation, not as a division by zero.
        by_zero = node.what in ("/", "//", "%") and not numbers[1]
        message = "division by zero" if by_zero else f"no exact result within {DIGITS} digits"
        raise ExpressionError(message, node.column) from error
    except ValueError as error:
        raise ExpressionError(str(error), node.column) from None
