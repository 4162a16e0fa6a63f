"""How is a single value of a plan file read: a name, a time, an amount, the words of a command?

Each function takes what YAML gave and returns what the plan means, or raises PydanticCustomError, which `plan_file`
turns into a sentence with its place. Whatever is of another type is passed on: pydantic says so.
"""

import re
import shlex
from datetime import time
from decimal import Decimal

from pydantic_core import PydanticCustomError

from agent.plans.waves import REST, Amount, WaveSize
from agent.targets import is_url
from devices.validation import SENTENCE

DEVICES_MAX = 100_000
ID_LENGTH_MAX = 100
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_PERCENT = re.compile(r"([0-9]{1,3})\s*%")


def wrong(sentence: str) -> PydanticCustomError:
    """What is wrong, as a whole sentence."""
    return PydanticCustomError(SENTENCE, "{sentence}", {"sentence": sentence})


def name_of(value: object) -> object:
    """A plan's name."""
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise wrong(f"'{value[:60]}' cannot be a plan's name: 1 to 100 letters, digits and . _ -")
    return value


def words_of(value: object) -> list[str]:
    """The words of `send`, as of a command line."""
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "must be text")
    if any(mark in value for mark in "'\""):
        try:
            words = shlex.split(value)
        except ValueError:
            raise wrong(f"a quotation mark is not closed: {value[:60]}") from None
    else:
        words = value.split()
    if not words:
        raise wrong("'send' has no command in it")
    return words


def target_of(value: object) -> object:
    """A target pattern, which is no address."""
    if isinstance(value, str) and is_url(value):
        raise wrong(f"'{value[:60]}' is an address: a plan names devices of the inventory")
    return value


def time_of(value: object) -> time:
    """A time of the day."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        hint = ": midnight is 00:00" if value == "24:00" else ""
        raise PydanticCustomError("time", "must be a time of the day such as 22:00" + hint)
    return time(int(match[1]), int(match[2]))


def amount_of(value: object) -> Amount:
    """A number of devices, or a share of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= DEVICES_MAX:
            raise PydanticCustomError("amount", f"must be 1 to {DEVICES_MAX} devices")
        return Amount(value)
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("amount", "must be a number of devices, or a percentage such as 10%")
    if not 1 <= int(match[1]) <= 100:
        raise PydanticCustomError("amount", "must be 1% to 100%")
    return Amount(int(match[1]), percent=True)


def wave_of(value: object) -> WaveSize:
    """The size of a wave."""
    if value == REST.value:
        return REST
    try:
        return amount_of(value)
    except PydanticCustomError as problem:
        if isinstance(value, str) and not _PERCENT.fullmatch(value):
            raise PydanticCustomError("wave", "must be a number of devices, a percentage, or rest") from None
        raise problem from None


def value_of(value: object) -> object:
    """The value of a setting."""
    if not isinstance(value, str | int | Decimal):
        raise PydanticCustomError("value", "must be one value, such as 30 or on")
    return value


def id_of(value: object) -> object:
    """A step's id."""
    if isinstance(value, str):
        fits = value.isprintable() and value == value.strip() and 1 <= len(value) <= ID_LENGTH_MAX
        if not fits:
            what = f"1 to {ID_LENGTH_MAX} characters, no blank at an end"
            raise wrong(f"{value[:60]!r} cannot be an id: {what}")
    return value
