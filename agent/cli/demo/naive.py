"""How do many scripts talk to equipment? Send, wait, send again; whatever says OK will have meant us.

This is the client that the demo warns of. It is no part of the agent and has nothing of it.
"""

import os
import select
from collections.abc import Callable
from typing import Self

from agent.cli.demo.work import COPIES_MAX

ANSWER_MAX = 1_000


class NaiveClient:
    """Blind resends on one serial port."""

    def __init__(self, path: str, silence_s: float, tell: Callable[[str], None]) -> None:
        """Open the port. `tell` hears of every attempt. Raises OSError."""
        self._port = os.open(path, os.O_RDWR | os.O_NOCTTY)
        self._silence_s = silence_s
        self._tell = tell

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._port)

    def send(self, command: str) -> bool:
        """Send until something says OK, at most COPIES_MAX times; says whether something did. Raises OSError."""
        for attempt in range(1, COPIES_MAX + 1):
            os.write(self._port, f"{command}\n".encode())
            ack = self._hears_ok()
            self._tell(f"{command}: attempt {attempt} {'ok' if ack else 'timeout'}")
            if ack:
                return True
        return False

    def _hears_ok(self) -> bool:
        readable, _, _ = select.select([self._port], [], [], self._silence_s)
        return bool(readable) and os.read(self._port, ANSWER_MAX).startswith(b"OK")
