"""Is every figure beside a word true? Asked of the wire, of the devices and of what was asked for.

Beside every word that somebody was told, and every one that the journal holds.

What each promises is written in CLI.md 2 and `operation.Result`, what decides:

* `attempts`, the copies that were written: those that left. An intent whose process ended, or stood still, before its
  copy left may count too, and so may a copy of which an intermediary said that it never reached the device.
* `seq`, the number of the last copy: that copy, on the wire where there are numbers.
* `proof`: `ack` or `duplicate_ack` by the reply that ended the wait for the last copy (WIRE.md 2: REPLAYED,
  DONE_UNCACHED); `verified` by a reading behind the last copy that shows the expected value, or for `not_applied` the
  one from before; `settled` only by equipment that numbers its commands.
* `before`, the reading before the first copy: what the setting was while it was asked for.
* `expected`, what shows the effect: reckoned from `before` and the words that were typed (`targets.py`).
* `value`, what the ack told, else what was read back: the bytes of that ack; what the setting was while it was asked
  for.

Unknown is null, and null is true unless the figure must be known: a baseline where a copy left that needs one, the
value of an ack that told one, the value that verifies.

Where several processes had an operation in hand, nobody but the journal knows whose reading the baseline was, so any of
theirs will do. A process that lost its lease speaks for its own copies only. A restored store has forgotten copies.
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from agent.clock import moment
from worlds.records import Copy, Wanted, Word
from worlds.targets import number_of, target_of
from worlds.wire import Question, Wire
from worlds.world import START, World

_PROOFS: Final = {
    "applied": {"ack", "duplicate_ack", "verified", "settled", "person"},
    "refused": {"", "settled"},
    "not_sent": {""},
    "not_applied": {"verified", "settled", "person"},
    "in_doubt": {""},
}
_ACKS: Final = ("ack", "duplicate_ack")
_OWN_ONLY: Final = ("held", "store")
"""Why a process could not write to the journal any more: it knows what it did itself."""
_STAMP_S: Final = 0.001
"""How exactly the journal tells the time."""
_JUST_BEFORE_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class Told:
    """A word with everything that happened until it was true.

    Attributes:
        word: The word.
        at_s: When it was made, which is earlier where it is only said again.
        wanted: What was asked for.
        copies: The copies that had left, but for those turned back.
        turned_back: The copies of which their process was told that they never reached the device.
        hands: The processes that had the operation in hand.
        asked: Every question of theirs for the setting.
        alone: One process did everything, and the store has forgotten nothing.
    """

    word: Word
    at_s: float
    wanted: Wanted
    copies: list[Copy]
    turned_back: list[Copy]
    hands: set[str]
    asked: list[Question]
    alone: bool

    @property
    def last(self) -> Copy | None:
        """The last copy."""
        return self.copies[-1] if self.copies else None


def untrue_figures(world: World, wire: Wire) -> Iterator[str]:
    """Every figure that is not true, as a sentence."""
    copies = defaultdict[str, list[Copy]](list)
    for copy in world.history.copies:
        copies[copy.op].append(copy)
    for word, at_s in _words(world):
        told = _told(world, wire, word, at_s, copies[word.op])
        for rule in _RULES:
            problem = rule(world, wire, told)
            if problem is not None:
                yield f"{word.op}: {word.outcome} was said at {word.at_s:.3f} with {problem}"


def _words(world: World) -> Iterator[tuple[Word, float]]:
    """Every word that was told, and every one that is only in the journal, with when it was made; none twice."""
    kept = {word.op: word for word in _in_the_journal(world)}
    said = set()
    for word in world.history.words:
        if (word.op, word.figures) in said:
            continue
        said.add((word.op, word.figures))
        row = kept.get(word.op)
        again = row is not None and row.figures == word.figures
        yield word, min(word.at_s, row.at_s) if row is not None and again else word.at_s
    yield from ((word, word.at_s) for word in kept.values() if (word.op, word.figures) not in said)


def _in_the_journal(world: World) -> Iterator[Word]:
    rows = world.disk.rows(
        "SELECT op, closed_utc, outcome, ifnull(proof, ''), ifnull(cause, ''), message, seq, attempts, before, "
        "expected, value FROM operation WHERE outcome IS NOT NULL"
    )
    for op, utc, outcome, proof, cause, message, *figures in rows:
        at_s = _seconds(utc) + _STAMP_S
        line = bisect(world.history.lines, at_s, key=lambda line: line.at_s)
        yield Word(op, line, outcome, proof, cause, at_s, "the journal", message, *figures)


def _seconds(utc: str) -> float:
    return (moment(utc) - START).total_seconds()


def _told(world: World, wire: Wire, word: Word, at_s: float, copies: list[Copy]) -> Told:
    wanted, hands = world.history.wanted[word.op], world.history.hands.get(word.op, set())
    asked = wire.questions(wanted.device, wanted.setting) if wanted.setting is not None else ()
    left = [each for each in copies if each.line < word.line and each.at_s <= at_s]
    turned_back = [each for each in left if wire.turned_back(each)]
    arrived = [each for each in left if each not in turned_back]
    ours = [
        each for each in asked
        if each.process in hands and wanted.line < each.line < word.line and each.at_s <= at_s
    ]  # fmt: skip
    alone = len(hands) == 1 and not world.restored
    return Told(word, at_s, wanted, arrived, turned_back, hands, ours, alone)


# --- copies -----------------------------------------------------------------------------------------------------------


def _attempts(world: World, _: Wire, told: Told) -> str | None:
    word, left = told.word, len(told.copies)
    if word.attempts == left:
        return None
    spare = _stopped(world, told) if world.restored else len(_not_left(world, told))
    spare += len(told.turned_back)
    if _fewest(world, told) <= word.attempts <= left + spare:
        return None
    return f"{word.attempts} attempts, and {left} left"


def _fewest(world: World, told: Told) -> int:
    if world.restored:
        return 0
    own = Counter(copy.process for copy in told.copies)
    return own[told.word.process] if told.word.cause in _OWN_ONLY else len(told.copies)


def _stopped(world: World, told: Told) -> int:
    """How many processes ended, or stood still, with the operation in hand."""
    return sum(each.name in told.hands and (each.killed or each.slept_s > 0) for each in world.processes)


def _not_left(world: World, told: Told) -> list[int]:
    """The numbers of intents that were counted though no copy left: their processes ended, or stood still."""
    stopped = _stopped(world, told)
    rows = world.disk.rows(
        "SELECT s.n, s.fields ->> 'seq', s.utc FROM evidence s WHERE s.op = ? AND s.kind = 'Sent' AND NOT EXISTS "
        "(SELECT 1 FROM evidence u WHERE u.op = s.op AND u.n = s.n + 1 AND u.kind = 'Unsent') ORDER BY s.n",
        (told.word.op,),
    )
    left = {copy.intent for copy in told.copies + told.turned_back}
    open_ = [seq for n, seq, utc in rows if n not in left and _seconds(utc) <= told.at_s]
    return open_[-stopped:] if stopped else []


def _seq(world: World, _: Wire, told: Told) -> str | None:
    word = told.word
    if word.attempts == 0 or (word.proof == "person" and word.seq is None):
        return None if word.seq is None else f"seq {word.seq}, and no copy"
    if word.attempts != len(told.copies) and world.restored:
        return None  # the intent that it tells of may be forgotten
    possible = {told.copies[-1].number} if told.copies else set()
    if word.attempts != len(told.copies) or world.restored or word.cause in _OWN_ONLY:
        possible |= {copy.number for copy in told.copies} | set(_not_left(world, told))
    possible |= {copy.number for copy in told.turned_back}
    return (
        None
        if word.seq in possible
        else f"seq {word.seq}, and the last copy had {sorted(map(str, possible))}"
    )


# --- what it stands on ------------------------------------------------------------------------------------------------


def _proof(world: World, wire: Wire, told: Told) -> str | None:
    word = told.word
    said = f"the proof '{word.proof}'"
    if word.proof not in _PROOFS.get(word.outcome, {""}):
        return said
    if word.proof in _ACKS:
        acks = wire.acks(told.last, word.line) if told.last is not None else []
        if (word.proof == "duplicate_ack") not in {ack.duplicate for ack in acks}:
            return f"{said}, and the wire has {acks or 'no ack'}"
    if word.proof == "verified":
        shown = word.expected if word.outcome == "applied" else word.before
        if shown is None or word.value != shown:
            return f"{said}, value {word.value}, before {word.before} and expected {word.expected}"
    if word.proof == "settled" and not world.roads[told.wanted.device].tongue.numbered:
        return f"{said}, which the device cannot give"
    return None


# --- readings ---------------------------------------------------------------------------------------------------------


def _before(world: World, _: Wire, told: Told) -> str | None:
    word, wanted = told.word, told.wanted
    if word.before is None:
        needed = wanted.based and told.copies and word.proof != "person"
        return "no value from before, and a copy had left" if needed else None
    first = told.copies[0].line if told.copies and not world.restored else word.line
    asked = [each for each in told.asked if each.line < first]
    until_s = told.copies[0].at_s if told.copies and not world.restored else told.at_s
    read = asked[-1:] if told.alone else asked
    values = _stood(world, told, read, until_s)
    return None if number_of(word.before) in values else f"{word.before} before, and it read {sorted(values)}"


def _stood(world: World, told: Told, asked: list[Question], until_s: float) -> set[int]:
    """What the setting was from the first of some questions on until a time."""
    name = told.wanted.setting
    if not asked or name is None:
        return set()
    return set(world.history.stood(told.wanted.device, name, asked[0].at_s - _JUST_BEFORE_S, until_s))


def _expected(_: World, __: Wire, told: Told) -> str | None:
    word, wanted = told.word, told.wanted
    if word.expected is None and (word.proof == "person" or not told.copies):
        return None
    before = number_of(word.before) if word.before is not None else None
    target = target_of(wanted.command, before, stops=wanted.stops) if wanted.setting is not None else None
    said = number_of(word.expected) if word.expected is not None else None
    return None if said == target else f"{word.expected} expected, and it is {target}"


def _value(world: World, wire: Wire, told: Told) -> str | None:
    word, last = told.word, told.last
    if word.proof in _ACKS and last is not None:
        acked = {ack.value for ack in wire.acks(last, word.line)}
        unclear = word.value is None and len(acked) > 1
        return None if word.value in acked or unclear else f"the value {word.value}, and the ack told {acked}"
    if word.value is None:
        return None
    if (
        word.outcome == "applied"
        and last is not None
        and word.value in wire.texts(told.hands, last, word.line)
    ):
        return None
    asked = [each for each in told.asked if last is None or each.line > last.line]
    read = asked[-1:] if word.proof == "verified" else asked
    values = _stood(world, told, read, told.at_s)
    return (
        None if number_of(word.value) in values else f"the value {word.value}, and it read {sorted(values)}"
    )


_RULES: Final[tuple[Callable[[World, Wire, Told], str | None], ...]] = (
    _attempts,
    _seq,
    _proof,
    _before,
    _expected,
    _value,
)
