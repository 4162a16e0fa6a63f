"""Which line would equipment answer with, where all that is known of it are the patterns of its profile?

A line is made from a pattern and the group `value` filled in. It counts only if the profile's own rules would take it
for that: it matches, it carries the value, and nothing that is looked at earlier (a notice, a start, busy, a refusal)
matches it first.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache

from devices.patterns import examples
from devices.profile import Line
from devices.values import normalise

PLACES = (1, 2, 3)
WIDTHS = (2, 3, 4, 5, 6)
_BOOL = {"true": ("1", "ON", "on", "true"), "false": ("0", "OFF", "off", "false")}


@lru_cache(maxsize=4096)
def answer(pattern: str, value: str | None, type_text: str, line: Line) -> str | None:
    """A line that the pattern takes; None where none was found.

    Args:
        pattern: of an answer.
        value: canonical text that the group `value` must carry, None where the answer need not carry any.
        type_text: of the value.
        line: the other patterns of the profile.
    """
    earlier = [*line.notice, *(each for each in (line.boot, line.busy, line.nak) if each is not None)]
    for sample in examples(pattern):
        for text in _with_value(pattern, sample, value, type_text):
            if not any(re.search(each, text) for each in earlier):
                return text
    return None


@lru_cache(maxsize=256)
def plain_answer(pattern: str) -> str | None:
    """Any line that the pattern takes; None where none was found."""
    return next(iter(examples(pattern)), None)


def _with_value(pattern: str, sample: str, value: str | None, type_text: str) -> Iterator[str]:
    found = re.search(pattern, sample)
    if value is None:
        yield sample
        return
    if found is None or found.groupdict().get("value") is None:
        return
    start, end = found.span("value")
    for form in _forms(value, type_text):
        text = sample[:start] + form + sample[end:]
        again = re.search(pattern, text)
        if again is not None and _carries(again.group("value"), value, type_text):
            yield text


def _carries(text: str | None, value: str, type_text: str) -> bool:
    with suppress(ValueError):
        return text is not None and normalise(type_text, text) == value
    return False


def _forms(value: str, type_text: str) -> Iterator[str]:
    """The ways in which equipment may write a value, the plainest first."""
    yield value
    if type_text == "bool":
        yield from _BOOL[value]
    if type_text == "decimal":
        yield from (f"{Decimal(value):.{places}f}" for places in PLACES)
    if type_text == "int":
        yield f"{int(value):+d}"
        yield from (f"{int(value):0{width}d}" for width in WIDTHS)
        yield from (f"{int(value):+0{width}d}" for width in WIDTHS)
