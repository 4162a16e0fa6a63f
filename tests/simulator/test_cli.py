"""`ackonce simulate device`: what it prints, how it ends, and what a kill leaves behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from protocol.native.messages import CommandReply, OpenReply, Reply
from protocol.native.requester import Answered, Requester
from simulator import report
from simulator.cli import app
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.fault_kinds import Fault
from simulator.state import Saved, StateFile
from tests.simulator.bench import ADJUST

PATIENCE_S = 20.0


def invoke(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    result = CliRunner().invoke(app, ["device", *arguments])
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


def test_says_where_it_listens_and_what_to_type_next() -> None:
    """Two lines first, then its own counts, tab-separated where there is no terminal."""
    code, out, err = invoke("--for", "0", "--serial", "SN-7", "--tier", "2")
    assert (code, err) == (0, [])
    assert out[0].startswith("listening on tcp://127.0.0.1:")
    assert "serial SN-7  tier 2  demo/controller" in out[0]
    url = out[0].split()[2]
    assert out[1] == f"try: ackonce send {url} --profile demo/controller ADJUST offset +5"
    assert "value\toffset\t10" in out[2:]
    assert all(line.count("\t") == 2 for line in out[2:])


def test_json_is_two_objects() -> None:
    """One where it listens, one with counts; nothing else on stdout."""
    code, out, _ = invoke("--for", "0", "--json", "--unit", "9")
    first, last = map(json.loads, out)
    assert code == 0
    assert first.pop("listening").startswith("tcp://127.0.0.1:")
    assert first == {"serial": "SIM-1", "model": "demo", "tier": 1, "unit": 9, "profile": "demo/controller"}
    assert (last["counts"], last["executed"], last["copies"]) == ({}, {}, 0)
    assert last["values"]["offset"] == "10"


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--faults", "cmd 1: drop_akc"], 2, "--faults: column 8: 'drop_akc' is not a fault. Did you mean"),
        (["--tier", "3"], 2, "3 is not in the range"),
        (["--unit", "0"], 2, "--unit '0' is no address from 1 to 247"),
        (["--profile", "demo/controler"], 2, "Did you mean 'demo/controller'?"),
        (["--profile", "zzz"], 2, "There is: demo/controller, demo/controller-line, demo/adder-modbus, "),
        (["--tcp", "7000"], 2, "is not HOST:PORT"),
        (["--tcp", "127.0.0.1:65536"], 2, "is not HOST:PORT"),
        (["--tcp", "127.0.0.1:" + "9" * 5_000], 2, "is not HOST:PORT"),
        (["--tcp", ":7000"], 2, "is not HOST:PORT"),
        (["--tcp", "192.0.2.1:0"], 7, "Cannot listen on 192.0.2.1:0"),
        (["--ledger", "/nowhere/ledger"], 2, "--ledger /nowhere/ledger: No such file"),
        (["--state", "/nowhere/state"], 2, "cannot be written"),
        (["--state", "/dev/null"], 3, "not a regular file"),
        (["--ledger", "/dev/null"], 3, "not a regular file"),
        (["--serial", "S" * 500], 2, "names do not fit"),
    ],
)
def test_mistakes_are_one_clear_sentence(arguments: list[str], code: int, part: str) -> None:
    """Every mistake has its exit code and says what is wrong, without a traceback."""
    result, out, err = invoke("--for", "0", *arguments)
    assert (result, out) == (code, [])
    assert part in err[-1]
    assert not any("Traceback" in line for line in err)


def test_mistakes_are_json_where_asked() -> None:
    """With --json the sentence is an object on stdout."""
    code, out, err = invoke("--for", "0", "--json", "--faults", "x")
    assert (code, err) == (2, [])
    assert json.loads(out[0])["message"].startswith("--faults: column 1")


def test_port_in_use_is_named() -> None:
    """A port that another process holds: exit 7."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"127.0.0.1:{held.getsockname()[1]}"
        code, out, err = invoke("--for", "0", "--tcp", address)
    assert (code, out) == (7, [])
    assert err[0].startswith(f"ackonce: Cannot listen on {address}: ")


