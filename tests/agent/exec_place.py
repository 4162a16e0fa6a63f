"""A device behind a real program, which keeps its own ledger."""

import os
import stat
from itertools import count
from pathlib import Path

from agent.operation import Operation, Result
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.terms import terms_for
from devices.catalog import choose, resolve
from devices.loader import load
from devices.profile import Profile

SCRIPT = """#!/bin/sh
# DEVICE COMMAND: does it, notes it in a ledger, and ends as the file `ending` says.
cd "$(dirname "$0")"
set -f
case "$2" in
  "get "*) [ -f "$2" ] && . "./$2" ;;
esac
case "$2" in
  "get level") cat level; exit 0 ;;
  "get nothing") exit 0 ;;
  "get error") echo "no such value" >&2; exit 3 ;;
esac
[ -f lost ] && rm lost && { (read -r go <gate; echo "$1|$2, late" >>ledger); exit 0; }
echo "$1|$2" >> ledger
case "$2" in
  "set level "*) echo "${2#set level }" > level ;;
  "level up") echo $(($(cat level) + 1)) > level ;;
esac
. ./ending
"""
PROFILE = """
profile: test/exec
dialect: exec
run: ["./push.sh", "{device}", "{command}"]
timing: {reply_s: 5, late_max_s: 0.3}
settings:
  level: {type: int, min: 0, max: 100, read: "get level", durable: true}
  nothing: {type: int, read: "get nothing"}
  error: {type: int, read: "get error"}
commands:
  - {name: set level, kind: absolute, args: [{name: value, type: int}], send: "set level {value}", setting: level}
  - {name: level up, kind: relative, verify: {setting: level, expect: "before + 1"}}
  - {name: start, kind: trigger, nak_may_follow_effect: true}
  - {name: beep, kind: trigger}
  - {name: fill, kind: trigger, execution_s: 20}
  - {name: set colour, kind: absolute, args: [{name: value, type: int}], send: "set colour {value}"}
  - {name: login, kind: trigger, args: [{name: word, type: text, secret: true}]}
"""


class Place:
    """A folder with a script, its ledger and a profile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        script = folder / "push.sh"
        script.write_text(SCRIPT)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        (folder / "profile.yaml").write_text(PROFILE)
        (folder / "level").write_text("5\n")
        self.end_with("echo done; exit 0")
        self._numbers = count()
        self.url = "tcp://10.0.0.1:1"
        self.profile: Profile = load(folder / "profile.yaml")
        self.service = Service(Settings(folder / "home", folder, None, None, "desk", "ana"))

    def end_with(self, shell: str) -> None:
        """How the script ends after it did its work."""
        (self.folder / "ending").write_text(shell + "\n")

    def answer(self, query: str, shell: str) -> None:
        """How the script answers a query from now on."""
        (self.folder / query).write_text(shell + "\n")

    def lose_the_next(self) -> None:
        """The next command hangs before it does anything, and acts as soon as its gate is opened."""
        os.mkfifo(self.folder / "gate")
        (self.folder / "lost").touch()

    def ledger(self) -> list[str]:
        """What the script did."""
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def target(self, timeout_s: float) -> Target:
        """The device."""
        return Target("d1", self.url, 1, None, self.profile, timeout_s, 3, 5.0, 0.0, False)

    async def send(self, words: str, timeout_s: float = 5.0) -> Result:
        """Send a command."""
        call = resolve(self.profile, words.split())
        terms = terms_for(
            self.profile,
            call,
            choose(self.profile, call.command).policy,
            reply_s=timeout_s,
            attempts=3,
            survives_reopen=False,
        )
        operation = Operation(
            op=f"OP{next(self._numbers)}", device="d1", command=words, kind=call.command.kind.value,
            terms=terms, profile=self.profile.name, profile_digest="", route=self.url, submitted_by="ana",
        )  # fmt: skip
        return (await self.service.send(self.target(timeout_s), operation)).result


def opens(gate: Path) -> bool:
    """Open a FIFO. False where nobody waits at it any more."""
    try:
        descriptor = os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    os.write(descriptor, b"go\n")
    os.close(descriptor)
    return True
