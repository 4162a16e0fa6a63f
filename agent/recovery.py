"""What was left open, and can its fate be learnt now?

An operation whose process died, or that ended in doubt, is taken up again from its journaled evidence; the policy
goes on as if nothing had happened in between. Unless somebody asks for the command it is only settled, never sent.
"""

from collections.abc import Callable

from agent.evidence import TakenUp
from agent.executor import Executor
from agent.journal import Entry, Journal
from agent.operation import Operation, Outcome, Result
from agent.policy import next_step
from agent.station import Station
from agent.steps import Finish


async def settle_unsettled(
    executor: Executor,
    journal: Journal,
    station: Station,
    *,
    tell: Callable[[Operation, Result], object],
    but: str | None = None,
) -> tuple[Entry, Result] | None:
    """Settle what is open or in doubt on a device, oldest first, before anything new is sent to it.

    What a person decided is asked about once too: a numbering device may prove the person wrong, and its number is used
    up before a new session is opened, so that an old copy can never contradict the word later.

    Args:
        executor: carries the settling out.
        journal: knows what is open.
        station: the device.
        tell: hears the word of each operation, for whoever had asked for it.
        but: an operation that is left alone, because somebody asks for it itself.

    Returns:
        The first operation that stays in doubt, with its word: it blocks the device. None where all is settled.
    """
    device = station.lease.device
    for entry in (*journal.unquestioned(device), *journal.unsettled(device)):
        if entry.operation.op == but:
            continue
        result = await settle(executor, journal, station, entry)
        tell(entry.operation, result)
        if result.outcome is Outcome.IN_DOUBT:
            return entry, result
    return None


async def settle(
    executor: Executor, journal: Journal, station: Station, entry: Entry, *, resend: bool = False
) -> Result:
    """Learn the fate of one operation. `resend`: somebody wants it done, so that it may also be sent again."""
    case = journal.load(entry.operation)
    if entry.result is not None and isinstance(
        next_step(case.operation.terms, [*case.facts, TakenUp(resend)]), Finish
    ):
        return entry.result  # taking it up again would end without even asking the device
    return await executor.take_up(station, case, resend=resend)
