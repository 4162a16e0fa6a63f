"""Do the parts of a world do what they say: disk, processes, roads, weather?"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from agent.clock import Clock, stamp
from agent.links.link import Link, LinkLost, PortHeld, Receiver, Unreachable
from agent.stations import Target
from logs.events import Event
from simulator.equipment import Controller
from worlds.disk import Disk
from worlds.history import History
from worlds.loop import WorldLoop
from worlds.machines import TextMachine
from worlds.network import Road
from worlds.process import STEPS_MAX, Freeze, Process, Stop
from worlds.store import Crash, Moment
from worlds.tongues import Lines
from worlds.weather import SHARE, Risk, Weather
from worlds.world import START, WorldClock


@dataclass
class Around:
    """What is around a process in a test."""

    notes: list[str] = field(default_factory=list)

    def note(self, who: str, what: str, detail: str | bytes = "") -> None:  # noqa: ARG002
        self.notes.append(what)

    def stopped(self, process: Process) -> None:
        """Not counted here."""

    def hangs(self, process: Process) -> None:
        self.notes.append(f"{process.name} hangs")

    def logged(self, process: Process, event: Event) -> None:
        """Nobody reads it."""

    async def dial(self, process: Process, target: Target) -> Link:  # noqa: ARG002
        raise Unreachable("nothing is there")

    def power_fails(self) -> None:
        self.notes.append("no power")


def play(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine on a world's loop."""
    loop = WorldLoop()
    loop.set_exception_handler(lambda *_: None)
    try:
        loop.run_until_complete(main())
    finally:
        loop.end()


def count(disk: Disk) -> int:
    """How many streams the store knows."""
    return len(disk.rows("SELECT * FROM stream"))


def insert(name: str) -> Callable[[Any], object]:
    """A write that adds a stream."""
    return lambda cursor: cursor.execute("INSERT INTO stream VALUES (?, '', 1)", (name,))


# --- disk -------------------------------------------------------------------------------------------------------------


def test_a_power_cut_takes_what_was_not_flushed() -> None:
    """Loose writes since the last flush are gone, those before it stay, and nothing is lost without any."""
    disk = Disk(1)
    database = disk.open()
    for name, loosely in (("a", True), ("b", False), ("c", True), ("d", True)):
        if loosely:
            disk.before_loose_write()
            database.commit_loosely(insert(name))
        else:
            database.commit_now(insert(name))
    assert disk.power_cut()
    assert [row[0] for row in disk.rows("SELECT stream FROM stream ORDER BY stream")] == ["a", "b"]
    database.commit_now(insert("e"))
    assert not disk.power_cut()
    assert count(disk) == 3


def test_a_restored_store_is_as_it_was() -> None:
    """What came after the backup is forgotten; the processes' connections go on."""
    disk = Disk(1)
    database = disk.open()
    database.commit_now(insert("a"))
    backup = disk.backup()
    database.commit_now(insert("b"))
    disk.restore(backup)
    assert count(disk) == 1
    database.commit_now(insert("c"))
    assert count(disk) == 2


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moment", "kept"), [(Moment.BEFORE, 1), (Moment.HALF, 1), (Moment.AFTER, 2)])
@pytest.mark.parametrize("how", ["commit_now", "commit_loosely", "commit"])
def test_a_process_ends_at_a_write(moment: Moment, kept: int, how: str) -> None:
    """Before and in the middle of a write nothing of it stays, after it all of it; nothing reaches the store later."""

    async def main() -> None:
        disk, around = Disk(1), Around()
        process = Process("p", "a", disk, around, Clock(), stop=Stop(write=2, moment=moment))
        store = process.service.database

        async def work() -> None:
            for name in "abc":
                done = getattr(store, how)(insert(name))
                if how == "commit":
                    await done

        await process.end_of(work())
        assert process.dead
        assert count(disk) == kept
        with pytest.raises(Crash):
            store.read("SELECT 1")
        assert around.notes == ["dead"]

    play(main)


def test_a_process_ends_at_any_step() -> None:
    """Once it is dead none of its steps runs, its timers included, and the world goes on."""

    async def main() -> None:
        process = Process("p", "a", Disk(1), Around(), Clock(), stop=Stop(step=3))
        steps: list[float] = []

        async def work() -> None:
            for _ in range(10):
                steps.append(asyncio.get_running_loop().time())
                await asyncio.sleep(1.0)

        await process.end_of(work())
        await asyncio.sleep(10.0)
        assert process.dead
        assert steps == [0.0]

    play(main)


