"""What does a simulated device still know after its process was killed?

One small JSON file holds everything that the device keeps without power: the protocol's memory, the
machine's durable values and the last effect.

1. The file is replaced as a whole (written beside, flushed, renamed), so that at every moment it is the old
   one or the new one. This is what makes effect and record one write on a tier-2 device.
2. It is written before the ledger. A kill between the two leaves an effect that the device knows of and the
   ledger does not; `Saved.last` lets the next start enter it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from protocol.native.codes import Status
from protocol.native.memory import Memory, Slot
from protocol.native.messages import Record
from simulator.ledger import Execution, execution_of


@dataclass(frozen=True, slots=True)
class Saved:
    """Everything that survives: protocol memory (None: no LSQ1), durable values by name, the last effect."""

    memory: Memory | None
    values: Mapping[str, int]
    last: Execution | None


class StateError(ValueError):
    """A file is not the state of this device; the message names it."""


class StateFile:
    """The file of one device."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Saved | None:
        """What was saved; None where there is no file yet.

        Raises:
            OSError: The file cannot be read.
            StateError: It is not such a file; the message names it.
        """
        if not self.path.exists():
            return None
        if not self.path.is_file():
            raise StateError(f"{self.path}: not a regular file")
        text = self.path.read_bytes()
        try:
            return _saved(json.loads(text))
        except (ValueError, TypeError, KeyError) as problem:
            raise StateError(f"{self.path}: not the state of a simulated device: {problem}") from problem

    def save(self, saved: Saved) -> None:
        """Replace the file; durable when this returns. Raises OSError, and then the old file stands."""
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(asdict(saved), file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _saved(data: Mapping[str, object]) -> Saved:
    """Raises ValueError, TypeError or KeyError where the data has another shape."""
    fields = _mapping(data)
    memory, last = fields["memory"], fields["last"]
    return Saved(
        memory=None if memory is None else _memory(_mapping(memory)),
        values={name: _whole(number) for name, number in _mapping(fields["values"]).items()},
        last=None if last is None else execution_of(last),
    )


def _memory(data: Mapping[str, object]) -> Memory:
    slot, record = data["slot"], data["record"]
    return Memory(
        tier=_whole(data["tier"]),
        boots=None if data["boots"] is None else _whole(data["boots"]),
        epoch=_whole(data["epoch"]),
        session=_whole(data["session"]),
        last=_whole(data["last"]),
        slot=None if slot is None else _slot(_mapping(slot)),
        record=None if record is None else _record(_mapping(record)),
    )


def _slot(data: Mapping[str, object]) -> Slot:
    text = data["text"]
    if text is not None and not isinstance(text, str):
        raise ValueError(f"a text cannot be {text!r}")
    return Slot(_whole(data["digest"]), Status(_whole(data["status"])), text)


def _record(data: Mapping[str, object]) -> Record:
    session, seq, digest = (_whole(data[name]) for name in ("session", "seq", "digest"))
    return Record(session, seq, digest, Status(_whole(data["status"])))


def _mapping(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise TypeError(f"an object was expected instead of {data!r}")
    return dict(data)


def _whole(data: object) -> int:
    if isinstance(data, bool) or not isinstance(data, int):
        raise TypeError(f"a whole number was expected instead of {data!r}")
    return data
