"""What must a setting show after a command? Reckoned here, from the words as they were typed."""

from typing import Final

_NAMES: Final = {"true": 1, "false": 0, "on": 1, "off": 0}
_STOPS: Final = {"level": (0, 10)}
"""Where a value stops, for profiles that say so."""


def number_of(text: str) -> int:
    """A value as the journal has it, as the machine has it. Raises ValueError where it is none."""
    return _NAMES[text] if text in _NAMES else int(text)


def target_of(command: str, before: int | None, *, stops: bool) -> int | None:
    """What the setting that a command is read back by is to show; None where that needs a baseline that is missing.

    `stops`: the profile says that the value stops at its ends. Elsewhere it is expected to go on.
    """
    match command.split(" "):
        case ["SET", _, number]:
            return int(number)
        case _ if before is None:
            return None
        case ["RAISE", _, delta] | ["ADD", delta]:
            return before + int(delta)
        case ["ADJUST", name, delta]:
            low, high = _STOPS.get(name, (None, None)) if stops else (None, None)
            after = before + int(delta)
            return after if low is None or high is None else max(low, min(high, after))
        case ["TOGGLE", _]:
            return 1 - before
        case ["RESET" | "ROTATE", _]:
            return before + 1
    return None
