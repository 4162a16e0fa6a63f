"""Why can a serial port not be opened, and what is to be done next? A sentence of each for every cause.

Rule. What opening raises is told apart by its error number, which pyserial sometimes keeps only in the cause.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from agent.links.link import PortHeld, Unreachable
from agent.links.ports import PortHolder, holder_of, may_be_port, port_names
from devices.problems import did_you_mean
from logs.text import escape

_SEE = "See: ackonce ports"
_GROUP_MAY = stat.S_IRGRP | stat.S_IWGRP


def unsuitable(path: str, options: Mapping[str, str]) -> str | None:
    """Why this cannot be the port that is meant, seen without opening it; None where nothing speaks against it."""
    if options.get("stop") == "1.5" and options.get("bits") != "5":
        return "1.5 stop bits exist only together with 5 data bits: write stop=1 or stop=2 in its URL"
    try:
        status = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return _missing(path)
    except OSError:  # opening will tell why
        return None
    return None if may_be_port(status) else _no_port(path)


def held(path: str, holder: PortHolder | None) -> PortHeld:
    """Another program has the port; None: one that we may not look at."""
    if holder is None:
        return PortHeld(
            f"{escape(path)} is locked by a program of another user. To see which one: sudo fuser -v {escape(path)}",
            ours=False,
        )
    return PortHeld(
        f"{escape(path)} is open in {holder}: two readers would each get part of the answers. "
        "Close that program, then try again",
        ours=holder.ours,
    )


def unopened(path: str, settings: str, problem: Exception) -> Unreachable:
    """Why opening failed.

    Args:
        path: of the port.
        settings: what it was to be set to, such as `9600 8N1`.
        problem: what pyserial raised.
    """
    number = _error_number(problem)
    if number in (errno.EBUSY, errno.EAGAIN):
        return held(path, holder_of(path, ourselves_too=True))
    if isinstance(problem, ValueError) or number == errno.EINVAL:
        return Unreachable(f"{escape(path)} cannot be set to {settings}: its driver refuses. Change its URL")
    if (sentence := _SENTENCES.get(number)) is not None:
        return Unreachable(sentence(path))
    why = os.strerror(number) if number else escape(str(problem))
    return Unreachable(f"{escape(path)} cannot be opened: {why}. {_SEE}")


def _error_number(problem: Exception) -> int:
    """The operating system's number for it; 0 where there is none."""
    for each in (problem, problem.__context__):
        if each is not None and each.args and isinstance(each.args[0], int):
            return each.args[0]
    return 0


def _missing(path: str) -> str:
    near = did_you_mean(path, port_names())
    return f"there is no serial port {escape(path)}. {f'{near} ' if near else ''}{_SEE}"


def _no_port(path: str) -> str:
    return f"{escape(path)} is not a serial port. {_SEE}"


def _nothing_behind(path: str) -> str:
    return f"there is no hardware behind {escape(path)}, or it was unplugged just now. {_SEE}"


def group_that_may(path: str) -> str | None:
    """The group whose members may open a port, where there is one that a person can join. Raises OSError."""
    import grp

    status = Path(path).stat()
    if status.st_mode & _GROUP_MAY != _GROUP_MAY or status.st_gid == 0:
        return None
    try:
        return grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        return None


def _not_allowed(path: str) -> str:
    refused = f"you have no permission to open {escape(path)}"
    try:
        group = group_that_may(path)
    except OSError:
        return f"{refused}. See: ls -lL {escape(path)}"
    if group is None:
        return f"{refused}: only its owner may. See: ls -lL {escape(path)}"
    return (
        f"{refused}: the group {group} may. Type: sudo usermod -aG {group} $USER, then log out and in again"
    )


_SENTENCES: Mapping[int, Callable[[str], str]] = {
    errno.ENOENT: _missing,
    errno.EACCES: _not_allowed,
    errno.EPERM: _not_allowed,
    errno.ENOTTY: _no_port,
    errno.EISDIR: _no_port,
    errno.EIO: _nothing_behind,
    errno.ENXIO: _nothing_behind,
    errno.ENODEV: _nothing_behind,
}
