"""Which ports are opened, which are left alone, and is the reason said so that somebody can act on it?"""

import asyncio
import errno
import fcntl
import grp
import os
import stat
import subprocess
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import serial

from agent.address import parse_url
from agent.links import port_trouble, serial_port
from agent.links.link import PortHeld, Unreachable
from agent.links.port_trouble import held, unopened
from agent.links.serial_port import open_serial
from tests.links.check_link import WAIT_S
from tests.links.pty_port import PtyPort, open_files


def refusal(path: str | Path, options: str = "", timeout_s: float = WAIT_S) -> Unreachable:
    """Why a port does not open."""

    async def attempt() -> None:
        await open_serial(parse_url(f"serial:{path}{options}"), timeout_s)

    before = open_files()
    with pytest.raises(Unreachable) as failed:
        asyncio.run(attempt())
    assert open_files() == before, "a descriptor was left open"
    return failed.value


def test_a_second_opening(port: PtyPort) -> None:
    """A port is opened once: the second opening is refused and names us; after closing it opens again."""

    async def scenario() -> None:
        link = await port.link()
        with pytest.raises(PortHeld, match=f"{port.path} is open in process {os.getpid()} ") as refused:
            await port.link()
        assert refused.value.ours
        link.close()
        (await port.link()).close()

    asyncio.run(scenario())


def test_another_reader(port: PtyPort) -> None:
    """A port that another program reads is refused and left as it is: with a name, a reason and what to do."""
    before = termios.tcgetattr(port.slave)
    os.write(port.master, b"for the reader")
    with subprocess.Popen(["cat"], stdin=port.slave, stdout=subprocess.PIPE) as reader:
        try:
            problem = refusal(port.path, "?baud=19200")
            assert reader.stdout is not None
            assert reader.stdout.read(14) == b"for the reader"
        finally:
            reader.kill()
    assert isinstance(problem, PortHeld)
    assert str(problem) == (
        f"{port.path} is open in process {reader.pid} (cat): two readers would each get part of the answers. "
        "Close that program, then try again"
    )
    assert not problem.ours
    assert termios.tcgetattr(port.slave) == before


def test_a_lock_whose_holder_nobody_may_see(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a lock is all that we see, that is what is said, and how to see more."""
    monkeypatch.setattr(port_trouble, "holder_of", lambda *_, **__: None)
    fcntl.flock(port.slave, fcntl.LOCK_EX)
    problem = refusal(port.path)
    assert isinstance(problem, PortHeld)
    assert not problem.ours
    assert str(problem) == (
        f"{port.path} is locked by a program of another user. To see which one: sudo fuser -v {port.path}"
    )
    assert str(held(port.path, None)) == str(problem)


def test_who_opens_after_us(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real port is closed to everybody else; a pseudo terminal is not, since that would outlast a kill."""
    asked: list[int] = []
    ioctl = fcntl.ioctl

    def noting(fd: int, request: int, *more: Any) -> Any:
        asked.append(request)
        return ioctl(fd, request, *more)

    monkeypatch.setattr(fcntl, "ioctl", noting)

    async def scenario() -> None:
        (await port.link()).close()
        assert termios.TIOCEXCL not in asked
        monkeypatch.setattr(serial_port, "is_pseudo_terminal", lambda _: False)
        (await port.link()).close()
        assert termios.TIOCEXCL in asked

    try:
        asyncio.run(scenario())
    finally:
        ioctl(port.slave, termios.TIOCNXCL)


def test_a_lasting_name(port: PtyPort, tmp_path: Path) -> None:
    """A port opens under a symbolic link too, and is held under both names."""
    lasting = tmp_path / "usb-FTDI-port0"
    lasting.symlink_to(port.path)

    async def scenario() -> None:
        link = await open_serial(parse_url(f"serial:{lasting}"), WAIT_S)
        with pytest.raises(PortHeld):
            await port.link()
        link.close()

    asyncio.run(scenario())


def test_no_such_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that is not there: the nearest name, and where all names are."""
    monkeypatch.setattr(port_trouble, "port_names", lambda: ["/dev/ttyUSB0"])
    assert str(refusal("/dev/ttyUSB00")) == (
        "there is no serial port /dev/ttyUSB00. Did you mean '/dev/ttyUSB0'? See: ackonce ports"
    )
    assert str(refusal("/nowhere/at-all")) == "there is no serial port /nowhere/at-all. See: ackonce ports"


@pytest.mark.parametrize("kind", ["file", "folder", "device"])
def test_something_else_than_a_port(tmp_path: Path, kind: str) -> None:
    """A file, a folder and a device of another kind are no serial ports."""
    file = tmp_path / "notes.txt"
    file.write_text("kept")
    path = {"file": file, "folder": tmp_path, "device": Path("/dev/null")}[kind]
    assert str(refusal(path)) == f"{path} is not a serial port. See: ackonce ports"
    assert file.read_text() == "kept"


@pytest.mark.parametrize(
    ("mode", "group", "says"),
    [
        (0o660, 20, "the group dialout may. Type: sudo usermod -aG dialout $USER, then log out and in again"),
        (0o600, 20, "only its owner may. See: ls -lL /dev/ttyUSB0"),
        (0o660, 0, "only its owner may. See: ls -lL /dev/ttyUSB0"),
    ],
)
def test_no_permission(mode: int, group: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission: which group may, and how to join it; where no group helps, nobody is sent to join one."""
    status = SimpleNamespace(st_mode=stat.S_IFCHR | mode, st_gid=group)
    monkeypatch.setattr(Path, "stat", lambda _: status)
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name="dialout"))
    problem = unopened("/dev/ttyUSB0", "9600 8N1", serial.SerialException(errno.EACCES, "denied"))
    assert str(problem) == f"you have no permission to open /dev/ttyUSB0: {says}"
    assert not isinstance(problem, PortHeld)


