"""`ackonce fleet`: which devices and agents are there, who can reach whom, and what have operators said of them?

Everything is read from the store: no device is touched, and nothing but an operator's own word is ever written.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command

if TYPE_CHECKING:
    from agent.cli.fleet_view import View
    from agent.fleet.changes import Change
    from agent.fleet.errands import Message
    from agent.service import Service

HISTORY_DEFAULT = 20
HISTORY_MAX = 200
Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="A device or an agent; where both bear the name: agent:NAME.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Devices and agents: who is well, who reaches whom. `ackonce serve` looks.",
    )
    command(group, "status")(status)
    command(group, "agents")(agents)
    command(group, "show")(show)
    command(group, "explain")(explain)
    command(group, "messages")(messages)
    command(group, "reference")(reference)
    command(group, "disable")(disable)
    command(group, "enable")(enable)
    app.add_typer(group, name="fleet")


def status(
    common: Common,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 10 where anything is not healthy.")
    ] = False,
) -> None:
    """List every device and agent with its status and why, the worst first."""
    from agent.cli.fleet_table import put_status
    from agent.cli.fleet_view import since, with_view
    from agent.fleet.verdict import Status

    view, begun = with_view(common, lambda service, view: since(service, view, sorted(view.known)))
    if view.is_begun:
        put_status(common, view, begun)
    else:
        _say_how_to_start(common)
    if exit_code and any(each.status is not Status.HEALTHY for each in view.fleet.verdicts.values()):
        raise typer.Exit(Exit.DIFFERENT)


def agents(common: Common) -> None:
    """List the agents: where each stands, when it was heard of, what it says of itself."""
    from agent.cli.fleet_table import put_agents
    from agent.cli.fleet_view import with_view

    view, _ = with_view(common, lambda *_: None)
    if not view.agents:
        _say_how_to_start(common)
        return
    put_agents(common, view)


def show(
    common: Common,
    target: Target,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=HISTORY_MAX, help="So many changes of its status.")
    ] = HISTORY_DEFAULT,
) -> None:
    """Show who sees a device or an agent, whom an agent sees, and how its status changed."""
    from agent.cli.fleet_show import put_card
    from agent.cli.fleet_view import since, with_view
    from agent.fleet.changes import Changes

    def work(service: "Service", view: "View") -> tuple[str, list["Change"], str | None]:
        meant = view.meant(target)
        return meant, Changes(service).history(meant, count), since(service, view, [meant]).get(meant)

    view, (meant, history, begun) = with_view(common, work)
    put_card(common, view, meant, history, begun)
    if not view.agents:
        _say_how_to_start(common)


def explain(common: Common, target: Target) -> None:
    """Say why a device or an agent has its status, what would heal it, and what it means."""
    from agent.cli.fleet_explain import put_explanation
    from agent.cli.fleet_view import with_view

    view, meant = with_view(common, lambda _, view: view.meant(target))
    put_explanation(common, view, meant)
    if not view.agents:
        _say_how_to_start(common)


def messages(
    common: Common,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=HISTORY_MAX, help="So many messages.")
    ] = HISTORY_DEFAULT,
) -> None:
    """List what was kept for you: how jobs and other agents fared with what you had asked for."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.fleet.errands import Errands, lines, message_json

    settings = settings_of(common)

    async def work(service: "Service") -> list["Message"]:
        return Errands(service).messages(settings.actor, count)

    kept = run_agent(common, settings, work, messages=False)
    if common.json:
        for message in kept:
            output.put_json(message_json(message))
        return
    for line in lines(kept[::-1], len(kept)):
        output.put(line)
    if not kept and not common.quiet:
        output.say(f"Nothing is kept for {settings.actor}.")


def reference(
    common: Common,
    target: Target,
    off: Annotated[bool, typer.Option("--off", help="It is no reference any more.")] = False,
) -> None:
    """Make an agent a reference: whom it cannot reach is unreachable on its word alone."""
    from agent.cli.fleet_marks import put_mark
    from agent.fleet.marks import Mark

    put_mark(common, target, Mark.REFERENCE, holds=not off)


def disable(common: Common, target: Target) -> None:
    """Say that no work is to go to a device or through an agent, until it is enabled."""
    from agent.cli.fleet_marks import put_mark
    from agent.fleet.marks import Mark

    put_mark(common, target, Mark.DISABLED, holds=True)


def enable(common: Common, target: Target) -> None:
    """Take a `disable` back."""
    from agent.cli.fleet_marks import put_mark
    from agent.fleet.marks import Mark

    put_mark(common, target, Mark.DISABLED, holds=False)


def _say_how_to_start(common: Common) -> None:
    from agent.cli.fleet_words import HOW_TO_START

    if not common.quiet:
        output.say(HOW_TO_START)
