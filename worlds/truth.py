"""Which copy of which operation took effect, and when? By the devices' own ledgers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from worlds.history import History
from worlds.network import Road
from worlds.records import Copy


@dataclass(frozen=True, slots=True)
class Effect:
    """One execution on a device; `op` is empty where no operation is known for it."""

    device: str
    op: str
    text: str
    at_s: float


def effects(history: History, roads: Mapping[str, Road]) -> list[Effect]:
    """All executions so far, device by device."""
    return [effect for road in roads.values() for effect in _of_device(history, road)]


def _of_device(history: History, road: Road) -> Iterator[Effect]:
    by_number = {(copy.session, copy.seq): copy for copy in history.copies if copy.device == road.name}
    for entry in road.device.ledger.entries:
        copy: Copy | None
        if road.tongue.numbered:
            copy = by_number.get((entry.session, entry.seq))
        else:
            copy = history.copies[entry.seq] if entry.seq is not None else None
        op = copy.op if copy is not None and copy.text == entry.text else ""
        yield Effect(road.name, op, entry.text, entry.at_s)
