"""`ackonce doubt`: the person's inbox. What is in doubt, what would tell, and a person's word."""

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Exit
from agent.cli.operations import find_operation
from agent.cli.options import Common, command
from devices.problems import UsageProblem
from logs.text import escape

if TYPE_CHECKING:
    from agent.evidence import Evidence
    from agent.journal import Entry
    from agent.operation import Operation, Result
    from agent.service import Service
    from agent.settings import Settings
    from agent.targets import Chosen

Op = Annotated[str, typer.Argument(metavar="OP", help="The operation's id, or its beginning.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="What is in doubt, and how to settle it."
    )
    command(group, "list")(list_doubts)
    command(group, "show")(show)
    command(group, "check", epilog=exit_codes.EPILOG)(check)
    command(group, "resolve")(resolve)
    app.add_typer(group, name="doubt")


def list_doubts(common: Common) -> None:
    """List what is in doubt, in all devices of this store."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.wording import CUT_OFF, doubt_json

    async def work(service: "Service") -> list["Entry"]:
        return service.doubts()

    entries = run_agent(common, settings_of(common), work)
    if common.json:
        for entry in entries:
            output.put_json(doubt_json(entry))
        return
    output.put_table(
        ("op", "device", "command", "since", "why"),
        [
            (
                entry.operation.op,
                entry.operation.device,
                entry.operation.command,
                entry.created_utc,
                entry.result.message if entry.result is not None else CUT_OFF,
            )
            for entry in entries
        ],
    )
    if not entries and not common.quiet:
        output.say("Nothing is in doubt.")


def show(common: Common, op: Op) -> None:
    """Tell the story of one operation: what was sent, what was learnt, what would tell."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.sequence import no_way
    from agent.cli.wording import doubt_json, resolve_command
    from agent.evidence import NotSent, Sent
    from agent.narrate import Narrator
    from logs.events import human

    async def work(service: "Service") -> tuple["Entry", list[str]]:
        entry = find_operation(service, op)
        narrator = Narrator(entry.operation, service.holder.agent)
        lines, sent = [], False
        for _, fact, utc in service.journal.story(entry.operation.op):
            told = narrator.fact(fact, utc)
            sent = sent or isinstance(fact, Sent)
            if told is not None:
                lines.append(f"  {utc}  {human(told)}")
            elif isinstance(fact, NotSent):  # the log tells it with the word at the end
                lines.append(f"  {utc}  {no_way(fact, sent=sent)}")
        return entry, lines

    entry, lines = run_agent(common, settings_of(common), work)
    if common.json:
        output.put_json(doubt_json(entry))
        return
    o, result = entry.operation, entry.result
    word = (
        result.outcome.value if result is not None else "open (its process ended before the word was known)"
    )
    output.put(f"{o.op}  {o.device}  {o.command}  {word}")
    output.put(f"  {o.kind}, policy {o.terms.policy.value}, by {o.submitted_by}, via {o.route}")
    if o.reason:
        output.put(f"  reason: {o.reason}")
    for line in lines:
        output.put(line)
    if result is not None:
        output.put(f"  {result.message}")
    if result is None or result.outcome.value == "in_doubt":
        output.put(f"  Until this is settled, nothing that changes {o.device} is sent; reads go on.")
        output.put(output.in_place(f"  Next: ackonce doubt check {o.op}"))
        output.put(output.in_place(f"  or, when you have looked: {resolve_command(o)}"))


def check(
    common: Common,
    op: Op,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another profile than the recorded one.")
    ] = None,
) -> None:
    """Ask the device what became of an operation: settles what the answers prove, else says what they suggest.

    Nothing is sent again.
    """
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.wording import exit_code, operation_json, still_in_doubt
    from agent.operation import Outcome
    from agent.store.database import Refused

    settings = settings_of(common)

    async def work(service: "Service") -> tuple["Entry", "Result", "list[Evidence]"]:
        entry = find_operation(service, op)
        if entry.result is not None and entry.result.outcome is not Outcome.IN_DOUBT:
            return entry, entry.result, []
        known = len(service.journal.load(entry.operation).facts)
        result = await service.check(_chosen(settings, entry, profile).target, entry)
        return entry, result, service.journal.load(entry.operation).facts[known:]

    try:
        entry, result, learnt = run_agent(common, settings, work)
    except Refused as held:
        output.fail(Exit.HELD, f"{held}. Nothing was asked.", as_json=common.json)
    o = entry.operation
    with output.whoever_listens():
        if common.json:
            output.put_json(operation_json(o, result))
        else:
            output.put_table(
                ("op", "device", "command", "outcome", "evidence", "message"),
                [(o.op, o.device, o.command, result.outcome.value, result.proof, result.message)],
            )
    if result.outcome is Outcome.IN_DOUBT and not common.quiet:
        for line in still_in_doubt(o, result, learnt):
            output.say(escape(line, output.LINE_MAX))
    _say_how_to_go_on(common, settings, o, result)
    raise typer.Exit(exit_code(result))


def _say_how_to_go_on(common: Common, settings: "Settings", operation: "Operation", result: "Result") -> None:
    from agent.cli.wording import send_again, was_raw
    from agent.operation import Outcome

    if result.outcome is Outcome.NOT_APPLIED and not common.quiet:
        output.say(send_again(operation, raw=was_raw(settings, operation)))


def resolve(
    common: Common,
    op: Op,
    applied: Annotated[bool, typer.Option("--applied", help="You found that it took effect.")] = False,
    not_applied: Annotated[
        bool, typer.Option("--not-applied", help="You found that it did not, and never will.")
    ] = False,
) -> None:
    """Settle a doubt by a person's word. Wants --reason; never asks."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.cli.wording import operation_json
    from agent.leases import Held
    from agent.operation import Outcome

    if applied is not_applied:
        raise UsageProblem("say what you found", "Give either --applied or --not-applied")
    if not common.reason:
        raise UsageProblem("a person's word needs its reason", "Give --reason TEXT")
    reason = common.reason
    settings = settings_of(common)

    async def work(service: "Service") -> tuple["Entry", "Result"]:
        entry = find_operation(service, op)
        if entry.result is not None and entry.result.outcome is not Outcome.IN_DOUBT:
            o = entry.operation
            raise UsageProblem(f"operation {o.op} is not in doubt: it ended {entry.result.outcome.value}")
        return entry, service.resolve(entry, applied=applied, reason=reason)

    try:
        entry, result = run_agent(common, settings, work)
    except Held as held:
        output.fail(Exit.HELD, f"{held}. Nothing was changed.", as_json=common.json)
    if common.json:
        output.put_json(operation_json(entry.operation, result))
    else:
        o = entry.operation
        output.put_table(
            ("op", "device", "command", "outcome", "message"),
            [(o.op, o.device, o.command, result.outcome.value, result.message)],
        )
    _say_how_to_go_on(common, settings, entry.operation, result)


def _chosen(settings: "Settings", entry: "Entry", profile: str | None) -> "Chosen":
    """The device of an operation: by its name in the inventory, else where it was met."""
    from agent.targets import reachable_targets

    o = entry.operation
    if settings.inventory is not None and "://" not in o.device:
        try:
            return reachable_targets(settings, [o.device], profile)[0]
        except UsageProblem:
            pass  # the inventory has changed since
    return reachable_targets(settings, [o.route], profile or o.profile)[0]
