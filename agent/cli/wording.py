"""How is one operation's end told, to scripts and to people?

Every sentence says what happened, whether anything was sent, and what to do next.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.address import typed
from agent.cli.exit_codes import Exit
from agent.operation import BOOT, Cause, Operation, Outcome, Result
from logs.text import escape

if TYPE_CHECKING:
    from agent.evidence import Evidence
    from agent.journal import Entry
    from agent.service import Report
    from agent.settings import Settings

COLUMNS = ("device", "command", "outcome", "evidence", "value", "tries", "time", "message")

_NEXT_BY_CAUSE = {
    Cause.UNREACHABLE: "When that is mended: ackonce probe {device}",
    Cause.WRONG_DEVICE: "See who answers: ackonce probe {device}",
    Cause.FOREIGN: "If nobody else uses it: ackonce probe {device} --take-over --reason TEXT",
    Cause.HELD: "Try again when that process has finished.",
    Cause.STORE: "Make room or mend the permissions there, then try again.",
    Cause.INTERRUPTED: "Type it again to do it.",
    Cause.KEY: "Use another key for another command.",
}
"""What to type where nothing was sent. `Cause.UNFIT` has many reasons: the one that can be looked into is `unread`."""

_BY_OUTCOME = {
    Outcome.APPLIED: Exit.OK,
    Outcome.UNCHANGED: Exit.OK,
    Outcome.REFUSED: Exit.REFUSED,
    Outcome.NOT_APPLIED: Exit.REFUSED,
    Outcome.IN_DOUBT: Exit.IN_DOUBT,
}

_BY_CAUSE = {
    Cause.HELD: Exit.HELD,
    Cause.FOREIGN: Exit.HELD,
    Cause.DOUBT: Exit.NOT_ALL_DONE,
    Cause.INTERRUPTED: Exit.INTERRUPTED,
    Cause.KEY: Exit.FILE,
}


def exit_code(result: Result) -> Exit:
    """The exit code of one operation's word."""
    if result.outcome is Outcome.NOT_SENT:
        return _BY_CAUSE.get(result.cause or Cause.UNREACHABLE, Exit.NOT_SENT)
    return _BY_OUTCOME[result.outcome]


def operation_json(operation: Operation, result: Result | None, *, recorded: bool = True) -> dict[str, Any]:
    """One operation as the JSON contract has it (CLI.md 2)."""
    return {
        "schema": 1,
        "op": operation.op if recorded else None,
        "run": operation.run,
        "device": operation.device,
        "command": operation.command,
        "class": operation.effect_class,
        "kind": operation.kind,
        "policy": operation.terms.policy.value,
        "outcome": result.outcome.value if result is not None else Outcome.IN_DOUBT.value,
        "evidence": result.proof.value if result is not None and result.proof is not None else None,
        "seq": result.seq if result is not None else None,
        "attempts": result.attempts if result is not None else None,
        "before": result.before if result is not None else None,
        "expected": result.expected if result is not None else None,
        "value": result.value if result is not None else None,
        "route": operation.route,
        "elapsed_s": result.elapsed_s if result is not None else None,
        "message": result.message if result is not None else CUT_OFF,
    }


CUT_OFF = "the process ended before the device's word was known"


def unsent_json(operation: Operation, why: str) -> dict[str, Any]:
    """An operation that never came to an entry in the journal: nothing of it was sent."""
    return operation_json(operation, Result(Outcome.NOT_SENT, None, why), recorded=False)


def report_json(report: "Report") -> dict[str, Any]:
    """As `operation_json`, with `skipped` where nothing was done because the key had done it."""
    record = operation_json(report.operation, report.result, recorded=report.recorded)
    return record | ({"skipped": True} if report.skipped else {})


def doubt_json(entry: "Entry") -> dict[str, Any]:
    """One doubt: the operation and since when."""
    return operation_json(entry.operation, entry.result) | {"since": entry.created_utc}


_BEFORE = {False: " (done before)", True: " (asked before)"}


def row(report: "Report") -> tuple[object, ...]:
    """One operation as a row under `COLUMNS`."""
    result = report.result
    return (
        report.operation.device,
        report.operation.command,
        f"{result.outcome.value}{_BEFORE[result.outcome is Outcome.IN_DOUBT] if report.skipped else ''}",
        result.proof.value if result.proof is not None else None,
        result.value,
        result.attempts,
        f"{result.elapsed_s:.2f} s" if result.elapsed_s is not None else None,
        result.message,
    )


def what_next(device: str, profile: str, cause: Cause | None, unread: str | None = None) -> str | None:
    """What to type after nothing was read or sent, for the cause that it had; None where nobody can tell.

    `unread`: the setting that the device did not tell, where that is why.
    """
    name = typed(device, profile)
    if unread == BOOT:
        return f"See what it answers: ackonce probe {name} -vv"
    if unread is not None:
        return f"See what it answers: ackonce get {name} {unread} -vv"
    hint = _NEXT_BY_CAUSE.get(cause) if cause is not None else None
    return hint.format(device=name) if hint is not None else None


