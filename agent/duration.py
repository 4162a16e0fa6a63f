"""How many seconds is `2s`, `500ms`, `1.5` or 2?"""

import re
from decimal import Decimal

DURATION_MAX_S = 3600

_DURATION = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?P<unit>ms|s)?")


def parse_duration(value: str | float | Decimal) -> float:
    """Return a duration in seconds; without a unit it is seconds.

    Raises:
        ValueError: no duration, not more than 0, or above `DURATION_MAX_S`.
    """
    match = _DURATION.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"'{value}' is not a duration: such as 2s, 500ms or 1.5")
    seconds = float(match["number"]) / (1000 if match["unit"] == "ms" else 1)
    if not 0 < seconds <= DURATION_MAX_S:
        raise ValueError(f"'{value}' must be more than 0 and at most {DURATION_MAX_S} s")
    return seconds
