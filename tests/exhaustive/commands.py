"""Which commands of the demo controller are played, and what shows that they took effect?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command, and another one that follows it.

    Attributes:
        words: As typed.
        effect: What the device is told, as its ledger has it.
        setting: The value that shows the effect; None where nothing does.
        before: What that is at first.
        target: What it is afterwards, the machine's own stops included.
        next_words: Another command, sent afterwards.
        next_target: The value that shows its effect, and what it is then; None where nothing does.
        volatile: A start of the device takes what shows the effect.
        void: The value is the same before and after, as the profile says too.
        stop_unknown: It is the same because of a stop of which the profile does not say anything.
    """

    words: str
    effect: str
    setting: str | None
    before: int
    target: int
    next_words: str
    next_target: tuple[str, int] | None
    volatile: bool = False
    void: bool = False
    stop_unknown: bool = False


ADJUST = Command("ADJUST offset +5", "ADJUST offset +5", "offset", 10, 15, "ROTATE log", ("log_files", 4))
FORM = Command("ADJUST offset +5", "SET offset 15", "offset", 10, 15, "SET offset 40", ("offset", 40))
SET = Command("SET interval 30", "SET interval 30", "interval", 10, 30, "SET interval 60", ("interval", 60))
ROTATE = Command("ROTATE log", "ROTATE log", "log_files", 3, 4, "BEEP", None)
BEEP = Command("BEEP", "BEEP", None, 0, 0, "ROTATE log", ("log_files", 4))
LEVEL = Command(
    "ADJUST level +2", "ADJUST level +2", "level", 5, 7, "SET level 1", ("level", 1), volatile=True
)
SET_LEVEL = Command("SET level 7", "SET level 7", "level", 9, 7, "SET level 1", ("level", 1), volatile=True)
LEVEL_FORM = Command(
    "ADJUST level +2", "SET level 7", "level", 5, 7, "SET level 1", ("level", 1), volatile=True
)
FULL = Command(
    "ADJUST level +2",
    "ADJUST level +2",
    "level",
    10,
    10,
    "SET level 1",
    ("level", 1),
    volatile=True,
    void=True,
)
STOPPED = Command(
    "ADJUST level +2", "ADJUST level +2", "level", 10, 10, "SET level 1", ("level", 1), volatile=True,
    stop_unknown=True,
)  # fmt: skip
