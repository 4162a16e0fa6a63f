"""What can be said about this machine before any device is involved: its software, disk, clock, environment?

One function is one look, and gives one `Finding`. Looking changes nothing that a command would meet: no store is made,
no device is asked. The one thing that is written is an unnamed temporary file, to time the disk.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from agent.cli.exit_codes import Exit
from agent.store.sqlite import FILE_NAME
from devices.problems import did_you_mean
from logs.place import LOG_FILE, previous_path

FREE_WARN_BYTES = 200 * 1024 * 1024
"""Room for a full log, its predecessor and years of journal."""
FREE_MIN_BYTES = 128 * 1024
FLUSH_WARN_S = 0.5
"""A copy leaves only after its flush: a slower disk is felt with every command."""
EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
"""Before this there was no ackonce: an earlier clock has lost its time."""
SET_BACK = timedelta(seconds=5)
"""A file from further in the future than this means that the clock was set back."""
VARIABLES = tuple(
    f"ACKONCE_{name}" for name in ("HOME", "PROJECT", "INVENTORY", "TIMEOUT", "STORE", "AGENT", "ACTOR")
)


class State(StrEnum):
    """How grave a finding is: a warning may be lived with, a failure ends commands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found, and what to type about it. `code`: how a command would end because of a failure."""

    check: str
    state: State
    says: str
    next: str | None = None
    code: Exit = Exit.NOT_SENT


def software() -> Finding:
    """Python and the packages that this version stands on."""
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, requires, version

    from agent import __version__

    try:
        needed = [
            re.split(r"[^\w.-]", each)[0] for each in requires("ackonce") or () if "extra ==" not in each
        ]
    except PackageNotFoundError:
        needed = []
    found, missing = [], []
    for name in needed:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    says = ", ".join(
        [
            f"ackonce {__version__}",
            f"Python {platform.python_version()} ({sys.executable})",
            f"SQLite {sqlite3.sqlite_version}",
            *found,
        ]
    )
    if missing:
        advice = f"{sys.executable} -m pip install --force-reinstall ackonce"
        return Finding("software", State.FAIL, f"{says}; missing: {', '.join(missing)}", advice)
    return Finding("software", State.OK, says)


def environment(environ: Mapping[str, str]) -> Finding:
    """Variables that look like ours and are not: a misspelt one would be obeyed by nobody."""
    ours = sorted(name for name in environ if name.startswith("ACKONCE_"))
    unknown = [name for name in ours if name not in VARIABLES]
    if unknown:
        hints = [f"{name} ({did_you_mean(name, VARIABLES) or 'no such setting'})" for name in unknown]
        return Finding(
            "environment", State.WARN, f"not obeyed: {', '.join(hints)}", f"One of {', '.join(VARIABLES)}"
        )
    return Finding("environment", State.OK, f"set: {', '.join(ours)}" if ours else "nothing is set by it")


def home(folder: Path) -> Finding:
    """The folder of the store: there, or to be made, by us."""
    name = "home"
    place = _standing(folder)
    if not place.is_dir():
        return Finding(name, State.FAIL, f"{folder}: {place} is no folder", "Set ACKONCE_HOME to another one")
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        advice = f"sudo chown -R {_user(os.getuid())} {folder}"
        if place != folder:
            advice = "Set ACKONCE_HOME to a folder of your own"
        return Finding(
            name,
            State.FAIL,
            f"{place} cannot be written (it belongs to {_owner(place)}): nothing can be sent",
            advice,
        )
    if place != folder:
        return Finding(name, State.OK, f"no store yet; the first command makes {folder}")
    return Finding(name, State.OK, f"{folder} can be written")


def disk(folder: Path) -> Finding:
    """Free space: a store that cannot be written refuses to send."""
    place = _standing(folder)
    try:
        free = shutil.disk_usage(place).free
    except OSError as problem:
        return Finding("disk", State.FAIL, f"{place} does not tell its free space: {problem.strerror}")
    says = f"{size_text(free)} free in {place}"
    advice = f"Make room, or set ACKONCE_HOME to another disk: df -h {place}"
    if free < FREE_MIN_BYTES:
        return Finding(
            "disk", State.FAIL, f"{says}: a command without room for its record is not sent", advice
        )
    if free < FREE_WARN_BYTES:
        return Finding(
            "disk", State.WARN, f"{says}: the log may take 64 MB; a full disk refuses to send", advice
        )
    return Finding("disk", State.OK, says)


def flush(folder: Path) -> Finding:
    """Whether a flush to disk works, and how long every copy waits for its own."""
    if not folder.is_dir():
        return Finding("flush", State.OK, "not measured: no store yet")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
            file.flush()
            started_s = time.perf_counter()
            os.fsync(file.fileno())
            took_s = time.perf_counter() - started_s
    except OSError as problem:
        says = f"{folder} cannot flush to its disk ({problem.strerror or problem}): nothing can be sent"
        return Finding("flush", State.FAIL, says, "Set ACKONCE_HOME to another disk")
    says = f"a flush takes {took_s * 1000:.1f} ms, and every copy waits for one"
    slow = took_s > FLUSH_WARN_S
    return Finding(
        "flush",
        State.WARN if slow else State.OK,
        says,
        "Set ACKONCE_HOME to a faster disk" if slow else None,
    )


def clock(folder: Path, now: datetime) -> Finding:
    """Whether UTC is sane, the timers run forward, and local times can be understood."""
    says = f"{now.isoformat(timespec='seconds')}, here {now.astimezone().strftime('%H:%M %Z')}"
    if now < EARLIEST:
        lost = f"{says}: the clock has lost its time, and times on record would be wrong"
        return Finding("clock", State.WARN, lost, "Set the clock: timedatectl")
    newest = _newest(folder)
    if newest is not None and newest - now > SET_BACK:
        back = f"{says}: the store was last written at {newest.isoformat(timespec='seconds')}, so it was set back"
        return Finding("clock", State.WARN, back, "Compare it with another one: timedatectl")
    if not time.get_clock_info("monotonic").monotonic:
        return Finding("clock", State.WARN, f"{says}: this system's timers may run backwards")
    if not _knows_zones():
        return Finding(
            "clock",
            State.WARN,
            f"{says}: there is no time zone data, so windows in local time cannot be kept",
            f"{sys.executable} -m pip install tzdata",
        )
    return Finding("clock", State.OK, says)


def log(path: Path) -> Finding:
    """The log: it stops no command, but without it nobody sees what happened."""
    if not path.exists():
        return Finding("log", State.OK, f"none yet: {path}")
    if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
        says = f"{path} cannot be written (it belongs to {_owner(path)}): commands go on, unlogged"
        return Finding("log", State.WARN, says, f"Move it away: mv {path} {path}.old")
    says = f"{size_text(path.stat().st_size)} in {path}"
    previous = previous_path(path)
    if previous.is_file():
        says += f", {size_text(previous.stat().st_size)} in {previous.name}"
    return Finding("log", State.OK, says)


def size_text(size: int) -> str:
    """A size in bytes as people read it."""
    units = ((1024**3, "GB"), (1024**2, "MB"))
    return next(
        (f"{size / unit:.1f} {name}" for unit, name in units if size >= unit), f"{size / 1024:.0f} kB"
    )


def _standing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def _owner(path: Path) -> str:
    try:
        return _user(path.stat().st_uid)
    except OSError:
        return "nobody that can be seen"


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _newest(folder: Path) -> datetime | None:
    written = [path.stat().st_mtime for name in (FILE_NAME, LOG_FILE) if (path := folder / name).exists()]
    return datetime.fromtimestamp(max(written), UTC) if written else None


def _knows_zones() -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo("Europe/Lisbon")
    except ZoneInfoNotFoundError:
        return False
    return True
