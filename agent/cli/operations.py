"""Which operation of the store does a person mean?"""

from typing import TYPE_CHECKING

from devices.problems import UsageProblem
from logs.text import escape

if TYPE_CHECKING:
    from agent.journal import Entry
    from agent.service import Service

_ALL = "See the ids of all: ackonce log -v"


def find_operation(service: "Service", op: str) -> "Entry":
    """The one operation whose id is, or begins with, `op`. Raises UsageProblem, StoreError."""
    from agent.journal import FOUND_MAX

    found = service.journal.find(op)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageProblem(f"no operation {op} in this store", _ALL)
    which = f"the newest {FOUND_MAX}" if len(found) == FOUND_MAX else "which one?"
    rows = (
        f"  {each.operation.op}  {each.operation.device}  {escape(each.operation.command)}  {each.created_utc}"
        for each in found
    )
    raise UsageProblem("\n".join([f"several operations begin with {op}: {which}", *rows]))


def newest_operation(service: "Service") -> "Entry":
    """The operation that was entered last. Raises UsageProblem, StoreError."""
    found = service.journal.newest()
    if found is None:
        raise UsageProblem(
            "there is no operation in this store yet", "Send a command first: ackonce send --help"
        )
    return found
