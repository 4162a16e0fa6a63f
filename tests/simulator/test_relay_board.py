"""The relay board: every entry of its table, with the bytes of its maker's page where there are any."""

import pytest

from simulator.equipment import RelayBoard, Result, Verdict
from tests.simulator.modbus_bench import ModbusClient, modbus_bench, now_s, rtu

READ_ALL = bytes.fromhex("01 01 00 00 00 08 3D CC")
ON = bytes.fromhex("01 05 00 00 FF 00 8C 3A")
OFF = bytes.fromhex("01 05 00 00 00 00 CD CA")
FLIP = bytes.fromhex("01 05 00 00 55 00 F2 9A")


def relays(board: RelayBoard) -> str:
    """All eight, the first one in front."""
    return "".join(str(board.values()[f"relay_{n}"]) for n in range(1, 9))


def board_after(*orders: str) -> RelayBoard:
    """A board that has taken these orders."""
    board = RelayBoard(clock=lambda: 0.0)
    for order in orders:
        assert board.execute(order).verdict is Verdict.OK, order
    return board


def test_bytes_of_the_documents() -> None:
    """On, off and flip are answered with themselves, which says nothing of the state; reading does."""

    async def scenario(client: ModbusClient) -> None:
        states = []
        for order in (ON, FLIP, FLIP, OFF, FLIP):
            assert await client.ask(order) == order
            states.append(await client.ask(READ_ALL))
        on, off = rtu("01 01 01"), rtu("01 01 00")
        assert states == [on, off, on, off, on]

    device = modbus_bench(scenario, machine=RelayBoard())
    assert [entry.text for entry in device.ledger.entries] == [
        "fc05 0x0000 raw FF00",
        "fc05 0x0000 raw 5500",
        "fc05 0x0000 raw 5500",
        "fc05 0x0000 raw 0000",
        "fc05 0x0000 raw 5500",
    ]
    assert device.ledger.entries[-1].value_after == "10000000"


def test_relays_are_bits_from_the_lowest() -> None:
    """Relays 1 and 7 on read as 41 (bytes of another project's description of such a board)."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu("0F 0000 0008 01 41")) == rtu("0F 0000 0008")
        assert await client.ask(READ_ALL) == bytes.fromhex("01 01 01 41 91 B8")
        assert await client.ask(rtu("01 0006 0001")) == rtu("01 01 01")

    device = modbus_bench(scenario, machine=RelayBoard())
    assert [entry.text for entry in device.ledger.entries] == ["fc15 0x0000 raw 41"]


@pytest.mark.parametrize(
    ("order", "after"),
    [
        ("fc05 0x0007 raw FF00", "10101011"),
        ("fc05 0x0000 raw 5500", "00101010"),
        ("fc15 0x0001 raw 05 coils 3", "11011010"),
        ("fc05 0x00FF raw FF00", "11111111"),
        ("fc05 0x00FF raw 0000", "00000000"),
        ("fc05 0x00FF raw 5500", "01010101"),
        ("fc05 0x01FF raw FF00", "01010101"),
        ("fc05 0x01FF raw 0000", "01010101"),
        ("fc05 0x01FF raw 5500", "01010101"),
        ("fc05 0x0201 raw 0007", "11101010"),
        ("fc05 0x0402 raw 0007", "10001010"),
    ],
)
def test_effect_of_each_order(order: str, after: str) -> None:
    """From 10101010; the ledger has all relays as they are then."""
    board = board_after("fc15 0x0000 raw 55")
    assert (board.execute(order), relays(board)) == (Result(Verdict.OK, after), after)


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("fc05 0x0008 raw FF00", Verdict.BAD_ADDRESS),
        ("fc15 0x0001 raw FF", Verdict.BAD_ADDRESS),
        ("fc05 0x0208 raw 0007", Verdict.BAD_ADDRESS),
        ("fc06 0x4001 raw 0002", Verdict.BAD_ADDRESS),
        ("fc05 0x0000 raw FF01", Verdict.BAD_ARGUMENT),
        ("fc05 0x01FF raw 0001", Verdict.BAD_ARGUMENT),
        ("fc05 0x0200 raw 0000", Verdict.BAD_ARGUMENT),
        ("fc05 0x0200 raw 8000", Verdict.BAD_ARGUMENT),
        ("fc06 0x4000 raw 0000", Verdict.BAD_ARGUMENT),
        ("fc06 0x4000 raw 00F8", Verdict.BAD_ARGUMENT),
        ("fc16 0x0000 raw 0001", Verdict.BAD_COMMAND),
        ("fc01 0x0000 count 8", Verdict.BAD_COMMAND),
        ("tea", Verdict.BAD_COMMAND),
    ],
)
def test_what_is_not_taken_changes_nothing(order: str, verdict: Verdict) -> None:
    """An address that is not there, a value that no relay takes, a function that the board has not."""
    board = board_after("fc15 0x0000 raw 55")
    before = board.values()
    assert (board.execute(order).verdict, board.values()) == (verdict, before)


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("fc03 0x4000 count 1", Result(Verdict.OK, "0001")),
        ("fc03 0x8000 count 1", Result(Verdict.OK, "00c8")),
        ("fc03 0x8000 count 2", Result(Verdict.BAD_ADDRESS, "nothing for fc03 0x8000 count 2")),
        ("fc01 0x0001 count 8", Result(Verdict.BAD_ADDRESS, "nothing for fc01 0x0001 count 8")),
        ("fc02 0x0000 count 1", Result(Verdict.BAD_COMMAND, "no such function")),
        ("fc05 0x0000 raw FF00", Result(Verdict.BAD_COMMAND, "no such function")),
    ],
)
def test_what_can_be_read(query: str, result: Result) -> None:
    """Its own address and its version (200 is V2.00), one register at a time."""
    assert RelayBoard().read(query) == result


@pytest.mark.parametrize(("order", "during"), [("05 0200 0007", "01"), ("05 0400 0007", "00")])
def test_a_flash_is_over_after_its_time(order: str, during: str) -> None:
    """7 is 700 ms; the relay then stands the other way, whether or not anybody looks."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(order), 0.69) == rtu(order)
        assert await client.ask(READ_ALL, 0.02) == rtu(f"01 01 {during}")
        assert await client.ask(READ_ALL) == rtu(f"01 01 {1 - int(during):02d}")
        assert await client.ask(READ_ALL) == rtu(f"01 01 {1 - int(during):02d}")

    device = modbus_bench(scenario, machine=RelayBoard(clock=now_s))
    assert len(device.ledger) == 1


