"""Can mbpoll, a Modbus client on libmodbus, talk to our simulated relay board and to our adding machine?"""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.process_rig import DeviceProcess
from tests.peers.programs import program

PATIENCE_S = 20.0
VALUE = re.compile(r"^\[\d+\]:\s+(\S+)", re.MULTILINE)
BOARD, ADDER = "waveshare/modbus-rtu-relay", "demo/adder-modbus"
TCP, RTU = "tcp", "rtu"
COILS, REGISTERS = ("-t", "0"), ("-t", "4")
StartMachine = Callable[[str, str], DeviceProcess]

both = pytest.mark.parametrize("framing", [TCP, RTU])


@pytest.fixture
def start_machine(tmp_path: Path) -> Iterator[StartMachine]:
    """Start a simulated machine: `start_machine(profile, framing)`; with RTU it is a serial port."""
    started: list[DeviceProcess] = []

    def start_one(profile: str, framing: str) -> DeviceProcess:
        port = tmp_path / "port" if framing == RTU else None
        started.append(
            device := DeviceProcess(tmp_path, "", "--framing", framing, profile=profile, port=port)
        )
        return device

    yield start_one
    for device in started:
        device.close()


@both
def test_mbpoll_switches_relays(start_machine: StartMachine, framing: str) -> None:
    """It turns relays on and off, one and all, and reads them; the board's ledger has what it wrote, once each."""
    board = start_machine(BOARD, framing)
    assert read(board, COILS, 0, 8) == ["0"] * 8
    write(board, COILS, 2, "1")
    write(board, COILS, 3, "1", "0", "1")
    write(board, COILS, 2, "0")
    assert read(board, COILS, 0, 8) == ["0", "0", "0", "1", "0", "1", "0", "0"]
    assert board.executed == {
        "fc05 0x0002 raw FF00": 1,
        "fc15 0x0003 raw 05 coils 3": 1,
        "fc05 0x0002 raw 0000": 1,
    }


@both
def test_mbpoll_adds(start_machine: StartMachine, framing: str) -> None:
    """What it writes to the adding register counts as often as it writes it."""
    adder = start_machine(ADDER, framing)
    write(adder, REGISTERS, 1, "5")
    write(adder, REGISTERS, 1, "5")
    assert read(adder, REGISTERS, 0, 1) == ["10"]
    assert adder.executed == {"fc06 0x0001 raw 0005": 2}


@both
def test_mbpoll_is_refused(start_machine: StartMachine, framing: str) -> None:
    """It understands our exceptions: an address that the board has not."""
    board = start_machine(BOARD, framing)
    ended = mbpoll(board, COILS, 0x0100, "1")
    assert ended.returncode != 0
    assert "Illegal data address" in ended.stderr
    assert board.executed == {}


def read(device: DeviceProcess, table: tuple[str, str], address: int, count: int) -> list[str]:
    """What mbpoll reads."""
    ended = mbpoll(device, (*table, "-1", "-c", str(count)), address)
    assert ended.returncode == 0, ended
    return VALUE.findall(ended.stdout)


def write(device: DeviceProcess, table: tuple[str, str], address: int, *values: str) -> None:
    """Let mbpoll write."""
    ended = mbpoll(device, table, address, *values)
    assert ended.returncode == 0, ended


def mbpoll(
    device: DeviceProcess, table: tuple[str, ...], address: int, *values: str
) -> subprocess.CompletedProcess[str]:
    """Run it once; addresses are zero-based, as on the wire."""
    scheme, _, place = device.url.partition(":")
    host, _, port = place.removeprefix("//").partition(":")
    where = (
        ["-m", "tcp", "-p", port, host]
        if scheme == "tcp"
        else ["-m", "rtu", "-b", "9600", "-P", "none", place]
    )
    words = [program("mbpoll"), "-0", "-a", "1", "-r", str(address), *table, *where, *values]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
