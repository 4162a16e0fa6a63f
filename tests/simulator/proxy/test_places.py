"""Where a proxy listens and leads, as it is written on the command line."""

import pytest

from simulator.proxy.places import PtyPlace, SerialPlace, TcpPlace, listening_place, place_behind
from simulator.setup import SimulateError


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ("tcp://10.3.0.12:7001", TcpPlace("10.3.0.12", 7001), "tcp://10.3.0.12:7001"),
        ("tcp://[::1]:7", TcpPlace("::1", 7), "tcp://[::1]:7"),
        ("serial:/dev/ttyUSB0", SerialPlace("/dev/ttyUSB0"), "serial:/dev/ttyUSB0"),
        (
            "serial:/dev/x?baud=19200&bits=7&parity=E&stop=2",
            SerialPlace("/dev/x", 19200, 7, "E", 2),
            "serial:/dev/x",
        ),
    ],
)
def test_places_behind_the_proxy(text: str, place: TcpPlace | SerialPlace, shown: str) -> None:
    """TCP addresses and serial ports with their settings."""
    assert place_behind(text) == place
    assert str(place) == shown


def test_places_to_listen() -> None:
    """TCP, or a port of the proxy's own."""
    assert listening_place("pty") == PtyPlace()
    assert listening_place("tcp://127.0.0.1:0") == TcpPlace("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("10.3.0.12:7001", "neither tcp://HOST:PORT nor serial:PATH"),
        ("pty", "neither tcp://HOST:PORT nor serial:PATH"),
        ("tcp://host", "--to 'host' is not HOST:PORT"),
        ("serial:", "has no PATH"),
        ("serial:?baud=9600", "has no PATH"),
        ("serial:/dev/x?baud=0", "baud=0 is no setting of a serial port (baud, bits, parity, stop)"),
        ("serial:/dev/x?baud=" + "9" * 5_000, "is no setting"),
        ("serial:/dev/x?baud=fast", "baud=fast is no setting"),
        ("serial:/dev/x?parity=X", "parity=X is no setting"),
        ("serial:/dev/x?rtscts=1", "rtscts=1 is no setting"),
        ("serial:/dev/x?baud=", "baud= is no setting"),
    ],
)
def test_mistakes_are_named(text: str, part: str) -> None:
    """Each with what was wrong, as a mistake of usage."""
    with pytest.raises(SimulateError) as caught:
        place_behind(text)
    assert part in str(caught.value)
    assert caught.value.code == 2


def test_a_serial_port_is_nothing_to_listen_on() -> None:
    """It belongs to somebody else; the proxy makes its own."""
    with pytest.raises(SimulateError, match="neither tcp://HOST:PORT nor pty"):
        listening_place("serial:/dev/ttyUSB0")
