"""Do values mean the same to us and to servers that others wrote? Word orders, and 32 bits that move while read."""

import pytest
from pymodbus.client import ModbusTcpClient

from tests.peers.adders import PLACES, Carrier, Server
from tests.peers.bench import TypingBench
from tests.peers.conftest import StartAdder
from tests.peers.relay import HOST

LOW_HALF = 7
READ_BOTH = bytes.fromhex("03 0006 0002")
"""Read holding registers: two from 6 on."""
ORDERS = {
    "abcd": ("big", "big"),
    "badc": ("big", "little"),
    "cdab": ("little", "big"),
    "dcba": ("little", "little"),
}
"""libmodbus' name of an order: the profile's word order and byte order."""


@pytest.mark.parametrize(("server", "carrier"), PLACES, ids=[", ".join(place) for place in PLACES])
def test_a_moving_number_is_never_torn(
    typing_bench: TypingBench, start: StartAdder, server: Server, carrier: Carrier
) -> None:
    """Both halves of the number move at every read: what is read in one request has equal halves."""
    adder = start(server, carrier)
    for _ in range(2):
        number = int(typing_bench.value("ticking") or -1)
        assert number >> 16 == number & 0xFFFF
        assert number > 0
    assert {pdu for pdu in adder.relay.reads if LOW_HALF in _registers(pdu)} == {READ_BOTH}


@pytest.mark.parametrize("server", ["libmodbus", "pymodbus"])
def test_read_in_two_requests_it_is_torn(start: StartAdder, server: Server) -> None:
    """The contrast: a client that reads one register at a time sees halves that were never there together."""
    adder = start(server, "tcp")
    with ModbusTcpClient(HOST, port=adder.relay.port) as client:
        high, low = (client.read_holding_registers(at, count=1, device_id=1).registers[0] for at in (6, 7))
    assert high != low


@pytest.mark.parametrize("order", ORDERS)
def test_libmodbus_reads_the_float_that_we_write(
    typing_bench: TypingBench, start: StartAdder, order: str
) -> None:
    """In each order of words and bytes, libmodbus' own function for that order finds the value that was set."""
    adder = start("libmodbus", "tcp")
    typing_bench.profile("tcp", word_order=ORDERS[order][0], byte_order=ORDERS[order][1])
    code, record = typing_bench.send("SET", "level", "-12.375")
    assert (code, record["outcome"]) == (0, "applied"), record
    [entry] = adder.ledger
    assert entry[order] == "-12.375"
    assert [other for other in ORDERS if entry[other] == "-12.375"] == [order]


@pytest.mark.parametrize("order", ORDERS)
def test_we_read_the_float_that_libmodbus_writes(
    typing_bench: TypingBench, start: StartAdder, order: str
) -> None:
    """In each order of words and bytes, what libmodbus wrote for that order reads 1234.5."""
    start("libmodbus", "tcp")
    typing_bench.profile("tcp", word_order=ORDERS[order][0], byte_order=ORDERS[order][1])
    assert typing_bench.value(order) == "1234.5"


def _registers(pdu: bytes) -> range:
    """Which registers a reading asks for."""
    first, count = int.from_bytes(pdu[1:3]), int.from_bytes(pdu[3:5])
    return range(first, first + count)
