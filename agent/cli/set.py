"""`ackonce set`: make it so. Each setting is read, and written only where it has another value."""

from typing import Annotated

import typer

from agent.cli import exit_codes
from agent.cli.options import Common, command
from devices.problems import UsageProblem


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "set", context_settings={"ignore_unknown_options": True}, epilog=exit_codes.EPILOG)(set_)


def set_(
    common: Common,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Name, glob, group:NAME, tag:NAME, @FILE or URL.")
    ],
    wanted: Annotated[list[str], typer.Argument(metavar="SETTING=VALUE...", help="As in: interval=30")],
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="Profile, needed with a URL.")] = None,
) -> None:
    """Give settings their values, e.g. `ackonce set pump-7 interval=30`; what is there already is not sent."""
    from agent.cli.places import settings_of
    from agent.cli.send import deliver
    from agent.orders import order_of
    from agent.targets import reachable_targets
    from devices.catalog import call_to_set

    pairs = [_pair(word) for word in wanted]
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise UsageProblem(f"'{name}' is given twice", "Give each setting one value")
    settings = settings_of(common)
    orders = [
        (
            chosen,
            order_of(
                settings,
                chosen,
                call_to_set(chosen.profile, name, value),
                reason=common.reason,
                if_needed=True,
            ),
        )
        for chosen in reachable_targets(settings, [target], profile)
        for name, value in pairs
    ]
    deliver(common, settings, orders, target)


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if word.startswith("--"):
        raise UsageProblem(f"no such option: {word}", "Try: ackonce set --help")
    if not name or not equals or not value:
        raise UsageProblem(f"'{word}' is not SETTING=VALUE", "As in: ackonce set pump-7 interval=30")
    return name, value
