"""How do agents of a world run, and who sees to it that none is left behind?

Each is a real `ackonce serve`. All are in the process group of a warden, apart from the terminal's: Ctrl-C is for the
world alone, which then ends them in good order. The warden reads from a pipe that only the world's process holds open.
Where that process is gone, whatever killed it, the reading ends, and the warden kills its group.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

LOG = "serve.log"
END_S = 10.0
"""How long an agent may take to end in good order."""
WORDS_MAX = 3
"""So many lines of what an agent said are told."""
_WARDEN = "read _; kill -9 0"

COMMAND = (sys.executable, "-m", "agent.cli.start")
"""`ackonce`, with the interpreter that runs this."""


class Warden:
    """Outlives this process for a moment, and takes all that are in its group with it."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._process = subprocess.Popen(  # noqa: S603 - a constant
            ["/bin/sh", "-c", _WARDEN], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
        )

    @property
    def group(self) -> int:
        """The process group for whoever shall not be left behind."""
        return self._process.pid

    def close(self) -> None:
        """Kill whoever is left in the group."""
        self._process.communicate()


class AgentProcess:
    """One `ackonce serve`."""

    def __init__(self, folder: Path, group: int, environment: Mapping[str, str]) -> None:
        """Start it in its folder; what it says goes into a file there. Raises OSError."""
        self._log = folder / LOG
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [*COMMAND, "serve", "-C", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(environment),
                process_group=group,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut would: it has no time for anything."""
        self._process.kill()
        self._process.wait()

    def ask_to_end(self) -> None:
        """Let it end in good order."""
        if self.is_running():
            self._process.terminate()

    def end(self) -> bool:
        """Wait for its end; whether it ended in good order."""
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def last_words(self) -> str:
        """The end of what it said."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        return " ".join([line.strip() for line in lines if line.strip()][-WORDS_MAX:]) or "nothing"
