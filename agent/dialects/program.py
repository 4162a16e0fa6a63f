"""How is a program run to its end, and how much of what it prints is kept?

Rule 1. Whether it was started is always known: `NotStarted` says that nothing of it ran.
Rule 2. It has ended when its process has, whoever still has its output open. One that takes too long, or that nobody
        waits for any more, is killed with its process group: all that it started and did not give a session of its own.
Rule 3. All that it prints is taken, so that it never waits for a reader; no more than `OUTPUT_MAX` bytes of a stream
        are kept, and nothing is written to a disk.
"""

import asyncio
import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from agent.dialects import leftover
from logs.text import escape

OUTPUT_MAX = 65_536
"""Bytes that are kept of a stream: the first ones of stdout, the last ones of stderr."""
PIECE = 65_536
"""Bytes that are taken at once; as many as a pipe holds."""
PIECES_LEFT_MAX = 16
"""So many pieces are taken after the end: what a program leaves behind may go on printing for ever."""
TICK_MIN_S, TICK_MAX_S = 0.001, 0.02
"""How often it is looked whether a program has ended: less often, once it has run for a while."""
FIRST_LINE_MAX = 256
"""Bytes of a file in which the kernel looks for an interpreter."""


class NotStarted(Exception):  # noqa: N818 - it reads as what it is
    """The system did not start the program: certainly nothing of it ran. The text says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed.

    Attributes:
        status: its exit code, or the negative number of the signal that ended it; None where it was killed by us, or
            nobody can tell.
        how: the same in words that follow "the program".
        out: what it printed to stdout, without blanks around it; whole lines only where that was more than is kept.
        err: the same of stderr.
        cut: `out` is not all that it printed.
        stays: its process id, where it could not be killed and still runs.
    """

    status: int | None
    how: str
    out: str = ""
    err: str = ""
    cut: bool = False
    stays: int | None = None


def _never() -> bool:
    return False


async def run(
    argv: Sequence[str], limit_s: float, *, mark: str | None = None, stopped: Callable[[], bool] = _never
) -> Ended:
    """Run a program with nothing on its stdin to its end, or kill it.

    Args:
        argv: the program and its arguments.
        limit_s: it is killed when it has not ended after so many seconds.
        mark: what it is found by if this process is killed (`leftover.py`).
        stopped: it is killed as soon as nobody wants it to go on.

    Raises:
        NotStarted: it was not started.
    """
    with ExitStack() as stack:
        try:
            out, err = _Stream(stack), _Stream(stack, last=True)
            # asyncio's own raises OSError after the start too, where it cannot watch what it has started.
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - it waits for the start only; the profile names it
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out.writer,
                stderr=err.writer,
                env=leftover.environment(mark),
                start_new_session=True,
            )
        except OSError as problem:
            raise NotStarted(escape(f"{argv[0]} cannot be started: {_why(argv[0], problem)}")) from None
        out.close_writer()
        err.close_writer()
        status, how = await _to_the_end(process, limit_s, stopped)
        out.take_the_rest()
        err.take_the_rest()
        stays = process.pid if process.returncode is None else None
        return Ended(status, how, out.text(), err.text(), out.cut, stays)


# --- the process ------------------------------------------------------------------------------------------------------


async def _to_the_end(
    process: "subprocess.Popen[bytes]", limit_s: float, stopped: Callable[[], bool]
) -> tuple[int | None, str]:
    """Wait for the end of a program, or make one: its status, and how it ended in words."""
    try:
        gone = await _gone_within(process, limit_s, stopped)
    except asyncio.CancelledError:
        await _kill(process)
        raise
    if not gone:
        why = "was interrupted" if stopped() else f"did not end within {limit_s:g} s"
        killed = await _kill(process)
        return None, f"{why} and {'was' if killed else 'could not be'} killed"
    status = process.returncode
    if status == _UNTOLD:
        return None, "has ended, and this process is not told how (it was started with SIGCHLD ignored)"
    return status, f"was ended by signal {-status}" if status < 0 else f"ended with exit {status}"


