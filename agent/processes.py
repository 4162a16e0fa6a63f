"""Which process is this, and is that one still alive? What a lease needs to know of its holder."""

import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that may hold leases. `instance` is random, so that two holders in one process differ too."""

    agent: str
    host: str
    pid: int
    started: str
    boot: str
    instance: str

    def to_json(self) -> str:
        """As the store keeps it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Holder":
        """The inverse of `to_json`."""
        return cls(**json.loads(text))

    def __str__(self) -> str:
        return f"agent {self.agent}, process {self.pid} on {self.host}"


def this_process(agent: str | None = None) -> Holder:
    """The holder that stands for this process. `agent` is its name towards people, the host's by default."""
    host = socket.gethostname()
    pid = os.getpid()
    return Holder(agent or host, host, pid, _started(pid), _host_boot(), secrets.token_hex(8))


def is_gone(holder: Holder, seen_from: Holder) -> bool:
    """Certainly not running any more: same machine, and its pid is free, another process's, or of an earlier boot."""
    if holder.host != seen_from.host:
        return False
    if holder.boot != seen_from.boot:
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it runs as somebody else
    started = _started(holder.pid)
    return bool(started) and bool(holder.started) and started != holder.started


def _started(pid: int) -> str:
    """The start time of a process in clock ticks since boot; empty where the system does not tell, or for a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return ""
    after_name = stat.rpartition(")")[2].split()
    return "zombie" if after_name[0] in ("Z", "X") else after_name[19]


def _host_boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
