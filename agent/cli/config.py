"""`ackonce config`: which settings does this run go by, and who said each of them?"""

import typer

from agent.cli import exit_codes, output
from agent.cli.options import Common, command

_COLUMNS = ("setting", "value", "origin", "where")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="The settings, and where they come from."
    )
    command(group, "show", epilog=exit_codes.EPILOG)(show)
    app.add_typer(group, name="config")


def show(common: Common) -> None:
    """Show every setting with its value and who said it, e.g. `ackonce config show`.

    An option wins over the environment, that over the project's ackonce.toml, that over the user's own file.
    """
    from agent.settings import trace

    traced = trace(project=common.project, inventory=common.inventory, timeout=common.timeout)
    rows = [(each.name, each.value, each.origin.value, each.where) for each in traced]
    if common.json:
        for row in rows:
            output.put_json(dict(zip(_COLUMNS, row, strict=True)))
    else:
        output.put_table(_COLUMNS, rows)
