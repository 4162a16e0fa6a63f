"""`ackonce send`: one catalog command, one true word."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Abandoned, Exit
from agent.cli.keys import check_key
from agent.cli.options import Common, command
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.operation import Operation
    from agent.service import Report, Service
    from agent.settings import Settings
    from agent.targets import Chosen
    from devices.profile import Profile


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "send", context_settings={"ignore_unknown_options": True}, epilog=exit_codes.EPILOG)(send)


def send(
    common: Common,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Name, glob, group:NAME, tag:NAME, @FILE or URL.")
    ],
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="As in: ADJUST offset +5")],
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="Profile, needed with a URL.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Do nothing twice under this key.")] = None,
    policy: Annotated[str | None, typer.Option(metavar="POLICY", help="Never a weaker promise.")] = None,
    attempts: Annotated[
        int | None, typer.Option(min=1, max=100, help="Copies that may end in silence.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Send the words as they are: once, never again.")
    ] = False,
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="Confirms what --yes does not.")] = None,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="Read first; send nothing where the value is there already.")
    ] = False,
) -> None:
    """Send one command of the catalog."""
    from agent.cli.places import settings_of
    from agent.orders import order_for
    from agent.targets import reachable_targets

    _refuse_unknown_options(words, raw=raw)
    check_key(key)
    _refuse_a_plans_key(key)
    settings = settings_of(common)
    chosen = reachable_targets(settings, [target], profile)
    order = partial(
        order_for,
        settings,
        raw=raw,
        policy=policy,
        key=key,
        attempts=attempts,
        reason=common.reason,
        if_needed=if_needed,
    )
    try:
        orders = [(each, order(each, words)) for each in chosen]
    except UsageProblem as problem:
        hint = None if raw else _as_set(chosen[0].profile, words)
        if hint is None:
            raise
        place = [target] if profile is None else [target, "--profile", profile]
        hint = f"Or: ackonce set {shlex.join(place)} {hint}"
        raise UsageProblem(problem.message, f"{problem.hint} {hint}" if problem.hint else hint) from None
    if if_needed:
        _refuse_what_counts_every_time([operation for _, operation in orders])
    deliver(common, settings, orders, target, confirm, raw=raw)


def deliver(
    common: Common,
    settings: "Settings",
    orders: Sequence[tuple["Chosen", "Operation"]],
    target: str,
    confirm: str | None = None,
    *,
    raw: bool = False,
) -> NoReturn:
    """Ask where that is due, carry the orders out one after the other, tell their words, and end with their exit code.

    `target` is what the person typed for the devices; `raw`: whether --raw was.
    """
    from agent.cli.running import run_agent
    from agent.cli.store_words import mending
    from agent.store.database import StoreError

    batch = _Batch(common, orders, raw=raw)
    _ask(batch, target, confirm)
    try:
        run_agent(common, settings, batch.send_all, side_by_side=len(orders) > 1)
    except Abandoned:
        batch.abandoned = True
    except StoreError as problem:
        advice = mending(problem)
        _stop(batch, Exit.NOT_SENT, str(problem), *([advice] if advice is not None else []))
    raise typer.Exit(_end(batch))


def _as_set(profile: "Profile", words: Sequence[str]) -> str | None:
    """The pairs that `ackonce set` takes, where these words are such; None where they are not, or make no sense."""
    from devices.calls import as_settings
    from devices.catalog import call_to_set

    pairs = as_settings(profile, words)
    try:
        for name, _, value in (pair.partition("=") for pair in pairs):
            call_to_set(profile, name, value)
    except UsageProblem:
        return None
    return shlex.join(pairs) or None


def _refuse_unknown_options(words: Sequence[str], *, raw: bool) -> None:
    """Words may begin with a dash (-5); what begins with two is a mistyped option."""
    for word in words:
        if word.startswith("--") and not raw:
            raise UsageProblem(f"no such option: {word}", "Try: ackonce send --help")


def _refuse_a_plans_key(key: str | None) -> None:
    if key is None:
        return
    from agent.plans.layout import KEY_PREFIX

    if key.startswith(KEY_PREFIX):
        raise UsageProblem(
            f"--key: keys that begin with '{KEY_PREFIX}' are those of plans", "Give another one"
        )


def _refuse_what_counts_every_time(operations: Sequence["Operation"]) -> None:
    for operation in operations:
        if not operation.terms.if_needed:
            raise UsageProblem(
                f"--if-needed: whether {operation.device} needs '{operation.command}' cannot be read",
                "It is for absolute commands whose setting the profile reads and nobody else writes",
            )


@dataclass(slots=True)
class _Batch:
    """The orders of one run, and how far they have come: `reports` are those that have their word."""

    common: Common
    orders: Sequence[tuple["Chosen", "Operation"]]
    raw: bool = False
    reports: list["Report"] = field(default_factory=list)
    abandoned: bool = False
    _service: "Service | None" = None

    @property
    def waiting(self) -> list["Operation"]:
        """The operations without a word."""
        return [operation for _, operation in self.orders[len(self.reports) :]]

    async def send_all(self, service: "Service") -> None:
        """One device after the other; no new one after Ctrl-C."""
        from agent.cli.wording import report_json
        from agent.operation import Cause, Outcome, Result
        from agent.service import KeyClash, Report

        self._service = service
        for chosen, operation in self.orders:
            if service.executor.stopping():
                return
            try:
                report = await service.send(chosen.target, operation)
            except KeyClash as clash:
                result = Result(Outcome.NOT_SENT, None, str(clash), Cause.KEY)
                report = Report(operation, result, recorded=False)
            self.reports.append(report)
            self.tell(report_json(report))

    def tell(self, record: dict[str, Any]) -> None:
        """Print an object where --json was given."""
        if self.common.json:
            with output.whoever_listens():
                output.put_json(record)

    def may_have_left(self, operation: "Operation") -> bool:
        """Whether a copy of an operation without a word may have been written."""
        service = self._service
        return service is not None and operation is self.waiting[0] and service.may_have_left(operation)


def _ask(batch: _Batch, target: str, confirm: str | None) -> None:
    """Ask before what cannot be taken back. Ends with exit 4 where the answer is no, or nobody can be asked."""
    from agent.cli import danger
    from agent.plans.consent import needed

    operations = [operation for _, operation in batch.orders]
    first, devices = operations[0], ", ".join(operation.device for operation in operations)
    name = first.device if len(operations) == 1 else target
    question = f"{first.command} on {devices}: a {first.kind} command, which counts every time. Send it?"
    try:
        danger.ask(batch.common, needed(operations), name, confirm=confirm, question=question)
    except danger.NotAllowed as no:
        _stop(batch, no.code, str(no))


def _stop(batch: _Batch, code: Exit, why: str, *more: str) -> NoReturn:
    """End before anything was sent, with an object for every device where --json was given."""
    from agent.cli.wording import unsent_json

    for operation in batch.waiting:
        batch.tell(unsent_json(operation, why))
    output.fail(code, why, "Nothing was sent.", *more)


def _end(batch: _Batch) -> Exit:
    """Tell how everything ended, and which code that makes."""
    from agent.cli.wording import COLUMNS, advice, exit_code, row

    common, reports = batch.common, batch.reports
    if reports and not common.json:
        with output.whoever_listens():
            output.put_table(COLUMNS, [row(report) for report in reports])
    if not common.quiet:
        for report in reports:
            for line in advice(report, why=common.json or not output.on_terminal(), raw=batch.raw):
                output.say(line)
    codes = [exit_code(report.result) for report in reports]
    for number, operation in enumerate(batch.waiting):
        codes.append(Exit.INTERRUPTED if batch.abandoned else Exit.NOT_ALL_DONE)
        _tell_waiting(batch, operation, abandoned=batch.abandoned and number == 0)
    return exit_codes.worst(codes)


def _tell_waiting(batch: _Batch, operation: "Operation", *, abandoned: bool) -> None:
    from agent.cli.wording import operation_json, unsent_json

    if abandoned and batch.may_have_left(operation):
        why = "interrupted twice; a copy may have left. The next command to the device, or doubt check, settles it"
        batch.tell(operation_json(operation, None) | {"message": why})
        output.say(f"{operation.device}: '{operation.command}': {why}.")
        output.say("See: ackonce doubt list")
        return
    why = "interrupted before anything was sent" if abandoned else "interrupted before its turn"
    batch.tell(unsent_json(operation, why))
    output.say(f"{operation.device}: nothing of '{operation.command}' was sent: {why}.")
