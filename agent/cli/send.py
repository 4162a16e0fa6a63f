"""`ackonce send`: one catalog command, one true word."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.cli.targets import Chosen
    from agent.operation import Operation
    from agent.service import Report, Service

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
    from agent.cli.orders import order_for
    from agent.cli.places import settings_of
    from agent.cli.running import Abandoned, run_agent
    from agent.cli.targets import choose_targets
    from agent.store.database import StoreError

    _refuse_unknown_options(words, raw=raw)
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
        for chosen in choose_targets(settings, [target], profile)
    ]
    _ask(common, target, orders, confirm)
    reports: list[Report] = []
    try:
        run_agent(common, settings, lambda service: _send_all(common, service, orders, reports))
    except Abandoned:
        _left_behind(common, orders, reports)
    except StoreError as problem:
        _no_store(common, orders[len(reports) :], str(problem))
    raise typer.Exit(_end(common, orders, reports))


def _refuse_unknown_options(words: Sequence[str], *, raw: bool) -> None:
    """Words may begin with a dash (-5); what begins with two is a mistyped option."""
    for word in words:
        if word.startswith("--") and not raw:
            raise UsageProblem(f"no such option: {word}", "Try: ackonce send --help")


def _ask(
    common: Common, target: str, orders: Sequence[tuple["Chosen", "Operation"]], confirm: str | None
) -> None:
    """Ask before what cannot be taken back. Ends with exit 4 where the answer is no, or nobody can be asked."""
    kinds = {operation.kind for _, operation in orders}
    name = orders[0][0].device.name if len(orders) == 1 else target
    if "link" in kinds or ("reset" in kinds and len(orders) > 1):
        if confirm == name:
            return
        if not _can_ask(common):
            _not_allowed(common, orders, f"this needs --confirm {name}")
        if typer.prompt(f"Type {name} to do it", err=True, default="", show_default=False) != name:
            _not_allowed(common, orders, "not confirmed")
        return
    if not kinds & ASKED or common.yes:
        return
    if not _can_ask(common):
        _not_allowed(common, orders, "this kind of command asks first, and there is no terminal: give --yes")
    devices = ", ".join(operation.device for _, operation in orders)
    operation = orders[0][1]
    question = (
        f"{operation.command} on {devices}: a {operation.kind} command, which counts every time. Send it?"
    )
    if not typer.confirm(question, default=False, err=True):
        _not_allowed(common, orders, "you said no")


def _can_ask(common: Common) -> bool:
    return sys.stdin.isatty() and not common.no_input


def _not_allowed(common: Common, orders: Sequence[tuple["Chosen", "Operation"]], why: str) -> None:
    if common.json:
        for chosen, operation in orders:
            output.put_json(
                {"schema": 1, "op": None, "device": chosen.device.name, "command": operation.command}
                | {"outcome": "not_sent", "message": why}
            )
    output.fail(Exit.NOT_ALLOWED, why, "Nothing was sent.")


async def _send_all(
    common: Common,
    service: "Service",
    orders: Sequence[tuple["Chosen", "Operation"]],
    reports: list["Report"],
) -> None:
    from agent.service import DialectMissing, KeyClash

    for chosen, operation in orders:
        if service.executor.stopping():
            return
        try:
            report = await service.send(chosen.target, operation)
        except KeyClash as clash:
            _clash(common, operation, str(clash))
        except DialectMissing as missing:
            raise UsageProblem(str(missing)) from None
        reports.append(report)
        if common.json:
            from agent.cli.wording import report_json

            output.put_json(report_json(report))


def _clash(common: Common, operation: "Operation", why: str) -> None:
    if common.json:
        output.put_json(
            {"schema": 1, "op": None, "device": operation.device, "command": operation.command}
            | {"outcome": "not_sent", "message": why}
        )
    output.fail(Exit.FILE, f"{why}. Nothing was sent.", "Use another key for another command.")


def _left_behind(
    common: Common, orders: Sequence[tuple["Chosen", "Operation"]], reports: Sequence["Report"]
) -> None:
    operation = orders[len(reports)][1]
    why = (
        "interrupted twice; a copy may have left. The next command to the device, or doubt check, settles it"
    )
    if common.json:
        from agent.cli.wording import operation_json

        output.put_json(operation_json(operation, None) | {"message": why})
    output.fail(
        Exit.INTERRUPTED, f"{operation.device}: '{operation.command}': {why}", "See: ackonce doubt list"
    )


def _no_store(common: Common, orders: Sequence[tuple["Chosen", "Operation"]], why: str) -> None:
    if common.json:
        for _, operation in orders:
            output.put_json(
                {"schema": 1, "op": None, "device": operation.device, "command": operation.command}
                | {"outcome": "not_sent", "message": why}
            )
    output.fail(
        Exit.NOT_SENT,
        f"{why}. Nothing was sent.",
        "Without a journal nothing is sent; mend it and try again.",
    )


def _end(common: Common, orders: Sequence[tuple["Chosen", "Operation"]], reports: Sequence["Report"]) -> Exit:
    from agent.cli.wording import COLUMNS, advice, exit_code, row

    codes = [exit_code(report.result) for report in reports]
    if len(reports) < len(orders):
        codes.append(Exit.NOT_ALL_DONE)
    if not common.json:
        output.put_table(COLUMNS, [row(report) for report in reports])
    if not common.quiet:
        for report in reports:
            for line in advice(report):
                output.say(line)
        for _, operation in orders[len(reports) :]:
            output.say(f"{operation.device}: did not get its turn; nothing was sent")
    return exit_codes.worst(codes)
