"""`ackonce simulate device`: the plain text device, serial ports, and how connections are treated."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from simulator.cli import app
from simulator.fault_kinds import LSQ, TEXT

PATIENCE_S = 20.0
TEXT_DEVICE = ("--profile", "demo/controller-line")


def invoke(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    result = CliRunner().invoke(app, ["device", *arguments])
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


def test_text_device_says_what_it_is() -> None:
    """Neither tier nor unit; the line to type next fits the profile."""
    code, out, err = invoke("--for", "0", *TEXT_DEVICE, "--serial", "SN-7")
    assert (code, err) == (0, [])
    url = out[0].split()[2]
    assert out[:2] == [
        f"listening on {url}  serial SN-7  demo/controller-line",
        f"try: ackonce send {url} --profile demo/controller-line ADJUST offset +5",
    ]
    assert "value\tlevel\t5" in out[2:]


def test_serial_port_says_where_it_is(tmp_path: Path) -> None:
    """The terminal's own path, or the link where one was asked for; both are gone in the end."""
    code, out, _ = invoke("--for", "0", "--pty", "--json", *TEXT_DEVICE)
    first = json.loads(out[0])
    assert (code, first["listening"][:12]) == (0, "serial:/dev/")
    assert {name: value for name, value in first.items() if name != "listening"} == {
        "serial": "SIM-1",
        "profile": "demo/controller-line",
    }
    link = tmp_path / "my port"
    code, out, _ = invoke("--for", "0", "--pty", "--link", str(link))
    assert code == 0
    assert out[0].startswith(f"listening on serial:{link}  serial SIM-1  tier 1")
    assert out[1] == f"try: ackonce send 'serial:{link}' --profile demo/controller ADJUST offset +5"
    assert not link.is_symlink()


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--pty", "--tcp", "127.0.0.1:0"], 2, "--tcp concerns TCP; leave out --tcp or --pty."),
        (["--pty", "--slots", "1"], 2, "--slots concerns TCP"),
        (["--pty", "--idle-close", "1"], 2, "--idle-close concerns TCP"),
        (["--link", "port"], 2, "--link names a serial port; add --pty."),
        (
            ["--pty", "--link", "/nowhere/port"],
            7,
            "Cannot listen on a serial port at /nowhere/port: No such file",
        ),
        (["--pty", "--link", "/dev/null"], 7, "a serial port at /dev/null: Something else is there already"),
        (
            [*TEXT_DEVICE, "--tier", "2"],
            2,
            "--tier concerns LSQ1, and demo/controller-line speaks plain text",
        ),
        ([*TEXT_DEVICE, "--unit", "1"], 2, "--unit concerns LSQ1"),
        ([*TEXT_DEVICE, "--model", "x"], 2, "--model concerns LSQ1"),
        (
            [*TEXT_DEVICE, "--faults", "cmd 1: wrong_unit"],
            2,
            "'wrong_unit' is not a fault of plain text. Known:",
        ),
        ([*TEXT_DEVICE, "--faults", "nop 1: cut"], 2, "'nop' is not a kind of message of plain text."),
        (["--faults", "cmd 1: notice"], 2, "'notice' is not a fault of LSQ1. Known:"),
        (
            [*TEXT_DEVICE, "--faults", "cmd 1: long_reply"],
            2,
            "'long_reply' is not a fault of plain text. Known:",
        ),
        (["--slots", "0"], 2, "0 is not in the range"),
    ],
)
def test_mistakes_are_one_clear_sentence(arguments: list[str], code: int, part: str) -> None:
    """Every mistake has its exit code and says what is wrong, without a traceback."""
    result, out, err = invoke("--for", "0", *arguments)
    assert (result, out) == (code, [])
    assert part in err[-1]
    assert not any("Traceback" in line for line in err)