@pytest.mark.parametrize("other", ["05 0000 FF00", "0F 0000 0001 01 01", "05 00FF FF00"])
def test_an_order_ends_the_flash_of_its_relay(other: str) -> None:
    """What was written last stands."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu("05 0200 0007"), 0.1)
        await client.ask(rtu(other), 5)
        assert (await client.ask(rtu("01 0000 0001"))) == rtu("01 01 01")

    modbus_bench(scenario, machine=RelayBoard(clock=now_s))


def test_boot_switches_all_relays_off_and_ends_flashes() -> None:
    """Only the address and the count of boots stay."""
    now = [0.0]
    board = RelayBoard(clock=lambda: now[0])
    for order in ("fc05 0x00FF raw FF00", "fc05 0x0400 raw 0001", "fc06 0x4000 raw 0009"):
        assert board.execute(order).verdict is Verdict.OK
    board.boot()
    now[0] = 5.0
    assert relays(board) == "00000000"
    assert board.durable() == {"unit": 9, "boots": 2}


def test_a_relay_that_somebody_switches_flashes_no_longer() -> None:
    """The state that was put stays."""
    now = [0.0]
    board = RelayBoard(clock=lambda: now[0])
    board.execute("fc05 0x0200 raw 0001")
    board.put("relay_1", 1)
    now[0] = 5.0
    assert relays(board) == "10000000"


def test_a_new_address_holds_from_the_next_request_on() -> None:
    """The ack still comes from the old one; from then on only the new one is heard."""

    async def scenario(client: ModbusClient) -> None:
        order = rtu("06 4000 0009")
        assert await client.ask(order) == order
        assert await client.ask(READ_ALL) == b""
        assert await client.ask(rtu("03 4000 0001", unit=9)) == rtu("03 02 0009", unit=9)

    modbus_bench(scenario, machine=RelayBoard())


def test_names_of_what_a_query_asks_for() -> None:
    """Relays and address by name; the version is no value."""
    board = RelayBoard()
    assert board.names("fc01 0x0006 count 2") == ("relay_7", "relay_8")
    assert board.names("fc03 0x4000 count 1") == ("unit",)
    assert board.names("fc03 0x8000 count 1") == ()
