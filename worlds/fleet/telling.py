"""How does a world tell what happens in it? A line with its moment for each thing, or with --json an object.

Moments are seconds since the world began. Tables are those of the real commands.
"""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence

from agent.cli import output
from worlds.fleet.equipment import Account
from worlds.fleet.world import World

WIDTH_MAX = 120
_INDENT = 9
"""Columns of a moment, `  12.3 s `."""
ACCOUNT_COLUMNS = ("device", "profile", "connections", "what was asked", "commands executed")


class Teller:
    """Tells on stdout."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._begun_s = time.monotonic()

    def tell(self, event: str, text: str, **facts: object) -> None:
        """One thing that happened. Raises BrokenPipeError, OutputLost."""
        at_s = time.monotonic() - self._begun_s
        if self._as_json:
            output.put_json({"schema": 1, "event": event, "at_s": round(at_s, 2), "text": text, **facts})
            return
        moment = f"{at_s:5.1f} s  "
        if output.on_terminal():
            columns = min(WIDTH_MAX, shutil.get_terminal_size().columns)
            lines = textwrap.wrap(text, max(20, columns - _INDENT), break_on_hyphens=False)
        else:
            lines = [text]
        output.put("\n".join([moment + lines[0], *(" " * _INDENT + line for line in lines[1:])]))

    def show(self, world: World, *words: str) -> None:
        """What a real command of `ackonce fleet` prints now. Raises BrokenPipeError, OutputLost."""
        if self._as_json:
            ended = world.command("fleet", *words, "--json", heard=True)
            records = [json.loads(line) for line in ended.stdout.splitlines()]
            self.tell("shown", f"ackonce fleet {' '.join(words)}", records=records)
            return
        output.put(f"\n$ ackonce fleet {' '.join(words)}")
        sys.stdout.flush()
        world.command("fleet", *words)
        output.put("")

    def account(self, accounts: Sequence[Account]) -> None:
        """What the devices counted. Raises BrokenPipeError, OutputLost."""
        if self._as_json:
            for each in accounts:
                self.tell(
                    "device",
                    f"{each.device.name} counted {sum(each.messages.values())} questions",
                    device=each.device.name,
                    profile=each.device.profile,
                    connections=each.connections,
                    messages=dict(each.messages),
                    executed=list(each.executed),
                )
            return
        output.put_table(ACCOUNT_COLUMNS, [_row(each) for each in accounts])


def _row(account: Account) -> tuple[object, ...]:
    asked = ", ".join(f"{many} {kind}" for kind, many in account.messages.items())
    done = ", ".join(account.executed) or "none"
    return account.device.name, account.device.profile, account.connections, asked or "nothing", done
