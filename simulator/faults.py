"""What goes wrong, with which message, and when? A fault plan says it, readably and always the same way.

    cmd 1: drop_ack; cmd 2-3: delay 0.8; any 5: cut; nop *: drop_request
    seed 7: drop_ack 0.2, drop_request 0.1, cmd delay 0.05 1.5

1. A clause names a kind of message (`any`, or one of the vocabulary: `cmd`, `read`), which ones of that kind
   (the K-th as they come, repeats included: `3`, `2-4`, or `*` for all) and the faults of that message.
2. Some faults are followed by values: `delay 0.8`, `junk ff00`.
3. A `seed` clause draws each of its faults for every message, or for those of the kind named in front of it,
   with the probability that follows it; then come the values, where the usual ones do not suit. The same seed
   gives the same faults for the same run of messages.
4. Clauses add up. Counting goes on across connections and boots.
5. Faults that concern one kind alone (`busy`: commands) never strike another.

Pure: no clock, no bytes, no device. `parse` makes a plan, `FaultPlan.next` asks it about one message.
"""

import difflib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from simulator.fault_kinds import DEVICE
from simulator.fault_terms import BYTES_MAX, SECONDS_MAX, Faults, Parameter, Value, Vocabulary

TEXT_MAX = 10_000
_DIGITS_MAX = 9
_FROM_1 = "messages are counted from 1 upwards"


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
    armed: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Chance:
    """A fault that strikes each message of a kind (or `any`) with `probability` (0 to 1)."""

    kind: str
    fault: str
    probability: float
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Lottery:
    """Chances that are drawn from one seed."""

    seed: int
    chances: tuple[Chance, ...]


