"""What does one look at a device come to, and does it give way to commands?"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.fleet.looks import Look, unprobed
from agent.fleet.traffic import Traffic
from agent.fleet.verdict import Status
from agent.links.link import PortHeld
from agent.operation import Outcome
from agent.service import Service
from agent.stations import Target
from simulator.fault_kinds import TEXT
from simulator.faults import parse
from tests.agent.desk import SILENCE_S
from tests.agent.line_desk import Port
from tests.agent.line_profiles import PROFILE, nameless, with_setting
from tests.fleet.crew import gone
from tests.fleet.pushing import operation
from tests.fleet.watch import Watch, at, reasons, refused, running, up, watch

# --- what a look comes to ---------------------------------------------------------------------------------------------


def look(w: Watch, target: Target) -> Look:
    """A look of the first agent."""
    service = w.services[0]
    return Look(service, Traffic(service), target)


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ("", "ok"),
        ("hello *: drop_request", "no_reply"),  # H9
        ("hello *: drop_ack", "no_reply"),
        ("hello *: cut", "no_reply"),
        ("hello *: bit_flip", "bad_frame"),  # M7
        ("hello *: junk; hello *: drop_ack", "no_reply"),
    ],
)
def test_an_open_port_is_not_health(quick_home: Path, faults: str, reason: str) -> None:
    """H9, M7: a device that accepts connections is judged by its answer, asked for in its own framing."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1", faults)
        w.agent("gw1")
        began_s = asyncio.get_running_loop().time()
        seen = await look(w, w.targets[0]).take()
        assert seen is not None
        assert (seen.ok, seen.reason or "ok") == (reason == "ok", reason)
        assert asyncio.get_running_loop().time() - began_s <= SILENCE_S + 0.2
        assert w.site.working == []

    watch(quick_home, play)


def test_plain_text(quick_home: Path) -> None:
    """H9, M7: the same for plain text: silence, and lines that are no answers by the profile."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1")
        w.agent("gw1")
        assert PROFILE.line is not None
        foreign = replace(PROFILE, line=replace(PROFILE.line, ack="^YES (?P<value>.*)$"))
        odd = await look(w, replace(w.targets[0], profile=foreign)).take()
        device.suffer(parse("read *: drop_ack", TEXT))
        mute = await look(w, w.targets[0]).take()
        assert odd is not None
        assert mute is not None
        assert (odd.ok, odd.reason, mute.ok, mute.reason) == (False, "bad_frame", False, "no_reply")

    watch(quick_home, play)


def test_why_there_is_no_way(quick_home: Path) -> None:
    """A closed port, no way to the host, a port in another program's hands, and another device are told apart."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        service = w.agent("gw1")
        target = w.targets[0]

        async def came_to(problem: Exception) -> str | None:
            async def dial(_: Target) -> Any:
                raise problem

            kept, service._dial = service._dial, dial
            seen = await look(w, target).take()
            service._dial = kept
            return seen.reason if seen is not None else None

        assert await came_to(refused("d1")) == "refused"
        w.cut.add(("gw1", "d1"))
        tried = len(w.dialled)
        cut = await look(w, target).take()
        assert cut is not None
        assert (cut.reason, len(w.dialled)) == ("no_route", tried + 1)  # nothing is repeated
        w.cut.clear()
        assert await came_to(PortHeld("minicom has it", ours=False)) == "port_held"
        assert await came_to(PortHeld("ackonce send has it", ours=True)) is None
        other = await look(w, replace(target, serial="ANOTHER")).take()
        assert other is not None
        assert (other.ok, other.reason) == (False, "wrong_device")

    watch(quick_home, play)


def test_equipment_without_a_name(quick_home: Path) -> None:
    """A device that cannot say who it is, is asked for a setting; what it says instead is no silence."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1", profile=nameless())
        w.agent("gw1")
        target = w.targets[0]
        seen = await look(w, target).take()
        assert seen is not None
        assert (seen.ok, device.counts["read"], device.counts["cmd"]) == (True, 1, 0)
        odd = replace(with_setting("offset", nameless(), read="GET nonsense"), settings={})
        odd = with_setting("odd", odd, read="GET nonsense")
        says = await look(w, replace(target, profile=odd)).take()
        assert says is not None
        assert not says.ok
        assert says.reason.startswith("device_says: the device says 'ERR")

    watch(quick_home, play)


def test_what_is_never_probed(quick_home: Path) -> None:
    """Left alone: a board that boots when its port is opened, a program, equipment of which nothing can be read."""

    async def play(w: Watch) -> None:
        w.site.text("t1")
        target = w.targets[0]
        boots = replace(target, profile=replace(PROFILE, opening_resets=True))
        assert unprobed(target) is None
        assert unprobed(boots) is None  # a network connection resets nothing
        assert unprobed(at(boots, "serial:/dev/ttyS0")) == "opening its port boots it"
        assert "called off" in str(unprobed(replace(target, profile=replace(PROFILE, dialect="exec"))))
        mute = replace(nameless(), settings={})
        assert "nothing that can be read" in str(unprobed(replace(target, profile=mute)))

    watch(quick_home, play)


# --- commands come first ----------------------------------------------------------------------------------------------


def test_h10_a_device_in_use_is_left_alone(quick_home: Path) -> None:
    """H10: while a command is under way nobody probes its device, whatever is thought of it; it ends by itself."""

    async def play(w: Watch) -> None:
        device = w.site.lsq("d1", "cmd 1: busy 40")
        agents = [up(w.agent(name)) for name in ("gw1", "gw2")]
        w.cut |= {("gw1", "d1"), ("gw2", "d1")}
        async with running(*(w.prober(service) for service in agents)):
            await asyncio.sleep(32)
            assert w.verdicts().verdicts["device:d1"].status is Status.UNREACHABLE
            before = len(w.dialled)
            desk = w.agent("desk")
            task = asyncio.create_task(send(desk, replace(w.targets[0], busy_max_s=60.0)))
            await asyncio.sleep(38)
            assert {name for _, name, _ in w.dialled[before:]} == {"desk"}
            assert (await task) is Outcome.APPLIED
            assert device.ledger.count("BEEP") == 1
            await asyncio.sleep(6)
            assert {name for _, name, _ in w.dialled[before:]} == {"desk", "gw1", "gw2"}

    watch(quick_home, play)


async def send(service: Service, target: Target, words: str = "BEEP") -> Outcome:
    """Carry a command out on a device."""
    return (await service.send(target, operation(target, words))).result.outcome


def test_a_lease_of_a_dead_process_holds_nobody_up(quick_home: Path) -> None:
    """What a killed process left in the store does not make its device invisible."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        target = w.targets[0]
        dead = w.agent("desk", holder=gone("desk"))
        dead.registry.claim(target.url, target.unit, target.serial)
        async with running(w.prober(up(w.agent("gw1")))):
            await asyncio.sleep(6)
        assert reasons(w.seen())["ok"] >= 1

    watch(quick_home, play)


