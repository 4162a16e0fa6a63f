"""Is a firmware the one that a profile was written for?

Limits such as `>=1.2,<2` (CATALOG.md, section 4). Versions are compared part by part between dots; parts of digits by
their number, others as text after every number; a missing part counts as 0, so that 1.2 is 1.2.0. A `v` in front
means nothing.
"""

import operator
import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from types import MappingProxyType

_LIMIT = re.compile(r"(>=|<=|==|>|<)\s*([0-9A-Za-z.]+)")
_Key = tuple[bool, int, str]

_MEANS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
)


def fits(limits: str, version: str) -> bool:
    """Tell whether a version lies within all limits; limits are of the form that the loader has checked."""
    return all(_MEANS[sign](_order(version, limit), 0) for sign, limit in _LIMIT.findall(limits))


def _order(a: str, b: str) -> int:
    """Below, at or above 0 as `a` is older than, equal to or newer than `b`."""
    for x, y in zip_longest(_parts(a), _parts(b), fillvalue=(False, 0, "")):
        if x != y:
            return -1 if x < y else 1
    return 0


def _parts(version: str) -> list[_Key]:
    """Digits and letters apart, so that 1.10b2 comes after 1.9 and before 1.10c."""
    runs = re.findall(r"[0-9]+|[A-Za-z]+", version.lower().removeprefix("v"))
    return [(False, int(run), "") if run.isdigit() else (True, 0, run) for run in runs]