def test_help_tells_the_tongues_apart() -> None:
    """What only one of them knows is named."""
    result = CliRunner().invoke(app, ["device", "--help"], env={"COLUMNS": "300"})
    assert result.exit_code == 0
    for one, other in ((LSQ, TEXT), (TEXT, LSQ)):
        assert ", ".join(name for name in one.faults if name not in other.faults) in result.stdout
    assert "SIGUSR1" in result.stdout


class Process:
    """The command in a process of its own; `urls` are all that it has told."""

    def __init__(self, *arguments: str) -> None:
        code = "from simulator.cli import app; app()"
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code, "device", "--json", "-q", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.path = self.next_path()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.kill()
        self.popen.communicate(timeout=PATIENCE_S)

    def next_path(self) -> str:
        """Where it says that it listens, without the scheme."""
        assert self.popen.stdout is not None
        listening: str = json.loads(self.popen.stdout.readline())["listening"]
        return listening.partition(":")[2].removeprefix("//")

    def end(self) -> dict[str, Any]:
        """Its summary after SIGTERM."""
        self.popen.send_signal(signal.SIGTERM)
        out, err = self.popen.communicate(timeout=PATIENCE_S)
        assert (self.popen.returncode, err) == (0, "")
        data: dict[str, Any] = json.loads(out)
        return data


def read(fd: int, count: int) -> bytes:
    """So many bytes of a port; what there was where it ends before."""
    data = b""
    while len(data) < count:
        assert select.select([fd], [], [], PATIENCE_S)[0], f"only {data!r} came"
        try:
            more = os.read(fd, count - len(data))
        except OSError:
            return data
        if not more:
            return data
        data += more
    return data


def test_plug_is_pulled_and_put_back_by_a_signal(tmp_path: Path) -> None:
    """SIGHUP boots it on the open port; SIGUSR1 takes the port away, another one brings it back."""
    link = tmp_path / "port"
    with Process("--pty", "--link", str(link), *TEXT_DEVICE) as process:
        fd = os.open(link, os.O_RDWR | os.O_NOCTTY)
        os.write(fd, b"ADJUST offset +5\n")
        assert read(fd, 6) == b"OK 15\n"
        process.popen.send_signal(signal.SIGHUP)
        assert read(fd, 22) == b"READY demo controller\n"
        process.popen.send_signal(signal.SIGUSR1)
        assert read(fd, 1) == b""
        os.close(fd)
        assert not link.is_symlink()
        process.popen.send_signal(signal.SIGUSR1)
        assert process.next_path() == str(link)
        fd = os.open(link, os.O_RDWR | os.O_NOCTTY)
        os.write(fd, b"GET boots\n")
        assert read(fd, 5) == b"OK 2\n"
        os.close(fd)
        summary = process.end()
        assert (summary["executed"], summary["values"]["offset"], summary["counts"]["boots"]) == (
            {"ADJUST offset +5": 1},
            "15",
            1,
        )


def test_connections_are_treated_as_asked() -> None:
    """Greeting, echo, one slot; the options reach the device."""
    with Process(*TEXT_DEVICE, "--greeting", "hello", "--echo", "--slots", "1") as process:
        host, port = process.path.split(":")
        with (
            socket.create_connection((host, int(port)), timeout=PATIENCE_S) as link,
            link.makefile("rb") as lines,
        ):
            assert lines.readline() == b"hello\r\n"
            link.sendall(b"GET offset\n")
            assert [lines.readline(), lines.readline()] == [b"GET offset\n", b"OK 10\n"]
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as second:
                assert second.recv(1) == b""
        assert process.end()["counts"]["refused"] == 1


def test_idle_and_deaf_and_booting_are_treated_as_asked() -> None:
    """An opening boots the device, it hears nothing at first, and ends the silent connection."""
    with Process(*TEXT_DEVICE, "--opening-boots", "--deaf", "3600", "--idle-close", "0.01") as process:
        host, port = process.path.split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as link:
            link.sendall(b"BEEP\n")
            assert link.recv(1) == b""
        summary = process.end()
        assert (summary["counts"], summary["executed"]) == ({"boots": 1, "connections": 1}, {})
