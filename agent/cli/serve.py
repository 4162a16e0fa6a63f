"""`ackonce serve`: runs due jobs until somebody interrupts, or with `--once` only what is due now.

Each event is one line on stderr, and with `--json` an object on stdout.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.fleet.duties import Duties
    from agent.plans.job_runs import Told
    from agent.service import Service
    from agent.settings import Settings

    OnDuty = Callable[[Service, Callable[[Told], None]], AbstractAsyncContextManager[None]]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "serve", epilog=exit_codes.EPILOG)(serve)


def serve(
    common: Common,
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, then end; for timers.")] = False,
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Look after this job only.")] = None,
) -> None:
    """Run due jobs until interrupted: Ctrl-C or SIGTERM waits for what is in flight, a second one does not.

    Where ackonce.toml has a table [fleet], this agent probes its devices and other agents meanwhile; not with --once
    or --job.
    """
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.fleet.agents import NameTaken
    from agent.fleet.deliveries import Deliveries
    from agent.fleet.fleet_settings import notify_urls
    from agent.plans.job_runs import Told
    from agent.plans.jobs import Jobs
    from agent.plans.serve import Server
    from agent.plans.serve import serve as do_all

    settings = settings_of(common)
    urls = notify_urls(settings)
    duties = None if once or job is not None else _fleet_duties(settings)
    codes: dict[tuple[str | None, ...], Exit] = {}

    def told(event: "Told") -> None:
        if common.json:
            with output.whoever_listens():
                output.put_json(event_json(event))
        say(common, event)
        code = exit_code(event)
        # Of a server that ran for months it counts only whether its end cut anything off.
        if once or code is Exit.INTERRUPTED:
            codes[_matter(event)] = code

    async def work(service: "Service") -> None:
        if job is not None:
            Jobs(service).find(job)
        server = Server(service, settings, told, only=job)
        deliveries = Deliveries(
            service, urls, lambda text: told(Told(service.clock.stamp(), "notices", text))
        )
        if once:
            await server.run_due()
            await deliveries.deliver()
        elif duties is None:
            await do_all([server.keep_time, deliveries.keep_delivering])
        else:
            async with duties(service, told):
                await do_all([server.keep_time, deliveries.keep_delivering])

    try:
        run_agent(common, settings, work, side_by_side=True, messages=False)
    except NameTaken as taken:
        if common.json:
            output.put_json_failure(str(taken))
        output.say(f"ackonce: {taken}")
        raise typer.Exit(Exit.HELD) from None
    raise typer.Exit(exit_codes.worst(codes.values()))


def _fleet_duties(settings: "Settings") -> "OnDuty | None":
    """What makes the duties for the fleet, None where there are none. Raises FileProblems."""
    from agent.fleet.duties import Duties
    from agent.fleet.fleet_settings import fleet_settings
    from agent.fleet.notices import Notices
    from agent.fleet.watched import watched
    from agent.plans.job_runs import Told

    place = fleet_settings(settings)
    if place is None:
        return None
    devices = watched(settings)

    def on_duty(service: "Service", told: "Callable[[Told], None]") -> AbstractAsyncContextManager[None]:
        def tell(text: str) -> None:
            told(Told(service.clock.stamp(), "fleet", text))

        return _introduced(Duties(service, place, devices, tell, look=Notices(service).look), service, told)

    return on_duty


@asynccontextmanager
async def _introduced(
    duties: "Duties", service: "Service", told: "Callable[[Told], None]"
) -> AsyncIterator[None]:
    """The duties; once they have begun it is said who does them."""
    from agent.plans.job_runs import Told

    async with duties.on():
        told(Told(service.clock.stamp(), "serving", duties.introduction()))
        yield


def _matter(event: "Told") -> tuple[str | None, ...]:
    """What an event is the newest word on: a turn, which may have had words before; or the store."""
    return ("store",) if event.event == "store" else (event.job, event.key)


def say(common: Common, event: "Told") -> None:
    """One event as a line on stderr."""
    if not common.quiet or event.event not in _ROUTINE:
        about = " ".join(part for part in (event.job, event.key) if part is not None)
        message = " ".join(event.message.splitlines())
        word = "" if message.startswith(event.event) else f"{event.event}, "
        output.say(f"{event.ts} {about + ': ' if about else ''}{word}{message}")


_ROUTINE = frozenset({"serving", "started", "done"})
"""Events that --quiet leaves out."""


def event_json(event: "Told") -> dict[str, Any]:
    """An event as an object."""
    return {
        "schema": 1,
        "ts": event.ts,
        "event": event.event,
        "job": event.job,
        "key": event.key,
        "run": event.run,
        "summary": dict(event.counts) if event.counts is not None else None,
        "message": event.message,
    }


_BY_EVENT = {
    "store": Exit.NOT_SENT,
    "overlap": Exit.HELD,
    "held": Exit.HELD,
    "unusable": Exit.FILE,
    "window": Exit.NOT_ALL_DONE,
    "changed": Exit.NOT_ALL_DONE,
    "unfinished": Exit.NOT_ALL_DONE,
    "cut_off": Exit.NOT_ALL_DONE,
    "not_begun": Exit.NOT_SENT,
}


def exit_code(event: "Told") -> Exit:
    """The code of one event: the worst of its steps where there are any."""
    if event.reports:
        from agent.cli.step_words import step_exit

        return exit_codes.worst(step_exit(report) for report in event.reports)
    return _BY_EVENT.get(event.event, Exit.OK)
