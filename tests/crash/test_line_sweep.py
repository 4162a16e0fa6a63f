"""Does the truth about plain equipment survive the end of a process at any write?

The process ends before, in the middle of and after every write to its store and to its link. Another process on the
same store goes on: it asks again under the same key, sends another command or reads (both get lost, so that no late
answer may be credited to them), lets a person decide, or sends a newer value (which no late copy may undo).
"""

import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent.operation import Outcome
from agent.station import ReadAnswer
from tests.agent.line_desk import Bench, NamingDevice, at_a_bench
from tests.agent.line_profiles import LATE_S, PROFILE, naming
from tests.crash.crasher import Moment, Point, Stop, stops
from tests.crash.plain import BEEP, LEVEL, OFFSET, RESET, ROTATE, SET, Order, Trial, after_the_readings

T = TypeVar("T")
TABLE = """
fault           | over    | commands                           | plan
none            | tcp     | SET LEVEL ROTATE                   |
none            | pty     | SET OFFSET LEVEL RESET ROTATE BEEP |
slow readings   | pty     | OFFSET LEVEL                       | read 2-9: delay 0.3
late readings   | pty     | LEVEL                              | read 2: delay 0.8; cmd 1: drop_ack; read 4: delay 0.8
lost request    | tcp pty | SET OFFSET ROTATE                  | cmd 1: drop_request
lost ack        | tcp     | SET OFFSET LEVEL ROTATE BEEP       | cmd 1: drop_ack
lost ack        | pty     | SET OFFSET LEVEL RESET ROTATE BEEP | cmd 1: drop_ack
slow ack        | pty     | SET ROTATE BEEP                    | cmd 1: delay 0.3
late ack        | pty     | SET OFFSET ROTATE BEEP             | cmd 1: delay 0.8
very late ack   | named   | OFFSET ROTATE                      | cmd 1: delay 2.5
ack past next   | pty     | SET ROTATE BEEP                    | cmd 1: hold 2.9
late copy       | tcp     | SET OFFSET BEEP                    | cmd 1: late_request 2.0
late copy       | pty     | SET ROTATE                         | cmd 1: late_request 2.0
boot before     | tcp pty | SET LEVEL                          | cmd 1: reboot_before
boot after      | tcp pty | LEVEL BEEP                         | cmd 1: reboot_after
boot in between | tcp pty | LEVEL ROTATE                       |
cut             | tcp pty | SET ROTATE                         | cmd 1: cut
lost readings   | pty     | ROTATE                             | cmd 1: drop_ack; read 3-9: drop_request
"""
"""`named`: as pty, with equipment that names the value in its answers, so that they can be told from an owed ack. A
command is left out where the fault leaves behind what another one does: on tcp a late ack is a lost one.
"""
NAMED = naming()
MIXED = replace(NAMED, settings={**NAMED.settings, "interval": PROFILE.setting("interval")})
"""The profile of the named equipment; what is read back is told apart, the interval is not."""
ORDERS = {"SET": SET, "OFFSET": OFFSET, "LEVEL": LEVEL, "RESET": RESET, "ROTATE": ROTATE, "BEEP": BEEP}
FROM_THE_START = ("slow readings", "late readings")
"""Under these faults the process is ended at its first readings too; under the others that would show nothing new."""
OVERTAKING = ("none", "lost ack", "late copy")
"""Under these faults a newer value is sent too."""
LATE = ("slow ack", "late ack", "very late ack", "ack past next")
"""Under these faults somebody reads, or a person decides, too."""


@dataclass(frozen=True, slots=True)
class Case:
    """One command, one fault, and how it goes on after the end of the process."""

    carrier: str
    fault: str
    plan: str
    order: Order
    again: str

    def play(self, home: Path, play: Callable[[Bench], Coroutine[Any, Any, T]]) -> T:
        """Run `play` at a bench of its own."""
        if self.carrier == "named":
            return at_a_bench(home, play, self.plan, carrier="pty", profile=MIXED, made=NamingDevice)
        return at_a_bench(home, play, self.plan, carrier=self.carrier)

    def __str__(self) -> str:
        return f"{self.carrier}, {self.fault}, {self.order.words}, {self.again}"


