"""What goes wrong, with which message, and when? A fault plan says it, readably and always the same way.

    cmd 1: drop_ack; cmd 2-3: delay 0.8; any 5: cut; nop *: drop_request
    seed 7: drop_ack 0.2, drop_request 0.1, delay 0.05 1.5

1. A clause names a kind of message (`hello open cmd read nop query close`, or `any`), which ones of that
   kind (the K-th as they reach the device, repeats included: `3`, `2-4`, or `*` for all) and the faults of
   that exchange.
2. Faults that take time are followed by seconds: `delay 0.8`.
3. A `seed` clause draws each of its faults for every message with the probability that follows it, then the
   seconds where the usual ones do not suit. The same seed gives the same faults for the same run of messages.
4. Clauses add up. Counting goes on across connections and boots.
5. Faults of an execution (`busy`, `refuse`, `long_reply`, `indeterminate`) concern commands only.

Pure: no clock, no bytes, no device. `parse` makes a plan, `FaultPlan.next` asks it about one message.
"""

import difflib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from simulator.fault_kinds import KINDS, NO_FAULTS, OF_EXECUTIONS, SECONDS_MAX, USUAL_S, Fault, Faults

__all__ = [
    "NO_FAULTS",
    "Chance",
    "Fault",
    "FaultPlan",
    "FaultTextError",
    "Faults",
    "Lottery",
    "Rule",
    "parse",
]

TEXT_MAX = 10_000
_DIGITS_MAX = 9


class FaultTextError(ValueError):
    """A fault plan that cannot be read: `column` counts from 1, `hint` may be empty."""

    def __init__(self, message: str, column: int, hint: str = "") -> None:
        super().__init__(f"column {column}: {message}{'. ' if hint else ''}{hint}")
        self.column = column
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Rule:
    """Faults of the messages `first` to `last` of a kind, both from 1; `last` None: to the end."""

    kind: str
    first: int
    last: int | None
    armed: Mapping[Fault, float]


@dataclass(frozen=True, slots=True)
class Chance:
    """A fault that strikes each message with `probability` (0 to 1)."""

    fault: Fault
    probability: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Lottery:
    """Chances that are drawn from one seed."""

    seed: int
    chances: tuple[Chance, ...]


class FaultPlan:
    """The faults of one device, message by message; remembers how many messages of each kind there were."""

    def __init__(self, rules: Sequence[Rule] = (), lotteries: Sequence[Lottery] = ()) -> None:
        self._rules = tuple(rules)
        self._lotteries = tuple((lottery, random.Random(lottery.seed)) for lottery in lotteries)
        self._seen: Counter[str] = Counter()

    def next(self, kind: str) -> Faults:
        """Count one message of a kind (see KINDS) and say what goes wrong with it."""
        self._seen.update((kind, "any"))
        armed: dict[Fault, float] = {}
        for rule in self._rules:
            if rule.kind in (kind, "any"):
                k = self._seen[rule.kind]
                if rule.first <= k and (rule.last is None or k <= rule.last):
                    armed.update(rule.armed)
        for lottery, rng in self._lotteries:
            for chance in lottery.chances:
                # Drawn for every message, so that one fault's luck never shifts another's.
                if rng.random() < chance.probability:
                    armed[chance.fault] = chance.seconds
        if kind != "cmd":
            armed = {fault: s for fault, s in armed.items() if fault not in OF_EXECUTIONS}
        return Faults(MappingProxyType(armed))


def parse(text: str) -> FaultPlan:
    """Make a plan from its text (syntax at the head of the file); the empty text plans no faults.

    Raises:
        FaultTextError: The text cannot be read; names the column and, where it can, what was meant.
    """
    if len(text) > TEXT_MAX:
        raise FaultTextError(f"a fault plan has at most {TEXT_MAX} characters", TEXT_MAX + 1)
    return _Parser(text).plan()