_UNTOLD = 256
"""No program ends with this status."""


async def _gone_within(
    process: "subprocess.Popen[bytes]", limit_s: float, stopped: Callable[[], bool] = _never
) -> bool:
    """Whether a program ends within so many seconds, and before somebody stops it."""
    tick_s = TICK_MIN_S
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while not _is_gone(process) and not stopped():
                await asyncio.sleep(tick_s)
                tick_s = min(2 * tick_s, TICK_MAX_S)
    return _is_gone(process)


def _is_gone(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a program has ended; then its `returncode` is set. `Popen.poll` calls an end that is not told exit 0."""
    if process.returncode is not None:
        return True
    try:
        pid, status = os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        process.returncode = _UNTOLD
        return True
    if pid:
        process.returncode = os.waitstatus_to_exitcode(status)
    return pid != 0


async def _kill(process: "subprocess.Popen[bytes]") -> bool:
    """End a program and what it started; whether it is gone. One that runs as somebody else may not be ours to end."""
    leftover.end(process.pid)
    return await _gone_within(process, leftover.KILLED_S)


# --- what it prints ---------------------------------------------------------------------------------------------------


class _Stream:
    """One stream of a program: the pipe that it writes to, and what is kept of it."""

    def __init__(self, stack: ExitStack, *, last: bool = False) -> None:
        """Open the pipe until the stack is left. `last`: its last bytes are kept, not its first. Raises OSError."""
        self._last = last
        self._kept = bytearray()
        self.cut = False
        self._reader, self.writer = os.pipe()
        stack.callback(os.close, self._reader)
        stack.callback(self.close_writer)
        os.set_blocking(self._reader, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._take)
        stack.callback(self._loop.remove_reader, self._reader)

    def close_writer(self) -> None:
        """Leave the writing to the program."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def take_the_rest(self) -> None:
        """Take what the program has left in the pipe."""
        for _ in range(PIECES_LEFT_MAX):
            if not self._take():
                return

    def _take(self) -> bool:
        """Take a piece, where there is one."""
        try:
            piece = os.read(self._reader, PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._reader)
            return False
        self.cut = len(self._kept) + len(piece) > OUTPUT_MAX  # once it is, no room is left
        if self._last:
            self._kept += piece
            del self._kept[:-OUTPUT_MAX]
        else:
            self._kept += piece[: OUTPUT_MAX - len(self._kept)]
        return True

    def text(self) -> str:
        """What was printed. A line that was cut is left out: it could hold a piece of a number, or of a secret."""
        data = bytes(self._kept)
        if self.cut:
            data = data.partition(b"\n")[2] if self._last else data[: data.rfind(b"\n") + 1]
        return data.decode(errors="backslashreplace").strip()


# --- why it was not started -------------------------------------------------------------------------------------------


def _why(program: str, problem: OSError) -> str:
    """Why the system refused to start a program, with what is wrong in it where that can be seen."""
    said = problem.strerror or str(problem)
    try:
        with Path(shutil.which(program) or program).open("rb") as file:
            line = file.read(FIRST_LINE_MAX).partition(b"\n")[0]
    except OSError:
        return said
    script = line.startswith(b"#!")
    if problem.errno == errno.ENOENT and script:
        interpreter = line[2:].strip(b" \t").decode(errors="backslashreplace")
        if interpreter.endswith("\r"):
            return f"its first line ends in CR LF, and no interpreter is called '{interpreter}': save it with LF alone"
        return f"its interpreter {interpreter.split()[0]} does not exist"
    if problem.errno == errno.ENOENT:
        return "what would load it does not exist on this machine"
    if problem.errno == errno.ENOEXEC and not script and not line.startswith(b"\x7fELF"):
        return f"it does not begin with '#!' and an interpreter, such as #!/bin/sh ({said})"
    return said
