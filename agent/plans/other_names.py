"""Which operations count for the steps of a run whose device was called otherwise when they were asked for?

A key belongs to the device and not to its name, so a renamed device does nothing twice. What was asked for under the
old name is told under the new one, and the old one, which the plan does not mean any more, is told no longer. Pure.
"""

from collections.abc import Iterable, Mapping

from agent.journal import Entry
from agent.plans.course import Missed, Note

At = tuple[str, str]
"""A device by its name in the plan, and the id of a step."""


def counting(entries: Iterable[Entry], ids: Mapping[str, int | None]) -> dict[At, Entry]:
    """The operation that counts for each step, by today's name, whatever the device was called.

    As with keys: what stands on the device counts most, then what is open or in doubt, then the newest.

    Args:
        entries: the operations of the run, oldest first.
        ids: the devices of the plan by their names, as the store numbers them; None where it has not met one.
    """
    best: dict[At, Entry] = {}
    for entry, name in _named(entries, ids):
        at = (name, entry.operation.step or "")
        if at not in best or _rank(entry) >= _rank(best[at]):
            best[at] = entry
    return best


def pointers(entries: Iterable[Entry], ids: Mapping[str, int | None]) -> dict[At, Note]:
    """A note for each step that an operation under an old name counts for: which one."""
    return {
        (name, step): pointer(entry)
        for (name, step), entry in counting(entries, ids).items()
        if entry.operation.device not in ids and _rank(entry)
    }


def pointer(entry: Entry) -> Note:
    """That an operation under another name counts for a step."""
    before = "done before" if entry.done else "asked for before"
    text = f"{before}, when the device was called {entry.operation.device}"
    return Note(Missed.OTHER_NAME, text, entry.operation.op)


def renamed(entries: Iterable[Entry], ids: Mapping[str, int | None]) -> set[tuple[str, str]]:
    """The old names of devices, each with the one of today."""
    return {
        (entry.operation.device, name)
        for entry, name in _named(entries, ids)
        if entry.operation.device not in ids
    }


def _named(entries: Iterable[Entry], ids: Mapping[str, int | None]) -> Iterable[tuple[Entry, str]]:
    """The operations of the plan's devices, each with the name that its device has today."""
    names: dict[int | None, str] = {}
    for today, device in ids.items():
        names.setdefault(device, today)
    names.pop(None, None)
    for entry in entries:
        own = entry.operation.device
        name: str | None = own if ids.get(own) == entry.device else names.get(entry.device)
        if name is not None:
            yield entry, name


def _rank(entry: Entry) -> int:
    return 2 if entry.done else int(entry.unsettled)
