"""What does an answer to "who are you" say? Pure."""

import re

from agent.registry import WrongDevice
from logs.text import escape

_SERIAL = "{serial}"


def serial_in(expect: str, answer: str, serial: str | None, url: str) -> str | None:
    """The serial number in an answer; None where the profile's `expect` names none.

    Args:
        expect: the answer of the right device, with `{serial}` where its number stands.
        answer: what the device said.
        serial: the number that the inventory asks for, None where it names none.
        url: where the device was met, for the message.

    Raises:
        WrongDevice: the answer is another one.
    """
    front, named, back = expect.partition(_SERIAL)
    pattern = re.escape(front) + ("(.+)" if named else "") + re.escape(back)
    match = re.fullmatch(pattern, answer.strip())
    if match is None:
        wanted = expect.replace(_SERIAL, serial or "…")
        raise WrongDevice(f"'{escape(answer)}' answers at {url}, '{wanted}' is expected")
    return match[1].strip() if named else None
