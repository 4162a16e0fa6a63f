"""Does every function that we send mean to both servers what it means to us?"""

import pytest

from tests.peers.adders import Carrier, Server
from tests.peers.bench import TypingBench
from tests.peers.conftest import StartAdder

both = pytest.mark.parametrize("server", ["libmodbus", "pymodbus"])

WRITES = {
    5: ("SET lamp on", "05 0000 FF00", "lamp", "true"),
    6: ("SET setpoint 4711", "06 0002 1267", "setpoint", "4711"),
    15: ("SET lamps 165", "0F 0008 0008 01 A5", "lamps", "165"),
    16: ("SET level 0.1", "10 0010 0002 04 3DCCCCCD", "level", "0.1"),
    22: ("SET flag true", "16 000A FFF7 0008", "flag", "true"),
    23: ("EXCHANGE setpoint 4711", "17 0002 0001 0002 0001 02 1267", "setpoint", "4711"),
}
"""Function: what is typed, the PDU by the specification (Modbus Application Protocol V1.1b3, 6), what is read then."""


@both
@pytest.mark.parametrize("function", WRITES)
def test_writes(typing_bench: TypingBench, start: StartAdder, server: Server, function: int) -> None:
    """One request, as the specification has it; the server executes it once, and holds the value."""
    typed, pdu, setting, value = WRITES[function]
    adder = start(server, "tcp")
    code, record = typing_bench.send(*typed.split())
    assert (code, record["outcome"], record["evidence"]) == (0, "applied", "ack"), record
    assert adder.relay.writes == [bytes.fromhex(pdu)]
    assert [entry["function"] for entry in adder.ledger] == [function]
    assert typing_bench.value(setting) == value


@both
def test_a_bit_leaves_its_neighbours_alone(
    typing_bench: TypingBench, start: StartAdder, server: Server
) -> None:
    """A mask write changes one bit of the register that the server holds, and no other."""
    start(server, "rtu over tcp")
    assert typing_bench.send("SET", "flags", str(0xA5A5))[0] == 0
    assert typing_bench.send("SET", "flag", "true")[0] == 0
    assert typing_bench.value("flags") == str(0xA5AD)
    assert typing_bench.send("SET", "flag", "false")[0] == 0
    assert typing_bench.value("flags") == str(0xA5A5)


@both
def test_reads(typing_bench: TypingBench, start: StartAdder, server: Server) -> None:
    """Coils, discrete inputs, holding and input registers: functions 1 to 4."""
    adder = start(server, "tcp")
    values = {name: typing_bench.value(name) for name in ("lamps", "door", "first", "reading")}
    assert values == {"lamps": "0", "door": "true", "first": "1111", "reading": "4444"}
    assert [pdu[0] for pdu in adder.relay.reads] == [1, 2, 3, 4]


@pytest.mark.parametrize("carrier", ["tcp", "rtu on a port"])
def test_the_identification(typing_bench: TypingBench, start: StartAdder, carrier: Carrier) -> None:
    """Function 43/14 reads what pymodbus says it is."""
    start("pymodbus", carrier)
    assert typing_bench.value("maker") == "ACME"


@both
def test_probe_and_set(typing_bench: TypingBench, start: StartAdder, server: Server) -> None:
    """`probe` finds the server, `set` writes a setting by its name."""
    adder = start(server, "rtu on a port")
    assert typing_bench.run("probe", "d1").code == 0
    ended = typing_bench.run("set", "d1", "total=30", "--yes")
    assert ended.code == 0, ended
    assert adder.executed == [(16, 0, 30)]
