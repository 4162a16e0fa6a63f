"""Text from outside on one printable line."""

import re
from ast import literal_eval

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.text import BYTES_MAX, TEXT_MAX, bytes_text, escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("OK 15", "OK 15"),
        ("Grüße, 温度 [red]x[/red] C:\\new", "Grüße, 温度 [red]x[/red] C:\\new"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\r\nb\tc\0", r"a\r\nb\tc\x00"),
        ("\u202eevil\u2028", r"\u202eevil\u2028"),
        ("\ud800", r"\ud800"),
        ("x" * 500, "x" * 500),
        ("x" * 501, "x" * 497 + "..."),
        ("\x1b" * 126, r"\x1b" * 124 + r"\..."),
    ],
)
def test_escape(text: str, shown: str) -> None:
    """What prints stays, what does not is written as its escape, what is too long is cut visibly."""
    assert escape(text) == shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"ADJUST offset +5", "ADJUST offset +5"),
        (b"GET x\r\n", r"GET x\r\n"),
        (b"\x05\x01\x83 15 \xff\x00", r"\x05\x01\x83 15 \xff\x00"),
        ("21 °C".encode(), "21 °C"),
        (rb"GET x\r\n", r"GET x\\r\\n"),
        ("\u202e\x9b".encode() + b"\x9b", r"\xe2\x80\xae\xc2\x9b\x9b"),
    ],
)
def test_bytes_text(data: bytes, shown: str) -> None:
    """Bytes read as text where they are text, and as escapes where they are not."""
    assert bytes_text(data) == shown


def test_longest_frame_fits() -> None:
    """The longest frame of LSQ1 is shown whole, whatever its bytes."""
    assert bytes_text(b"\xff" * 519) == r"\xff" * 519


@settings(derandomize=True)
@given(st.text(max_size=600))
def test_escape_always(text: str) -> None:
    """Every text becomes one bounded printable line, and escaping it again changes nothing."""
    shown = escape(text)
    assert shown.isprintable()
    assert len(shown) <= TEXT_MAX
    assert escape(shown) == shown


@settings(derandomize=True)
@given(st.binary(max_size=700))
def test_bytes_text_always(data: bytes) -> None:
    """Any bytes become one bounded printable line."""
    shown = bytes_text(data)
    assert shown.isprintable()
    assert len(shown) <= BYTES_MAX


@settings(derandomize=True)
@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_bytes_text_tells_bytes_apart(data: bytes) -> None:
    """What a person reads leads back to the bytes: text of a backslash and a letter is no line end."""
    shown = bytes_text(data).encode()
    assert (
        re.sub(rb"\\(?:[\\nrt]|x[0-9a-f]{2})", lambda found: literal_eval(f"b'{found[0].decode()}'"), shown)
        == data
    )
