"""Does the truth about plain equipment survive the end of a process at any write?

The process ends before, in the middle of and after every write to its store and to its link. Another process on the
same store goes on: it asks again under the same key, sends another command (which gets lost, so that no late ack may be
credited to it), or a newer value (which no late copy may undo).
"""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.operation import Outcome
from tests.agent.line_desk import Bench, at_a_bench
from tests.crash.crasher import Moment, Point, Stop, stops
from tests.crash.plain import BEEP, LEVEL, OFFSET, RESET, ROTATE, SET, Order, Trial, after_the_readings

TABLE = """
fault           | over    | commands                            | plan
none            | tcp pty | SET OFFSET LEVEL RESET ROTATE BEEP  |
lost request    | tcp pty | SET OFFSET LEVEL ROTATE BEEP        | cmd 1: drop_request
lost ack        | tcp pty | SET OFFSET LEVEL RESET ROTATE BEEP  | cmd 1: drop_ack
late ack        | pty     | SET OFFSET ROTATE BEEP              | cmd 1: delay 0.8
ack past next   | pty     | SET OFFSET ROTATE BEEP              | cmd 1: hold 2.9
late copy       | tcp pty | SET OFFSET ROTATE BEEP              | cmd 1: late_request 2.0
boot before     | tcp pty | SET LEVEL ROTATE                    | cmd 1: reboot_before
boot after      | tcp pty | OFFSET LEVEL BEEP                   | cmd 1: reboot_after
boot in between | tcp pty | SET LEVEL ROTATE                    |
cut             | tcp pty | SET OFFSET LEVEL ROTATE BEEP        | cmd 1: cut
late readings   | tcp     | LEVEL                               | read 2: delay 0.8; cmd 1: drop_ack; read 4: delay 0.8
late readings   | pty     | OFFSET LEVEL ROTATE                 | read 2: delay 0.8; cmd 1: drop_ack; read 4: delay 0.8
"""
"""Where the fault leaves behind what another one does, the command is left out: on a connection that reopening cuts
a late ack is a lost one, and RESET is read back as ROTATE is.
"""
ORDERS = {"SET": SET, "OFFSET": OFFSET, "LEVEL": LEVEL, "RESET": RESET, "ROTATE": ROTATE, "BEEP": BEEP}
FROM_THE_START = ("none", "late readings")
"""Under these faults the process is ended at its first readings too; under the others that would show nothing new."""
OVERTAKING = ("none", "lost ack", "late copy")
"""Under these faults a newer value is sent too."""


@dataclass(frozen=True, slots=True)
class Case:
    """One command, one fault, and how it goes on after the end of the process."""

    carrier: str
    fault: str
    plan: str
    order: Order
    again: str

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


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_every_stop(case: Case, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where the evidence is gone."""
    points = run_through(case, quick_home / "through")
    first = 1 if case.fault in FROM_THE_START else after_the_readings(points)
    tried = list(stops(points, first))
    for stop in tried:
        point = points[stop.point - 1]
        torn = stop.moment is Moment.HALF and point.sent is not None and case.carrier == "pty"

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
        at_a_bench(home, play, case.plan, carrier=case.carrier)
        shutil.rmtree(home)
    print(f"{len(tried)} stops")


def run_through(case: Case, home: Path) -> list[Point]:
    """The writes of a process that nothing ends."""

    async def play(bench: Bench) -> list[Point]:
        return (await Trial(bench, case.order).run_until(None)).points

    return at_a_bench(home, play, case.plan, carrier=case.carrier)


async def ask_again(trial: Trial) -> None:
    """Somebody wants the command done: it is, once."""
    trial.bench.suffer("")
    await trial.ask()
    await trial.judge(wanted=True)


async def send_something_else(trial: Trial) -> None:
    """Another command gets lost: settling sends nothing, and no answer owed to the first is taken for its ack."""
    bench, other = trial.bench, BEEP if trial.order is ROTATE else ROTATE
    copies = len(bench.device.copies)
    bench.suffer("cmd *: drop_request")
    result = (await bench.desk.send(other.words, attempts=1)).result
    await trial.judge(wanted=False)
    assert result.outcome is not Outcome.APPLIED, f"{trial.where}: a foreign ack"
    assert bench.count(other.effect) == 0
    assert {copy.text for copy in bench.device.copies[copies:]} <= {other.effect}, (
        f"{trial.where}: sent again"
    )


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
}
