"""A Modbus device: what it answers, what it executes, and that it never recognises a repeat."""

import asyncio
from pathlib import Path

import pytest

from simulator.effects import DiskError
from simulator.equipment import Adder, EnergyMeter, RelayBoard
from simulator.habits import Habits
from simulator.ledger import Execution, Ledger
from simulator.loop import run
from simulator.modbus_device import ModbusDevice
from simulator.modbus_frames import Framing
from simulator.state import StateError, StateFile
from tests.simulator.modbus_bench import ADD_5, ADDED, TOTAL, ModbusClient, modbus_bench, now_s, rtu, tcp

EXCHANGES = [
    ("01 0000 0001", "01 01 00"),
    ("03 0000 0002", "03 04 00000000"),
    ("05 0000 FF00", "05 0000 FF00"),
    (ADD_5, ADD_5),
    ("0F 0000 0001 01 01", "0F 0000 0001"),
    ("10 0001 0002 04 00050007", "10 0001 0002"),
    ("16 0002 0000 0009", "16 0002 0000 0009"),
    ("17 0000 0003 0002 0001 02 0007", "17 06 000000000007"),
    ("2B 0E 04 01", "2B 0E 04 83 00 00 01 01 05 6164646572"),
    ("02 0000 0001", "82 01"),
    ("08 0000 1234", "88 01"),
    ("03 0005 0002", "83 02"),
    ("06 0000 0001", "86 02"),
    ("05 0001 FF00", "85 02"),
    ("03 0000 0000", "83 03"),
    ("03 0000 007E", "83 03"),
    ("17 0005 0002 0002 0001 02 0007", "97 02"),
]


@pytest.mark.parametrize(("asked", "answer"), EXCHANGES)
@pytest.mark.parametrize("framing", ["tcp", "rtu"])
def test_answers_each_request(framing: Framing, asked: str, answer: str) -> None:
    """The answer of the function, or the exception of the cause; over TCP with the transaction of the request."""
    frame = tcp if framing == "tcp" else rtu

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(frame(asked)) == frame(answer)

    modbus_bench(scenario, framing=framing)


def test_function_23_writes_nothing_where_it_cannot_read() -> None:
    """It is one request: refused as a whole."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu("17 0005 0002 0001 0001 02 0007"))
        assert await client.ask(rtu("17 0000 0001 0001 0001 02 0007")) == rtu("17 02 0007")

    device = modbus_bench(scenario)
    assert (device.ledger.count("fc23 0x0001 raw 0007"), device.values()["total"]) == (1, 7)


def test_every_copy_is_executed() -> None:
    """Three copies of one frame are three effects, under one transaction too."""

    async def scenario(client: ModbusClient) -> None:
        for _ in range(3):
            assert await client.ask(tcp(ADD_5)) == tcp(ADD_5)

    device = modbus_bench(scenario, framing="tcp")
    assert [(entry.n, entry.text, entry.value_after) for entry in device.ledger.entries] == [
        (1, ADDED, "5"), (2, ADDED, "10"), (3, ADDED, "15"),
    ]  # fmt: skip
    assert {(entry.boot, entry.session, entry.seq) for entry in device.ledger.entries} == {(1, None, None)}


def test_what_is_not_taken_is_a_copy_and_no_effect() -> None:
    """Also where the request cannot be read; writes and reads are noted apart."""

    async def scenario(client: ModbusClient) -> None:
        for pdu in ("06 0000 0001", "10 0001 0002 02 0005", "03 0000 0000", TOTAL):
            await client.ask(rtu(pdu))

    device = modbus_bench(scenario)
    assert [copy.text for copy in device.copies] == ["fc06 0x0000 raw 0001", "fc16 ?"]
    assert [(read.text, read.at_s) for read in device.reads] == [
        ("fc03 ?", 2.0),
        ("fc03 0x0000 count 1", 3.0),
    ]
    assert (device.ledger.entries, device.counts["cmd"], device.counts["read"]) == ((), 2, 2)


@pytest.mark.parametrize("framing", ["tcp", "rtu"])
def test_another_unit_is_not_heard(framing: Framing) -> None:
    """Neither executed nor answered nor counted."""
    frame = tcp if framing == "tcp" else rtu

    async def scenario(client: ModbusClient) -> None:
        for unit in (2, 247, 255):
            assert await client.ask(frame(ADD_5, unit)) == b""
        assert await client.ask(frame(ADD_5, 5)) == frame(ADD_5, 5)

    device = modbus_bench(scenario, machine=Adder(unit=5), framing=framing)
    assert (len(device.ledger), device.counts["cmd"]) == (1, 1)


def test_a_wrong_crc_is_not_heard() -> None:
    """One bit anywhere in the frame, and there is silence; the next frame is heard."""

    async def scenario(client: ModbusClient) -> None:
        frame = rtu(ADD_5)
        for bit in range(8 * len(frame)):
            broken = bytearray(frame)
            broken[bit // 8] ^= 1 << bit % 8
            assert await client.ask(bytes(broken), 0.01) == b""
        assert await client.ask(frame) == frame

    assert modbus_bench(scenario).ledger.count(ADDED) == 1


def test_broadcast_is_executed_and_never_answered() -> None:
    """A write for everybody; a read for everybody is nothing, and a mistake is not answered either."""

    async def scenario(client: ModbusClient) -> None:
        for pdu in (ADD_5, TOTAL, "06 0000 0001"):
            assert await client.ask(rtu(pdu, unit=0)) == b""

    device = modbus_bench(scenario, "cmd 1: duplicate")
    assert (device.ledger.count(ADDED), device.counts["cmd"], device.counts["read"]) == (1, 2, 0)


@pytest.mark.parametrize("size", [1, 3, 8, 100])
@pytest.mark.parametrize("framing", ["tcp", "rtu"])
def test_requests_may_arrive_in_pieces_and_together(framing: Framing, size: int) -> None:
    """Wherever the bytes are cut; noise between two frames hides neither."""
    frame = tcp if framing == "tcp" else rtu

    async def scenario(client: ModbusClient) -> None:
        data = frame(ADD_5) + b"\xff\xfe" + frame(ADD_5) + frame(TOTAL)
        for at in range(0, len(data), size):
            client.plug.feed(data[at : at + size])
        assert client.heard == frame(ADD_5) * 2 + frame("03 02 000A")

    modbus_bench(scenario, framing=framing)


def test_an_adapter_with_echo_gives_everything_back_first() -> None:
    """The ack of a single write then comes twice in the same bytes."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == rtu(ADD_5) * 2
        assert await client.ask(rtu(TOTAL)) == rtu(TOTAL) + rtu("03 02 0005")

    assert modbus_bench(scenario, echo=True).ledger.count(ADDED) == 1


