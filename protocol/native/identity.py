"""Who is the device, and does everything it may have to say fit its frames?

The sizes of WIRE.md section 2 that depend on `max_body`.
"""

from dataclasses import dataclass
from typing import Final

from protocol.native.codes import HEADER_SIZE, MAX_BODY_LIMIT, MAX_BODY_MIN, PSTR_MAX

HELLO_FIXED: Final = 38
"""Bytes of a HELLO reply's body beside the three names, the record included."""

STORED_TEXT_OFFSET: Final = HEADER_SIZE + 6
"""Bytes before a stored text in the body that has most of them (QUERY's DONE)."""

TEXT_OFFSET: Final = HEADER_SIZE + 1
"""Bytes before the text in the reply to a CMD or READ."""

REPLY_MAX_LIMIT: Final = 255


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the device says it is."""

    serial: str
    model: str
    firmware: str


def check_sizes(identity: Identity, max_body: int, reply_max: int) -> None:
    """Every reply fits `max_body`, and every length its one-byte field; ValueError otherwise."""
    if not MAX_BODY_MIN <= max_body <= MAX_BODY_LIMIT:
        raise ValueError(f"max_body {max_body} is not within {MAX_BODY_MIN} to {MAX_BODY_LIMIT}")
    names = [len(name.encode()) for name in (identity.serial, identity.model, identity.firmware)]
    if max(names) > PSTR_MAX or HELLO_FIXED + sum(names) > max_body:
        raise ValueError(f"the names do not fit a HELLO reply of {max_body} bytes")
    if not 0 <= reply_max <= min(REPLY_MAX_LIMIT, max_body - STORED_TEXT_OFFSET):
        raise ValueError(f"reply_max {reply_max} does not fit max_body {max_body}")
