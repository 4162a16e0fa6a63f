"""Do the sets of characters hold what Python's own regular expressions match?"""

import re

import pytest

from devices.regex_tree import LATIN, Chars, is_char, tree_of

SETS = [
    "a",
    "é",
    "[^a]",
    "[a-f]",
    "[^a-f]",
    ".",
    "(?s:.)",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"[\d_]",
    r"[^\d_]",
    r"[^\W\d]",
    r"(?a:\d)",
    r"(?a:\D)",
    r"(?a:\w)",
    r"(?a:\W)",
    r"(?a:\s)",
    r"(?a:\S)",
    "[à-ü]",
    "[^à-ü]",
    "[^Ж]",
    "[^aЖ]",
    "[^\u0400-\u04ff]",
    "Ж",
]
CASELESS = [
    "k",
    "S",
    "[a-z]",
    "[^a-z]",
    "[^k]",
    "ß",
    "[^ß]",
    "µ",
    "ж",
    "[à-ü]",
    "[^à-ü]",
    r"[^\w]",
    r"[\d]",
    "\u212a",
    "\u017f",
    "[\u0400-\u04ff]",
]
FAR = "ЖжαΩ٠५\u2003\u2028\u212a\u017f\u039c\u1e9e€→"
CHARACTERS = [chr(code) for code in range(LATIN)] + list(FAR)


def _holds(pattern: str, char: str) -> bool:
    tree = tree_of(pattern)
    assert isinstance(tree, Chars)
    alone = tree_of(re.escape(char))
    assert isinstance(alone, Chars)
    return bool(tree.mask & alone.mask)


@pytest.mark.parametrize("pattern", SETS)
def test_sets_are_exact_within_latin_1(pattern: str) -> None:
    """A set holds exactly the Latin-1 characters that it matches, and every other one that it matches."""
    for char in CHARACTERS:
        matches = re.fullmatch(pattern, char) is not None
        assert _holds(pattern, char) >= matches, char
        assert _holds(pattern, char) == matches or ord(char) >= LATIN, char


@pytest.mark.parametrize("pattern", CASELESS)
def test_caseless_sets_hold_at_least_what_matches(pattern: str) -> None:
    """Where case does not count, a set holds every character that matches, in any case."""
    caseless = f"(?i:{pattern})"
    for char in CHARACTERS:
        assert _holds(caseless, char) >= (re.fullmatch(caseless, char) is not None), char


def test_one_certain_character() -> None:
    """Only a set of one Latin-1 character is a certain one: those beyond share their bits."""
    for pattern, certain in [("a", True), ("[a]", True), ("é", True), ("[ab]", False), ("Ж", False)]:
        tree = tree_of(pattern)
        assert isinstance(tree, Chars)
        assert is_char(tree.mask) is certain
