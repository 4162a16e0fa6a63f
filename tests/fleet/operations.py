"""Operations that ended, as another process of the store left them."""

import asyncio
from itertools import count

from agent.evidence import Evidence, Sent, Unknown
from agent.journal import Case
from agent.operation import Numbering, Operation, Outcome, Result, Terms
from agent.service import Service
from devices.kinds import Policy

_NUMBERS = count(1)


def asked(by: str = "ana", *, run: str | None = None) -> Operation:
    """An operation that somebody asked for."""
    terms = Terms(Policy.NO_RETRY, idempotent=False, numbering=Numbering.NONE, text="ADJUST offset +5")
    return Operation(
        op=f"01JOP{next(_NUMBERS):05d}", device="pump", command="ADJUST offset +5", kind="relative", terms=terms,
        profile="demo/controller", profile_digest="d", route="tcp://pump:1", submitted_by=by, run=run,
    )  # fmt: skip


def ended(service: Service, operation: Operation, result: Result, *facts: Evidence) -> None:
    """Let an operation end with a word, in the journal."""

    async def write() -> None:
        lease = service.registry.claim("tcp://pump:1", 1, None)
        case = Case(operation)
        for fact in facts:
            case.note(None, fact, service.clock.stamp())
        await service.journal.close(case, lease, result)
        service.leases.release(lease)

    asyncio.run(write())


def in_doubt(service: Service, by: str = "ana", how: str = "silence") -> str:
    """An operation that ended in doubt; its id."""
    operation = asked(by)
    sent = Sent(attempt=1, conn=1, text=operation.command, seq=1)
    ended(
        service, operation, Result(Outcome.IN_DOUBT, None, "no answer", seq=1, attempts=1), sent, Unknown(how)
    )
    return operation.op
