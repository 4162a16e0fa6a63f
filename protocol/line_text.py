"""Which characters do the bytes of a line stand for, and which of them are nobody's?

* Bytes that are not UTF-8 are no characters, so that no pattern finds a letter or digit in them.
* Noise is control characters and such bytes: it is what switching the direction of a half-duplex line leaves behind,
  and what a character damaged on the way, or read with the wrong parity, looks like. A tab is text.
* Telnet is taken out only in front of a line. Inside of one the same bytes are noise: taking them out would make one
  number of two.
"""

import re
from typing import Final

ENDS: Final = re.compile(rb"[\r\n]")
"""What ends a line; between CR and LF stands a blank one."""
NOISE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\udc80-\udcff]+")
NOISE_IN_FRONT: Final = re.compile(rf"(?:[ \t]*{NOISE.pattern})+")
"""It ends with noise: what has a blank behind it may be a word in another encoding."""
_NOTHING: Final = re.compile(rf"(?:{NOISE.pattern}|[ \t])+")
_TELNET: Final = re.compile(rb"\xff(?:[\xfb-\xfe][\x00-*,]|\xfa[^\xff]{0,64}\xff\xf0|[\xf1-\xf9])")
"""Negotiations, parameters, commands. Options are 0 to 42 and 44, as in use: no sign or digit of a number."""
_FRONT: Final = re.compile(rb"(?:%b|[^!-~])*" % _TELNET.pattern)


def telnet_in(raw: bytes) -> bytes | None:
    """The first telnet sequence in front of a line, None where there is none."""
    found = _TELNET.search(_front(raw))
    return found[0] if found is not None else None


def text_of(raw: bytes) -> str:
    """A line without its end as patterns see it; a byte that is no text stands as one lone surrogate.

    Blanks around it are not its own, nor are the NULs behind it with which some firmware ends its texts.
    """
    front = _front(raw)
    line = _TELNET.sub(b"", front) + raw[len(front) :]
    return line.decode(errors="surrogateescape").lstrip(" \t").rstrip(" \t\0")


def is_noise(text: str) -> bool:
    """Tell whether nothing of a line can be read."""
    return _NOTHING.fullmatch(text) is not None


def shown(text: str) -> str:
    r"""Text as it may be kept and told: bytes that are no text stand as `\xff`."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _front(raw: bytes) -> bytes:
    """What stands before the first printable character of a line."""
    front = _FRONT.match(raw)
    return front[0] if front is not None else b""
