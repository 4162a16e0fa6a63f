"""Which serial ports are there, and who has one open?

Two programs that read one port each get part of the bytes, without any error. File locks do not help against programs
that take none, so the file descriptors of all processes are looked at, as `fuser` does.

Rule 1. A process that also holds the master side of a pseudo terminal *is* the device, such as a simulator: it does
        not count. Nor does our own process.
Rule 2. What we may not look at (processes of other users) is passed over: no holder found does not mean that there is
        none.
Rule 3. Whatever a process says about itself is escaped.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from logs.text import escape

_PROC = Path("/proc")
_BY_ID = Path("/dev/serial/by-id")
_PTY_MAJORS = range(136, 144)
"""Linux: the slave sides of pseudo terminals."""
_PTMX = os.makedev(5, 2)
"""Linux: what a master side is opened through."""
_COMMAND_LINE_MAX = 80


@dataclass(frozen=True, slots=True)
class PortHolder:
    """A process that has a port open. `ours`: it is a run of ackonce."""

    pid: int
    program: str
    command_line: str
    ours: bool

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command_line or self.program})"


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port of this machine; what the system does not tell is None.

    Attributes:
        device: its path, which may change when it is plugged in again.
        by_id: a path that stays with the adapter.
        description: what the adapter calls itself, escaped.
        usb: vendor and product, such as `0403:6001`.
        serial_number: of the adapter, escaped; the equipment behind it has another one.
        holder: who has it open.
    """

    device: str
    by_id: str | None
    description: str | None
    usb: str | None
    serial_number: str | None
    holder: str | None


@dataclass(frozen=True, slots=True)
class _Node:
    """What makes two open files the same port: the device number; for pseudo terminals also which /dev/pts it is of."""

    number: int
    filesystem: int | None

    @classmethod
    def of(cls, status: os.stat_result) -> "_Node | None":
        if not stat.S_ISCHR(status.st_mode):
            return None
        return cls(status.st_rdev, status.st_dev if _is_pty(status.st_rdev) else None)


def port_key(path: str) -> str:
    """The path behind all symbolic links, so that two names of one port make one key."""
    return os.path.realpath(path)


def is_pseudo_terminal(path: str) -> bool:
    """Whether a port is the slave side of a pseudo terminal. Raises OSError."""
    return _is_pty(Path(path).stat().st_rdev)


def may_be_port(status: os.stat_result) -> bool:
    """Whether a file is a terminal device as far as the system tells without opening it; `/dev/null` is none."""
    if not stat.S_ISCHR(status.st_mode):
        return False
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    subsystem = Path("/sys/dev/char", number, "subsystem")
    return not subsystem.exists() or subsystem.resolve().name == "tty"


def list_ports() -> list[Port]:
    """The serial ports that have hardware behind them, ordered by path."""
    from serial.tools.list_ports import comports

    lasting = {port_key(str(path)): str(path) for path in _entries(_BY_ID)}
    return [
        Port(
            device=found.device,
            by_id=lasting.get(port_key(found.device)),
            description=_told(found.description),
            usb=f"{found.vid:04x}:{found.pid:04x}"
            if found.vid is not None and found.pid is not None
            else None,
            serial_number=_told(found.serial_number),
            holder=str(holder) if (holder := holder_of(found.device)) is not None else None,
        )
        for found in sorted(comports(), key=lambda each: str(each.device))
    ]


def port_names() -> list[str]:
    """Every path under which a port may be opened, for suggestions."""
    from serial.tools.list_ports import comports

    return sorted({*(str(found.device) for found in comports()), *(str(path) for path in _entries(_BY_ID))})


def holder_of(path: str, *, ourselves_too: bool = False) -> PortHolder | None:
    """The first process that has the port open; None where there is none, or no right to see it.

    Costs one look at every open file of the machine: some milliseconds.

    Args:
        path: of the port.
        ourselves_too: our own process counts as well, be it the device or not.
    """
    try:
        port = _Node.of(Path(path).stat())
    except OSError:
        return None
    if port is None:
        return None
    passed_over = () if ourselves_too else (os.getpid(),)
    asked = (pid for pid in sorted(_pids()) if pid not in passed_over)
    return next((_described(pid) for pid in asked if _holds(pid, port)), None)


def _holds(pid: int, port: _Node) -> bool:
    holds, master_of = False, set[int]()
    for descriptor in _entries(_PROC / str(pid) / "fd"):
        status = _status(descriptor)
        if status is None or not stat.S_ISCHR(status.st_mode):
            continue
        holds = holds or _Node.of(status) == port
        if status.st_rdev == _PTMX:
            master_of.add(_tty_index(pid, descriptor.name))
    is_device = _is_pty(port.number) and _pty_index(port.number) in master_of
    return holds and (not is_device or pid == os.getpid())


def _status(descriptor: Path) -> os.stat_result | None:
    """What an open file is; only those under /dev are asked, since the server of another one may have gone."""
    try:
        return descriptor.stat() if str(descriptor.readlink()).startswith("/dev/") else None
    except OSError:  # closed meanwhile
        return None


def _tty_index(pid: int, descriptor: str) -> int:
    """The number of the pseudo terminal whose master an open file is; -1 where the system does not tell."""
    try:
        lines = (_PROC / str(pid) / "fdinfo" / descriptor).read_text(encoding="ascii").splitlines()
    except OSError:
        return -1
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(facts.get("tty-index", "-1"))


def _is_pty(number: int) -> bool:
    return os.major(number) in _PTY_MAJORS


def _pty_index(number: int) -> int:
    return (os.major(number) - _PTY_MAJORS.start) * 256 + os.minor(number)


def _described(pid: int) -> PortHolder:
    words = _read(pid, "cmdline").rstrip("\0").split("\0")
    at = next((n for n, word in enumerate(words[:2]) if word.rpartition("/")[2] == "ackonce"), None)
    if at is not None:
        words = ["ackonce", *words[at + 1 :]]  # where it is installed tells nobody anything
    return PortHolder(
        pid=pid,
        program=escape(_read(pid, "comm").strip() or "unknown", _COMMAND_LINE_MAX),
        command_line=escape(" ".join(words), _COMMAND_LINE_MAX),
        ours=pid == os.getpid() or at is not None,
    )


def _read(pid: int, name: str) -> str:
    try:
        return (_PROC / str(pid) / name).read_bytes().decode("utf-8", errors="backslashreplace")
    except OSError:
        return ""


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in _entries(_PROC) if entry.name.isdecimal())


def _entries(folder: Path) -> list[Path]:
    """What a folder holds; nothing where it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _told(text: str | None) -> str | None:
    """A text of an adapter; pyserial writes `n/a` for an unknown one."""
    return None if not text or text == "n/a" else escape(text)
