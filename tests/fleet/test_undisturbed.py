"""Does probing disturb a command? An hour of pushes beside probes, on lines that both must use.

The judges are the device's ledger and its own count of what it was asked, and how long each command took, against the
same commands with nobody probing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent.operation import Outcome, Result
from agent.stations import Target
from simulator.equipment import Adder
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from simulator.modbus_device import ModbusDevice
from tests.agent.line_desk import Port
from tests.agent.modbus_desk import PROFILE as ADDER
from tests.agent.modbus_desk import spoken
from tests.fleet.pushing import operation
from tests.fleet.watch import Watch, at, running, up, watch

HOUR_S = 3600.0
PROBE_S = 10.0
PORT = "serial:/dev/ttyS9"
PORT_TRIES_S = 0.3
"""A command that finds the port open elsewhere has tried it again by then."""


@dataclass(frozen=True)
class Way:
    """Equipment on a line, and two commands for it: one that counts every time, and one that does not."""

    make: Callable[[Watch], tuple[Any, Target]]
    counts: str
    entry: str
    absolute: str


def _on_the_port(w: Watch, device: Any, **changes: Any) -> tuple[Any, Target]:
    target = at(w.targets[0], PORT, **changes)
    w.ports[target.url] = Port(device)
    return device, target


def _lsq(w: Watch) -> tuple[Any, Target]:
    return _on_the_port(w, w.site.lsq("d1", "hello *: delay 0.08"))


def _text(w: Watch) -> tuple[Any, Target]:
    return _on_the_port(w, w.site.text("d1"))


def _rtu(w: Watch) -> tuple[Any, Target]:
    w.site.text("d1")
    device = ModbusDevice(Adder(), framing="rtu", hangs_up_on_boot=False)
    return _on_the_port(w, device, profile=spoken("rtu", ADDER))


WAYS = {
    "LSQ1": Way(_lsq, "BEEP", "BEEP", "SET interval {}"),
    "plain text": Way(_text, "BEEP", "BEEP", "SET interval {}"),
    "Modbus RTU": Way(_rtu, "ADD +1", "fc06 0x0001 raw 0001", "SET setpoint {}"),
}


@dataclass
class Hour:
    """What came of an hour of pushes.

    `results`, `took_s`: of each command. `counts`: of the device, what it was asked. `entered`: how often the one
    command that counts is in its ledger. `rounds`: of the prober. `met`: commands that found the port open.
    """

    words: list[str]
    results: list[Result]
    took_s: list[float]
    counts: dict[str, int]
    entered: int
    rounds: int
    missed: int
    met: int


def hour(home: Path, way: Way, *, probing: bool, faults: str = "") -> Hour:
    """An hour of commands, each a moment after a probe has begun; or the same with nobody probing."""

    async def play(w: Watch) -> Hour:
        device, target = way.make(w)
        if faults:
            device.suffer(parse(faults, TEXT))
        desk, agent = w.agent("desk"), up(w.agent("gw1"))
        random, loop, met = Random(7), asyncio.get_running_loop(), 0
        words: list[str] = []
        results: list[Result] = []
        took_s: list[float] = []
        async with running(*([w.prober(agent, [target], probe_s=PROBE_S)] if probing else [])):
            while loop.time() < HOUR_S:
                await asyncio.sleep(random.uniform(10.0, 60.0))
                w.began.clear()
                if probing:
                    await w.began.wait()
                await asyncio.sleep(random.uniform(0.0, 0.1))
                met += w.ports[target.url].link is not None
                words.append(random.choice((way.counts, way.absolute.format(random.randint(1, 60)))))
                began_s = loop.time()
                results.append((await desk.send(target, operation(target, words[-1]))).result)
                took_s.append(loop.time() - began_s)
        rows = w.seen("gw1")
        return Hour(
            words, results, took_s, dict(device.counts), device.ledger.count(way.entry),
            max((row.round for row in rows), default=0), sum(not row.ok for row in rows), met,
        )  # fmt: skip

    return watch(home, play)


@pytest.mark.parametrize("name", WAYS)
def test_an_hour_of_pushes(quick_home: Path, name: str) -> None:
    """Each command has its true word, takes effect as that says, and waits for no more than one probe.

    A probe uses none of the device's numbers: it sees HELLO or a read more, and no frame of another kind.
    """
    way = WAYS[name]
    alone = hour(quick_home / "alone", way, probing=False)
    beside = hour(quick_home / "beside", way, probing=True)
    assert {each.outcome for each in beside.results} <= {Outcome.APPLIED, Outcome.UNCHANGED}
    assert beside.entered == beside.words.count(way.counts)
    assert max(beside.took_s) <= max(alone.took_s) + PORT_TRIES_S
    assert beside.met >= 10
    assert beside.rounds >= 0.85 * HOUR_S / PROBE_S
    assert beside.missed == 0
    assert beside.counts.get("open") == alone.counts.get("open")
    assert beside.counts.get("nop") == alone.counts.get("nop")
    assert beside.counts["cmd"] == len([each for each in beside.results if each.attempts])


def test_an_hour_on_a_bad_line(quick_home: Path) -> None:
    """Where answers to probes are lost, a command waits as long as one could still come, and its word stays true."""
    way = WAYS["plain text"]
    faults = "seed 3: read drop_ack 0.2"
    beside = hour(quick_home, way, probing=True, faults=faults)
    done = [r.outcome for words, r in zip(beside.words, beside.results, strict=True) if words == way.counts]
    assert done.count(Outcome.APPLIED) == beside.entered
    assert set(done) <= {Outcome.APPLIED, Outcome.NOT_SENT}
    assert beside.missed > 0
