"""Which link does a URL name?

`tcp://HOST:PORT`, `serial:PATH[?baud=9600&parity=E&stop=1]`, `rfc2217://HOST:PORT` (CLI.md, section 1), and
`exec:NAME` where a program leads to the device and no link of ours: NAME is what the program calls it.
Rules: one link has one normalised text, since device keys are made of it; an error says what to type instead.
No name is looked up.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PORT_MAX = 65_535
HOST_LENGTH_MAX = 253

_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_FORMS = "tcp://HOST:PORT, serial:PATH, rfc2217://HOST:PORT or exec:NAME"
_PROGRAMS_NAME = re.compile(r"(?![-@/])[^*?\[\]:,=]{1,200}")
_SERIAL_OPTIONS: Mapping[str, tuple[str, re.Pattern[str]]] = MappingProxyType(
    {
        "baud": ("a whole number such as 9600", re.compile(r"[1-9][0-9]{0,7}")),
        "bits": ("5, 6, 7 or 8", re.compile(r"[5-8]")),
        "parity": ("N, E, O, M or S", re.compile(r"[NEOMS]")),
        "stop": ("1, 1.5 or 2", re.compile(r"1|1\.5|2")),
    }
)


def typed(device: str, profile: str) -> str:
    """Return how a person names a device in a command: as it is called here, and with a URL its profile too.

    A name of the inventory has no colon, so what has one is a URL.
    """
    name = shlex.quote(device)
    return f"{name} --profile {shlex.quote(profile)}" if ":" in device else name


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL.

    Attributes:
        scheme: tcp, serial, rfc2217 or exec.
        host: lower case, IPv6 without brackets; of exec the NAME as it is written; empty for serial.
        port: 1 to 65535; 0 for serial and exec.
        path: of the serial port; empty for the others.
        options: of the serial port, sorted by name.
        url: the normalised text.
    """

    scheme: str
    host: str
    port: int
    path: str
    options: tuple[tuple[str, str], ...]
    url: str


def parse_url(text: str) -> Address:
    """Return the address that `text` names.

    Raises:
        ValueError: it names none; the sentence says what to write.
    """
    scheme, colon, rest = text.strip().partition(":")
    scheme = scheme.lower()
    if any(char.isspace() or not char.isprintable() for char in text.strip()):
        raise ValueError(f"blanks or control characters in '{text}'")
    if scheme == "serial" and colon:
        return _serial(text, rest)
    if scheme == "exec" and colon:
        return _behind_a_program(text, rest)
    if scheme in ("tcp", "rfc2217") and rest.startswith("//"):
        return _socket(scheme, text, rest.removeprefix("//"))
    if re.fullmatch(r"[^/:]+:[0-9]+", text.strip()):
        raise ValueError(f"'{text}' has no scheme; did you mean tcp://{text.strip()}?")
    if text.startswith("/dev/"):
        raise ValueError(f"'{text}' has no scheme; did you mean serial:{text.strip()}?")
    raise ValueError(f"'{text}' is not an address: {_FORMS}")


def _socket(scheme: str, text: str, rest: str) -> Address:
    location = rest.removesuffix("/")
    if any(char in location for char in "/?#@"):
        served = "; speed and parity are set at the server of the port" if "?" in location else ""
        raise ValueError(f"'{text}' must be {scheme}://HOST:PORT and nothing more{served}")
    host, colon, port_text = location.rpartition(":")
    if not colon or location.endswith("]"):
        raise ValueError(f"'{text}' names no port: {scheme}://HOST:PORT")
    if not re.fullmatch(r"[0-9]{1,5}", port_text) or not 1 <= int(port_text) <= PORT_MAX:
        raise ValueError(f"port '{port_text}' must be 1 to {PORT_MAX}")
    port = int(port_text)
    if host.startswith("[") and host.endswith("]"):
        host = _ipv6(host[1:-1])
        return Address(scheme, host, port, "", (), f"{scheme}://[{host}]:{port}")
    if ":" in host:
        raise ValueError(f"'{text}': an IPv6 address stands in brackets, {scheme}://[{host}]:{port}")
    host = _host(host)
    return Address(scheme, host, port, "", (), f"{scheme}://{host}:{port}")


def _host(host: str) -> str:
    labels = host.removesuffix(".").split(".")
    if len(host) > HOST_LENGTH_MAX or not all(_HOST_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"'{host}' is not a host name or IP address")
    if all(label.isdigit() for label in labels):
        plain = all(str(int(label)) == label and int(label) <= 255 for label in labels)
        if len(labels) != 4 or not plain:
            raise ValueError(f"'{host}' is not an IPv4 address: four numbers 0 to 255")
    return ".".join(labels).lower()


def _ipv6(host: str) -> str:
    import ipaddress

    address, percent, zone = host.partition("%")
    try:
        return f"{ipaddress.IPv6Address(address)}{percent}{zone}"
    except ValueError:
        raise ValueError(f"'{host}' is not an IPv6 address") from None


def _behind_a_program(text: str, name: str) -> Address:
    """NAME is written as a device's name in the inventory is, so that no program takes it for an option."""
    if not _PROGRAMS_NAME.fullmatch(name):
        raise ValueError(
            f"'{text}' must be exec:NAME, such as exec:pump-7: what the program calls the device, with none of "
            "*?[]:,= in it, and no @, / or - in front"
        )
    return Address("exec", name, 0, "", (), f"exec:{name}")


def _serial(text: str, rest: str) -> Address:
    path, _, query = rest.partition("?")
    if path.startswith("//") or not path:
        raise ValueError(f"'{text}' must be serial:PATH, such as serial:/dev/ttyUSB0?baud=9600")
    options: dict[str, str] = {}
    for part in query.split("&") if query else ():
        name, _, value = part.partition("=")
        if name not in _SERIAL_OPTIONS:
            raise ValueError(f"unknown option '{name}' in '{text}': {', '.join(_SERIAL_OPTIONS)}")
        says, pattern = _SERIAL_OPTIONS[name]
        value = value.upper()
        if name in options or not pattern.fullmatch(value):
            raise ValueError(f"'{name}' in '{text}' must be {says}, once")
        options[name] = value
    pairs = tuple(sorted(options.items()))
    tail = "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""
    return Address("serial", "", 0, path, pairs, f"serial:{path}{tail}")
