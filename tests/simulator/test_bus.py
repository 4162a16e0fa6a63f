"""Several devices on one line: each hears everything, each answers for its own unit only."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from simulator.bus import Bus
from simulator.equipment import Adder
from simulator.fault_kinds import MODBUS
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from simulator.modbus_device import ModbusDevice
from simulator.pty_server import serve_pty
from tests.simulator.modbus_bench import ADD_5, ADDED, TOTAL, ModbusClient, rtu
from tests.simulator.port_client import PortClient


def bus_bench(
    scenario: Callable[[ModbusClient], Coroutine[Any, Any, None]], plan: str = "", **habits: float
) -> list[ModbusDevice]:
    """Run a scenario on a line of units 1, 2 and 3; the plan is that of unit 2."""
    devices = [
        ModbusDevice(
            Adder(unit=unit),
            plan=parse(plan if unit == 2 else "", MODBUS),
            hangs_up_on_boot=False,
            habits=Habits(**habits),  # type: ignore[arg-type]  # numbers as the tests give them
        )
        for unit in (1, 2, 3)
    ]

    async def main() -> None:
        await scenario(ModbusClient(Bus(devices)))

    run(main)
    return devices


def effects(devices: list[ModbusDevice]) -> list[int]:
    """How often each unit has added."""
    return [device.ledger.count(ADDED) for device in devices]


def test_each_unit_does_and_answers_its_own_requests() -> None:
    """In whatever pieces they come; nobody does those of another."""

    async def scenario(client: ModbusClient) -> None:
        for unit in (3, 1, 3):
            for byte in rtu(ADD_5, unit):
                client.plug.feed(bytes((byte,)))
        assert client.heard == rtu(ADD_5, 3) + rtu(ADD_5, 1) + rtu(ADD_5, 3)
        assert await client.ask(rtu(ADD_5, 4)) == b""

    assert effects(bus_bench(scenario)) == [1, 0, 2]


def test_a_broadcast_is_done_by_all_and_answered_by_none() -> None:
    """Once each."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5, 0)) == b""

    assert effects(bus_bench(scenario)) == [1, 1, 1]


@pytest.mark.parametrize("fault", ["drop_request", "freeze 5", "reboot_before"])
def test_a_silent_unit_leaves_the_others_unharmed(fault: str) -> None:
    """Neither their answers nor their effects depend on it, and the line stays."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5, 2)) == b""
        assert await client.ask(rtu(ADD_5, 1)) == rtu(ADD_5, 1)
        assert await client.ask(rtu(TOTAL, 3)) == rtu("03 02 0000", 3)
        assert client.ends == 0

    assert effects(bus_bench(scenario, f"cmd 1: {fault}")) == [1, 0, 0]


def test_late_answers_of_two_units_meet_on_the_line() -> None:
    """Both come whole, each with its own unit."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(TOTAL, 2), 0.5) == b""
        assert await client.ask(rtu(TOTAL, 1)) == rtu("03 02 0000", 1) + rtu("03 02 0000", 2)

    bus_bench(scenario, "read 1: delay 0.8")


def test_whoever_ends_the_line_ends_it_for_all() -> None:
    """Once; nothing that comes in afterwards is heard by anybody."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5, 2)) == b""
        assert client.ends == 1
        client.plug.feed(rtu(ADD_5, 1))
        client.plug.closed()

    devices = bus_bench(scenario, "cmd 1: cut")
    assert (effects(devices), [device.connected for device in devices]) == ([0, 1, 0], [0, 0, 0])


def test_a_line_that_is_closed_or_silent_is_so_for_all() -> None:
    """The master's end, and the end after a time without a byte, which all see at once."""

    async def scenario(client: ModbusClient) -> None:
        other = ModbusClient(bus)
        other.plug.closed()
        assert ([device.connected for device in devices], other.ends) == ([1, 1, 1], 0)
        await asyncio.sleep(3)
        assert ([device.connected for device in devices], client.ends) == ([0, 0, 0], 1)

    devices = [ModbusDevice(Adder(unit=unit), habits=Habits(idle_close_s=2.0)) for unit in (1, 2, 3)]
    bus = Bus(devices)

    async def main() -> None:
        await scenario(ModbusClient(bus))

    run(main)


def test_power_comes_and_goes_for_all() -> None:
    """A boot of the bus is one of each; its end ends the line."""

    async def main() -> None:
        bus = Bus(devices)
        client = ModbusClient(bus)
        bus.reboot()
        assert (client.ends, [device.boot for device in devices]) == (0, [2, 2])
        bus.hang_up()
        assert client.ends == 1

    devices = [ModbusDevice(Adder(unit=unit), hangs_up_on_boot=False) for unit in (1, 2)]
    run(main)


def test_an_opening_boots_every_board_that_it_resets() -> None:
    """Once for each opening of the port, not when the line is laid."""

    async def main() -> None:
        client = ModbusClient(Bus(devices), opened=False)
        assert [device.boot for device in devices] == [1, 1]
        assert client.plug.opened()  # so that the port loses what was written before
        assert [device.boot for device in devices] == [2, 2]
        ModbusClient(Bus(devices))
        assert [device.boot for device in devices] == [3, 3]

    habits = Habits(opening_boots=True)
    devices = [ModbusDevice(Adder(unit=unit), hangs_up_on_boot=False, habits=habits) for unit in (1, 2)]
    run(main)


def test_a_bus_on_a_serial_port() -> None:
    """A cut pulls the plug once and puts it back, and all units are on the new port."""
    urls: list[str] = []

    async def main() -> None:
        server = serve_pty(Bus(devices), None, urls.append)
        port = PortClient(server.url.removeprefix("serial:"))
        port.write(rtu(ADD_5, 2))
        assert await port.take(8) == rtu(ADD_5, 2)
        port.write(rtu(ADD_5, 1))
        assert await port.until(b"never") == b""
        port.close()
        port = PortClient(server.url.removeprefix("serial:"))
        port.write(rtu(TOTAL, 1) + rtu(TOTAL, 2))
        assert await port.take(14) == rtu("03 02 0005", 1) + rtu("03 02 0005", 2)
        port.close()
        server.close()

    devices = [
        ModbusDevice(Adder(unit=1), plan=parse("cmd 1: cut", MODBUS), hangs_up_on_boot=False),
        ModbusDevice(Adder(unit=2), hangs_up_on_boot=False),
    ]
    asyncio.run(main())
    assert (len(urls), effects(devices)) == (1, [1, 1])