_TOKEN = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_]+)|(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<mark>[:;,*-])|(?P<end>$))"
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    """One pass from left to right; every complaint is about the token in front."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def plan(self) -> FaultPlan:
        rules: list[Rule] = []
        lotteries: list[Lottery] = []
        while self._front.kind != "end":
            if self._front.text == "seed":
                lotteries.append(self._lottery())
            elif self._front.text != ";":
                rules.append(self._rule())
            if self._front.kind != "end":
                self._mark(";", "faults are separated by ',' and clauses by ';'")
        return FaultPlan(rules, lotteries)

    def _rule(self) -> Rule:
        kind = self._one_of((*KINDS, "any", "seed"), "a kind of message")
        first, last = self._which()
        self._mark(":", "a ':' stands between the message and its faults")
        armed: dict[Fault, float] = {}
        while True:
            token = self._front
            fault = Fault(self._one_of(tuple(Fault), "a fault"))
            if fault in OF_EXECUTIONS and kind not in ("cmd", "any"):
                raise FaultTextError(f"{fault} concerns commands, not {kind}", token.column)
            armed[fault] = self._seconds(fault)
            if not self._skip(","):
                return Rule(kind, first, last, MappingProxyType(armed))

    def _lottery(self) -> Lottery:
        self._take()
        seed = self._whole("a seed")
        self._mark(":", "a ':' stands between the seed and its faults")
        chances: list[Chance] = []
        while True:
            fault = Fault(self._one_of(tuple(Fault), "a fault"))
            probability = self._number(f"the probability of {fault}, 0 to 1,", 1.0)
            given = self._front.kind == "number" or fault not in USUAL_S
            chances.append(Chance(fault, probability, self._seconds(fault) if given else USUAL_S[fault]))
            if not self._skip(","):
                return Lottery(seed, tuple(chances))

    def _which(self) -> tuple[int, int | None]:
        if self._skip("*"):
            return 1, None
        token = self._front
        first = last = self._whole("which message: a number from 1, a range such as 2-4, or '*',")
        if self._skip("-"):
            last = self._whole("the end of the range")
        if first < 1 or last < first:
            raise FaultTextError("messages are counted from 1 upwards", token.column)
        return first, last

    def _seconds(self, fault: Fault) -> float:
        if fault in USUAL_S:
            return self._number(f"the seconds of {fault}, as in '{fault} {USUAL_S[fault]:g}',", SECONDS_MAX)
        if self._front.kind == "number":
            raise FaultTextError(f"{fault} takes no seconds", self._front.column)
        return 0.0

    @property
    def _front(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._front
        self._at += 1
        return token

    def _skip(self, mark: str) -> bool:
        found = self._front.text == mark
        self._at += found
        return found

    def _mark(self, mark: str, why: str) -> None:
        if not self._skip(mark):
            raise FaultTextError(f"{_shown(self._front)} instead of '{mark}'; {why}", self._front.column)

    def _number(self, what: str, most: float) -> float:
        token = self._front
        if token.kind != "number":
            raise FaultTextError(f"{what} is missing before {_shown(token)}", token.column)
        if float(token.text) > most:
            raise FaultTextError(f"{what} is at most {most:g}", token.column)
        return float(self._take().text)

    def _whole(self, what: str) -> int:
        token = self._front
        if not token.text.isdecimal():
            raise FaultTextError(f"{what} is missing before {_shown(token)}", token.column)
        if len(token.text) > _DIGITS_MAX:
            raise FaultTextError(f"{_shown(token)} is more than {_DIGITS_MAX} digits", token.column)
        return int(self._take().text)

    def _one_of(self, names: Sequence[str], what: str) -> str:
        token = self._front
        if token.text in names:
            return self._take().text
        close = difflib.get_close_matches(token.text.lower(), names, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(names)}"
        raise FaultTextError(f"{_shown(token)} is not {what}", token.column, hint)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while not tokens or tokens[-1].kind != "end":
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise FaultTextError(f"{text[column - 1]!r} has no meaning here", column)
        tokens.append(_Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1))
        at = found.end()
    return tokens


def _shown(token: _Token) -> str:
    return f"'{token.text}'" if token.text else "the end of the text"
