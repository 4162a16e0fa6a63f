"""`ackonce simulate device` with Modbus machines: options, what is printed, several units on one line."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator.bus import Bus
from simulator.cli import app
from simulator.fault_kinds import MODBUS
from simulator.habits import Habits
from simulator.loop import run
from simulator.makers import switch_on
from simulator.setup import Setup
from tests.simulator.modbus_bench import ModbusClient, rtu

PATIENCE_S = 20.0
RELAYS = ("--profile", "waveshare/modbus-rtu-relay")
METER = ("--profile", "eastron/sdm630")
ADDER = ("--profile", "demo/adder-modbus")


def invoke(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    result = CliRunner().invoke(app, ["device", "--for", "0", *arguments])
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (RELAYS, "unit 1  framing rtu  waveshare/modbus-rtu-relay"),
        ((*RELAYS, "--framing", "tcp", "--unit", "9"), "unit 9  framing tcp  waveshare/modbus-rtu-relay"),
        ((*METER, "--pty"), "unit 1  framing rtu  serial 1000001  eastron/sdm630"),
        (
            (*METER, "--serial", "77", "--unit", "1,3"),
            "unit 1, 3  framing rtu  serial 77, 78  eastron/sdm630",
        ),
        (ADDER, "unit 1  framing tcp  serial SIM-1  demo/adder-modbus"),
        ((*ADDER, "--pty"), "unit 1  framing rtu  serial SIM-1  demo/adder-modbus"),
        (
            (*ADDER, "--serial", "A09", "--unit", "3,1"),
            "unit 3, 1  framing tcp  serial A09, A10  demo/adder-modbus",
        ),
    ],
)
def test_says_what_it_is(arguments: tuple[str, ...], said: str) -> None:
    """Unit, framing and serial; of several units the serials count up."""
    code, out, err = invoke(*arguments)
    assert (code, err) == (0, [])
    assert out[0].partition("  ")[2] == said
    assert out[1] == f"try: ackonce profile show {arguments[1]}"


def test_json_has_each_unit() -> None:
    """One unit is told as its facts, several as a list; at the end the same with counts and values by name."""
    _, out, _ = invoke("--json", *ADDER)
    first, last = map(json.loads, out)
    del first["listening"]
    assert first == {"unit": 1, "framing": "tcp", "serial": "SIM-1", "profile": "demo/adder-modbus"}
    assert last["values"] == {"relay": "0", "total": "0", "setpoint": "0", "counter": "65530", "boots": "1"}
    _, out, _ = invoke("--json", *RELAYS, "--unit", "1,3")
    first, last = map(json.loads, out)
    assert first["units"] == [{"unit": 1, "framing": "rtu"}, {"unit": 3, "framing": "rtu"}]
    assert [(each["unit"], each["values"]["relay_8"]) for each in last["units"]] == [(1, "0"), (3, "0")]


def test_several_units_are_told_apart_in_the_rows() -> None:
    """Each row names its unit."""
    _, out, _ = invoke(*METER, "--unit", "1,3")
    assert "value\tunit 1: demand_period\t60" in out
    assert "value\tunit 3: node\t3" in out


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ((*RELAYS, "--serial", "1"), 2, "--serial: a relay board has no serial; leave it out."),
        ((*METER, "--serial", "SIM-1"), 2, "--serial 'SIM-1': the serial of a meter is a number from 0"),
        ((*METER, "--serial", "4294967296"), 2, "is a number from 0 to 4294967295"),
        ((*ADDER, "--serial", "S" * 65), 2, "--serial: at most 64 characters fit."),
        ((*RELAYS, "--framing", "ascii"), 2, "--framing 'ascii' is neither tcp nor rtu."),
        ((*RELAYS, "--framing", "tcp", "--pty"), 2, "--framing tcp concerns TCP"),
        ((*RELAYS, "--unit", "248"), 2, "--unit '248' is no address from 1 to 247, nor several such as 1,3."),
        ((*RELAYS, "--unit", "1,1"), 2, "--unit '1,1' is no address"),
        ((*RELAYS, "--unit", "1,"), 2, "--unit '1,' is no address"),
        ((*RELAYS, "--unit", "1-3"), 2, "--unit '1-3' is no address"),
        ((*RELAYS, "--tier", "1"), 2, "--tier concerns LSQ1, and waveshare/modbus-rtu-relay speaks Modbus"),
        ((*RELAYS, "--model", "x"), 2, "--model concerns LSQ1"),
        ((*RELAYS, "--faults", "cmd 1: notice"), 2, "'notice' is not a fault of Modbus. Known: drop_request"),
        ((*RELAYS, "--faults", "cmd 1: exception 0"), 2, "the code of exception is 1 to 255"),
        (("--framing", "rtu"), 2, "--framing concerns Modbus, and demo/controller speaks LSQ1"),
        (("--unit", "1,3"), 2, "--unit 1,3: only Modbus machines share a line; give one."),
        (
            ("--profile", "demo/controller-line", "--framing", "rtu"),
            2,
            "--framing concerns Modbus, and demo/controller-line speaks plain text",
        ),
        (("--profile", "eastron/sdm360"), 2, "Did you mean 'eastron/sdm630'?"),
    ],
)
def test_mistakes_are_one_clear_sentence(arguments: tuple[str, ...], code: int, part: str) -> None:
    """Every mistake names its option, without a traceback."""
    result, out, err = invoke(*arguments)
    assert (result, out) == (code, [])
    assert part in err[-1]


def test_help_tells_faults_of_modbus_and_several_units() -> None:
    """What Modbus does not know is named, and how files of several units are called."""
    result = CliRunner().invoke(app, ["device", "--help"], env={"COLUMNS": "300"})
    assert result.exit_code == 0
    assert [fault for fault in MODBUS.faults if fault not in result.stdout] == []
    said = " ".join(result.stdout.split())
    assert "not of Modbus: long_reply, indeterminate, notice" in said
    assert "of several units FILE-1, FILE-3" in said


def test_the_line_is_not_that_of_one_unit(tmp_path: Path) -> None:
    """On TCP a boot of one of several leaves it open, and a greeting comes once; of a single one it is its own."""
    heard: dict[str, tuple[bytes, int]] = {}

    async def main(unit: str) -> None:
        setup = Setup(
            tcp=None, pty=False, link=None, profile=RELAYS[1], serial=None, model=None, tier=None, unit=unit,
            framing=None, faults="cmd 1: reboot_after", seed=0, echo=False, habits=Habits(greeting=b"hello"),
            ledger=tmp_path / f"ledger{len(unit)}", state=None, limit_s=None,
        )  # fmt: skip
        client = ModbusClient(Bus(switch_on(setup, lambda: 0, lambda _word, _line: None)))
        await asyncio.sleep(1)
        await client.ask(rtu("05 0000 FF00"))
        heard[unit] = client.heard, client.ends

    for unit in ("1", "1,3"):
        run(partial(main, unit))
    assert heard == {"1": (b"hello", 1), "1,3": (b"hello", 0)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger1", "ledger3-1", "ledger3-3"]


def read(fd: int, count: int) -> bytes:
    """So many bytes of a port."""
    data = b""
    while len(data) < count:
        assert select.select([fd], [], [], PATIENCE_S)[0], f"only {data!r} came"
        data += os.read(fd, count - len(data))
    return data


def test_units_on_one_port_have_their_own_ledgers_and_survive_a_kill(tmp_path: Path) -> None:
    """Counted from the files after SIGKILL; a fault says whose it is; a restart goes on."""
    link = tmp_path / "bus"
    words = ["device", "--json", "--pty", "--link", str(link), *ADDER, "--unit", "1,3"]
    files = ["--ledger", str(tmp_path / "ledger.jsonl"), "--state", str(tmp_path / "state")]
    faults = ["--faults", "cmd 2: exception_after 4", "--echo"]
    command = [sys.executable, "-c", "from simulator.cli import app; app()", *words, *files, *faults]

    def start() -> tuple[subprocess.Popen[str], int]:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first: dict[str, Any] = json.loads(process.stdout.readline())
        assert first["listening"] == f"serial:{link}"
        return process, os.open(link, os.O_RDWR | os.O_NOCTTY)

    add = rtu("06 0001 0005", 3)
    process, fd = start()
    os.write(fd, add + add)
    assert read(fd, 29) == add + add + add + rtu("86 04", 3)
    os.close(fd)
    process.kill()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "fault: unit 3: exception_after at cmd 2" in err
    texts = [json.loads(line)["text"] for line in (tmp_path / "ledger-3.jsonl").read_text().splitlines()]
    assert texts == ["fc06 0x0001 raw 0005"] * 2
    assert (tmp_path / "ledger-1.jsonl").read_text() == ""

    process, fd = start()
    os.write(fd, rtu("03 0000 0001", 3))
    assert read(fd, 15) == rtu("03 0000 0001", 3) + rtu("03 02 000A", 3)
    os.close(fd)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert [each["executed"] for each in json.loads(out)["units"]] == [{}, {"fc06 0x0001 raw 0005": 2}]
