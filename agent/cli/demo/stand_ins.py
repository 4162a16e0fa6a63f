"""How does the demo get its devices? Each is `ackonce simulate device` in a process of its own, which keeps a ledger.

They are started together and answer as soon as they are up. None outlives the demo: each is ended with its context, and
one whose demo was killed ends by itself.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

LIFE_S, LIFE_PER_SILENCE = 60, 600
"""A device ends by itself after so many seconds, and so many silences: nobody may have been left to end it."""

MEET_S = 3.0
"""How long a connection within this machine may take."""

END_S = 10.0
"""How long a device may take to say its counts."""


class DemoFailed(Exception):  # noqa: N818 - it reads as what happened
    """The demo cannot be held here: why, and what can be typed next."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


class CountsMissing(DemoFailed):
    """A device ended without its counts."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a device counted itself: effects by command text, values by name, messages and faults by name."""

    executed: Mapping[str, int]
    values: Mapping[str, str]
    counts: Mapping[str, int]

    @property
    def lost(self) -> int:
        """How many messages got lost, on the way in or on the way back."""
        return self.counts.get("drop_request", 0) + self.counts.get("drop_ack", 0)


class StandIn:
    """One simulated device."""

    def __init__(self, title: str, profile: str, faults: str, silence_s: float, *options: str) -> None:
        """Start its process.

        Args:
            title: how people call it.
            profile: which machine it is.
            faults: a fault plan.
            silence_s: how long clients wait for an answer; with it grows how long the device lives.
            options: more options of `ackonce simulate device`.
        """
        self.title = title
        self.profile = profile
        self.way = "serial line" if "--pty" in options else "TCP"
        self._options = " ".join(["--profile", profile, *options])
        life_s = f"{LIFE_S + LIFE_PER_SILENCE * silence_s:.0f}"
        words = [sys.executable, "-m", "agent.cli.start", "simulate", "device", "--json", "-q", *options]
        words += ["--profile", profile, "--faults", faults, "--for", life_s]
        # A group of its own: Ctrl-C on the terminal is for the demo, which needs the devices to come to an end.
        # No stderr of ours: what it has to say comes as JSON, and nobody shall wait for one that was left behind.
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def url(self) -> str:
        """Where it is to be reached; waits until it is up. Raises DemoFailed."""
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        said = _object(line)
        if "listening" not in said:
            code = self._process.wait()
            why = str(said.get("message", f"it ended with exit code {code}")).rstrip(".")
            raise DemoFailed(
                f"the simulated device ({self.title}) did not start: {why}",
                f"See it alone: ackonce simulate device {self._options}",
            )
        url = str(said["listening"])
        if url.startswith("tcp:"):
            meet(self.title, url)
        return url

    def end(self) -> Counted:
        """Switch it off and ask what it counted. Raises DemoFailed."""
        self._process.terminate()
        try:
            out, _ = self._process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            out = ""
        said = _object(out.strip().rpartition("\n")[2])
        if not {"executed", "values", "counts"} <= said.keys():
            raise CountsMissing(
                f"the simulated device ({self.title}) ended without its counts, so nothing can be compared",
                "Did somebody end it? Try again: ackonce demo",
            )
        return Counted(said["executed"], said["values"], said["counts"])


def meet(title: str, url: str) -> None:
    """See that this machine reaches its own ports: not where its loopback interface is down. Raises DemoFailed."""
    place = urlsplit(url)
    try:
        socket.create_connection((place.hostname or "", place.port or 0), timeout=MEET_S).close()
    except OSError as problem:
        raise DemoFailed(
            f"the simulated device ({title}) listens on {place.netloc}, "
            f"but this machine does not reach itself there: {problem.strerror or problem}",
            "Is its loopback interface up, and open in the firewall? See: ip address show lo",
        ) from problem


def _object(line: str) -> dict[str, Any]:
    """The JSON object of a line; empty where it is none."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
