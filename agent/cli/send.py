"""`ackonce send`: one catalog command, one true word."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Abandoned, Exit
from agent.cli.options import Common, command
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.operation import Operation
    from agent.service import Report, Service
    from agent.targets import Chosen

ASKED = frozenset({"relative", "toggle", "trigger", "reset"})
"""Kinds that ask before they are sent (CLI.md 1)."""


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
) -> None:
    """Send one command of the catalog, e.g. `ackonce send pump-7 ADJUST offset +5`."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.orders import order_for
    from agent.store.database import StoreError
    from agent.targets import reachable_targets

    _refuse_unknown_options(words, raw=raw)
    if key is not None and not key.strip():
        raise UsageProblem("--key is empty", "An unset variable? Give the key, or leave --key out")
    settings = settings_of(common)
    orders = [
        (
            chosen,
            order_for(
                settings,
                chosen,
                words,
                raw=raw,
                policy=policy,
                key=key,
                attempts=attempts,
                reason=common.reason,
            ),
        )
        for chosen in reachable_targets(settings, [target], profile)
    ]
    batch = _Batch(common, orders)
    _ask(batch, target, confirm)
    try:
        run_agent(common, settings, batch.send_all)
    except Abandoned:
        batch.abandoned = True
    except StoreError as problem:
        _stop(
            batch,
            Exit.NOT_SENT,
            str(problem),
            "Without a journal nothing is sent. Make room or mend it there, then try again.",
        )
    raise typer.Exit(_end(batch))


def _refuse_unknown_options(words: Sequence[str], *, raw: bool) -> None:
    """Words may begin with a dash (-5); what begins with two is a mistyped option."""
    for word in words:
        if word.startswith("--") and not raw:
            raise UsageProblem(f"no such option: {word}", "Try: ackonce send --help")


@dataclass(slots=True)
class _Batch:
    """The orders of one run, and how far they have come: `reports` are those that have their word."""

    common: Common
    orders: Sequence[tuple["Chosen", "Operation"]]
    reports: list["Report"] = field(default_factory=list)
    abandoned: bool = False
    _service: "Service | None" = None

    @property
    def waiting(self) -> list["Operation"]:
        """The operations without a word."""
        return [operation for _, operation in self.orders[len(self.reports) :]]

    @property
    def kinds(self) -> set[str]:
        """The kinds of all operations."""
        return {operation.kind for _, operation in self.orders}

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
        case = self._service.in_hand if self._service is not None else None
        if case is not None and case.operation.op == operation.op:
            return bool(case.copies())
        return operation is self.waiting[0] and operation.key is not None


def _ask(batch: _Batch, target: str, confirm: str | None) -> None:
    """Ask before what cannot be taken back. Ends with exit 4 where the answer is no, or nobody can be asked."""
    common, orders, kinds = batch.common, batch.orders, batch.kinds
    name = orders[0][0].device.name if len(orders) == 1 else target
    if "link" in kinds or ("reset" in kinds and len(orders) > 1):
        if confirm == name:
            return
        if not _can_ask(common):
            _stop(batch, Exit.NOT_ALLOWED, f"this needs --confirm {name}")
        if _answer(batch, f"Type {name} to do it:") != name:
            _stop(batch, Exit.NOT_ALLOWED, "not confirmed")
        return
    if not kinds & ASKED or common.yes:
        return
    if not _can_ask(common):
        _stop(batch, Exit.NOT_ALLOWED, _NOBODY_TO_ASK["input" if common.no_input else "terminal"])
    devices = ", ".join(operation.device for _, operation in orders)
    operation = orders[0][1]
    question = f"{operation.command} on {devices}: a {operation.kind} command, which counts every time. Send it? [y/N]"
    if _answer(batch, question).lower() not in ("y", "yes"):
        _stop(batch, Exit.NOT_ALLOWED, "you said no")


_NOBODY_TO_ASK = {
    "input": "this kind of command asks first, and --no-input forbids it: give --yes",
    "terminal": "this kind of command asks first, and there is no terminal: give --yes",
}


def _can_ask(common: Common) -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and not common.no_input


def _answer(batch: _Batch, question: str) -> str:
    try:
        return output.ask(question)
    except KeyboardInterrupt:
        output.say("")
        _stop(batch, Exit.INTERRUPTED, "interrupted")


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
            for line in advice(report, why=common.json or not output.on_terminal()):
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
