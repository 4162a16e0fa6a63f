"""How does a command run the agent? One event loop, the log echoed as asked for, and Ctrl-C that cuts nothing.

The first Ctrl-C (SIGTERM, SIGHUP) ends all further copies: what is in flight reaches its word. The second leaves at
once; the journal keeps the operation open, and the next command settles it.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from agent.cli import output
from agent.cli.exit_codes import Abandoned
from agent.cli.options import Common
from agent.operation import Operation, Result
from agent.service import Service
from agent.settings import Settings
from agent.store.database import StoreError
from logs.events import Event, human

T = TypeVar("T")
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_agent(
    common: Common,
    settings: Settings,
    work: Callable[[Service], Coroutine[Any, Any, T]],
    *,
    side_by_side: bool = False,
    messages: bool = True,
) -> T:
    """Open the agent, do the work, close it.

    Args:
        common: how much of the log is shown meanwhile.
        settings: of this run.
        work: what to do with the agent.
        messages: at the end, what waits for this person is told: how jobs and other agents fared with what they wanted.
        side_by_side: it is about several devices at once, so each line of the log names its own.

    Raises:
        Abandoned: interrupted a second time.
        StoreError: the store cannot be opened; and what the work raises.
    """
    echo = None if common.quiet else _echo(common, side_by_side=side_by_side)
    service = Service(settings, echo=echo, trace=common.verbose > 1)
    service.settled = partial(_keep_for_others, service, settings.actor)
    try:
        with asyncio.Runner() as runner:
            return runner.run(_guarded(service, work(service)))
    finally:
        if messages and not common.quiet:
            _tell_messages(service, settings.actor)
        problem = service.close()
        if problem is not None and not common.quiet:
            output.say(f"ackonce: {problem} The journal is not affected.")


async def _guarded(service: Service, work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    abandoned: asyncio.Future[None] = loop.create_future()
    task = asyncio.ensure_future(work)
    ends: set[asyncio.Future[Any]] = {task, abandoned}

    def interrupted() -> None:
        if not service.executor.stopping():
            service.executor.give_up("interrupted")
            output.say(
                "ackonce: interrupted; nothing new begins, waiting for what is in flight (once more leaves it in "
                "doubt)"
            )
        elif not abandoned.done():
            abandoned.set_result(None)

    for number in _ENDINGS:
        loop.add_signal_handler(number, interrupted)
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Abandoned
        return task.result()
    finally:
        for number in _ENDINGS:
            loop.remove_signal_handler(number)


def _keep_for_others(service: Service, me: str, operation: Operation, result: Result) -> None:
    """What somebody else had left open was settled on the way: they are told at their next command."""
    if operation.submitted_by != me:
        from agent.fleet.errands import Errands

        Errands(service).operation(operation, result)


def _tell_messages(service: Service, person: str) -> None:
    """Show what nobody has seen yet, once. A store that cannot be read now is no trouble of this command."""
    with suppress(StoreError):
        if not service.database.read("SELECT 1 FROM notice WHERE state IN ('due', 'undeliverable') LIMIT 1"):
            return
        from agent.fleet.errands import Errands, lines  # 10 ms

        errands = Errands(service)
        unseen = errands.unseen(person)
        for line in lines(unseen):
            output.echo(f"ackonce: {line}")  # its commands are those of another run's project
        errands.shown(unseen)


_TOLD_AT_THE_END = frozenset({"in_doubt", "not_sent", "refused"})
"""Events that the command itself tells, with what to type next."""


def _echo(common: Common, *, side_by_side: bool) -> Callable[[Event], None]:
    shown = {0: ("WARN", "ERROR"), 1: ("INFO", "WARN", "ERROR")}.get(common.verbose)

    def echo(event: Event) -> None:
        if common.verbose == 0 and event.event in _TOLD_AT_THE_END:
            return
        if shown is None or event.level in shown:
            front = f"{event.device} " if side_by_side and event.device is not None else ""
            output.echo(f"{front}{human(event, with_bytes=common.verbose > 1)}")

    return echo