def send_again(operation: Operation, *, raw: bool | None) -> str:
    """What to type after a command that certainly had no effect; `raw` as `failures.again` takes it."""
    from agent.fleet.failures import again

    return f"If it is still wanted: {again(operation, raw=raw)}"


def was_raw(settings: "Settings", operation: Operation) -> bool | None:
    """Whether it was asked for with --raw; None where its profile is gone, or has changed since and cannot tell."""
    from agent.fleet.failures import without_braces
    from agent.profile_folders import load_profile
    from devices.catalog import resolve
    from devices.problems import FileProblems, UsageProblem

    try:
        profile = load_profile(settings, operation.profile)
    except FileProblems:
        return None
    try:
        typed_text = without_braces(operation.command, operation.terms.secrets)
        if resolve(profile, [typed_text]).text == operation.terms.text:
            return False
    except UsageProblem:
        pass  # nothing that the catalog knows
    return not operation.terms.args if profile.digest == operation.profile_digest else None


def resolve_command(operation: Operation) -> str:
    """What a person types who has found out what became of an operation."""
    return f"ackonce doubt resolve {operation.op} --applied|--not-applied --reason TEXT"


def still_in_doubt(operation: Operation, result: Result, learnt: Sequence["Evidence"]) -> list[str]:
    """What a check that did not settle a doubt has shown, and what to type next; for a person, who may know more.

    `learnt`: the facts that this check has added. Without any there was nothing to ask.
    """
    found = _reading(operation, result, learnt)
    failed = _unasked(learnt)
    if failed is not None:
        told = f" {found}" if found is not None else ""
        return [
            f"Still in doubt: {operation.device} {failed} now.{told} When it can: ackonce doubt check {operation.op}",
            f"or, when you have looked: {resolve_command(operation)}",
        ]
    told = found or "Nothing that can be read tells."
    return [f"Still in doubt. {told} Look at the equipment, then: {resolve_command(operation)}"]


def _unasked(learnt: Sequence["Evidence"]) -> str | None:
    """Why the device has told nothing of an operation, where it may at another time; None where it has answered."""
    from agent.evidence import BadSession, Burnt, Deferred, Found, NotSent, Reading, Spent, Unanswered

    for fact in reversed(learnt):
        match fact:
            case NotSent() | Found(answered=False):
                return "could not be asked"
            case Unanswered() | Reading(value=None):
                return "gave no usable answer"
            case Deferred():
                return "was too busy to tell"
            case Reading() | Found() | BadSession() | Burnt() | Spent():
                return None
    return None


def _reading(operation: Operation, result: Result, learnt: Sequence["Evidence"]) -> str | None:
    """What the setting suggests that this check has read; None where it has read nothing."""
    from agent.evidence import Reading

    back = operation.terms.readback
    read = [
        fact for fact in learnt if isinstance(fact, Reading) and back is not None and fact.value is not None
    ]
    values = [fact.value for fact in read if back is not None and fact.setting == back.setting]
    if not values:
        return None
    seen = f"It was {result.before or 'not read'} before and reads {values[-1]} now"
    match values[-1]:
        case result.expected:
            return f"{seen}, as if the command had taken effect; that alone does not prove it."
        case result.before:
            return f"{seen}, as if the command had not taken effect; that alone does not prove it."
    return f"{seen}; {result.expected} was expected."


def advice(report: "Report", *, why: bool, raw: bool | None = None) -> list[str]:
    """What a person should know beyond the row: whether anything was sent, and what to type next.

    `why`: with the message, where the row does not stand beside it. `raw`: whether it was typed with --raw.
    """
    result, operation = report.result, report.operation
    result = replace(result, message=escape(result.message))
    name = operation.device
    end = f": {result.message}." if why else "."
    match result.outcome:
        case Outcome.IN_DOUBT:
            return [
                f"{name}: '{operation.command}' was sent, and nobody can tell yet whether it took effect{end}",
                f"It blocks further changes to {name}. Next: ackonce doubt check {operation.op}",
                f"or, when you have looked: {resolve_command(operation)}",
            ]
        case Outcome.NOT_SENT:
            cause = result.cause or Cause.UNREACHABLE
            hint = what_next(name, operation.profile, cause, result.unread)
            sentence = f"{name}: nothing of '{operation.command}' was sent{end}"
            return [sentence, *([hint] if hint is not None else [])]
        case Outcome.REFUSED:
            return [f"{name}: '{operation.command}' was sent and had no effect{end}"]
        case Outcome.NOT_APPLIED:
            return [
                f"{name}: '{operation.command}' was sent, has had no effect and never will{end}",
                send_again(operation, raw=raw),
            ]
    return []
