"""Is every word of a play true, and was every doubt unavoidable?

The judge knows the device's ledger, after everything late has arrived, and what evidence there was (`truth.py`).

* A cumulative command takes effect at most once.
* `applied`: it had taken effect when that was said; the value of an absolute command stands.
* `refused`, `not_sent`, `not_applied`: it never takes effect, also not later.
* `in_doubt`: no evidence that the papers allow was to be had; and no further command reaches the device.
* A later command is carried out once, where no doubt stands in its way. Nothing is left open.
* The effort ends after so many copies without an answer, and not before. What nobody asks for is not sent again.
"""

from agent.operation import Cause, Outcome, Result
from devices.kinds import Policy
from tests.exhaustive.bench import Played, Told
from tests.exhaustive.fates import ARRIVES, Fate

_WITHOUT_EFFECT = (Outcome.REFUSED, Outcome.NOT_SENT, Outcome.NOT_APPLIED)
_BUSY = {Fate.BUSY, Fate.BUSY_LONG, Fate.BUSY_FOR_EVER}
_ANSWERED = {ARRIVES, Fate.DOUBLED, Fate.REFUSED, Fate.WATCHDOG, Fate.WATCHDOG_SLOW} | _BUSY


class Violation(AssertionError):  # noqa: N818 - it reads as what it is
    """A play that must not happen."""


def judge(played: Played) -> None:
    """Raises Violation."""
    executed = played.executed
    if played.failures:
        raise Violation(played.failures[0])
    if not played.setup.terms.idempotent and executed > 1:
        raise Violation(f"it took effect {executed} times")
    for told in played.told:
        _judge_word(played, told, executed)
        _judge_effort(played, told)
    _judge_journal(played, executed)
    _judge_next(played)
    _judge_values(played)


def _judge_word(played: Played, told: Told, executed: int) -> None:
    result, truth = told.result, told.truth
    times = f"it had taken effect {truth.executed} times, {executed} at last"
    said = f"{result.outcome} was said ({result.message}), {times}"
    if result.outcome is Outcome.APPLIED and not truth.executed:
        raise Violation(said)
    if result.outcome in _WITHOUT_EFFECT and executed and not _another_ran(played):
        raise Violation(said)
    if result.outcome is Outcome.IN_DOUBT and truth.evidence is not None:
        raise Violation(f"{said}; but {truth.evidence}")


def _judge_effort(played: Played, told: Told) -> None:
    """Not too many copies, and not too few; a second process may have sent the command as another operation."""
    if played.world.processes > 1:
        return
    copies, attempts = told.truth.copies, played.setup.attempts
    unanswered = [number for number, fate in enumerate(copies, 1) if fate not in _ANSWERED]
    if len(unanswered) >= attempts and unanswered[attempts - 1] < len(copies):
        raise Violation(f"a further copy left after {attempts} without an answer")
    quiet = told.truth.starts == 1 and not _ANSWERED & set(copies) - {ARRIVES}
    retries = played.setup.terms.policy is not Policy.NO_RETRY
    gave_up = told.result.outcome is Outcome.NOT_APPLIED
    if gave_up and retries and quiet and len(unanswered) < attempts:
        raise Violation(f"given up after {len(copies)} copies: {told.result.message}")


def _another_ran(played: Played) -> bool:
    """Asked again under its key, the command was sent as another operation."""
    return len(played.told) > 1 or len(played.journal) > 1


def _judge_journal(played: Played, executed: int) -> None:
    words = [result.outcome if result is not None else None for result in played.journal]
    if None in words:
        raise Violation("the journal shows it open")
    applied, doubts = words.count(Outcome.APPLIED), words.count(Outcome.IN_DOUBT)
    if played.setup.terms.idempotent:
        true = bool(applied) <= bool(executed) <= bool(applied + doubts)
    else:
        true = applied <= executed <= applied + doubts
    if not true:
        raise Violation(f"the journal says {', '.join(map(str, words))}, it took effect {executed} times")


def _judge_next(played: Played) -> None:
    command, device, result = played.setup.command, played.world.device, played.next
    sent = played.world.sent_by_process
    if not played.wanted and any(command.effect.encode() in data for data in sent):
        raise Violation("it was sent again, though nobody had asked for it")
    if result is None:
        return
    doubt = any(word is not None and word.outcome is Outcome.IN_DOUBT for word in played.journal)
    count = device.ledger.count(command.next_words)
    said = f"then {command.next_words} was {result.outcome} ({result.message}), and took effect {count} times"
    if doubt:
        if (result.outcome, result.cause, count) != (Outcome.NOT_SENT, Cause.DOUBT, 0):
            raise Violation(f"{said}, in spite of a doubt")
    elif (result.outcome, count) != (Outcome.APPLIED, 1) and not _glued(played, result, count):
        raise Violation(said)


def _glued(played: Played, result: Result, count: int) -> bool:
    """Behind half a line of a stopped process, equipment that is not asked who it is may understand nothing."""
    return played.world.torn and (result.outcome, count) == (Outcome.REFUSED, 0)


def _judge_values(played: Played) -> None:
    """What was applied stands at the end, whatever came in late."""
    command, standing = played.setup.command, {}
    applied = any(word is not None and word.outcome is Outcome.APPLIED for word in played.journal)
    if applied and command.setting is not None and not command.volatile:
        standing[command.setting] = command.target
    followed = played.next is not None and played.next.outcome is Outcome.APPLIED
    if followed and command.next_target is not None:
        standing |= dict([command.next_target])
    for setting, target in standing.items():
        value = played.world.device.values()[setting]
        if value != target:
            raise Violation(f"{setting} is {value} in the end, and not {target}")