def test_a_frozen_process_goes_on_where_it_stood_still() -> None:
    """It takes no step for so long, and then all of them in order; what was cancelled meanwhile does not run."""

    async def main() -> None:
        process = Process("p", "a", Disk(1), Around(), Clock(), freeze=Freeze(30.0, step=2))
        times: list[float] = []

        async def work() -> None:
            for _ in range(3):
                await asyncio.sleep(1.0)
                times.append(asyncio.get_running_loop().time())

        await process.end_of(work())
        assert times == [31.0, 32.0, 33.0]
        assert process.slept_s == 30.0

    play(main)


def test_a_process_that_leaves_still_gives_back_what_it_has() -> None:
    """All of its tasks are cancelled; what they do on the way out is done, and it counts as one that was ended."""

    async def main() -> None:
        around = Around()
        process = Process("p", "a", Disk(1), around, Clock())
        done: list[str] = []

        async def part() -> None:
            await asyncio.sleep(100.0)
            done.append("the part")

        async def work() -> None:
            try:
                await asyncio.gather(part(), asyncio.ensure_future(part()))
            finally:
                done.append("gave back")

        asyncio.get_running_loop().call_later(1.0, process.leave)
        await process.end_of(work())
        await asyncio.sleep(200.0)
        assert done == ["gave back"]
        assert (process.dead, process.killed, process.gave_up) == (False, True, True)
        assert around.notes == ["leaves"]

    play(main)


def test_a_power_cut_ends_the_machine() -> None:
    """The stop of one process may take the power from all."""

    async def main() -> None:
        around = Around()
        process = Process("p", "a", Disk(1), around, Clock(), stop=Stop(step=1, power=True))
        await process.end_of(asyncio.sleep(1.0))
        assert around.notes == ["dead", "no power"]

    play(main)


def test_a_process_that_never_ends_is_ended() -> None:
    """Turning in circles without time passing is noticed."""

    async def main() -> None:
        around = Around()
        process = Process("p", "a", Disk(1), around, Clock())

        async def work() -> None:
            for _ in range(STEPS_MAX + 1):
                await asyncio.sleep(0)

        await process.end_of(work())
        assert around.notes == ["p hangs", "dead"]

    play(main)


# --- the wall clock ---------------------------------------------------------------------------------------------------


def test_the_wall_clock_can_be_set() -> None:
    """Decisions by the wall clock see it, timers and records do not."""

    async def main() -> None:
        clock = WorldClock()
        await asyncio.sleep(5.0)
        clock.ahead_s = -3600.0
        assert (clock.utc() - START).total_seconds() == -3595.0
        assert (clock.now_s(), clock.stamp()) == (5.0, stamp(START + timedelta(seconds=5)))

    play(main)


# --- roads ------------------------------------------------------------------------------------------------------------