def test_boot_says_nothing_and_loses_half_a_request() -> None:
    """On a line that outlives it nobody can tell; volatile values fall back."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu("05 0000 FF00"))
        client.plug.feed(rtu(ADD_5)[:4])
        device.reboot()
        client.plug.feed(rtu(ADD_5)[4:])
        await asyncio.sleep(1)
        assert (client.heard, client.ends) == (rtu("05 0000 FF00"), 0)
        assert await client.ask(rtu("03 0005 0001")) == rtu("03 02 0002")

    device = ModbusDevice(Adder(), hangs_up_on_boot=False)

    async def main() -> None:
        await scenario(ModbusClient(device))

    run(main)
    assert (device.values()["relay"], device.boot, device.counts["boots"]) == (0, 2, 1)


def test_habits_hold_for_modbus_too() -> None:
    """One connection at a time, and a greeting in front."""

    async def scenario(client: ModbusClient) -> None:
        other = ModbusClient(device)
        await asyncio.sleep(1)
        assert (client.heard, other.heard, other.ends) == (b"hello\r\n", b"", 1)

    device = ModbusDevice(Adder(), habits=Habits(slots=1, greeting=b"hello\r\n"))

    async def main() -> None:
        await scenario(ModbusClient(device))

    run(main)


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill between state and ledger"])
def test_a_device_made_over_its_files_goes_on(
    tmp_path: Path, kill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durable values, ledger, boots and the unit outlive the process; an effect that the ledger missed is entered."""

    def device() -> ModbusDevice:
        return ModbusDevice(
            RelayBoard(clock=now_s), ledger=Ledger(tmp_path / "ledger"), state=StateFile(tmp_path / "state")
        )

    def killed(_ledger: Ledger, _execution: Execution) -> None:
        raise OSError(5, "killed")

    async def main() -> None:
        client = ModbusClient(device())
        with monkeypatch.context() as patch:
            if kill:
                patch.setattr(Ledger, "append", killed)
                with pytest.raises(DiskError):
                    await client.ask(rtu("06 4000 0009"))
            else:
                await client.ask(rtu("06 4000 0009"))
        second = device()
        assert (second.unit, second.boot) == (9, 2)
        await ModbusClient(second).ask(rtu("05 0000 FF00", unit=9))
        texts = [(entry.n, entry.text, entry.boot) for entry in second.ledger.entries]
        assert texts == [(1, "fc06 0x4000 raw 0009", 1), (2, "fc05 0x0000 raw FF00", 2)]
        second.reboot()
        assert device().boot == 4

    run(main)


def test_a_node_that_was_written_holds_after_a_kill(tmp_path: Path) -> None:
    """A start of the process is a restart of the meter."""

    def device() -> ModbusDevice:
        return ModbusDevice(EnergyMeter(clock=now_s), state=StateFile(tmp_path / "state"))

    async def main() -> None:
        first = device()
        await ModbusClient(first).ask(rtu("10 0014 0002 04 41100000"))
        assert (first.unit, device().unit) == (1, 9)

    run(main)


def test_the_state_of_another_machine_is_refused(tmp_path: Path) -> None:
    """A file of the meter is no state of a relay board."""
    state = StateFile(tmp_path / "state")
    ModbusDevice(Adder(), state=state)
    with pytest.raises(StateError, match="a relay board saves unit, boots"):
        ModbusDevice(RelayBoard(), state=state)
