"""How does a record reach the log file?

Rule 1. Several processes append to one file: each write is one system call of whole lines on a descriptor
        opened for appending, so lines never mix.
Rule 2. The log is second. Whatever goes wrong here is counted and said once in `problem`; it never raises
        into an operation, because the journal holds the truth.
Rule 3. Memory is bounded: records wait for a batch, and for a disk that is full, but only so many; the
        oldest go first and are counted as `lost`.
Rule 4. The file is for its owner only (mode 0600) and does not grow for ever: past
        `ROTATE_BYTES` it becomes the one previous file, whoever of the writers notices first.

Not for several threads: one writer belongs to one event loop.
"""

import errno
import fcntl
import os
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final

from logs.events import Event
from logs.place import previous_path, stands_at

BATCH_MAX: Final = 256
"""Records that wait at most before they are written; a warning or an error writes them at once."""

HELD_MAX: Final = 4_096
"""Records kept for a file that cannot be written now."""

ROTATE_BYTES: Final = 32 * 1024 * 1024
"""Size past which the file is set aside as the previous one."""

_MODE: Final = 0o600
_URGENT: Final = frozenset({"WARN", "ERROR"})


class LogWriter:
    """Appends events to a JSON Lines file in batches, and hands each to `echo` at once.

    `problem` is one sentence about the first thing that went wrong, else None; `lost` counts the records
    that were given up. A terminal that can no longer be written ends the echo, not the log.
    """

    def __init__(self, path: Path, *, echo: Callable[[Event], None] | None = None) -> None:
        self.problem: str | None = None
        self.lost = 0
        self._path = path
        self._echo = echo
        self._held: deque[bytes] = deque()
        self._untried = 0
        self._descriptor: int | None = None

    def write(self, event: Event) -> None:
        """Take one event; it is on its way to the file by the next warning, full batch, or `flush`."""
        self._show(event)
        if len(self._held) >= HELD_MAX:
            self._held.popleft()
            self.lost += 1
        self._held.append(event.to_json().encode("ascii") + b"\n")
        self._untried += 1
        if event.level in _URGENT or self._untried >= BATCH_MAX:
            self.flush()

    def flush(self) -> None:
        """Write all that waits; what cannot be written goes on waiting."""
        self._untried = 0
        if not self._held:
            return
        try:
            descriptor = self._open()
            while self._held:
                self._append(descriptor)
            self._rotate(descriptor)
        except OSError as error:
            self._note(f"The log {self._path} cannot be written: {error.strerror or error}.")

    def close(self) -> None:
        """Write all that waits and close the file; what still cannot be written is lost and counted."""
        self.flush()
        self.lost += len(self._held)
        self._held.clear()
        self._release()

    def _show(self, event: Event) -> None:
        if self._echo is None:
            return
        try:
            self._echo(event)
        except OSError as error:
            self._echo = None
            self._note(f"Log lines are no longer shown: {error.strerror or error}.")

    def _append(self, descriptor: int) -> None:
        """Write one batch in one call, and forget the lines of it that stand whole in the file.

        Raises:
            OSError: the file took less than the batch. The torn line is written again as a whole later:
                it cannot be completed, since another process may append meanwhile.
        """
        batch = list(islice(self._held, BATCH_MAX))
        room = os.write(descriptor, b"".join(batch))
        for line in batch:
            if room < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room -= len(line)
            self._held.popleft()

    def _open(self) -> int:
        """Return a descriptor of the file that stands at the path now; another writer may have rotated it."""
        if self._descriptor is not None and not stands_at(self._path, self._descriptor):
            self._release()
        if self._descriptor is None:
            # Not blocking: a pipe of this name, which nobody reads, must not hold a command up.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            self._descriptor = os.open(self._path, flags, _MODE)
        return self._descriptor

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _rotate(self, descriptor: int) -> None:
        """Set a full file aside, once: the lock on the file itself orders the writers that noticed.

        A writer that opened the file before may still append a batch to it; those lines stand in the
        previous file, whole.
        """
        if os.fstat(descriptor).st_size < ROTATE_BYTES:
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if stands_at(self._path, descriptor):
            self._path.replace(previous_path(self._path))
        self._release()  # closing gives the lock back

    def _note(self, sentence: str) -> None:
        if self.problem is None:
            self.problem = sentence
