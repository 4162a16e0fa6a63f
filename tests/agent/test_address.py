"""URLs of links and durations: one normal form each, and a helpful sentence for what is none."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.address import Address, parse_url
from agent.duration import parse_duration

NO_NAME = (
    "'{}' must be exec:NAME, such as exec:pump-7: what the program calls the device, with none of *?[]:,= in it, and "
    "no @, / or - in front"
)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("tcp://10.3.0.12:7001", "tcp://10.3.0.12:7001"),
        (" TCP://Logger-2.Example:07001/ ", "tcp://logger-2.example:7001"),
        ("tcp://host.:1", "tcp://host:1"),
        ("tcp://[FE80:0::1]:65535", "tcp://[fe80::1]:65535"),
        ("rfc2217://gw_1:2217", "rfc2217://gw_1:2217"),
        ("serial:/dev/ttyUSB0", "serial:/dev/ttyUSB0"),
        ("serial:/dev/ttyUSB0?stop=1&baud=9600&parity=e", "serial:/dev/ttyUSB0?baud=9600&parity=E&stop=1"),
        ("serial:COM3?bits=7", "serial:COM3?bits=7"),
        ("exec:pump-7", "exec:pump-7"),
        (" EXEC:Rack-1/PSU.2 ", "exec:Rack-1/PSU.2"),
    ],
)
def test_one_link_has_one_url(text: str, url: str) -> None:
    """However it is written, a link has one normalised URL, which parses to itself."""
    address = parse_url(text)
    assert address.url == url
    assert parse_url(url) == address


def test_parts() -> None:
    """Scheme, host, port, path and options are apart."""
    assert parse_url("tcp://[::1]:7") == Address("tcp", "::1", 7, "", (), "tcp://[::1]:7")
    assert parse_url("exec:P1") == Address("exec", "P1", 0, "", (), "exec:P1")
    assert parse_url("serial:/dev/x?parity=N&baud=300") == Address(
        "serial", "", 0, "/dev/x", (("baud", "300"), ("parity", "N")), "serial:/dev/x?baud=300&parity=N"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.3.0.12:7001", "'10.3.0.12:7001' has no scheme; did you mean tcp://10.3.0.12:7001?"),
        ("/dev/ttyUSB0", "'/dev/ttyUSB0' has no scheme; did you mean serial:/dev/ttyUSB0?"),
        ("", "'' is not an address: tcp://HOST:PORT, serial:PATH, rfc2217://HOST:PORT or exec:NAME"),
        (
            "http://host:80",
            "'http://host:80' is not an address: tcp://HOST:PORT, serial:PATH, rfc2217://HOST:PORT or exec:NAME",
        ),
        (
            "tcp:host:80",
            "'tcp:host:80' is not an address: tcp://HOST:PORT, serial:PATH, rfc2217://HOST:PORT or exec:NAME",
        ),
        ("tcp://host", "'tcp://host' names no port: tcp://HOST:PORT"),
        ("tcp://[::1]", "'tcp://[::1]' names no port: tcp://HOST:PORT"),
        ("tcp://host:0", "port '0' must be 1 to 65535"),
        ("tcp://host:65536", "port '65536' must be 1 to 65535"),
        ("tcp://host:x", "port 'x' must be 1 to 65535"),
        ("tcp://:80", "'' is not a host name or IP address"),
        ("tcp://-a:80", "'-a' is not a host name or IP address"),
        ("tcp://a..b:80", "'a..b' is not a host name or IP address"),
        ("tcp://10.3.0.300:80", "'10.3.0.300' is not an IPv4 address: four numbers 0 to 255"),
        ("tcp://10.3.12:80", "'10.3.12' is not an IPv4 address: four numbers 0 to 255"),
        ("tcp://010.3.0.1:80", "'010.3.0.1' is not an IPv4 address: four numbers 0 to 255"),
        ("tcp://fe80::1:80", "'tcp://fe80::1:80': an IPv6 address stands in brackets, tcp://[fe80::1]:80"),
        ("tcp://[fe80::x]:80", "'fe80::x' is not an IPv6 address"),
        ("tcp://u@host:80", "'tcp://u@host:80' must be tcp://HOST:PORT and nothing more"),
        ("tcp://host:80/path", "'tcp://host:80/path' must be tcp://HOST:PORT and nothing more"),
        ("tcp://ho st:80", "blanks or control characters in 'tcp://ho st:80'"),
        ("serial:", "'serial:' must be serial:PATH, such as serial:/dev/ttyUSB0?baud=9600"),
        ("serial:///dev/x", "'serial:///dev/x' must be serial:PATH, such as serial:/dev/ttyUSB0?baud=9600"),
        (
            "serial:/dev/x?speed=1",
            "unknown option 'speed' in 'serial:/dev/x?speed=1': baud, bits, parity, stop",
        ),
        (
            "serial:/dev/x?baud=0",
            "'baud' in 'serial:/dev/x?baud=0' must be a whole number such as 9600, once",
        ),
        *(
            (text, NO_NAME.format(text))
            for text in ("exec:", "exec://pump", "exec:-f", "exec:@file", "exec:a=b", "exec:a:1", "exec:p*")
        ),
        ("exec:a b", "blanks or control characters in 'exec:a b'"),
        ("serial:/dev/x?stop=1&stop=2", "'stop' in 'serial:/dev/x?stop=1&stop=2' must be 1, 1.5 or 2, once"),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    """What is wrong with an address is said in one sentence that shows what to write."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_url(text)


@given(
    text=st.text(alphabet="tcpserial:/[]0123456789abf.?&=-%@ ", max_size=25)
    | st.from_regex(r"(tcp|serial|rfc2217|exec):.*")
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_any_text_is_an_address_or_a_value_error(text: str) -> None:
    """Nothing but ValueError is ever raised, and what parses is already normal after one pass."""
    try:
        address = parse_url(text)
    except ValueError:
        return
    assert parse_url(address.url) == address


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2s", 2.0),
        ("500ms", 0.5),
        (2, 2.0),
        (1.5, 1.5),
        ("1.5", 1.5),
        (" 2 s ", 2.0),
        ("3600", 3600.0),
        ("1ms", 0.001),
    ],
)
def test_durations(value: str | float, seconds: float) -> None:
    """Seconds are the unit where none is given."""
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    "value", ["", "0", "0ms", "-1", "1m", "2 m", "1h", "nan", "inf", "1e3", "3601", "1,5", True, "2ss", "s"]
)
def test_what_is_no_duration(value: str | float) -> None:
    """Nothing, negative, endless and other units are refused with an example."""
    with pytest.raises(ValueError, match=r"such as 2s, 500ms or 1\.5|must be more than 0 and at most 3600 s"):
        parse_duration(value)
