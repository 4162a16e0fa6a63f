"""A store that cannot be used: what is to be done about it?

By the system's number or SQLite's name of the error that the store met. Where it met neither, its own sentence says
what to do.
"""

import errno

from agent.store.database import StoreError

_RIGHTS = "Set ACKONCE_HOME to a folder that you may write, or mend its permissions."
_ROOM = "Make room there, then try again."
_DISK = "Make room or mend it there, then try again."
_LATER = "Another process is writing to it: try again."

_BY_NUMBER = dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR), _RIGHTS
) | dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM)
_BY_NAME = {
    "SQLITE_PERM": _RIGHTS,
    "SQLITE_READONLY": _RIGHTS,
    "SQLITE_CANTOPEN": _RIGHTS,
    "SQLITE_FULL": _ROOM,
    "SQLITE_IOERR": _DISK,
    "SQLITE_BUSY": _LATER,
    "SQLITE_LOCKED": _LATER,
}
"""By the beginning of the name, which says more for some kinds: `SQLITE_IOERR_WRITE`."""


def mending(problem: StoreError) -> str | None:
    """What to do about it, a sentence; None where the problem says so itself."""
    met = problem.__cause__
    if isinstance(met, OSError):
        return _BY_NUMBER.get(met.errno or 0, _DISK)
    name: str = getattr(met, "sqlite_errorname", "")
    return next((sentence for begins, sentence in _BY_NAME.items() if name.startswith(begins)), None)
