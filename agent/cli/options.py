"""Which options does every command have, and how do they reach it?

`@command(app, "name")` gives a function the common options behind its own parameters; its first parameter receives them
as one `Common`. They may also be typed before the verb: `main.py` moves them behind it.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from agent.cli import output
from devices.problems import UsageProblem

CommandFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Common:
    """The common options of one run. `verbose`: 1 shows every attempt, 2 the bytes too."""

    project: Path | None
    inventory: Path | None
    yes: bool
    reason: str | None
    json: bool
    quiet: bool
    verbose: int
    no_input: bool
    timeout: str | None


def _declared(
    project: Annotated[
        Path | None, typer.Option("--project", "-C", metavar="DIR", help="Work in this folder.")
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option("--inventory", "-i", metavar="FILE", help="Devices; default ./inventory.yaml."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Answer yes to the question whether to do it.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the journal.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress or warnings on stderr.")] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="-v shows every attempt, -vv the bytes.")
    ] = 0,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Never ask; what needs an answer is not done.")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="S", help="Silence time of one exchange: 2s, 500ms, 1.5."),
    ] = None,
) -> None:
    """Carries the declarations of the common options."""


_COMMON = tuple(
    parameter.replace(annotation=get_type_hints(_declared, include_extras=True)[name])
    for name, parameter in inspect.signature(_declared).parameters.items()
)
_NAMES = frozenset(parameter.name for parameter in _COMMON)

TAKES_VALUE = {
    "--project": True,
    "-C": True,
    "--inventory": True,
    "-i": True,
    "--reason": True,
    "--timeout": True,
}
TAKES_VALUE |= dict.fromkeys(
    ("--yes", "-y", "--json", "--quiet", "-q", "--verbose", "-v", "-vv", "--no-input"), False
)
"""Every common option as typed, and whether a value follows it."""


def _check_timeout(text: str | None) -> None:
    """Commands that wait for nothing refuse it too: what is typed and not understood is never passed over."""
    if text is None:
        return
    from agent.duration import parse_duration

    try:
        parse_duration(text)
    except ValueError as problem:
        raise UsageProblem(f"--timeout: {problem}") from None


def command(app: typer.Typer, name: str, **settings: Any) -> Callable[[CommandFunction], CommandFunction]:  # noqa: ANN401
    """Register a command whose function takes `Common` first."""

    def register(function: CommandFunction) -> CommandFunction:
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in list(inspect.signature(function).parameters.values())[1:]
        ]

        @functools.wraps(function)
        def with_common(**given: Any) -> Any:  # noqa: ANN401
            common = Common(**{key: given.pop(key) for key in list(given) if key in _NAMES})
            output.work_in(common.project, common.inventory)
            _check_timeout(common.timeout)
            return function(common, **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        signature = inspect.Signature([p.replace(kind=keyword) for p in (*own, *_COMMON)])
        with_common.__signature__ = signature  # type: ignore[attr-defined]
        with_common.__annotations__ = {p.name: p.annotation for p in (*own, *_COMMON)}
        del with_common.__wrapped__
        app.command(name, **settings)(with_common)
        return function

    return register