class Ear(Receiver):
    """Who listens to a link in a test."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.ends: list[str] = []

    def heard(self, data: bytes) -> None:
        """Bytes came in."""
        self.got.append(data)

    def lost(self, why: str) -> None:
        """The stream ended."""
        self.ends.append(why)


class Scripted(Weather):
    """A weather that does what the test says, message by message."""

    def __init__(self, **ways: list[Any]) -> None:
        super().__init__("d0", random.Random(0), (), {}, late_s=None, now_s=lambda: 0.0)
        self.script = ways

    def on_the_way(self, way: str) -> Any:
        """The next of the script."""
        return self.script[way].pop(0) if self.script.get(way) else None


@dataclass
class Bench:
    """A road with a text device, and processes on it."""

    road: Road
    disk: Disk
    device: TextMachine

    async def open(self, name: str) -> tuple[Link, Ear, Process]:
        """A process opens the road."""
        process = Process(name, "a", self.disk, Around(), Clock())
        ear = Ear()
        link = await process.run(self.road.dial(process))
        link.attach(ear)
        return link, ear, process


def at_a_road(
    play_it: Callable[[Bench], Coroutine[Any, Any, None]], *, serial: bool, **ways: list[Any]
) -> None:
    """Run a test on a road."""

    async def main() -> None:
        disk = Disk(1)
        history = History(asyncio.get_running_loop().time, disk)
        device = TextMachine(Controller("SIM-d0"), hangs_up_on_boot=not serial)
        road = Road(
            "d0",
            device,
            Scripted(**ways),
            history,
            sort="line",
            serial=serial,
            tongue=Lines(),
            latency_s=0.01,
        )
        await play_it(Bench(road, disk, device))

    play(main)


def stall(seconds: float) -> Any:
    """A strike that delays."""
    from worlds.weather import Strike

    return Strike("stall", seconds)


def test_late_bytes_of_an_old_connection_arrive_behind_newer_ones() -> None:
    """Closing a TCP connection takes back nothing that is on its way."""

    async def play_it(bench: Bench) -> None:
        link, _, _ = await bench.open("p")
        link.write(b"SET interval 30\n")
        link.close(abort=True)
        newer, ear, _ = await bench.open("q")
        newer.write(b"SET interval 60\n")
        await asyncio.sleep(5.0)
        assert [entry.text for entry in bench.device.ledger.entries] == ["SET interval 60", "SET interval 30"]
        assert ear.got == [b"OK 60\n"]

    at_a_road(play_it, serial=False, to=[stall(2.0)])


def test_a_late_answer_on_a_line_reaches_whoever_opens_it_next() -> None:
    """A serial line outlives its openings, and what is on its way in it."""

    async def play_it(bench: Bench) -> None:
        link, first, process = await bench.open("p")
        link.write(b"BEEP\n")
        await asyncio.sleep(0.015)
        process.die()
        _, ear, _ = await bench.open("q")
        await asyncio.sleep(5.0)
        assert (first.got, ear.got) == ([], [b"OK\n"])

    at_a_road(play_it, serial=True, back=[stall(2.0)])


def test_one_process_at_a_time_has_a_port() -> None:
    """A second one is told so; a dead one has none."""

    async def play_it(bench: Bench) -> None:
        _, _, process = await bench.open("p")
        with pytest.raises(PortHeld):
            await bench.open("q")
        process.die()
        await bench.open("r")

    at_a_road(play_it, serial=True)


@pytest.mark.parametrize("serial", [True, False])
def test_a_cut_ends_the_connection_and_loses_the_message(serial: bool) -> None:
    """Both ends hear of it; the device has nothing executed, and can be reached again."""
    from worlds.weather import Strike

    async def play_it(bench: Bench) -> None:
        link, ear, _ = await bench.open("p")
        link.write(b"BEEP\n")
        await asyncio.sleep(1.0)
        assert ear.ends
        with pytest.raises(LinkLost):
            link.write(b"BEEP\n")
        again, other, _ = await bench.open("q")
        again.write(b"BEEP\n")
        await asyncio.sleep(1.0)
        assert bench.device.ledger.count("BEEP") == 1
        assert other.got == [b"OK\n"]

    at_a_road(play_it, serial=serial, to=[Strike("hang_up")])


def test_half_a_line_leaves_where_a_process_ends_in_its_middle() -> None:
    """On a line the half stays in the device and spoils the next one; nothing of either is executed."""

    async def play_it(bench: Bench) -> None:
        link, _, process = await bench.open("p")
        process.stop = Stop(write=process.writes + 1, moment=Moment.HALF)
        with pytest.raises(Crash):
            link.write(b"ROTATE log\n")
        assert process.dead
        again, ear, _ = await bench.open("q")
        again.write(b"BEEP\n")
        await asyncio.sleep(1.0)
        assert len(bench.device.ledger) == 0
        assert ear.got == [b"ERR unknown command\n"]

    at_a_road(play_it, serial=True)


# --- weather ----------------------------------------------------------------------------------------------------------


def weather(
    late_s: float | None, kept: frozenset[str] | None = None, now_s: Callable[[], float] = lambda: 0.0
) -> Weather:
    """A rough weather."""
    inside = (Risk("drop_ack", 0.2), Risk("delay", 0.3, 1.8))
    return Weather(
        "d0",
        random.Random(5),
        inside,
        {"to": (Risk("stall", 0.4, 1.8),)},
        late_s=late_s,
        now_s=now_s,
        kept=kept,
    )


def test_a_seed_brings_the_same_weather_and_kept_hits_alone_count() -> None:
    """The dice are thrown whether or not a hit counts, so that keeping some moves no other."""
    whole = weather(None)
    faults = [str(whole.next("cmd")) for _ in range(60)]
    assert len(whole.names) > 10
    some = frozenset(whole.names[3:6])
    part = weather(None, some)
    cut = [str(part.next("cmd")) for _ in range(60)]
    assert part.names == whole.names[3:6]
    assert all(a in (b, "") for a, b in zip(cut, faults, strict=True))


def test_a_calm_weather_hits_nothing() -> None:
    """After healing no message is struck."""
    calm = weather(None)
    calm.calm = True
    assert not any(calm.next("cmd") or calm.on_the_way("to") for _ in range(100))


def test_on_plain_text_one_delay_at_a_time_keeps_what_the_profile_promises() -> None:
    """Delays are shorter than `late_max_s`, and no second one begins before the first must be over."""
    now = [0.0]
    slow = weather(3.0, now_s=lambda: now[0])
    begun: list[float] = []
    for step in range(400):
        now[0] = step * 0.05
        faults, strike = slow.next("cmd"), slow.on_the_way("to")
        for seconds in (faults.seconds("delay"), strike.seconds if strike is not None else 0.0):
            if seconds:
                begun.append(now[0])
                assert seconds <= SHARE * 3.0
    assert len(begun) > 3
    assert all(b - a >= 3.0 for a, b in pairwise(begun))
