"""The adding machine: every entry of its table, and the text of orders."""

import pytest

from simulator.equipment import Adder, Result, Verdict
from simulator.equipment.orders import Order, order_of
from tests.simulator.modbus_bench import ModbusClient, modbus_bench, tcp


@pytest.mark.parametrize(
    ("order", "changed", "shown"),
    [
        ("fc06 0x0001 raw 0005", {"total": 5}, "5"),
        ("fc06 0x0001 raw FFFB", {"total": -5}, "-5"),
        ("fc16 0x0001 raw 7FFF", {"total": 32767}, "32767"),
        ("fc16 0x0001 raw 00070009", {"total": 7, "setpoint": 9}, "7"),
        ("fc06 0x0002 raw FFFF", {"setpoint": 65535}, "65535"),
        ("fc23 0x0002 raw 0003", {"setpoint": 3}, "3"),
        ("fc22 0x0002 raw FF0F0040", {"setpoint": 64}, "64"),
        ("fc05 0x0000 raw 0000", {"relay": 1}, "1"),
        ("fc05 0x0000 raw FF00", {"relay": 1}, "1"),
        ("fc15 0x0000 raw 00 coils 1", {"relay": 1}, "1"),
    ],
)
def test_effect_of_each_order(order: str, changed: dict[str, int], shown: str) -> None:
    """The total moves by what is written, the coil flips whatever is written, the setpoint is plain."""
    adder = Adder()
    before = adder.values()
    assert adder.execute(order) == Result(Verdict.OK, shown)
    assert adder.values() == {**before, **changed}


def test_every_copy_counts() -> None:
    """Three times the same order is three effects."""
    adder = Adder()
    assert [adder.execute("fc06 0x0001 raw 0005").text for _ in range(3)] == ["5", "10", "15"]
    assert [adder.execute("fc05 0x0000 raw FF00").text for _ in range(3)] == ["1", "0", "1"]


def test_mask_keeps_the_other_bits() -> None:
    """The result is what the and-mask keeps and what the or-mask adds outside it (section 6.16: 12, F2, 25 give 17)."""
    adder = Adder()
    adder.execute("fc06 0x0002 raw 0012")
    assert adder.execute("fc22 0x0002 raw 00F20025") == Result(Verdict.OK, str(0x17))


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("fc06 0x0000 raw 0005", Verdict.BAD_ADDRESS),
        ("fc16 0x0002 raw 00010002", Verdict.BAD_ADDRESS),
        ("fc06 0x0005 raw 0001", Verdict.BAD_ADDRESS),
        ("fc22 0x0001 raw 00000001", Verdict.BAD_ADDRESS),
        ("fc05 0x0001 raw FF00", Verdict.BAD_ADDRESS),
        ("fc15 0x0000 raw 01", Verdict.BAD_ADDRESS),
        ("fc06 0x0001 raw 7FFF", Verdict.BAD_ARGUMENT),
        ("fc03 0x0000 count 1", Verdict.BAD_COMMAND),
    ],
)
def test_what_is_not_taken_changes_nothing(order: str, verdict: Verdict) -> None:
    """What is read only, what is not there, and a total beyond s16."""
    adder = Adder()
    adder.execute("fc06 0x0001 raw 0001")
    before = adder.values()
    assert (adder.execute(order).verdict, adder.values()) == (verdict, before)


def test_all_registers_in_one_request() -> None:
    """Total in two's complement, nothing, setpoint, counter in two registers, boots."""
    adder = Adder()
    adder.execute("fc16 0x0001 raw FFFB0007")
    adder.asked()
    assert adder.read("fc03 0x0000 count 6") == Result(Verdict.OK, "fffb00000007" + "0000fffb" + "0001")
    assert adder.read("fc03 0x0005 count 2").verdict is Verdict.BAD_ADDRESS
    assert adder.read("fc01 0x0000 count 1") == Result(Verdict.OK, "00")
    assert adder.read("fc01 0x0000 count 2").verdict is Verdict.BAD_ADDRESS
    assert adder.read("fc04 0x0000 count 1").verdict is Verdict.BAD_COMMAND


def test_counter_read_in_two_requests_is_a_number_that_it_never_was() -> None:
    """It ticks with every request; where its high word changes in between, the halves do not fit together."""

    async def scenario(client: ModbusClient) -> None:
        for _ in range(4):
            await client.ask(tcp("03 0000 0001"), 0)
        halves = [await client.ask(tcp(f"03 000{at} 0001"), 0) for at in (3, 4)]
        assert halves == [tcp("03 02 0000"), tcp("03 02 0000")]
        assert await client.ask(tcp("03 0003 0002"), 0) == tcp("03 04 00010001")

    modbus_bench(scenario, framing="tcp")


def test_identification_names_it() -> None:
    """Maker, product, revision and, among the private objects, the serial."""
    adder = Adder("SN-7")
    texts = [bytes.fromhex(adder.read(f"fc43 0x{at}").text) for at in ("00", "01", "02", "80")]
    assert texts == [b"ackonce", b"adder", b"1.0", b"SN-7"]
    assert adder.read("fc43 0x03").verdict is Verdict.BAD_ADDRESS


def test_boot_keeps_total_and_setpoint() -> None:
    """Coil and counter begin anew."""
    adder = Adder()
    for order in ("fc06 0x0001 raw 0005", "fc06 0x0002 raw 0009", "fc05 0x0000 raw FF00"):
        adder.execute(order)
    adder.asked()
    adder.boot()
    assert adder.values() == {"relay": 0, "total": 5, "setpoint": 9, "counter": 65530, "boots": 2}


def test_names_of_what_a_query_asks_for() -> None:
    """Each once, and nothing for what holds no value."""
    adder = Adder()
    assert adder.names("fc03 0x0000 count 6") == ("total", "setpoint", "counter", "boots")
    assert adder.names("fc01 0x0000 count 1") == ("relay",)
    assert adder.names("fc43 0x00") == adder.names("tea") == ()


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("fc05 0x00FF raw 5500", Order(5, 0xFF, 1, b"\x55\x00")),
        ("fc06 0x0010 raw 001E", Order(6, 0x10, 1, b"\x00\x1e")),
        ("fc15 0x0000 raw FF", Order(15, 0, 8, b"\xff")),
        ("fc15 0x0000 raw FF01 coils 9", Order(15, 0, 9, b"\xff\x01")),
        ("fc16 0xF010 raw 0000", Order(16, 0xF010, 1, b"\0\0")),
        ("fc22 0x0005 raw F7FF0008", Order(22, 5, 1, b"\xf7\xff\x00\x08")),
        ("fc23 0x0002 raw 41F00000", Order(23, 2, 2, b"\x41\xf0\0\0")),
        ("fc03 0x0002 count 2", Order(3, 2, 2)),
        ("fc43 0x01", Order(43, 1, 1)),
    ],
)
def test_an_order_and_its_text_are_one_another(text: str, order: Order) -> None:
    """Letter by letter, so that ledgers can be counted."""
    assert (str(order), order_of(text)) == (text, order)


@pytest.mark.parametrize(
    "text", ["", "fc05 0x0000", "fc03 0x0000 raw 00", "fc5 0x0000 raw 00", "fc05 0x0 raw 00"]
)
def test_other_texts_are_no_orders(text: str) -> None:
    """None of them is guessed at."""
    assert order_of(text) is None
