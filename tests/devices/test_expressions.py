"""Expressions: decimal arithmetic like Python's on exact fractions, and nothing else of Python."""

import contextlib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.expressions import ExpressionError, check, clamps, evaluate, names_of

NAMES: dict[str, Decimal | bool | str] = {
    "before": Decimal(10),
    "delta": Decimal("-2.5"),
    "on": True,
    "word": "x",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("before + delta", Decimal("7.5")),
        ("1 + 2 * 3 - 4", Decimal(3)),
        ("(1 + 2) * 3", Decimal(9)),
        ("10 - 3 - 2", Decimal(5)),
        ("3 - -2", Decimal(5)),
        ("-7 // 2", Decimal(-4)),
        ("-7 % 2", Decimal(1)),
        ("7 % -2", Decimal(-1)),
        ("8 / 4 / 2", Decimal(1)),
        ("0.1 + 0.2", Decimal("0.3")),
        ("clamp(before + 5, 0, 12)", Decimal(12)),
        ("clamp(before - 50, 0, 12)", Decimal(0)),
        ("min(3, before, 2)", Decimal(2)),
        ("max(3, before)", Decimal(10)),
        ("not on", False),
        ("not not on", True),
        ("word", "x"),
        ("true", True),
        ("false", False),
    ],
)
def test_values(text: str, value: Decimal | bool | str) -> None:
    """Each operator and function gives what arithmetic says."""
    result = evaluate(text, NAMES)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "empty expression"),
        ("1 +", 4, "something is missing at the end"),
        ("(1", 3, "something is missing at the end"),
        ("1)", 2, "')' does not belong here"),
        ("1 2", 3, "'2' does not belong here"),
        ("--1", 2, "'-' does not belong here"),
        ("2 ** 3", 4, "'*' does not belong here"),
        ("before.real", 7, "'.' does not belong here"),
        ("before[0]", 7, "'[' does not belong here"),
        ("before < 1", 8, "'<' does not belong here"),
        ("print(1)", 6, "'(' does not belong here"),
        ("'a'", 1, "''' does not belong here"),
        ("1e5", 1, "'1' does not belong here"),
        ("0x10", 1, "'0' does not belong here"),
        ("1_000", 1, "'1' does not belong here"),
        ("1 if on else 2", 3, "'if' does not belong here"),
        ("1 + not on", 5, "'not' does not belong here"),
        ("min", 1, "'min' is a function: min(...)"),
        ("1 + min(2)", 5, "'min' takes at least 2 values, not 1"),
        ("clamp(1, 2)", 1, "'clamp' takes 3 values, not 2"),
        ("(" * 21 + "1" + ")" * 21, 21, "nested too deeply"),
        ("1+" * 100 + "1", 201, "longer than 200 characters"),
    ],
)
def test_malformed(text: str, column: int, message: str) -> None:
    """What is no expression is refused when the profile is loaded, with the column."""
    with pytest.raises(ExpressionError) as caught:
        check(text)
    assert (caught.value.column, caught.value.message) == (column, message)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("before / 0", 8, "division by zero"),
        ("before // 0", 8, "division by zero"),
        ("before % 0", 8, "division by zero"),
        ("0 / 0", 3, "division by zero"),
        ("after + 1", 1, "'after' has no value"),
        ("1 + word", 5, "'x' is not a number"),
        ("1 + on", 5, "'true' is not a number"),
        ("not before", 1, "'not' needs on or off"),
        ("clamp(1, 3, 2)", 1, "the lower limit of clamp is above the upper one"),
        (f"{'9' * 45} * {'9' * 45}", 47, "no exact result within 80 digits"),
    ],
)
def test_no_value(text: str, column: int, message: str) -> None:
    """What has no value, or none that is exact, is an error and not a guess."""
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert (caught.value.column, caught.value.message) == (column, message)


def test_names_and_clamps() -> None:
    """A profile can be asked which names an expression needs and whether it states the stops itself."""
    assert names_of("clamp(before + delta, 0, limit) + true") == {"before", "delta", "limit"}
    assert clamps("1 + clamp(before, 0, 1)")
    assert not clamps("min(before, 1)")


literals = st.decimals(0, 99, places=2).map(lambda number: format(number, "f"))
trees = st.recursive(
    literals,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=6,
)


@given(text=trees)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_agrees_with_exact_fractions(text: str) -> None:
    """Python's own parser over exact fractions, an independent oracle, gives the same values and errors."""
    spelled = "".join(
        f"F('{word}')" if word[0].isdigit() else word
        for word in text.replace("(", "( ").replace(")", " )").split()
    )
    try:
        expected = eval(spelled, {"F": Fraction})  # noqa: S307  # our own text
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            evaluate(text, {})
        return
    result = evaluate(text, {})
    assert isinstance(result, Decimal)
    assert Fraction(result) == expected


@given(text=st.text(alphabet="ab1.0+-*/%()<, nothclampmin_'[]", max_size=30))
@settings(derandomize=True, max_examples=500, deadline=None)
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    """Nothing but ExpressionError is ever raised."""
    with contextlib.suppress(ExpressionError):
        evaluate(text, {"a": Decimal(2), "b": True})
