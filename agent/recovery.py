"""What was left open, and can its fate be learnt now?

An operation whose process died, or that ended in doubt, is taken up again from its journaled evidence; the policy
goes on as if nothing had happened in between. Unless somebody asks for the command it is only settled, never sent.
"""

from agent.evidence import TakenUp
from agent.executor import Executor, Station
from agent.journal import Case, Entry, Journal
from agent.operation import Outcome, Result
from agent.policy import next_step
from agent.steps import Finish


async def settle_unsettled(
    executor: Executor, journal: Journal, station: Station, *, but: str | None = None
) -> tuple[Entry, Result] | None:
    """Settle what is open or in doubt on a device, oldest first, before anything new is sent to it.

    Args:
        executor: carries the settling out.
        journal: knows what is open.
        station: the device.
        but: an operation that is left alone, because somebody asks for it itself.

    Returns:
        The first operation that stays in doubt, with its word: it blocks the device. None where all is settled.
    """
    for entry in journal.unsettled(station.lease.device):
        if entry.operation.op == but:
            continue
        result = await settle(executor, journal, station, entry)
        if result.outcome is Outcome.IN_DOUBT:
            return entry, result
    return None


async def settle(
    executor: Executor, journal: Journal, station: Station, entry: Entry, *, resend: bool = False
) -> Result:
    """Learn the fate of one operation. `resend`: somebody wants it done, so that it may also be sent again."""
    case = journal.load(entry.operation)
    if entry.result is not None and is_hopeless(case, resend=resend):
        return entry.result
    return await executor.take_up(station, case, resend=resend)


def is_hopeless(case: Case, *, resend: bool) -> bool:
    """Taking it up again would end in doubt without even asking the device."""
    step = next_step(case.operation.terms, [*case.facts, TakenUp(resend)])
    return isinstance(step, Finish) and step.outcome is Outcome.IN_DOUBT
