"""Which link does a URL name?

`tcp://HOST:PORT`, `serial:PATH[?baud=9600&parity=E&stop=1]`, `rfc2217://HOST:PORT` (CLI.md, section 1).
Rules: one link has one normalised text, since device keys are made of it; an error says what to type instead.
No name is looked up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PORT_MAX = 65_535
HOST_LENGTH_MAX = 253

_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_FORMS = "tcp://HOST:PORT, serial:PATH or rfc2217://HOST:PORT"
_SERIAL_OPTIONS: Mapping[str, tuple[str, re.Pattern[str]]] = MappingProxyType(
    {
        "baud": ("a whole number such as 9600", re.compile(r"[1-9][0-9]{0,7}")),
        "bits": ("5, 6, 7 or 8", re.compile(r"[5-8]")),
        "parity": ("N, E, O, M or S", re.compile(r"[NEOMS]")),
        "stop": ("1, 1.5 or 2", re.compile(r"1|1\.5|2")),
    }
)


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL.

    Attributes:
        scheme: tcp, serial or rfc2217.
        host: lower case, IPv6 without brackets; empty for serial.
        port: 1 to 65535; 0 for serial.
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
        raise ValueError(f"'{text}' must be {scheme}://HOST:PORT and nothing more")
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
