"""What is the story of a world? One line per event, in fixed columns; and one hash over all of it."""

import hashlib
from collections.abc import Iterator, Sequence

from protocol.native.codes import Type
from protocol.native.frame import FrameError, decode
from simulator.modbus_frames import adu_of
from simulator.report import plain
from worlds.history import Line

WIDTHS = (9, 11, 12)
"""Of the columns time, who and what; the detail takes the rest."""


def story(lines: Sequence[Line]) -> Iterator[str]:
    """The lines as people read them."""
    time, who, what = WIDTHS
    for line in lines:
        yield f"{line.at_s:{time}.3f}  {line.who:{who}}  {line.what:{what}}  {_shown(line.detail)}".rstrip()


def trace_hash(lines: Sequence[Line]) -> str:
    """The same for the same story, bytes on the links included."""
    digest = hashlib.blake2b(digest_size=8)
    for line in lines:
        digest.update(f"{line.at_s:.6f}|{line.who}|{line.what}|{line.detail!r}\n".encode())
    return digest.hexdigest()


def _shown(detail: str | bytes) -> str:
    if isinstance(detail, str):
        return plain(detail)
    if adu_of("tcp", detail) is not None or adu_of("rtu", detail) is not None:
        return detail.hex(" ").upper()
    if not detail.endswith(b"\0"):
        return plain(detail.decode("latin-1").rstrip("\r\n"))
    return "; ".join(_frame(block) for block in detail.split(b"\0") if block)


def _frame(block: bytes) -> str:
    try:
        frame = decode(block)
    except FrameError as problem:
        return f"({problem})"
    way = "reply" if frame.reply else ""
    text = plain(frame.payload.decode("latin-1")) if frame.type in (Type.CMD, Type.READ) else ""
    replayed = " replayed" if frame.flags else ""
    return f"{frame.type.name} {way} {frame.session}/{frame.seq} a{frame.attempt}{replayed} {text}".replace(
        "  ", " "
    )