def test_settings_that_the_driver_refuses(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that a driver does not have are named."""

    def refuse(*_: object) -> None:
        raise termios.error(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(termios, "tcsetattr", refuse)
    assert str(refusal(port.path, "?bits=7&parity=E")) == (
        f"{port.path} cannot be set to 9600 7E1: its driver refuses. Change its URL"
    )


def test_a_pseudo_terminal_has_no_parity(port: PtyPort) -> None:
    """A stand-in opens again and again with the URL of the real line, though it knows neither 7 bits nor parity."""

    async def scenario() -> None:
        for _ in range(3):
            (await port.link("?bits=7&parity=E")).close()

    asyncio.run(scenario())


def test_a_speed_that_the_driver_refuses(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """A baud rate beyond the driver's is named."""

    def refuse(_: serial.Serial, baudrate: int) -> None:
        raise ValueError(f"Failed to set custom baud rate ({baudrate})")

    monkeypatch.setattr(serial.Serial, "_set_special_baudrate", refuse)
    assert "cannot be set to 12345678 8N1: its driver refuses" in str(refusal(port.path, "?baud=12345678"))


def test_one_and_a_half_stop_bits(port: PtyPort) -> None:
    """Hardware has 1.5 stop bits with 5 data bits only; elsewhere the driver would take 2 and say nothing."""
    assert "1.5 stop bits exist only together with 5 data bits" in str(refusal(port.path, "?stop=1.5"))

    async def scenario() -> None:
        (await port.link("?stop=1.5&bits=5")).close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (fcntl, "flock", "there is no hardware behind {}, or it was unplugged just now"),
        (termios, "tcsetattr", "there is no hardware behind {}, or it was unplugged just now"),
        (termios, "tcflush", "there is no hardware behind {}, or it was unplugged just now"),
        (serial_port, "holder_of", "there is no serial port {}"),
    ],
)
def test_unplugged_while_opening(
    port: PtyPort, module: Any, name: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A plug that is pulled in any of the calls that opening makes is a port that cannot be opened."""
    lasting = tmp_path / "port0"
    lasting.symlink_to(port.path)
    before: Callable[..., Any] = getattr(module, name)

    def unplugged(*given: Any) -> Any:
        port.cut()
        lasting.unlink()
        return before(*given)

    monkeypatch.setattr(module, name, unplugged)
    with pytest.raises(Unreachable, match=says.format(lasting)):
        asyncio.run(open_serial(parse_url(f"serial:{lasting}"), WAIT_S))


def test_what_nobody_foresaw(monkeypatch: pytest.MonkeyPatch, port: PtyPort) -> None:
    """Any other failure is passed on in a sentence, escaped."""
    for raised, says in (
        (OSError(errno.ENOSPC, "x"), "No space left on device"),
        (serial.SerialException("odd\x1b[2J"), r"odd\x1b[2J"),
    ):
        monkeypatch.setattr(serial_port, "_opened", _raising(raised))
        assert str(refusal(port.path)) == f"{port.path} cannot be opened: {says}. See: ackonce ports"


def _raising(problem: Exception) -> Callable[..., serial.Serial]:
    def opened(*_: Any) -> serial.Serial:
        raise problem

    return opened


class HangingDriver:
    """An opening that takes until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self._open = serial_port._opened
        monkeypatch.setattr(serial_port, "_opened", self._opened)

    def _opened(self, *given: Any) -> serial.Serial:
        self.go.wait(WAIT_S)
        self.opened = self._open(*given)  # kept: else the garbage collector would close what nobody closed
        return self.opened

    def let_go(self) -> None:
        """The driver comes back; returns once its thread has ended."""
        self.go.set()
        for thread in threading.enumerate():
            if thread.name == "open serial port":
                thread.join(WAIT_S)
                assert not thread.is_alive()


@pytest.mark.parametrize("loop_ends_first", [False, True])
def test_a_driver_that_hangs(
    port: PtyPort, monkeypatch: pytest.MonkeyPatch, *, loop_ends_first: bool
) -> None:
    """Opening takes no longer than it may; a port that opens too late is closed, also after the loop's end."""
    driver = HangingDriver(monkeypatch)
    before = open_files()

    async def scenario() -> None:
        with pytest.raises(Unreachable, match=rf"{port.path} did not open within 0\.01 s: its driver hangs"):
            await open_serial(port.address(), 0.01)
        if not loop_ends_first:
            driver.let_go()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(scenario())
    driver.let_go()
    assert open_files() == before


def test_giving_up_while_a_driver_hangs(port: PtyPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops waiting for a port leaves none open."""
    driver = HangingDriver(monkeypatch)
    before = open_files()

    async def scenario() -> None:
        opening = asyncio.create_task(port.link())
        await asyncio.sleep(0)
        opening.cancel()
        driver.let_go()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert open_files() == before
