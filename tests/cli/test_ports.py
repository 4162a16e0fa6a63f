"""What does `ackonce ports` say about the ports of this machine?"""

from collections.abc import Callable

import pytest

from agent.links import ports
from agent.links.ports import Port
from tests.cli.project import Project

LASTING = "/dev/serial/by-id/usb-FTDI_FT232R_A1-if00-port0"
USB = Port("/dev/ttyUSB0", LASTING, "FT232R USB UART", "0403:6001", "A1", "process 4711 (cat /dev/ttyUSB0)")
PLAIN = Port("/dev/ttyS0", None, None, None, None, None)

Found = Callable[..., None]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    """Say which ports the machine has."""
    return lambda *them: monkeypatch.setattr(ports, "list_ports", lambda: list(them))


def test_the_list(project: Project, found: Found) -> None:
    """One line a port, and a hint to the name that lasts."""
    found(PLAIN, USB)
    ended = project.type("ports")
    assert ended.code == 0
    assert [line.split("\t") for line in ended.lines] == [
        ["/dev/ttyS0", "-", "-", "-", "-", "-"],
        ["/dev/ttyUSB0", "0403:6001", "A1", "FT232R USB UART", "process 4711 (cat /dev/ttyUSB0)", LASTING],
    ]
    assert ended.err == f"In URLs use the lasting path, which stays with the adapter: serial:{LASTING}\n"


def test_json(project: Project, found: Found) -> None:
    """--json is one object a port; what is unknown is null."""
    found(PLAIN, USB)
    plain, usb = project.type("ports", "--json").records
    assert usb == {
        "device": "/dev/ttyUSB0",
        "by_id": LASTING,
        "description": "FT232R USB UART",
        "usb": "0403:6001",
        "serial_number": "A1",
        "holder": "process 4711 (cat /dev/ttyUSB0)",
    }
    assert plain == dict.fromkeys(usb) | {"device": "/dev/ttyS0"}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_none(project: Project, found: Found, form: list[str]) -> None:
    """A machine without ports says so, apart from the results, and it is no failure."""
    found()
    ended = project.type("ports", *form)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "No serial ports found. Plug the adapter in, then look again: ackonce ports\n"
    assert project.type("ports", *form, "-q").err == ""


def test_no_hint_where_no_name_lasts(project: Project, found: Found) -> None:
    """Ports without a lasting name get no hint to one, and -q silences the hint."""
    found(PLAIN)
    assert project.type("ports").err == ""
    found(USB)
    assert project.type("ports", "-q").err == ""


def test_an_option_that_it_does_not_use(project: Project, found: Found) -> None:
    """A --timeout that is no duration is refused by a command that waits for nothing, too."""
    found(USB)
    ended = project.type("ports", "--timeout", "abc")
    assert (ended.code, ended.out) == (2, "")
    assert "--timeout: 'abc' is not a duration" in ended.err
    assert project.type("ports", "--timeout", "2s").code == 0


def test_looking_makes_no_store(project: Project, found: Found) -> None:
    """Looking leaves no trace."""
    found(USB)
    project.type("ports")
    assert not project.home.exists()
