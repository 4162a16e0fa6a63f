"""Does the promise hold behind ser2net?

It hands what a former client was owed to the next one; and a client that comes while the port is in use is told so
where an answer of the equipment would stand. Plain text and Modbus, raw and RFC 2217. The agents are
processes; two of them share a store, as two people on one machine do.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.live_text import quick_profile
from tests.cli.process_rig import DeviceProcess
from tests.peers.bench import Bench, TypingBench
from tests.peers.conftest import StartAdder
from tests.peers.relay import HOST
from tests.peers.test_late_answers import ADD_5, HOLD_MAX_S, LATE_MAX_S, OTHER, SURVIVES
from tests.peers.wires import TerminalServer, terminal_server

PATIENCE_S = 20.0
BUSY = b"Port already in use"
READ_TOTAL = bytes.fromhex("01 03 0000 0001 840A")
TOTAL_IS_0 = bytes.fromhex("01 03 02 0000 B844")
StartServer = Callable[[Path, bool], TerminalServer]
StartSlowDevice = Callable[[str], DeviceProcess]

raw_and_telnet = pytest.mark.parametrize("rfc2217", [False, True], ids=["raw", "RFC 2217"])


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start ser2net in front of a serial port: `start_server(port, rfc2217)`."""
    with ExitStack() as started:
        yield lambda port, rfc2217: started.enter_context(terminal_server(tmp_path, port, rfc2217=rfc2217))


@pytest.fixture
def start_slow(tmp_path: Path, bench: Bench) -> Iterator[StartSlowDevice]:
    """Start the simulated text device on a serial port, with faults."""
    started: list[DeviceProcess] = []

    def start_one(faults: str) -> DeviceProcess:
        folder = bench.shell.folder / "profiles"
        folder.mkdir()
        (folder / "text.yaml").write_text(quick_profile())
        device = DeviceProcess(tmp_path, faults, profile="demo/controller-line", port=tmp_path / "slow")
        started.append(device)
        return device

    yield start_one
    for device in started:
        device.close()


@raw_and_telnet
def test_ser2net_hands_over_what_a_former_client_was_owed(
    tmp_path: Path, start_slow: StartSlowDevice, start_server: StartServer, rfc2217: bool
) -> None:
    """The contrast: a client that has asked for nothing yet reads the answer to what the one before it asked."""
    device = start_slow("read 1: delay 0.5")
    server = start_server(tmp_path / "slow", rfc2217)
    with socket.create_connection((HOST, server.port)) as former:
        former.sendall(b"GET offset\n")
        device.wait_for("at read 1")
    told = BUSY
    while BUSY in told:  # it has not noticed yet that the former client is gone
        with socket.create_connection((HOST, server.port), PATIENCE_S) as client:
            told = _read_until(client, b"\n")
    assert b"OK 10" in told


@raw_and_telnet
def test_a_second_agent_never_credits_the_first_ones_late_ack(
    tmp_path: Path,
    bench: Bench,
    typing_bench: TypingBench,
    start_slow: StartSlowDevice,
    start_server: StartServer,
    rfc2217: bool,
) -> None:
    """While the ack of the first agent's command is under way, the second one's command is lost: it is not applied."""
    device = start_slow("cmd 1: delay 0.5; cmd 2: drop_request")
    server = start_server(tmp_path / "slow", rfc2217)
    bench.enter(server.url, "" if rfc2217 else SURVIVES, profile="test/quick")
    code, doubt = typing_bench.send("BEEP")
    assert (code, doubt["outcome"]) == (5, "in_doubt"), doubt
    typing_bench.resolve(doubt["op"])
    code, record = bench.send("ROTATE", "log", "--attempts", "1", environ=OTHER)
    assert (code, record["outcome"]) == (1, "not_applied"), record
    assert device.executed == {"BEEP": 1}


@raw_and_telnet
def test_the_busy_text_is_a_connection_fault(
    tmp_path: Path,
    typing_bench: TypingBench,
    start_slow: StartSlowDevice,
    start_server: StartServer,
    rfc2217: bool,
) -> None:
    """'Port already in use' is no answer of the equipment: nothing is sent, nothing is executed, exit 7."""
    device = start_slow("")
    server = start_server(tmp_path / "slow", rfc2217)
    typing_bench.enter(server.url, "" if rfc2217 else SURVIVES, profile="test/quick")
    with socket.create_connection((HOST, server.port), PATIENCE_S) as holder:
        holder.sendall(b"GET offset\n")
        _read_until(holder, b"OK 10")
        with socket.create_connection((HOST, server.port), PATIENCE_S) as client:
            assert BUSY in _read_until(client, b"\n")
        code, record = typing_bench.send("BEEP")
        assert (code, record["outcome"]) == (7, "not_sent"), record
    assert device.executed == {}


@raw_and_telnet
def test_modbus_late_ack_of_a_first_agent(
    bench: Bench, typing_bench: TypingBench, start: StartAdder, start_server: StartServer, rfc2217: bool
) -> None:
    """The same Modbus write by a second agent is lost, while the first one's ack is under way: it stays in doubt."""
    late = {"hold": ADD_5, "until": ADD_5, "hold_max_s": HOLD_MAX_S}
    adder = start("libmodbus", "rtu on a port", lose_writes={2}, **late)
    assert adder.port is not None
    bench.profile("rtu", late_max_s=LATE_MAX_S)
    bench.enter(start_server(adder.port, rfc2217).url, "" if rfc2217 else SURVIVES)
    code, doubt = typing_bench.send("PUSH", "5")
    assert (code, doubt["outcome"]) == (5, "in_doubt"), doubt
    typing_bench.resolve(doubt["op"])
    code, record = bench.send("PUSH", "5", environ=OTHER)
    assert (code, record["outcome"]) == (5, "in_doubt"), record
    assert adder.relay.writes == [ADD_5] * 2
    assert adder.executed == [(6, 1, 5)]


@raw_and_telnet
def test_modbus_and_the_busy_text(
    typing_bench: TypingBench, start: StartAdder, start_server: StartServer, rfc2217: bool
) -> None:
    """While another client has the port, no write crosses and no value is told: exit 7."""
    adder = start("libmodbus", "rtu on a port")
    assert adder.port is not None
    server = start_server(adder.port, rfc2217)
    typing_bench.enter(server.url, "" if rfc2217 else SURVIVES)
    with socket.create_connection((HOST, server.port), PATIENCE_S) as holder:
        holder.sendall(READ_TOTAL)
        _read_until(holder, TOTAL_IS_0)
        code, record = typing_bench.send("PUSH", "5")
        assert (code, record["outcome"]) == (7, "not_sent"), record
        ended = typing_bench.get("first")
        assert (ended.code, ended.records[0]["value"]) == (7, None), ended
    assert adder.relay.writes == []
    assert adder.executed == []


def _read_until(client: socket.socket, part: bytes) -> bytes:
    """What comes in, up to and with `part`."""
    data = b""
    while part not in data:
        fresh = client.recv(4096)
        assert fresh, f"the connection ended after {data!r}"
        data += fresh
    return data