def test_refusing_disk_stops_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that can no longer write ends with exit 1 and the cause."""

    def full(_file: StateFile, _saved: Saved) -> None:
        raise OSError(28, "No space left on device")

    def listening(*_: object, **__: object) -> None:
        monkeypatch.setattr(StateFile, "save", full)
        os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr(report, "announce", listening)
    code, out, err = invoke("--for", "10", "--state", str(tmp_path / "state"))
    assert (code, out) == (1, [])
    assert err[-1].startswith("ackonce: Stopped: state or ledger cannot be written: ")


def test_help_explains_every_fault() -> None:
    """All names of faults and messages stand in the help."""
    result = CliRunner().invoke(app, ["device", "--help"])
    assert result.exit_code == 0
    assert [fault for fault in Fault if fault not in result.stdout] == []
    assert "SIGHUP" in result.stdout


def test_text_from_the_wire_cannot_move_the_cursor() -> None:
    """Control characters of commands are shown escaped, one row stays one line."""
    assert report.plain("a\x1b[2Jb\nc\u202ed é") == "a\\x1b[2Jb\\nc\\u202ed é"
    assert all(len(row) == 3 for row in report.rows(SimulatedDevice(Controller())))


class Process:
    """The command in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        code = "from simulator.cli import app; app()"
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code, "device", "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
        url = self.line()["listening"].removeprefix("tcp://").split(":")
        self.address = (url[0], int(url[1]))

    def line(self) -> dict[str, Any]:
        assert self.popen.stdout is not None
        data: dict[str, Any] = json.loads(self.popen.stdout.readline())
        return data

    def end(self, number: signal.Signals) -> tuple[str, str]:
        """What it still printed after the signal."""
        self.popen.send_signal(number)
        return self.popen.communicate(timeout=PATIENCE_S)


def ask(link: socket.socket, requester: Requester, request: bytes) -> Reply | None:
    """The answer; None where the connection ends."""
    link.sendall(request)
    while data := link.recv(1024):
        for event in requester.receive(data):
            if isinstance(event, Answered):
                return event.reply
    return None


def test_kill_leaves_ledger_and_state_and_a_restart_goes_on(tmp_path: Path) -> None:
    """Effect before SIGKILL, repeat after the restart: answered from memory; SIGHUP boots, SIGTERM reports."""
    files = ["--tier", "2", "--ledger", str(tmp_path / "ledger"), "--state", str(tmp_path / "state")]
    process = Process(*files, "--faults", "cmd 1: drop_ack; cmd 2: cut")
    with socket.create_connection(process.address, timeout=PATIENCE_S) as link:
        requester = Requester()
        opened = ask(link, requester, requester.open(1, 1, 1))
        assert isinstance(opened, OpenReply)
        link.sendall(requester.command(opened.session, 1, 1, ADJUST))
        assert ask(link, requester, requester.command(opened.session, 1, 2, ADJUST)) is None
    process.end(signal.SIGKILL)
    (line,) = (tmp_path / "ledger").read_text().splitlines()
    assert (json.loads(line)["text"], json.loads(line)["value_after"]) == (ADJUST, "15")

    process = Process(*files)
    with socket.create_connection(process.address, timeout=PATIENCE_S) as link:
        requester = Requester()
        reply = ask(link, requester, requester.command(opened.session, 1, 3, ADJUST))
        assert isinstance(reply, CommandReply)
        assert (reply.text, reply.replayed) == ("15", True)
        process.popen.send_signal(signal.SIGHUP)
        assert link.recv(1) == b""
    out, err = process.end(signal.SIGTERM)
    assert process.popen.returncode == 0
    summary = json.loads(out)
    assert (summary["executed"], summary["copies"]) == ({ADJUST: 1}, 1)
    assert (summary["counts"]["boots"], summary["values"]["offset"], summary["values"]["boots"]) == (
        1,
        "15",
        "3",
    )
    assert err.startswith("boot: boot_id ")
