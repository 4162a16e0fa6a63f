"""Does the program of a run that nobody waits for any more still run, and how is it ended?

A program outlives an agent that is killed, and may act when the next process has looked and sends again. Rules:

* The program of a copy carries a mark in its environment: the store, the device, the agent's number for the command.
* It leads a session of its own. Of all leaders with its mark it is the one that was started first: what it has started
  in sessions of their own (a daemon, the master of ssh connections) stays. Alone, once the program has ended, such a
  one cannot be told from it, so only the program of a copy that was never answered is looked for: what an answered one
  left behind is never touched.
* It is found in /proc: elsewhere than on Linux nothing is, nor is a program of another user, as under sudo, or one that
  was started with an empty environment. Those may act later than `late_max_s`.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

MARK = "ACKONCE_PROGRAM"
"""The variable that holds the mark."""
PROC = Path("/proc")
KILLED_S = 1.0
"""How long a killed program may take to be gone; one that hangs in the kernel takes longer."""
TICK_S = 0.005
TICKS_MAX = int(KILLED_S / TICK_S)


def environment(mark: str | None) -> Mapping[str, str]:
    """The environment of a program: ours, with this mark or, where it is None, without any that we carry ourselves."""
    ours = {name: value for name, value in os.environ.items() if name != MARK}
    return ours if mark is None else ours | {MARK: mark}


def still_running(mark: str) -> int | None:
    """The process id of the program with this mark; None where it does not run, or cannot be seen."""
    wanted = f"{MARK}={mark}".encode()
    try:
        numbers = [int(each.name) for each in PROC.iterdir() if each.name.isdecimal()]
    except OSError:
        return None
    leaders = [pid for pid in numbers if _leads_a_session(pid) and wanted in _environ(pid)]
    return min(leaders, key=lambda pid: (_started(pid), pid), default=None)


def end(pid: int) -> None:
    """End a program and what it has started in its own session's group; it may not be ours to end."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def is_gone_soon(pid: int) -> bool:
    """Whether a program that was ended has gone, or does so within `KILLED_S`."""
    for _ in range(TICKS_MAX):
        if is_gone(pid):
            return True
        await asyncio.sleep(TICK_S)
    return is_gone(pid)


def is_gone(pid: int) -> bool:
    """Whether a program does nothing any more. Its entry may stay until whoever has inherited it asks for its end."""
    return not _leads_a_session(pid) or _stat(pid)[:1] in (["Z"], ["X"])


def _leads_a_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def _environ(pid: int) -> list[bytes]:
    """What a process was started with: nothing, where it has ended or belongs to somebody else."""
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _started(pid: int) -> int:
    """When a process was started, in ticks."""
    stat = _stat(pid)
    return int(stat[19]) if len(stat) > 19 else 0


def _stat(pid: int) -> list[str]:
    """What /proc tells of a process, from its state on; nothing where it does not."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="latin-1")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