@pytest.mark.parametrize("asked", [False, True], ids=["before it asks", "when it has asked"])
def test_a_look_gives_way_at_once(quick_home: Path, asked: bool) -> None:
    """A command that comes ends a look under way: at once, or a moment after its question; that is no miss."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1", "read *: drop_ack")
        w.services.append(w.agent("gw1"))
        target = at(w.targets[0], "serial:/dev/ttyS9", timeout_s=2.0)
        w.ports[target.url] = Port(device)
        looking = asyncio.create_task(look(w, target).take())
        await asyncio.sleep(1.0 if asked else 0.01)
        desk = w.agent("desk")
        lease = desk.registry.claim(target.url, target.unit, target.serial)
        began_s = asyncio.get_running_loop().time()
        assert await looking is None
        took_s = asyncio.get_running_loop().time() - began_s
        assert (
            took_s <= (0.15 if asked else 0.05) + 1e-6
        )  # a command tries the port again after 0.1 and 0.3 s
        assert w.ports[target.url].link is None
        assert device.counts["read"] == asked
        desk.leases.release(lease)

    watch(quick_home, play)


def test_a_command_that_comes_while_the_link_is_opened(quick_home: Path) -> None:
    """It finds nothing on the line: what was just opened is closed again, and nothing was asked."""

    async def play(w: Watch) -> None:
        device = w.site.lsq("d1")
        service, desk = w.agent("gw1"), w.agent("desk")
        target, dial = w.targets[0], service._dial

        async def slowly(to: Target) -> Any:
            desk.registry.claim(target.url, target.unit, target.serial)
            return await dial(to)

        service._dial = slowly
        assert await look(w, target).take() is None
        assert device.counts == {"connections": 1}
        assert w.site.working == []

    watch(quick_home, play)


def test_a_silent_device_holds_its_line_for_one_silence(quick_home: Path) -> None:
    """The port is closed when the answer is overdue, though it may still come; that is left to the stream's record."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1", "read *: drop_ack")
        service = w.agent("gw1")
        target = at(w.targets[0], "serial:/dev/ttyS9")
        w.ports[target.url] = Port(device)
        began_s = asyncio.get_running_loop().time()
        seen = await look(w, target).take()
        assert seen is not None
        assert (seen.reason, device.counts["read"]) == ("no_reply", 1)
        assert asyncio.get_running_loop().time() - began_s <= SILENCE_S + 0.2
        assert w.ports[target.url].link is None
        assert service.owed.owed_s(target.url) > 1.0
        assert await look(w, target).take() is None

    watch(quick_home, play)


@pytest.mark.parametrize("unit", ["", " unit 1"], ids=["on the stream", "by the unit"])
def test_what_is_owed_is_waited_for(quick_home: Path, unit: str) -> None:
    """Where the answer to somebody's request may still come, nothing is asked and the port is not even opened."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1")
        service = w.agent("gw1")
        target = at(w.targets[0], "serial:/dev/ttyS9")
        w.ports[target.url] = Port(device)
        service.owed.owe(target.url + unit, 3.0)
        assert await look(w, target).take() is None
        assert w.dialled == []
        await asyncio.sleep(3.01)
        assert (await look(w, target).take()) is not None
        assert service.owed.owed_s(target.url + unit) == 0.0

    watch(quick_home, play)


def test_units_of_a_line_are_probed_one_after_the_other(quick_home: Path) -> None:
    """Devices behind one port never meet there, and the line rests as long as a probe took."""

    async def play(w: Watch) -> None:
        device = w.site.text("t1", "read *: delay 0.3")
        one = at(w.targets[0], "serial:/dev/ttyS9")
        w.ports[one.url] = Port(device)
        units = [replace(one, name=f"u{n}", unit=n) for n in range(1, 4)]
        begun: list[tuple[float, float]] = []
        async with running(w.prober(up(w.agent("gw1")), units, probe_s=1.0)):
            for _ in range(6_000):
                await asyncio.sleep(0.01)
                open_now = w.ports[one.url].link is not None
                begun.append((asyncio.get_running_loop().time(), float(open_now)))
        assert reasons(w.seen())["ok"] == len(w.seen())
        assert len(w.dialled) - len(w.seen()) <= 1  # the last one may be under way
        share = sum(is_open for _, is_open in begun) / len(begun)
        assert 0.4 < share <= 0.51
        assert {row.target for row in w.seen()} == {"device:u1", "device:u2", "device:u3"}

    watch(quick_home, play)
