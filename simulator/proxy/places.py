"""Where does the proxy listen, and where does it lead?

tcp://HOST:PORT                                    either side; listening, port 0 is any free one
pty                                                to listen: a new serial port
serial:PATH[?baud=9600&bits=8&parity=N&stop=1]     to lead to: a serial port
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from urllib.parse import parse_qsl

from simulator.setup import USAGE, SimulateError, host_and_port

BAUD_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class TcpPlace:
    """A TCP address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"tcp://[{self.host}]:{self.port}" if ":" in self.host else f"tcp://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class PtyPlace:
    """A serial port that the proxy makes."""

    def __str__(self) -> str:
        return "a serial port"


@dataclass(frozen=True, slots=True)
class SerialPlace:
    """A serial port that is there: `bits` 5 to 8, `parity` N, E or O, `stop` 1 or 2."""

    path: str
    baud: int = 9600
    bits: int = 8
    parity: str = "N"
    stop: int = 1

    def __str__(self) -> str:
        return f"serial:{self.path}"


def listening_place(text: str) -> TcpPlace | PtyPlace:
    """Read `--listen`; raises SimulateError."""
    if text == "pty":
        return PtyPlace()
    if text.startswith("tcp://"):
        return TcpPlace(*host_and_port("--listen", text.removeprefix("tcp://")))
    raise SimulateError(f"--listen {text!r} is neither tcp://HOST:PORT nor pty.", USAGE)


def place_behind(text: str) -> TcpPlace | SerialPlace:
    """Read `--to`; raises SimulateError."""
    if text.startswith("tcp://"):
        return TcpPlace(*host_and_port("--to", text.removeprefix("tcp://")))
    if text.startswith("serial:"):
        return _serial(text.removeprefix("serial:"))
    raise SimulateError(f"--to {text!r} is neither tcp://HOST:PORT nor serial:PATH.", USAGE)


def _whole(low: int, high: int) -> Callable[[str], int | None]:
    return lambda text: int(text) if text.isdecimal() and low <= int(text[:9]) <= high else None


_SETTINGS: Mapping[str, Callable[[str], int | str | None]] = MappingProxyType(
    {
        "baud": _whole(1, BAUD_MAX),
        "bits": _whole(5, 8),
        "parity": lambda text: text if text in ("N", "E", "O") else None,
        "stop": _whole(1, 2),
    }
)


def _serial(text: str) -> SerialPlace:
    path, _, query = text.partition("?")
    given: dict[str, int | str] = {}
    for name, shown in parse_qsl(query, keep_blank_values=True):
        value = _SETTINGS[name](shown) if name in _SETTINGS else None
        if value is None:
            known = ", ".join(field.name for field in fields(SerialPlace)[1:])
            raise SimulateError(f"--to: {name}={shown} is no setting of a serial port ({known}).", USAGE)
        given[name] = value
    if not path:
        raise SimulateError("--to serial: has no PATH behind it.", USAGE)
    return SerialPlace(path, **given)  # type: ignore[arg-type]  # each checked by its reader in _SETTINGS
