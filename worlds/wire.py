"""What was asked and answered over the links of a world? Read off the bytes of its story, process by process."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from sys import maxsize

from protocol.line_text import ENDS, shown, text_of
from protocol.native.codes import WAITING, Status
from protocol.native.frame import FrameError, decode
from protocol.native.messages import CommandReply, NopReply
from protocol.native.payload import parse_reply
from worlds.history import Line
from worlds.records import Copy
from worlds.tongues import Modbus, Tongue

_UNIT = 1
"""Of every device in a world; others are heard on a shared line, too."""
_ZERO = re.compile(b"\0")
_OK = re.compile(r"OK(?: (?P<value>.*))?$")
"""How plain text says yes; there may be noise in front of it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A process asked a device for a setting; `line` is its place in the story."""

    line: int
    at_s: float
    process: str


@dataclass(frozen=True, slots=True)
class Ack:
    """A device said that a command was executed; `value` is None where it told none."""

    duplicate: bool
    value: str | None


@dataclass(frozen=True, slots=True)
class _Block:
    """What a device said in one piece; `line` of the story ended it.

    `views` are what it may be, the whole first: its head may be left from another connection.
    """

    line: int
    views: list[bytes]


class Wire:
    """All bytes of a story, in its order."""

    def __init__(self, lines: Sequence[Line], tongues: Mapping[str, Tongue]) -> None:
        """The wire of a story; `tongues` by the names of the devices."""
        self._tongues = tongues
        self._written = defaultdict[tuple[str, str], list[int]](list)
        self._heard = defaultdict[tuple[str, str], list[tuple[int, bytes]]](list)
        self._questions = defaultdict[tuple[str, str], list[Question]](list)
        self._blocks: dict[tuple[str, str], list[_Block]] = {}
        for number, line in enumerate(lines):
            if not isinstance(line.detail, bytes):
                continue
            way, _, device = line.what.partition(" ")
            if way == "from":
                self._heard[line.who, device].append((number, line.detail))
                continue
            self._written[line.who, device].append(number)
            setting = tongues[device].setting(line.detail)
            if setting is not None:
                self._questions[device, setting].append(Question(number, line.at_s, line.who))

    def questions(self, device: str, setting: str) -> Sequence[Question]:
        """Every time that somebody asked for a setting."""
        return self._questions[device, setting]

    def acks(self, copy: Copy, until: int) -> list[Ack]:
        """What said, to the process of a copy and before a line of the story, that it was executed.

        With numbers that is every final reply under its number, of whatever attempt: two may come at once, and which
        of them ended the wait cannot be seen here. Without numbers it is every line that says yes, or the bytes that
        are the ack of that very request.
        """
        tongue = self._tongues[copy.device]
        if isinstance(tongue, Modbus):
            confirmed = copy.whole and tongue.confirms(copy.data, self._bytes_between(copy, until))
            return [Ack(duplicate=False, value=None)] if confirmed else []
        blocks = self._heard_between(copy.process, copy, until)
        if copy.session is None:
            views = (text_of(view) for block in blocks for view in block.views)
            values = (yes["value"] for yes in map(_OK.search, views) if yes)
            return [Ack(duplicate=False, value=shown(value) if value else None) for value in values]
        replies = (reply for reply in _replies(blocks, copy) if isinstance(reply, CommandReply))
        return [
            Ack(reply.replayed or reply.uncached is not None, reply.text or None)
            for reply in replies
            if reply.status not in WAITING and Status.OK in (reply.status, reply.uncached)
        ]

    def turned_back(self, copy: Copy) -> bool:
        """Whether its process was told, before it wrote anything else there, that a copy never reached the device."""
        tongue = self._tongues[copy.device]
        if not isinstance(tongue, Modbus) or not copy.whole:
            return False
        written = self._written[copy.process, copy.device]
        until = next(iter(written[bisect(written, copy.line) :]), maxsize)
        return tongue.turns_back(copy.data, self._bytes_between(copy, until))

    def texts(self, processes: Iterable[str], copy: Copy, until: int) -> set[str]:
        """The texts that some processes were told about the number of a copy in that time, also in answers to NOPs."""
        if copy.session is None:
            return set()
        blocks = [block for each in processes for block in self._heard_between(each, copy, until)]
        replies = list(_replies(blocks, copy))
        spent = {reply.spent.text for reply in replies if reply.spent is not None}
        return spent | {reply.text for reply in replies if isinstance(reply, CommandReply)}

    def _bytes_between(self, copy: Copy, until: int) -> bytes:
        heard = self._heard[copy.process, copy.device]
        return b"".join(data for line, data in heard if copy.line < line < until)

    def _heard_between(self, process: str, copy: Copy, until: int) -> list[_Block]:
        way = process, copy.device
        if way not in self._blocks:
            self._blocks[way] = list(_blocks(self._heard[way], ENDS if copy.session is None else _ZERO))
        return [block for block in self._blocks[way] if copy.line < block.line < until]


def _blocks(heard: Iterable[tuple[int, bytes]], end: re.Pattern[bytes]) -> Iterator[_Block]:
    parts: list[bytes] = []
    for line, piece in heard:
        *ended, rest = end.split(piece)
        for block in ended:
            parts.append(block)
            yield _Block(line, [b"".join(parts[first:]) for first in range(len(parts))])
            parts = []
        parts.append(rest)


def _replies(blocks: Iterable[_Block], copy: Copy) -> Iterator[CommandReply | NopReply]:
    """The replies that carry the number of a copy."""
    for block in blocks:
        for view in filter(None, block.views):
            with suppress(FrameError):
                frame = decode(view)
                if frame.reply and (frame.unit, frame.session, frame.seq) == (_UNIT, copy.session, copy.seq):
                    reply = parse_reply(frame)
                    if isinstance(reply, CommandReply | NopReply):
                        yield reply
                break
