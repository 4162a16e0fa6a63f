"""The energy meter: every entry of its table, with the bytes of the maker's manual where there are any."""

import struct

import pytest

from simulator.equipment import EnergyMeter, Result, Verdict
from simulator.equipment.energy_meter import UNLOCKED_S
from simulator.loop import run
from simulator.modbus_device import ModbusDevice
from tests.simulator.modbus_bench import ModbusClient, modbus_bench, now_s, rtu

PASSWORD, LOCK, SYSTEM_TYPE_2 = (
    "fc16 0x0018 raw 447A0000",
    "fc16 0x000E raw 00000000",
    "fc16 0x000A raw 40000000",
)
IS_UNLOCKED = "fc03 0x000E count 2"
RESET = "fc16 0xF010 raw 0000"


class Bench:
    """A meter and its clock."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.meter = EnergyMeter(clock=lambda: self.now_s)

    def floats(self, query: str) -> tuple[float, ...]:
        """What a query reads."""
        result = self.meter.read(query)
        assert result.verdict is Verdict.OK, result
        data = bytes.fromhex(result.text)
        return struct.unpack(f">{len(data) // 4}f", data)


def test_bytes_of_the_manual() -> None:
    """60 minutes written to the demand period, and the ack; a function that it has not; a read of its volts."""

    async def scenario(client: ModbusClient) -> None:
        written = bytes.fromhex("01 10 00 02 00 02 04 42 70 00 00 67 D5")
        assert await client.ask(written) == bytes.fromhex("01 10 00 02 00 02 E0 08")
        assert await client.ask(rtu("06 0002 0000")) == rtu("86 01")
        assert await client.ask(rtu("04 0000 0002")) == rtu("04 04 43668000")

    device = modbus_bench(scenario, machine=EnergyMeter(clock=now_s))
    assert [(entry.text, entry.value_after) for entry in device.ledger.entries] == [
        ("fc16 0x0002 raw 42700000", "60")
    ]


@pytest.mark.parametrize(
    ("order", "name", "after"),
    [
        ("fc16 0x0002 raw 41A00000", "demand_period", 20),
        ("fc16 0x0002 raw 00000000", "demand_period", 0),
        ("fc16 0x000C raw 43480000", "pulse_width", 200),
        ("fc16 0x0012 raw 3F800000", "parity_stop", 1),
        ("fc16 0x0014 raw 43770000", "node", 247),
        ("fc16 0x001C raw 40800000", "baud", 4),
        (RESET, "max_demand", 1500),
    ],
)
def test_effect_of_each_parameter(order: str, name: str, after: int) -> None:
    """The value is as written, and nothing else has changed."""
    meter = Bench().meter
    before = meter.values()
    assert meter.execute(order) == Result(Verdict.OK, str(after))
    assert meter.values() == {**before, name: after}


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("fc16 0x0002 raw 41B80000", Verdict.BAD_ARGUMENT),  # 23
        ("fc16 0x0002 raw 41A00001", Verdict.BAD_ARGUMENT),  # a little more than 20
        ("fc16 0x0002 raw 7FC00000", Verdict.BAD_ARGUMENT),  # no number
        ("fc16 0x0014 raw 43780000", Verdict.BAD_ARGUMENT),  # 248
        ("fc16 0x0018 raw 447A4000", Verdict.BAD_ARGUMENT),  # 1001
        ("fc16 0xF010 raw 0001", Verdict.BAD_ARGUMENT),
        ("fc16 0xF010 raw 00000000", Verdict.BAD_ADDRESS),
        ("fc16 0x0002 raw 41A0", Verdict.BAD_ADDRESS),
        ("fc16 0x0003 raw 41A00000", Verdict.BAD_ADDRESS),
        ("fc16 0x0010 raw 41A00000", Verdict.BAD_ADDRESS),
        ("fc16 0x0012 raw 3F80000041A00000", Verdict.BAD_ADDRESS),  # two parameters
        ("fc16 0xFC00 raw 00000001", Verdict.BAD_ADDRESS),
        (SYSTEM_TYPE_2, Verdict.REFUSED),
        ("fc06 0x0002 raw 0014", Verdict.BAD_COMMAND),
    ],
)
def test_what_is_not_taken_changes_nothing(order: str, verdict: Verdict) -> None:
    """A value that is not allowed, part of a float, a protected parameter while locked, a function that it has not."""
    meter = Bench().meter
    before = meter.values()
    assert (meter.execute(order).verdict, meter.values()) == (verdict, before)


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ("fc03 0x0002 count 1", Verdict.BAD_ADDRESS),
        ("fc03 0x0003 count 2", Verdict.BAD_ADDRESS),
        ("fc03 0x0002 count 4", Verdict.BAD_ADDRESS),
        ("fc03 0xF010 count 1", Verdict.BAD_ADDRESS),
        ("fc04 0x0000 count 8", Verdict.BAD_ADDRESS),
        ("fc01 0x0000 count 1", Verdict.BAD_COMMAND),
    ],
)
def test_what_cannot_be_read(query: str, verdict: Verdict) -> None:
    """Part of a float, an address that is not there, the reset."""
    assert Bench().meter.read(query).verdict is verdict


def test_reads_floats_high_word_first_and_the_serial_as_a_number() -> None:
    """Neighbours in one request; the serial is u32."""
    bench = Bench()
    assert bench.floats("fc04 0x0000 count 6") == (230.5, 229.75, 231.0)
    assert bench.floats("fc03 0x000A count 4") == (3.0, 100.0)
    assert bench.floats("fc03 0x0018 count 2") == (0.0,)
    assert EnergyMeter(0x01020304).read("fc03 0xFC00 count 2") == Result(Verdict.OK, "01020304")


def test_password_opens_a_window_of_one_minute() -> None:
    """A protected parameter is taken within it and refused after it."""
    bench = Bench()
    assert bench.meter.execute(PASSWORD) == Result(Verdict.OK, "unlocked")
    bench.now_s = UNLOCKED_S - 0.5
    assert bench.meter.execute(SYSTEM_TYPE_2) == Result(Verdict.OK, "2")
    bench.now_s = UNLOCKED_S
    assert bench.meter.execute("fc16 0x000A raw 40400000").verdict is Verdict.REFUSED
    assert bench.meter.values()["system_type"] == 2


def test_reading_the_lock_begins_the_minute_anew() -> None:
    """While it is open; once it is over, a reading opens nothing."""
    bench = Bench()
    assert bench.floats(IS_UNLOCKED) == (0.0,)
    bench.meter.execute(PASSWORD)
    bench.now_s = 59.0
    assert bench.floats(IS_UNLOCKED) == (1.0,)
    bench.now_s = 118.0
    assert bench.floats("fc03 0x000A count 2") == (3.0,)
    assert bench.meter.execute(SYSTEM_TYPE_2).verdict is Verdict.OK
    bench.now_s = 119.0
    assert bench.floats(IS_UNLOCKED) == (0.0,)
    assert bench.meter.execute(SYSTEM_TYPE_2).verdict is Verdict.REFUSED


def test_lock_is_closed_by_a_write_and_by_a_boot() -> None:
    """Whatever is written to it."""
    meter = Bench().meter
    meter.execute(PASSWORD)
    assert meter.execute(LOCK) == Result(Verdict.OK, "locked")
    assert meter.execute(SYSTEM_TYPE_2).verdict is Verdict.REFUSED
    meter.execute(PASSWORD)
    meter.boot()
    assert meter.execute(SYSTEM_TYPE_2).verdict is Verdict.REFUSED


def test_reset_takes_the_demand_of_the_moment_and_it_moves_on() -> None:
    """Before: from long ago. Afterwards it follows the demand up, and stays where that falls."""
    bench = Bench()
    assert bench.floats("fc04 0x0054 count 4") == (1500.0, 6000.0)
    bench.now_s = 100.0
    assert bench.meter.execute(RESET) == Result(Verdict.OK, "1600")
    bench.now_s = 130.0
    assert bench.floats("fc04 0x0054 count 4") == (1630.0, 1630.0)
    bench.now_s = 3600.0
    assert bench.floats("fc04 0x0034 count 2") == (1500.0,)
    assert bench.floats("fc04 0x0056 count 2") == (1630.0,)


def test_a_late_copy_of_the_reset_wipes_what_came_in_between() -> None:
    """The largest demand since the first copy is lost."""
    bench = Bench()
    bench.now_s = 3000.0
    bench.meter.execute(RESET)
    bench.now_s = 3599.0
    assert bench.floats("fc04 0x0056 count 2") == (5099.0,)
    bench.now_s = 3610.0
    bench.meter.execute(RESET)
    assert bench.floats("fc04 0x0056 count 2") == (1510.0,)


def test_node_takes_effect_at_a_restart() -> None:
    """Until then the register shows the new node and the old one answers."""
    device = ModbusDevice(EnergyMeter(clock=now_s), hangs_up_on_boot=False)

    async def main() -> None:
        client = ModbusClient(device)
        assert await client.ask(rtu("10 0014 0002 04 41100000")) == rtu("10 0014 0002")
        assert await client.ask(rtu("03 0014 0002")) == rtu("03 04 41100000")
        assert await client.ask(rtu("03 0014 0002", unit=9)) == b""
        device.reboot()
        assert await client.ask(rtu("03 0014 0002")) == b""
        assert await client.ask(rtu("03 0014 0002", unit=9)) == rtu("03 04 41100000", unit=9)

    run(main)


def test_names_of_what_a_query_asks_for() -> None:
    """Parameters and the largest demand by name; what is only measured is no value."""
    meter = EnergyMeter()
    assert meter.names("fc03 0x000A count 4") == ("system_type", "pulse_width")
    assert meter.names("fc04 0x0054 count 4") == ("max_demand",)
    assert meter.names("fc04 0x0000 count 2") == ()
