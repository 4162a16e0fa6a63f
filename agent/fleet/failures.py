"""What kind of failure is it, what is said of it, and can whoever asked do anything about it?

Tables from words, causes and exceptions to one class each; no class is guessed, and what no table knows is `unknown`,
never nothing. Exceptions are known by their full names, so that nothing is imported for them, the nearest base first.

Failures of ours (`INTERNAL`) say nothing of their insides to whoever asked: they bear a reference, and the detail
stands under it in the log of the agent where it happened. All else says what happened, whether anything was sent, and
what to type.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.address import typed
from agent.operation import Cause, Operation, Outcome, Result
from devices.calls import marked
from devices.kinds import Kind, Policy
from logs.text import escape


class FailureClass(StrEnum):
    """The kinds of failures (FLEET.md 7)."""

    VALIDATION = "validation"
    """What was asked makes no sense, or a file does not."""
    REFUSED = "refused"
    """The device said no."""
    TRANSPORT = "transport"
    """No way to the device, or no answer from it."""
    FRAMING = "framing"
    """It answered, and the answer makes no sense."""
    STORE = "store"
    POLICY = "policy"
    """A rule of ours, or a person, held it back."""
    BUG = "bug"
    UNKNOWN = "unknown"


INTERNAL = frozenset({FailureClass.STORE, FailureClass.BUG, FailureClass.UNKNOWN})
"""Failures of which only a reference is told."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, as it is told.

    `code` is for scripts: an outcome, its cause behind a dot (`not_sent.unreachable`); the state of a turn; or the name
    of an error. `action` is what to do, None where whoever asked can do nothing. `reference`: under which the log has
    the detail, None where there is none to have.
    """

    kind: FailureClass
    code: str
    text: str
    action: str | None
    reference: str | None

    @property
    def actionable(self) -> bool:
        """Whether whoever asked can do anything about it."""
        return self.action is not None


BY_OUTCOME: Mapping[Outcome, FailureClass | None] = {
    Outcome.APPLIED: None,
    Outcome.UNCHANGED: None,
    Outcome.REFUSED: FailureClass.REFUSED,
    Outcome.NOT_SENT: FailureClass.TRANSPORT,
    Outcome.NOT_APPLIED: FailureClass.TRANSPORT,
    Outcome.IN_DOUBT: FailureClass.TRANSPORT,
}
"""The class of a word that has no cause; None where all is well."""

BY_CAUSE: Mapping[Cause, FailureClass] = {
    Cause.UNREACHABLE: FailureClass.TRANSPORT,
    Cause.WRONG_DEVICE: FailureClass.VALIDATION,  # the inventory says that another one is there
    Cause.FOREIGN: FailureClass.POLICY,
    Cause.HELD: FailureClass.POLICY,
    Cause.DOUBT: FailureClass.POLICY,
    Cause.STORE: FailureClass.STORE,
    Cause.INTERRUPTED: FailureClass.POLICY,
    Cause.KEY: FailureClass.VALIDATION,
    Cause.UNFIT: FailureClass.VALIDATION,
}

BY_TURN: Mapping[str, FailureClass | None] = {
    "running": None,
    "done": None,
    "unfinished": FailureClass.POLICY,  # where no step of it has failed: they had no turn
    "cut_off": FailureClass.UNKNOWN,
    "not_begun": FailureClass.STORE,
    "missed": FailureClass.POLICY,
    "overlap": FailureClass.POLICY,
    "window": FailureClass.POLICY,
    "changed": FailureClass.POLICY,
    "unusable": FailureClass.VALIDATION,
    "held": FailureClass.POLICY,
}
"""The class of the state that a turn of a job has come to (`plans/turns.py`); None where all is well."""

BY_ERROR: Mapping[str, FailureClass] = {
    "devices.problems.UsageProblem": FailureClass.VALIDATION,
    "devices.problems.FileProblem": FailureClass.VALIDATION,
    "devices.problems.FileProblems": FailureClass.VALIDATION,
    "devices.expressions.ExpressionError": FailureClass.VALIDATION,
    "devices.templates.TemplateError": FailureClass.VALIDATION,
    "devices.automaton.TooLarge": FailureClass.VALIDATION,
    "devices.catalog.PolicyRefused": FailureClass.POLICY,
    "devices.register_words.Misread": FailureClass.VALIDATION,
    "agent.secrets.NoSecret": FailureClass.VALIDATION,
    "agent.service.KeyClash": FailureClass.VALIDATION,
    "agent.stations.DialectMissing": FailureClass.VALIDATION,
    "agent.registry.WrongDevice": FailureClass.VALIDATION,
    "agent.fleet.agents.NameTaken": FailureClass.VALIDATION,
    "agent.store.database.Refused": FailureClass.POLICY,
    "agent.store.database.StoreError": FailureClass.STORE,
    "agent.dialects.program.NotStarted": FailureClass.VALIDATION,
    "agent.links.link.Unreachable": FailureClass.TRANSPORT,
    "agent.links.link.LinkLost": FailureClass.TRANSPORT,
    "agent.links.link.PortHeld": FailureClass.POLICY,
    "protocol.native.frame.FrameError": FailureClass.FRAMING,
    "protocol.modbus.pdu.BadPdu": FailureClass.VALIDATION,  # a request that no PDU can hold
    "protocol.modbus.cells.NoValue": FailureClass.FRAMING,
    "sqlite3.Error": FailureClass.STORE,
    "builtins.ConnectionError": FailureClass.TRANSPORT,
    "builtins.TimeoutError": FailureClass.TRANSPORT,
    "builtins.ArithmeticError": FailureClass.BUG,
    "builtins.AssertionError": FailureClass.BUG,
    "builtins.AttributeError": FailureClass.BUG,
    "builtins.LookupError": FailureClass.BUG,
    "builtins.NameError": FailureClass.BUG,
    "builtins.RuntimeError": FailureClass.BUG,
    "builtins.TypeError": FailureClass.BUG,
    "builtins.ValueError": FailureClass.BUG,
}
"""The class of an exception by its full name."""

WORST_FIRST = (
    FailureClass.BUG,
    FailureClass.STORE,
    FailureClass.UNKNOWN,
    FailureClass.FRAMING,
    FailureClass.TRANSPORT,
    FailureClass.REFUSED,
    FailureClass.VALIDATION,
    FailureClass.POLICY,
)
"""Which class a run gets whose steps failed in several ways."""

_WHAT: Mapping[Outcome, str] = {
    Outcome.APPLIED: "'{command}' was applied, but the journal may not show it yet",
    Outcome.UNCHANGED: "'{command}' was there already and nothing was sent, but the journal may not show it yet",
    Outcome.REFUSED: "'{command}' was sent and had no effect",
    Outcome.NOT_SENT: "nothing of '{command}' was sent",
    Outcome.NOT_APPLIED: "'{command}' was sent, has had no effect and never will",
    Outcome.IN_DOUBT: "'{command}' was sent, and nobody can tell yet whether it took effect",
}
_NEXT_BY_CAUSE: Mapping[Cause, str] = {
    Cause.UNREACHABLE: "When that is mended: {again}",
    Cause.WRONG_DEVICE: "See who answers: ackonce probe {device}",
    Cause.FOREIGN: "If nobody else uses it: ackonce probe {device} --take-over --reason TEXT",
    Cause.HELD: "When that process has finished: {again}",
    Cause.DOUBT: "Settle what is in doubt there: ackonce doubt list; then: {again}",
    Cause.INTERRUPTED: "To do it: {again}",
    Cause.KEY: "Use another key for another command",
    Cause.UNFIT: "See what it needs: {explain}",
}
_NEXT_BY_OUTCOME: Mapping[Outcome, str] = {
    Outcome.REFUSED: "If it should have been taken: {again}",
    Outcome.NOT_SENT: "To do it: {again}",
    Outcome.NOT_APPLIED: "If it is still wanted: {again}",
    Outcome.IN_DOUBT: "It blocks further changes to {device}. Next: ackonce doubt check {op}",
}
_NEXT_BY_TURN: Mapping[str, str] = {
    "unfinished": "See: ackonce runs {run}; go on with it: ackonce resume {run}",
    "cut_off": "See: ackonce runs {run}; go on with it: ackonce resume {run}",
    "missed": "To run it now: ackonce job run {job}",
    "overlap": "To run it now: ackonce job run {job}",
    "window": "See when it is due next: ackonce job next {job}",
    "changed": "Look at its plan, then: ackonce job add {job} ... --replace",
    "unusable": "When the plan is mended: ackonce job run {job}",
    "held": "When that process has finished: ackonce job run {job}",
}


def class_of(result: Result, *, garbled: bool = False) -> FailureClass | None:
    """The class of an operation's word; None where all is well.

    `garbled`: the last thing that was heard answered the command and made no sense.
    """
    if result.cause is not None:
        return BY_CAUSE[result.cause]
    if garbled and result.outcome is Outcome.IN_DOUBT:
        return FailureClass.FRAMING
    return BY_OUTCOME[result.outcome]


def class_of_error(problem: BaseException) -> FailureClass:
    """The class of an exception."""
    names = (f"{each.__module__}.{each.__qualname__}" for each in type(problem).__mro__)
    return next((BY_ERROR[name] for name in names if name in BY_ERROR), FailureClass.UNKNOWN)


def failure_of(
    operation: Operation, result: Result, *, reference: str, garbled: bool = False
) -> Failure | None:
    """How an operation failed; None where all is well.

    Args:
        operation: as it was asked for.
        result: its word.
        reference: for the log, used where the failure is one of ours.
        garbled: as `class_of` takes it.
    """
    kind = class_of(result, garbled=garbled)
    if kind is None:
        return None
    code = result.outcome.value if result.cause is None else f"{result.outcome.value}.{result.cause.value}"
    what = _WHAT[result.outcome].format(command=operation.command)
    hint = _NEXT_BY_OUTCOME.get(result.outcome, "")
    if result.cause is not None and result.outcome is Outcome.NOT_SENT:
        hint = _NEXT_BY_CAUSE.get(result.cause, "")
    doubt = result.outcome is Outcome.IN_DOUBT
    return _failure(kind, code, what, result.message, _filled(hint, operation), reference, settles=doubt)


def failure_of_turn(
    job: str, state: str, note: str, *, run: str | None, steps: Sequence[FailureClass], reference: str
) -> Failure | None:
    """How a turn of a job failed; None where all is well.

    Args:
        job: its name.
        state: what the turn has come to.
        note: the sentence about it.
        run: the id of its run, None where it came to none.
        steps: the classes of the steps that failed.
        reference: for the log, used where the failure is one of ours.
    """
    kind = BY_TURN[state]
    if kind is None:
        return None
    kind = next((each for each in WORST_FIRST if each in steps), kind)
    hint = _NEXT_BY_TURN.get(state, "").format(job=job, run=run)
    what = f"job {job}: {state.replace('_', ' ')}"
    return _failure(kind, state, what, note, hint, reference, settles=run is not None)


def failure_of_error(problem: BaseException, operation: Operation, *, left: bool, reference: str) -> Failure:
    """How an operation failed that an exception ended.

    Args:
        problem: the exception; its own words are told where it is no failure of ours.
        operation: as it was asked for.
        left: whether a copy may have been written.
        reference: for the log, used where the failure is one of ours.
    """
    outcome = Outcome.IN_DOUBT if left else Outcome.NOT_SENT
    kind, code = class_of_error(problem), f"{outcome.value}.{type(problem).__name__}"
    what, hint = (
        _WHAT[outcome].format(command=operation.command),
        _filled(_NEXT_BY_OUTCOME[outcome], operation),
    )
    why = str(problem) or type(problem).__name__
    return _failure(kind, code, what, why, hint, reference, settles=left)


def _failure(
    kind: FailureClass, code: str, what: str, why: str, hint: str, reference: str, *, settles: bool
) -> Failure:
    """A failure whose insides are told to whoever asked, or to the log only.

    `settles`: the hint is how to settle what it left open, which is theirs to do even where the failure is ours.
    """
    if kind not in INTERNAL:
        return Failure(kind, code, escape(f"{what}: {why}" if why else what), hint or None, None)
    told = f"{what}: {_INSIDE[kind]}. Whoever looks after that agent finds it in its log under {reference}"
    return Failure(kind, code, escape(told), (hint or None) if settles else None, reference)


_INSIDE: Mapping[FailureClass, str] = {
    FailureClass.STORE: "the agent could not write or read its journal",
    FailureClass.BUG: "an error in ackonce itself",
    FailureClass.UNKNOWN: "it ended in a way that nobody foresaw",
}


def again(operation: Operation, *, raw: bool | None = None) -> str:
    """What to type to ask for an operation once more: under its key, or with the run that it belongs to.

    `raw`: whether it was asked for with --raw, where somebody has looked into the profile. Else one that may have been
    is told in words, since it looks as a command of the catalog does that counts every time.
    """
    if operation.run:
        return f"ackonce resume {operation.run}"
    if raw is None and _may_be_raw(operation):
        return "send it again as it was typed (with --raw, if it was)"
    key = f" --key {shlex.quote(operation.key)}" if operation.key is not None else ""
    return f"ackonce send {_with_device(operation)}{key}{' --raw' if raw else ''}"


def without_braces(text: str, secrets: Sequence[str]) -> str:
    """A text with the references of its secrets as a person types them."""
    for reference in secrets:
        text = text.replace(marked(reference), reference)
    return text


def _with_device(operation: Operation) -> str:
    """The device and the command as words of a shell."""
    words, secrets = [operation.command], operation.terms.secrets
    if any(value.split() != [value] for value in operation.terms.args.values()):
        words = _unquoted(operation.command)
    command = shlex.join(without_braces(word, secrets) for word in words)
    return f"{typed(operation.device, operation.profile)} {command}"


def _unquoted(command: str) -> list[str]:
    """The words of a command that `orders.spelled` has quoted; what it has not is one word, whatever is in it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return [command]
    return words if shlex.join(words) == command else [command]


def _may_be_raw(operation: Operation) -> bool:
    terms = operation.terms
    counts = operation.kind == Kind.TRIGGER and terms.policy is Policy.NO_RETRY
    return counts and not terms.args and terms.text == operation.command


def _explained(operation: Operation) -> str:
    """What to type to see what a command needs; for what the catalog may not know, to see what it knows."""
    if _may_be_raw(operation):
        return f"ackonce profile show {shlex.quote(operation.profile)}"
    return f"ackonce explain {_with_device(operation)}"


def _filled(hint: str, operation: Operation) -> str:
    return hint.format(
        again=again(operation),
        explain=_explained(operation),
        device=typed(operation.device, operation.profile),
        op=operation.op,
    )
