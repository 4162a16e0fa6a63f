"""Which patterns could search for ever?"""

import re

import pytest

from devices.backtracking import IN_A_ROW, NESTED, TOO_LARGE, trouble

ORDINARY = [
    r"^OK(?: (?P<value>.*))?$",
    r"^ERR (?P<reason>.*)$",
    r"^BUSY",
    r"^# ",
    r"^> ?$",
    r"OK",
    r".*",
    r"^$",
    r"^(\d+,)*\d+$",
    r"^(?P<seq>\d+) (?P<rest>.*)$",
    r"^Resend: ?(?P<next>\d+)",
    r"^(.*),(.*),(.*)$",
    r"^\s*(?P<value>.*?)\s*$",
    r"^-?\d+\.?\d*$",
    r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$",
    r"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$",
    r"^(?:\d{1,3}\.){3}\d{1,3}$",
    r"^[0-9A-F]{8}[0-9A-F]{8}[0-9A-F]{8}$",
    r"^ok T:(?P<value>.*) /.* B:.*$",
    r"^.*T:(?P<value>[0-9.]+).*$",
    r"^(\w+=[^;]*;)*$",
    r"(\w+\s+)*\w+$",
    r"^<(?P<state>\w+)(?:\|[^|>]*)*>$",
    r'^"(?:[^"\\]|\\.)*"$',
    r"^(?:a|b)*$",
    r"^OK.{200}$",
    r"^a.*b.*c$",
    r"(^a.*b.*c)$",
    r"^(?=.*x).*$",
    r"^(?P<a>\S+) (?P<b>\S+) (?P<c>\S+) (?P<d>\S+)$",
    "^" + "x" * 400 + "$",
]
DOUBLING = [
    r"^(a+)+$",
    r"^(a*)*$",
    r"^(?:(a|a))*$",
    r"^(a|ab|b)*$",
    r"^(\d+,?)*$",
    r"^(\w+\s?)*$",
    r"^(.*,)*x$",
    r"^(\d\d|\d\d\d)*$",
    r"^(x{1,50}y?){3,40}$",
    r"^(((a)?)+b){2,20}$",
    r"^(?=(a+)+b)",
    r"^(a)(\1*)*$",
    r"(a?b?)*c",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
]
POWERS = [
    r"^(.*),(.*),(.*),x$",
    r"^(\d+\.?\d*),(\d+\.?\d*)$",
    r".*a.*b.*c$",
    r"a.*b.*c$",
    r"^a.*b.*c$|a.*b.*c",
    r"^.*.*.*x",
    r"^a*a*a*$",
    r"^(.*),(.*),\1",
    r"^(x{1,10}){1,10}b$",
    r"^(x{1,3}){16}y$",
    "a?" * 30 + "a" * 30,
    "^" + "(?:a|b|ab)" * 40 + "$",
    "^a" + "(?:|)" * 30 + "$",
]


@pytest.mark.parametrize("pattern", ORDINARY)
def test_ordinary_patterns_pass(pattern: str) -> None:
    """Patterns as people write them for equipment have no trouble."""
    assert trouble(pattern) is None


@pytest.mark.parametrize("pattern", DOUBLING)
def test_ways_that_double_are_refused(pattern: str) -> None:
    """A loop in which one text can go two ways is refused, with what to write instead."""
    assert trouble(pattern) == NESTED


@pytest.mark.parametrize("pattern", POWERS)
def test_long_chains_are_refused(pattern: str) -> None:
    """Three loops that can share a text, or very many options that can, are refused, with what to write instead."""
    assert trouble(pattern) == IN_A_ROW


def test_what_each_refusal_advises_is_accepted() -> None:
    """The forms that the messages recommend have no trouble themselves."""
    assert trouble("^([^,]+,)*$") is None
    assert trouble("^([^,]*),([^,]*),([^,]*),x$") is None
    assert trouble(r"^(\d+(\.\d+)?),(\d+(\.\d+)?)$") is None


def test_the_largest_patterns_are_answered() -> None:
    """Whatever fits into a profile gets an answer, if need be that it is too large."""
    assert trouble("(" * 80 + "a" + ")*" * 80) == NESTED
    assert trouble("^" + "(?:[ab]{16}){16}" * 3) == TOO_LARGE


def test_the_longest_line_is_searched_in_time() -> None:
    """The worst patterns that pass end on the longest line that the agent looks at."""
    for pattern in (r"^.*,.*x$", r"OK.*x$", r"^(\d+,)*\d+$", r"^-?\d+\.?\d*$"):
        assert trouble(pattern) is None
        for line in ("," * 2000, "OK" * 1000, "1," * 1000 + "x", "1" * 2000 + "x"):
            assert re.search(pattern, line) is None or line == "1," * 1000 + "x"
