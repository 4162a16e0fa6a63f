"""`ackonce set`: make it so. Each setting is read, and written only where it has another value."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exit_codes
from agent.cli.options import Common, command
from devices.problems import UsageProblem, together

if TYPE_CHECKING:
    from agent.operation import Operation
    from agent.settings import Settings
    from agent.targets import Chosen


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
    """Give settings their values; what is there already is not sent."""
    from agent.cli.places import settings_of
    from agent.cli.send import deliver
    from agent.targets import reachable_targets

    settings = settings_of(common)
    problems: list[UsageProblem] = []
    pairs = _pairs(wanted, problems)
    chosen: list[Chosen] = []
    try:
        chosen = reachable_targets(settings, [target], profile)
    except UsageProblem as problem:
        problems.append(problem)
    orders = list(_orders(settings, chosen, pairs, common.reason, problems))
    if problems:
        raise together(problems)
    deliver(common, settings, orders, target)


def _orders(
    settings: "Settings",
    chosen: Sequence["Chosen"],
    pairs: Sequence[tuple[str, str]],
    reason: str | None,
    problems: list[UsageProblem],
) -> Iterator[tuple["Chosen", "Operation"]]:
    """An operation for each device and setting; what makes no sense goes to `problems`."""
    from agent.orders import order_of
    from devices.catalog import call_to_set

    for each in chosen:
        for name, value in pairs:
            try:
                call = call_to_set(each.profile, name, value)
                yield each, order_of(settings, each, call, reason=reason, if_needed=True)
            except UsageProblem as problem:
                problems.append(problem)


def _pairs(wanted: Sequence[str], problems: list[UsageProblem]) -> list[tuple[str, str]]:
    """Settings with their values; words that are no such pair go to `problems`."""
    pairs: list[tuple[str, str]] = []
    for word in wanted:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            problems.append(UsageProblem(f"no such option: {word}", "Try: ackonce set --help"))
        elif not name or not equals or not value:
            problems.append(
                UsageProblem(f"'{word}' is not SETTING=VALUE", "As in: ackonce set logger-1 interval=30")
            )
        elif any(name == other for other, _ in pairs):
            problems.append(UsageProblem(f"'{name}' is given twice", "Give each setting one value"))
        else:
            pairs.append((name, value))
    return pairs
