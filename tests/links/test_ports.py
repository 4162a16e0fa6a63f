"""Which ports are listed, and who is said to have one open?"""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports as pyserial_ports

from agent.links import ports
from agent.links.ports import holder_of, list_ports, port_key, port_names
from tests.links.pty_port import PtyPort


@contextmanager
def reading(
    port: PtyPort, *words: str, program: str = "/bin/cat", also_open: Sequence[int] = ()
) -> Iterator[int]:
    """A process that has the port open as its input; yields its pid."""
    with subprocess.Popen(
        words, executable=program, stdin=port.slave, stdout=subprocess.DEVNULL, pass_fds=also_open
    ) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_port_that_nobody_has(port: PtyPort) -> None:
    """Our own descriptors do not count, unless we are asked for too."""
    assert holder_of(port.path) is None
    ourselves = holder_of(port.path, ourselves_too=True)
    assert ourselves is not None
    assert (ourselves.pid, ourselves.ours) == (os.getpid(), True)


def test_a_reader(port: PtyPort, tmp_path: Path) -> None:
    """A process that has the port open is found, under every name of the port."""
    lasting = tmp_path / "by-id"
    lasting.symlink_to(port.path)
    with reading(port, "cat", "-") as pid:
        for path in (port.path, str(lasting)):
            holder = holder_of(path)
            assert holder is not None
            assert (holder.pid, holder.program, holder.command_line, holder.ours) == (
                pid,
                "cat",
                "cat -",
                False,
            )
            assert str(holder) == f"process {pid} (cat -)"
    assert holder_of(port.path) is None


def test_another_port(port: PtyPort) -> None:
    """Whoever reads one port does not hold the next."""
    other = PtyPort()
    with reading(other, "cat"):
        assert holder_of(port.path) is None
    other.cut()


def test_the_device_itself(port: PtyPort) -> None:
    """A process that holds the master of this very pseudo terminal is the equipment, not a second reader."""
    with reading(port, "cat", also_open=[port.master]):
        assert holder_of(port.path) is None


def test_the_master_of_another_port(port: PtyPort) -> None:
    """A process that holds some other master is a reader like any."""
    other_master, other_slave = pty.openpty()
    with reading(port, "cat", also_open=[other_master]) as pid:
        holder = holder_of(port.path)
        assert holder is not None
        assert holder.pid == pid
    os.close(other_master)
    os.close(other_slave)


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (("/usr/local/bin/ackonce",), True),
        (("python3", "/home/ana/.venv/bin/ackonce"), True),
        (("/usr/local/bin/ackonce-other",), False),
        (("/usr/local/bin/not-ackonce",), False),
        (("vi", "--", "/home/ana/ackonce"), False),
    ],
)
def test_which_holders_are_ours(
    words: tuple[str, ...], ours: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another run of ackonce is recognised by its program, not by what it was given."""
    monkeypatch.setattr(ports, "_PROC", tmp_path)
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
    assert ports._described(7).ours is ours


def test_a_hostile_name(port: PtyPort) -> None:
    """What a process calls itself is escaped and cut."""
    with reading(port, "cat\x1b[2J\nroot", *["-"] * 200):
        holder = holder_of(port.path)
    assert holder is not None
    assert str(holder).isprintable()
    assert holder.command_line.startswith(r"cat\x1b[2J\nroot - -")
    assert len(holder.command_line) <= 80


def test_a_real_program(port: PtyPort, tmp_path: Path) -> None:
    """A script called ackonce, run by an interpreter, is ours."""
    script = tmp_path / "ackonce"
    script.write_text("input()")
    with reading(port, sys.executable, str(script), program=sys.executable):
        holder = holder_of(port.path)
    assert holder is not None
    assert holder.ours


def test_processes_that_may_not_be_looked_at(
    port: PtyPort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What cannot be read is passed over: processes that have ended, of other users, or no /proc at all."""
    monkeypatch.setattr(ports, "_PROC", tmp_path)
    fds = tmp_path / "7" / "fd"
    fds.mkdir(parents=True)
    (fds / "0").symlink_to("/dev/no-longer-there")
    (fds / "1").symlink_to("socket:[4711]")
    assert holder_of(port.path) is None
    monkeypatch.setattr(ports, "_PROC", tmp_path / "absent")
    assert holder_of(port.path) is None


@pytest.mark.parametrize("path", ["/nowhere/at-all", "/dev", __file__])
def test_what_is_no_port_has_no_holder(path: str) -> None:
    """Files, folders and what does not exist are held by nobody."""
    assert holder_of(path) is None


def test_one_key_for_all_names(tmp_path: Path) -> None:
    """Two names of one port make one key; a name that leads nowhere is its own."""
    (tmp_path / "ttyUSB0").touch()
    (tmp_path / "lasting").symlink_to("ttyUSB0")
    assert port_key(str(tmp_path / "lasting")) == port_key(str(tmp_path / "ttyUSB0"))
    assert port_key("/nowhere/at-all") == "/nowhere/at-all"


def test_the_list(port: PtyPort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each port with its lasting path, USB ids and holder, in order; what is unknown is None."""
    (tmp_path / "usb-FTDI-port0").symlink_to(port.path)
    usb = SimpleNamespace(
        device=port.path, description="FT232R\x07", vid=0x0403, pid=0x6001, serial_number="A1"
    )
    plain = SimpleNamespace(device="/dev/ttyS9", description="n/a", vid=None, pid=None, serial_number=None)
    monkeypatch.setattr(pyserial_ports, "comports", lambda: [plain, usb])
    monkeypatch.setattr(ports, "_BY_ID", tmp_path)
    with reading(port, "cat") as pid:
        listed = list_ports()
    lasting = str(tmp_path / "usb-FTDI-port0")
    assert listed == [
        ports.Port(port.path, lasting, r"FT232R\x07", "0403:6001", "A1", f"process {pid} (cat)"),
        ports.Port("/dev/ttyS9", None, None, None, None, None),
    ]
    assert port_names() == sorted([lasting, port.path, "/dev/ttyS9"])


def test_a_machine_without_ports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No hardware, no folder of lasting names: an empty list."""
    monkeypatch.setattr(pyserial_ports, "comports", list)
    monkeypatch.setattr(ports, "_BY_ID", tmp_path / "absent")
    assert list_ports() == []
    assert port_names() == []
