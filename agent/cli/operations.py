"""Which operation of the store does a person mean?"""

from typing import TYPE_CHECKING

from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.journal import Entry
    from agent.service import Service


def find_operation(service: "Service", op: str) -> "Entry":
    """The one operation whose id is, or begins with, `op`. Raises UsageProblem, StoreError."""
    found = service.journal.find(op)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageProblem(f"no operation {op} in this store", "See: ackonce doubt list")
    raise UsageProblem(
        f"several operations begin with {op}", f"Which of {', '.join(e.operation.op for e in found)}?"
    )
