"""Which version is this, and what does it stand on?

The plain answer comes from a constant: asking the installed package's metadata takes half as long as a whole start.
"""

import typer

from agent import __version__
from agent.cli import output
from agent.cli.options import Common, command


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "version")(version)


def version(common: Common) -> None:
    """Say which version this is; with -v also what it runs on and where its store is."""
    if common.json:
        output.put_json({"version": __version__, **_surroundings(common)})
        return
    output.put(f"ackonce {__version__}")
    if common.verbose:
        for name, value in _surroundings(common).items():
            output.put(f"{name:<8} {value}")


def _surroundings(common: Common) -> dict[str, str]:
    import platform
    import sqlite3

    from agent.cli.places import settings_of
    from agent.store.sqlite import FILE_NAME

    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "store": str(settings_of(common).home / FILE_NAME),
    }
