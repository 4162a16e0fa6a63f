"""`ackonce job export`: what starts a job at its times without a server that runs all day."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.options import Common
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.plans.jobs import Job
    from agent.service import Service
    from agent.settings import Settings


def export(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The job's name.")],
    systemd: Annotated[bool, typer.Option("--systemd", help="As a service and a timer of systemd.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Write the files there; default: print them.")
    ] = None,
) -> None:
    """Write what starts a job at its times without `ackonce serve` running all the time."""
    from agent.cli.new_files import write_new
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.plans.jobs import Jobs
    from agent.plans.systemd import units

    if not systemd:
        raise UsageProblem("say for what", "Give --systemd")
    settings = settings_of(common)

    async def work(service: "Service") -> "Job":
        return Jobs(service).find(name)

    files = units(run_agent(common, settings, work), _program(), dict(_environ(settings)))
    if folder is not None:
        there = {(common.project or Path()) / folder / file: text for file, text in files.items()}
        write_new(there, "Remove it first, or give another --dir")
        _tell_written(common, list(there), name)
        return
    for file, text in files.items():
        if common.json:
            output.put_json({"schema": 1, "file": file, "text": text})
        else:
            output.put(f"# {file}\n{text}")


def _tell_written(common: Common, written: Sequence[Path], name: str) -> None:
    for path in written:
        if common.json:
            output.put_json({"schema": 1, "file": str(path)})
        else:
            output.put(str(path))
    if not common.quiet:
        output.say(
            f"Put them into ~/.config/systemd/user, then: systemctl --user enable --now ackonce-{name}.timer"
        )


def _program() -> list[str]:
    """How this very installation is started, by absolute paths."""
    beside = Path(sys.executable).with_name("ackonce")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "agent.cli.start"]


def _environ(settings: "Settings") -> Iterator[tuple[str, str]]:
    yield "ACKONCE_HOME", str(settings.home.absolute())
    if settings.agent is not None:
        yield "ACKONCE_AGENT", settings.agent
