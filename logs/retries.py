"""Which operations went out more than once, and how did each end, as far as the log tells?

It answers the question behind an odd value: was a retry the cause? Only records of operations count. An operation went
out more than once where two copies were sent, or where a copy after the first is named (a rotation may have taken the
first one away). How it ended is what its last telling record says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from logs.events import Event, EventName


@dataclass(slots=True)
class Trail:
    """What the records of one operation amount to; `ts` of the newest, `ending` None where none was told."""

    op: str
    device: str | None = None
    setting: str | None = None
    copies: int = 0
    ending: EventName | None = None
    ts: str = ""

    @property
    def repeated(self) -> bool:
        """Whether it went out more than once."""
        return self.copies > 1


ENDINGS: Final[Mapping[EventName, str]] = {
    "duplicate_ack": "answered as duplicate by the device",
    "ack": "acknowledged",
    "verify": "told by reading back",
    "settled": "settled by the number",
    "refused": "refused",
    "resolved": "resolved by a person",
    "in_doubt": "in doubt",
}
"""The records that say how an operation ended, and how people are told."""


def trails(events: Iterable[Event]) -> dict[str, Trail]:
    """The trail of each operation by its id, in the order in which they appear."""
    found: dict[str, Trail] = {}
    for event in events:
        if event.op is not None:
            _add(found.setdefault(event.op, Trail(event.op)), event)
    return found


def _add(trail: Trail, event: Event) -> None:
    trail.device = event.device or trail.device
    trail.setting = event.setting or trail.setting
    trail.ts = max(trail.ts, event.ts)
    trail.copies = max(trail.copies + (event.event == "sent"), event.attempt or 0) - (event.event == "unsent")
    if event.event in ENDINGS:
        trail.ending = event.event
