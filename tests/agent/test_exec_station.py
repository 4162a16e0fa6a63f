"""What does a program of somebody else's say of a device, and what not? Real programs, real processes.

Each script keeps its own ledger: what it really did is read from there.
"""

import asyncio
import stat
from pathlib import Path

import pytest

from agent.links.link import Unreachable
from agent.operation import Cause, Operation, Outcome, Proof, Result
from agent.service import Service
from agent.settings import Settings
from agent.station import ReadAnswer
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
  "get level") cat level; exit 0 ;;
  "get nothing") exit 0 ;;
  "get error") echo "no such value" >&2; exit 3 ;;
esac
[ -f lost ] && rm lost && sleep 60
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
        self.profile: Profile = load(folder / "profile.yaml")
        self.service = Service(Settings(folder / "home", folder, None, None, "desk", "ana"))

    def end_with(self, shell: str) -> None:
        """How the script ends after it did its work."""
        (self.folder / "ending").write_text(shell + "\n")

    def lose_the_next(self) -> None:
        """The next command hangs before it does anything."""
        (self.folder / "lost").touch()

    def ledger(self) -> list[str]:
        """What the script did."""
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def target(self, timeout_s: float) -> Target:
        """The device."""
        return Target("d1", "tcp://10.0.0.1:1", 1, None, self.profile, timeout_s, 3, 5.0, 0.0, False)

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
            op=f"OP{len(self.ledger())}{words}", device="d1", command=words, kind=call.command.kind.value,
            terms=terms, profile=self.profile.name, profile_digest="", route="tcp://10.0.0.1:1", submitted_by="ana",
        )  # fmt: skip
        return (await self.service.send(self.target(timeout_s), operation)).result


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder of its own."""
    return Place(tmp_path)


def test_exit_0_is_an_ack(place: Place) -> None:
    """The program runs once, with device and command as two words, and its output is the value."""
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.ACK, "done")
    assert place.ledger() == ["d1|beep"]


def test_another_exit_is_a_refusal_with_the_programs_words(place: Place) -> None:
    """What the program said on stderr is the reason."""
    place.end_with("echo first >&2; echo 'no [such] device' >&2; exit 4")
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.message) == (Outcome.REFUSED, "the device refused: no [such] device")


def test_a_failure_that_may_follow_the_effect_is_no_refusal(place: Place) -> None:
    """Where the profile says that the program may fail after it sent, a failure leaves a doubt."""
    place.end_with("exit 4")
    assert asyncio.run(place.send("start")).outcome is Outcome.IN_DOUBT
    assert place.ledger() == ["d1|start"]


@pytest.mark.parametrize("ending", ["kill -9 $$", "exit 126", "exit 127", "exit 143"])
def test_signals_and_shell_troubles_say_nothing(place: Place, ending: str) -> None:
    """Nobody knows what a program did that was killed, or that could not run something itself."""
    place.end_with(ending)
    assert asyncio.run(place.send("beep")).outcome is Outcome.IN_DOUBT
    assert place.ledger() == ["d1|beep"]


def test_a_program_that_hangs_is_killed_with_its_children(place: Place) -> None:
    """Silence: the reading decides, and the hanging copy never acts later."""
    place.lose_the_next()
    result = asyncio.run(place.send("level up", 0.3))
    assert (result.outcome, result.attempts, result.value) == (Outcome.APPLIED, 2, "done")
    assert place.ledger() == ["d1|level up"]


def test_silence_after_the_effect_is_read_back(place: Place) -> None:
    """The program did it and hung: what it set is read, and it is not run again."""
    place.end_with("sleep 60")
    result = asyncio.run(place.send("level up", 0.3))
    assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.VERIFIED, "6")
    assert place.ledger() == ["d1|level up"]


def test_a_pipe_that_stays_open_does_not_hold_us(place: Place) -> None:
    """Something that the program left behind may keep its output open; the program itself has ended."""
    place.end_with("sleep 60 & exit 0")
    result = asyncio.run(asyncio.wait_for(place.send("beep"), 5.0))
    assert result.outcome is Outcome.APPLIED


def test_reading(place: Place) -> None:
    """What is printed is the value; nothing printed and a failure are none, and say what was wrong."""
    settings = [place.profile.setting(name) for name in ("level", "nothing", "error")]
    answers = asyncio.run(place.service.get(place.target(5.0), settings))
    assert answers == [
        ReadAnswer("5"),
        ReadAnswer(None, "the program printed nothing"),
        ReadAnswer(None, "the program ended with exit 3: no such value"),
    ]


def test_no_such_program(place: Place) -> None:
    """A missing program, or one without the right to run, is certainly nothing sent."""
    (place.folder / "push.sh").chmod(0o644)
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
    assert "nothing was run" in result.message
    with pytest.raises(Unreachable):
        asyncio.run(place.service.probe(place.target(5.0)))
    assert place.ledger() == []
