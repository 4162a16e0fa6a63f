"""What does an ordinary client do where we send once? pymodbus' own, with its defaults, against both adders."""

import pytest
from pymodbus import FramerType
from pymodbus.client import ModbusSerialClient, ModbusTcpClient

from tests.peers.adders import PLACES, Adder, Carrier, Server
from tests.peers.conftest import StartAdder
from tests.peers.relay import HOST

REPLY_S = 0.3


@pytest.mark.parametrize(("server", "carrier"), PLACES, ids=[", ".join(place) for place in PLACES])
def test_pymodbus_moves_the_register_twice(start: StartAdder, server: Server, carrier: Carrier) -> None:
    """One reply lost, and the client writes again by itself: 5 was asked for, the register moved by 10, no error."""
    adder = start(server, carrier, lose_replies={1})
    with _client(adder) as client:
        answer = client.write_register(1, 5, device_id=1)
    assert not answer.isError()
    assert adder.relay.writes == [bytes.fromhex("06 0001 0005")] * 2
    assert adder.executed == [(6, 1, 5)] * 2
    assert adder.total == 10


def _client(adder: Adder) -> ModbusTcpClient | ModbusSerialClient:
    """The client of pymodbus, with the agent's patience and nothing else changed."""
    if adder.port is not None:
        return ModbusSerialClient(str(adder.port), baudrate=9600, timeout=REPLY_S)
    framer = FramerType.SOCKET if adder.framing == "tcp" else FramerType.RTU
    return ModbusTcpClient(HOST, port=adder.relay.port, framer=framer, timeout=REPLY_S)
