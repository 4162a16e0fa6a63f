"""Which lines can two patterns share, and what does a pattern surely begin with?"""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.patterns import HEADS_MAX, LENGTH_MAX, examples, exclude, is_bound, literal_prefix

ACK = r"^OK(?: (?P<value>.*))?$"

APART = [
    (ACK, r"^ERR"),
    (ACK, r"^o=(?P<value>.*)$"),
    (ACK, r"^(?P<value>-?\d+)$"),
    (ACK, r"^(?P<value>[+-]?[0-9.]+(?:e[0-9]+)?)$"),
    (r"^OK$", r"^OK (?P<value>.+)$"),
    (r"^$", r"^OK"),
    (r"^(?:OK|DONE)$", r"^(?:ERR|FAIL)"),
    (r"^a{3}", r"^aab"),
    (r"^a*b", r"^c"),
    (r"^(?:ab)?c", r"^d"),
    (r"^[^\d]", r"^\d"),
    (r"^\S", r"^\s"),
    (r"^(?i:ok)", r"^ek"),
    (r"^\Aab", r"^ac"),
    (r"^(?=x)ab", r"^ac"),
    (r"^(?>ab)c", r"^abd"),
    ("^é", "^e"),
]
TOGETHER = [
    (ACK, ACK),
    (ACK, r"OK"),
    (ACK, r"^(?P<value>.*)$"),
    (r"ERR", ACK),
    (r"$", ACK),
    (r"x?$", ACK),
    (r"^[^\u0400-\u04ff]", "^\u0391"),
    (r"^x|y", ACK),
    (r"(?:^)?y", ACK),
    (r"^OK ?$", r"^OK$"),
    (r"^OK\b", r"^OK"),
    (r"^(?i:ok)", r"^OK"),
    (r"(?i)^[a-z]k", r"^OK"),
    (r"(?i)^s", "^\u017f"),
    (r"^a*", r"^b"),
    (r"^a?b", r"^b"),
    (r"^(a)?(?(1)b|c)", r"^c"),
    (r"^(.)\1", r"^aa"),
    (r"^a{0,2}b", r"^aab"),
    (r"^.$", "^\u0661"),
    (r"^\d", "^\u0661"),
    (r"^\w", "^\u0661"),
    (r"^\w", "^\u03b1"),
    ("^\u0661", "^\u0662"),
    (r"^[\u0400-\u04ff]", "^\u0416"),
    (r"^\D", "^\u0416"),
    (r"(?a)^\D", "^\u0661"),
    (r"(?s)^.", r"^\n"),
    (r"(?a)^\S", r"^\x1c"),
]


@pytest.mark.parametrize(("a", "b"), APART)
def test_apart(a: str, b: str) -> None:
    """Patterns that differ at one place from the beginning, or where one line has ended, exclude each other."""
    assert exclude(a, b)
    assert exclude(b, a)


@pytest.mark.parametrize(("a", "b"), TOGETHER)
def test_together(a: str, b: str) -> None:
    """Patterns with a line in common, or of which nothing is certain, do not exclude each other."""
    assert not exclude(a, b)
    assert not exclude(b, a)


def test_only_so_many_characters_are_compared() -> None:
    """What differs behind the compared beginning counts as a possible match, never as a difference."""
    assert exclude("^" + "a" * (LENGTH_MAX - 1) + "b", "^" + "a" * (LENGTH_MAX - 1) + "c")
    assert not exclude("^" + "a" * LENGTH_MAX + "b", "^" + "a" * LENGTH_MAX + "c")


def test_too_many_beginnings_are_no_difference() -> None:
    """A pattern with more beginnings than are looked at excludes nothing."""
    many = "^" + "(?:ab|c)" * 9 + "x"
    assert HEADS_MAX < 2**9
    assert not exclude(many, "^OK")
    assert literal_prefix(many) == ""


# Small patterns over few characters, and all short lines of these: whatever two patterns share, some line shows.
ALPHABET = "aAb1 é"
LINES = ["".join(chars) for length in range(4) for chars in product(ALPHABET, repeat=length)]
CLASSES = (r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[ab]", "[^a]", "[a-b1]", r"[^\w]")
ATOMS = st.sampled_from([*"abA1é .^$", *CLASSES, r"\b", "(?=a)", "(?!a)", "(?<=a)"])
REPEATS = st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "{0,1}", "??", "*?", "+?"])
PARTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, REPEATS).map(lambda two: f"(?:{two[0]}){two[1]}"),
        inner.map(lambda part: f"(?i:{part})"),
        inner.map(lambda part: f"({part})"),
    ),
    max_leaves=5,
)
PATTERNS = st.tuples(
    st.sampled_from(["", "^", "^", "^", "(?i)^", "(?a)^"]), PARTS, st.sampled_from(["", "$"])
).map("".join)


@given(a=PATTERNS, b=PATTERNS)
@settings(derandomize=True, max_examples=400, deadline=None)
def test_no_line_matches_what_is_excluded(a: str, b: str) -> None:
    """Of all short lines, none matches two patterns that exclude each other; each begins with the literal prefix."""
    ours = [line for line in LINES if re.search(a, line)]
    if exclude(a, b):
        assert not [line for line in ours if re.search(b, line)]
    assert all(line.startswith(literal_prefix(a)) for line in ours)


@given(a=PATTERNS)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_examples_match(a: str) -> None:
    """Every example of a pattern is a line that matches it."""
    assert all(re.search(a, line) for line in examples(a))


@given(a=PARTS, b=PARTS)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_a_pattern_that_is_not_bound_excludes_nothing(a: str, b: str) -> None:
    """Without ^ a pattern can match anywhere, so it excludes another only where it cannot match at all."""
    free, bound = f"(?:{a}|b)", f"^(?:{b})"
    assert not is_bound(free)
    assert not exclude(free, bound)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        (ACK, "OK"),
        (r"^offset=(?P<value>.*)$", "offset="),
        (r"^(?:abc|abd)$", "ab"),
        (r"^[a]b", "ab"),
        (r"^a?b", ""),
        (r"^ab?", "a"),
        (r"^(?i:a)b", ""),
        (r"^a{2}.b", "aa"),
        (r"^a+b", "a"),
        (r"OK", ""),
        ("^a\u0416", "a"),
        (r"^$", ""),
    ],
)
def test_literal_prefix(pattern: str, prefix: str) -> None:
    """The prefix is what every matching line begins with, and no more."""
    assert literal_prefix(pattern) == prefix


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (ACK, {"OK", "OK 1"}),
        (r"^(?:on|off)$", {"on", "off"}),
        (r"^-?\d{2}$", {"11", "-11"}),
        (r"^$", {""}),
        (r"^(a+)+$", set()),
    ],
)
def test_examples_show_each_alternative(pattern: str, lines: set[str]) -> None:
    """Examples show alternatives and options; a pattern whose search might not end has none."""
    assert lines <= set(examples(pattern))
    assert bool(examples(pattern)) == bool(lines)


def test_what_is_no_regular_expression() -> None:
    """A malformed pattern is an error, not an answer."""
    with pytest.raises(re.error):
        exclude("(", ACK)