class FaultPlan:
    """The faults of one run, message by message; remembers how many messages of each kind there were."""

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        lotteries: Sequence[Lottery] = (),
        only: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`only` are the faults that concern one kind of message alone."""
        self._rules = tuple(rules)
        self._lotteries = tuple((lottery, random.Random(lottery.seed)) for lottery in lotteries)
        self._only = only
        self._seen: Counter[str] = Counter()

    @property
    def faults(self) -> frozenset[str]:
        """Every fault that it names, whatever its chances."""
        ruled = {fault for rule in self._rules for fault in rule.armed}
        return frozenset(ruled | {each.fault for lottery, _ in self._lotteries for each in lottery.chances})

    def next(self, kind: str) -> Faults:
        """Count one message of a kind and say what goes wrong with it."""
        self._seen.update((kind, "any"))
        armed: dict[str, tuple[Value, ...]] = {}
        for rule in self._rules:
            if rule.kind in (kind, "any"):
                k = self._seen[rule.kind]
                if rule.first <= k and (rule.last is None or k <= rule.last):
                    armed.update(rule.armed)
        for lottery, rng in self._lotteries:
            for chance in lottery.chances:
                # Drawn for every message, so that one fault's luck never shifts another's.
                if rng.random() < chance.probability and chance.kind in (kind, "any"):
                    armed[chance.fault] = chance.values
        armed = {fault: values for fault, values in armed.items() if self._only.get(fault, kind) == kind}
        return Faults(MappingProxyType(armed))


def parse(text: str, vocabulary: Vocabulary = DEVICE) -> FaultPlan:
    """Make a plan from its text (syntax at the head of the file); the empty text plans no faults.

    Args:
        text: At most TEXT_MAX characters.
        vocabulary: Which kinds and faults there are; by default those of devices of every tongue.

    Raises:
        FaultTextError: The text cannot be read; names the column and, where it can, what was meant.
    """
    if len(text) > TEXT_MAX:
        raise FaultTextError(f"a fault plan has at most {TEXT_MAX} characters", TEXT_MAX + 1)
    return _Parser(text, vocabulary).plan()


_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9_.]+)|(?P<mark>[:;,*-])|(?P<end>$))")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WHOLE = re.compile(r"[0-9]+")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    """One pass from left to right; every complaint is about the token in front."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._vocabulary = vocabulary
        self._kinds = (*vocabulary.kinds, "any")

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
        return FaultPlan(rules, lotteries, self._vocabulary.only)

    def _rule(self) -> Rule:
        kind = self._one_of((*self._kinds, "seed"), "a kind of message")
        first, last = self._which()
        self._mark(":", "a ':' stands between the message and its faults")
        armed: dict[str, tuple[Value, ...]] = {}
        while True:
            fault = self._fault(kind)
            armed[fault] = tuple(
                self._value(fault, parameter) for parameter in self._vocabulary.faults[fault].parameters
            )
            self._nothing_more(fault)
            if not self._skip(","):
                return Rule(kind, first, last, MappingProxyType(armed))

    def _lottery(self) -> Lottery:
        self._take()
        seed = self._whole("a seed")
        self._mark(":", "a ':' stands between the seed and its faults")
        chances: list[Chance] = []
        while True:
            kind = self._take().text if self._front.text in self._kinds else "any"
            fault = self._fault(kind)
            probability = self._number(f"the probability of {fault}, 0 to 1,", 1.0)
            parameters = self._vocabulary.faults[fault].parameters
            values = tuple(parameter.usual for parameter in parameters)
            if self._front.kind == "word":
                values = tuple(self._value(fault, parameter) for parameter in parameters)
            self._nothing_more(fault)
            chances.append(Chance(kind, fault, probability, values))
            if not self._skip(","):
                return Lottery(seed, tuple(chances))

    def _which(self) -> tuple[int, int | None]:
        if self._skip("*"):
            return 1, None
        token = self._front
        if self._negative:
            raise FaultTextError(_FROM_1, token.column)
        first = last = self._whole("which message: a number from 1, a range such as 2-4, or '*',")
        if self._skip("-"):
            last = self._whole("the end of the range")
        if first < 1 or last < first:
            raise FaultTextError(_FROM_1, token.column)
        return first, last

    def _fault(self, kind: str) -> str:
        token = self._front
        fault = self._one_of(tuple(self._vocabulary.faults), "a fault")
        concerns = self._vocabulary.only.get(fault, kind)
        if kind not in (concerns, "any"):
            raise FaultTextError(f"{fault} concerns {concerns} messages, not {kind}", token.column)
        return fault

    def _value(self, fault: str, parameter: Parameter) -> Value:
        match parameter.usual:
            case bytes() as usual:
                return self._bytes(f"the bytes of {fault}, as in '{fault} {usual.hex()}',")
            case int() as usual:
                token, what = self._front, parameter.what
                verb = "are" if what == "bytes" else "is"
                number = self._whole(f"the {what} of {fault}, as in '{fault} {usual}',", verb)
                if parameter.most is not None and not 1 <= number <= parameter.most:
                    raise FaultTextError(f"the {what} of {fault} is 1 to {parameter.most}", token.column)
                if number < 1:
                    raise FaultTextError(f"{fault} counts {what} from 1", token.column)
                return number
            case usual:
                what = f"the seconds of {fault}, as in '{fault} {usual:g}',"
                return self._number(what, SECONDS_MAX, "are")

    def _nothing_more(self, fault: str) -> None:
        if self._front.kind == "word" and _NUMBER.fullmatch(self._front.text):
            parameters = self._vocabulary.faults[fault].parameters
            takes = " ".join(parameter.sign for parameter in parameters) or "no value"
            raise FaultTextError(f"{fault} takes {takes}", self._front.column)

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

    @property
    def _negative(self) -> bool:
        """Whether a number below 0 stands in front; no place takes one."""
        return self._front.text == "-" and _NUMBER.fullmatch(self._tokens[self._at + 1].text) is not None

    def _missing(self, what: str, verb: str) -> FaultTextError:
        """The complaint about what stands in front where `what` should."""
        token = self._front
        if self._negative:
            return FaultTextError(f"{what} cannot be below 0", token.column)
        return FaultTextError(f"{what} {verb} missing before {_shown(token)}", token.column)

    def _number(self, what: str, most: float, verb: str = "is") -> float:
        token = self._front
        if not _NUMBER.fullmatch(token.text):
            raise self._missing(what, verb)
        if float(token.text) > most:
            raise FaultTextError(f"{what} {verb} at most {most:g}", token.column)
        return float(self._take().text)

    def _whole(self, what: str, verb: str = "is") -> int:
        token = self._front
        if not _WHOLE.fullmatch(token.text):
            raise self._missing(what, verb)
        if len(token.text) > _DIGITS_MAX:
            raise FaultTextError(f"{_shown(token)} is more than {_DIGITS_MAX} digits", token.column)
        return int(self._take().text)

    def _bytes(self, what: str) -> bytes:
        token = self._front
        if not _HEX.fullmatch(token.text):
            raise self._missing(what, "are")
        if len(token.text) > 2 * BYTES_MAX:
            raise FaultTextError(f"{what} are at most {BYTES_MAX}", token.column)
        return bytes.fromhex(self._take().text)

    def _one_of(self, names: Sequence[str], what: str) -> str:
        token = self._front
        if token.text in names:
            return self._take().text
        if token.text in DEVICE.faults or token.text in DEVICE.kinds:
            # Spelled as it is meant, but of another tongue: no word that merely looks like it would be the one.
            whose = f"{what} of {self._vocabulary.of}"
            raise FaultTextError(
                f"{_shown(token)} is not {whose}", token.column, f"Known: {', '.join(names)}"
            )
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
