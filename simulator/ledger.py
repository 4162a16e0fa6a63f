"""What did the equipment really do, how often, and in which order?

The ledger is the oracle: tests and reports compare everything an agent claims with it.

1. One entry per effect. A command that was refused, lost or answered from memory has no entry.
2. Entries are only ever appended; `n` counts them from 1 without gaps.
3. With a path, an entry is in the file and flushed to the disk before `append` returns, one JSON object per
   line, so that another process can count after this one was killed.
4. A last line cut short by a kill is no entry; the next append replaces it.
"""

import errno
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Execution:
    """One effect on the equipment.

    Attributes:
        n: Position in the ledger, from 1.
        text: The command as received, e.g. `ADJUST offset +5`.
        value_after: What the command changed, as it is now; empty where nothing can be read.
        boot: boot_id under which it ran.
        session: LSQ1 session of the copy that started it; None where the equipment has none.
        seq: Its sequence number; None where the equipment has none.
        at_s: Seconds on the simulator's clock.
    """

    n: int
    text: str
    value_after: str
    boot: int
    session: int | None
    seq: int | None
    at_s: float


class LedgerError(ValueError):
    """A file is not a ledger; the message names file and line."""


def execution_of(data: object) -> Execution:
    """Build an entry from decoded JSON; raises ValueError where it is not one."""
    names = [field.name for field in fields(Execution)]
    if not isinstance(data, Mapping) or sorted(data) != sorted(names):
        raise ValueError(f"an entry has the fields {', '.join(names)}")
    kinds: dict[str, type | tuple[type, ...]] = {"text": str, "value_after": str, "at_s": (int, float)}
    for name in names:
        value = data[name]
        absent = value is None and name in {"session", "seq"}
        if not absent and (isinstance(value, bool) or not isinstance(value, kinds.get(name, int))):
            raise ValueError(f"{name} cannot be {value!r}")
    return Execution(**data)


class Ledger:
    """Append-only list of effects, in memory and, with a path, in a JSON Lines file."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the file for appending and load what it holds.

        Raises:
            OSError: The file cannot be opened for writing.
            LedgerError: It is no regular file, or a complete line of it is no entry; the message names the line.
        """
        self._entries: list[Execution] = []
        self._fd: int | None = None
        self._size = 0
        if path is not None:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                self._load(self._fd, path)
            except BaseException:
                self.close()
                raise

    @property
    def entries(self) -> tuple[Execution, ...]:
        """Every effect so far, oldest first."""
        return tuple(self._entries)

    @property
    def durable(self) -> bool:
        """Whether the entries are in a file."""
        return self._fd is not None

    def __len__(self) -> int:
        return len(self._entries)

    def count(self, text: str) -> int:
        """How often exactly this command took effect."""
        return sum(entry.text == text for entry in self._entries)

    def append(self, execution: Execution) -> None:
        """Enter one effect; durable when this returns.

        Raises:
            ValueError: `execution.n` is not the next number.
            OSError: The disk refused; nothing was entered.
        """
        if execution.n != len(self._entries) + 1:
            raise ValueError(f"entry {execution.n} cannot follow entry {len(self._entries)}")
        if self._fd is not None:
            self._write(self._fd, json.dumps(asdict(execution)).encode() + b"\n")
        self._entries.append(execution)

    def close(self) -> None:
        """Close the file; entries stay readable."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(self, fd: int, line: bytes) -> None:
        try:
            written = os.write(fd, line)
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, self._size)
            raise
        if written < len(line):
            os.ftruncate(fd, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)

    def _load(self, fd: int, path: Path) -> None:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise LedgerError(f"{path}: not a regular file")
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                execution = execution_of(json.loads(line))
            except ValueError as problem:
                raise LedgerError(f"{path}:{number}: not a ledger: {problem}") from problem
            if execution.n != number:
                raise LedgerError(f"{path}:{number}: not a ledger: entry {number} calls itself {execution.n}")
            self._entries.append(execution)
        self._size = len(whole)
        os.ftruncate(fd, self._size)
