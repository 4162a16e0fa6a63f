"""Values: one canonical text each, strict parsing, and what counts as the same."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.values import check_type, normalise, operand, same, text_of

numbers = st.decimals(-1000, 1000, places=3)


@pytest.mark.parametrize(
    ("kind", "raw", "step", "canonical"),
    [
        ("int", "030", None, "30"),
        ("int", "+5", None, "5"),
        ("int", " -0 ", None, "0"),
        ("int", "-100", "5", "-100"),
        ("decimal", "30.50", None, "30.5"),
        ("decimal", "-0.00", None, "0"),
        ("decimal", "+3.0000E+01", None, "30"),
        ("decimal", "100", None, "100"),
        ("decimal", ".5", None, "0.5"),
        ("decimal", "24.100000381469727", "0.1", "24.1"),
        ("decimal", "29.97", "0.5", "30"),
        ("decimal", "0.15", "0.05", "0.15"),
        ("decimal", "12.4", "1.0", "12"),
        ("decimal", "12.4", "10", "12"),
        ("bool", "ON", None, "true"),
        ("bool", "0", None, "false"),
        ("text", "  two words ", None, "two words"),
        ("enum(AUTO, MAN)", " MAN ", None, "MAN"),
    ],
)
def test_equal_values_have_one_text(kind: str, raw: str, step: str | None, canonical: str) -> None:
    """Whatever way a device writes a value, its canonical text is one."""
    assert normalise(kind, raw, step) == canonical


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        ("int", "0x1E", "not a whole number: '0x1E'"),
        ("int", "30 s", "not a whole number: '30 s'"),
        ("int", "30.0", "not a whole number: '30.0'"),
        ("int", "", "not a whole number: ''"),
        ("int", "1_000", "not a whole number: '1_000'"),
        ("int", "٣", "not a whole number: '٣'"),
        ("int", "9" * 65, f"not a whole number: '{'9' * 64}'"),
        ("int", "ERR 12", "not a whole number: 'ERR 12'"),
        ("decimal", "NaN", "not a number: 'NaN'"),
        ("decimal", "Infinity", "not a number: 'Infinity'"),
        ("decimal", "1e31", "not a number: '1e31'"),
        ("decimal", "1,5", "not a number: '1,5'"),
        ("decimal", ".", "not a number: '.'"),
        ("bool", "maybe", "not on or off: 'maybe'"),
        ("bool", "x" * 65, f"not on or off: '{'x' * 64}'"),
        ("enum(a, b)", "A", "not one of a, b: 'A'"),
        ("enum(a, b)", "x" * 65, f"not one of a, b: '{'x' * 64}'"),
    ],
)
def test_what_is_no_value_is_refused(kind: str, raw: str, message: str) -> None:
    """An error text or a value of another format is never taken for a value."""
    with pytest.raises(ValueError, match=r"^not ") as caught:
        normalise(kind, raw)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["float", "enum()", "enum(a,)", "enum(a, a)", "enum(a", "Int", ""])
def test_only_types_of_the_catalog(kind: str) -> None:
    """A type that the catalog does not know is refused."""
    with pytest.raises(ValueError, match=r"unknown type|needs different values"):
        check_type(kind)


@pytest.mark.parametrize(
    ("kind", "a", "b", "step", "tolerance", "expected"),
    [
        ("int", "030", "30", None, None, True),
        ("int", "30", "31", None, None, False),
        ("int", "30", "32", "5", None, True),
        ("int", "30", "33", "5", None, False),
        ("decimal", "24.1", "24.100000381", "0.1", None, True),
        ("decimal", "24.1", "24.15", "0.1", None, False),
        ("decimal", "24.1", "24.2", "0.1", None, False),
        ("decimal", "24.1", "24.11", None, None, False),
        ("decimal", "24.1", "24.3", "0.1", "0.2", True),
        ("decimal", "24.1", "24.31", "0.1", "0.2", False),
        ("text", "a ", "a", None, None, True),
        ("text", "5", "5.0", None, None, False),
        ("bool", "ON", "1", None, None, True),
    ],
)
def test_sameness(kind: str, a: str, b: str, step: str | None, tolerance: str | None, expected: bool) -> None:
    """Numbers are the same within half a step or the stated tolerance, everything else by its canonical text."""
    assert same(kind, a, b, step, tolerance) is expected
    assert same(kind, b, a, step, tolerance) is expected


@given(reading=numbers, low=numbers, step=st.sampled_from(["0.1", "0.5", "1", "5"]))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_a_reading_is_never_baseline_and_expected_at_once(reading: Decimal, low: Decimal, step: str) -> None:
    """No reading can be the same as two values that are one step apart."""
    high = low + Decimal(step)
    both = [same("decimal", str(reading), str(value), step) for value in (low, high)]
    assert both != [True, True]


@given(
    number=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=9)
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_canonical_text_keeps_the_value(number: Decimal) -> None:
    """The canonical text is the same number, and is its own canonical text."""
    text = normalise("decimal", format(number, "f"))
    assert Decimal(text) == number
    assert normalise("decimal", text) == text


@given(text=st.text(max_size=12), kind=st.sampled_from(["int", "decimal", "bool", "enum(a, b)"]))
@settings(derandomize=True, max_examples=300, deadline=None)
def test_any_text_is_a_value_or_a_value_error(text: str, kind: str) -> None:
    """Parsing raises nothing but ValueError."""
    try:
        canonical = normalise(kind, text)
    except ValueError:
        return
    assert normalise(kind, canonical) == canonical


def test_operands_of_expressions() -> None:
    """Expressions get numbers as Decimal, bool as bool, other values as their text."""
    assert operand("int", "05") == Decimal(5)
    assert operand("bool", "off") is False
    assert operand("enum(a, b)", "b") == "b"


@pytest.mark.parametrize(
    ("kind", "result", "step", "text"),
    [
        ("int", Decimal("5.0"), None, "5"),
        ("decimal", Decimal(1) / Decimal(3), "0.01", "0.33"),
        ("bool", True, None, "true"),
        ("text", "x", None, "x"),
    ],
)
def test_results_of_expressions(kind: str, result: Decimal | bool | str, step: str | None, text: str) -> None:
    """A result becomes the canonical text of the setting's type."""
    assert text_of(kind, result, step) == text


@pytest.mark.parametrize(
    ("kind", "result"), [("int", Decimal("2.5")), ("int", True), ("bool", Decimal(1)), ("int", "x")]
)
def test_results_of_another_type_are_refused(kind: str, result: Decimal | bool | str) -> None:
    """A result that is no value of the type is an error, never rounded into one."""
    with pytest.raises(ValueError, match="not a"):
        text_of(kind, result)