def cases() -> Iterator[Case]:
    """Everything that is tried."""
    for line in TABLE.strip().splitlines()[1:]:
        fault, over, commands, plan = (part.strip() for part in line.split("|"))
        for carrier in over.split():
            for order in (ORDERS[name] for name in commands.split()):
                yield Case(carrier, fault, plan, order, "same key")
                yield Case(carrier, fault, plan, order, "next command")
                if fault in OVERTAKING and order.newer is not None:
                    yield Case(carrier, fault, plan, order, "newer value")
                if fault in LATE:
                    yield Case(carrier, fault, plan, order, "reading")
                if fault in LATE and order is BEEP:
                    yield Case(carrier, fault, plan, order, "person decides")


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_every_stop(case: Case, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where the evidence is gone."""
    points = run_through(case, quick_home / "through")
    first = 1 if case.fault in FROM_THE_START else after_the_readings(points)
    tried = list(stops(points, first))
    for stop in tried:
        point = points[stop.point - 1]
        torn = stop.moment is Moment.HALF and point.sent is not None and case.carrier != "tcp"

        async def play(
            bench: Bench, stop: Stop = stop, torn: bool = torn, where: str = f"{stop}, {point}"
        ) -> None:
            trial = Trial(bench, case.order, where, "boot" in case.fault, torn)
            await trial.run_until(stop)
            if case.fault == "boot in between":
                bench.device.reboot()
            await trial.restart()
            await GOING_ON[case.again](trial)

        home = quick_home / str(stop)
        case.play(home, play)
        shutil.rmtree(home)
    print(f"{len(tried)} stops")


def run_through(case: Case, home: Path) -> list[Point]:
    """The writes of a process that nothing ends."""

    async def play(bench: Bench) -> list[Point]:
        return (await Trial(bench, case.order).run_until(None)).points

    return case.play(home, play)


async def ask_again(trial: Trial) -> None:
    """Somebody wants the command done: it is, once."""
    trial.bench.suffer("")
    await trial.ask()
    await trial.judge(wanted=True)


async def send_something_else(trial: Trial) -> None:
    """Another command gets lost: settling the first sends nothing."""
    device, other = trial.bench.device, BEEP if trial.order is ROTATE else ROTATE
    copies = len(device.copies)
    await trial.send_into_silence(other)
    await trial.judge(wanted=False)
    assert {copy.text for copy in device.copies[copies:]} <= {other.effect}, f"{trial.where}: sent again"


async def read_into_silence(trial: Trial) -> None:
    """Somebody reads, and the answer gets lost: no answer that is owed to the first command is taken for it."""
    desk = trial.bench.desk
    after_the_identity = 1 if desk.profile.identity is None else 2
    trial.bench.suffer(f"read {after_the_identity}-9: drop_request")
    patient = desk.target(timeout_s=LATE_S + 1.0)
    answers = await desk.service.get(patient, [desk.profile.setting("interval")])
    assert answers == [ReadAnswer(None)], f"{trial.where}: a foreign answer: {answers}"


async def decide(trial: Trial) -> None:
    """A person says of the first command what is true, and the next one, which gets lost, follows at once."""
    service = trial.bench.desk.service
    for entry in service.doubts():
        service.resolve(entry, applied=trial.executed > 0, reason="looked")
    await trial.send_into_silence(BEEP if trial.order is ROTATE else ROTATE)
    await trial.judge(wanted=False)


async def send_a_newer_value(trial: Trial) -> None:
    """Where a newer value may be sent at all it stays, whatever arrives late."""
    assert trial.order.newer is not None
    words, name, value = trial.order.newer
    bench = trial.bench
    bench.suffer("")
    result = (await bench.desk.send(words)).result
    await trial.judge(wanted=False)
    if result.outcome is Outcome.APPLIED:
        assert bench.device.values()[name] == value, f"{trial.where}: an old copy came after the newer one"
    else:
        assert (result.outcome, bench.count(words)) == (Outcome.NOT_SENT, 0), f"{trial.where}: {result}"


GOING_ON: Mapping[str, Callable[[Trial], Awaitable[None]]] = {
    "same key": ask_again,
    "next command": send_something_else,
    "newer value": send_a_newer_value,
    "reading": read_into_silence,
    "person decides": decide,
}
