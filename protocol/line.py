"""Which line of a text device answers the request that is outstanding, and what are all the others?

The agent's side of plain text equipment (CATALOG.md section 4, dialect `line`), without waiting or deciding: bytes to
write come out of `ask`, events out of `receive`. Rules:

* A line ends with CR, LF or CRLF, whatever the profile ends requests with. Nothing is read by size; a line longer than
  LINE_MAX is thrown away whole. Blank lines and prompts are nothing.
* One request is outstanding at most. There are no numbers, so a line answers it if it looks like an answer; that is why
  nothing else may be owed on the stream when a request is made. A read with a pattern of its own is answered by that
  pattern or by a refusal, never by an ack.
* Our own line coming back is an echo, never an answer. Where the equipment echoes (`echo`), only what follows the right
  echo counts: a request that came back damaged may have been another command to the device.
* Notices, starts and busy lines never end the wait. What answers nothing is `Ignored` with the reason.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

LINE_MAX: Final = 4096
"""Bytes of the longest line that is looked at."""
_PROMPT_MAX: Final = 64
_ENDS: Final = re.compile(rb"[\r\n]")
_TELNET: Final = re.compile(rb"\xff(?:[\xfb-\xfe].|[\xf0-\xfa])", re.DOTALL)
_NOISE: Final = "".join(map(chr, (*range(0x20), 0x20, 0x7F)))
_NOT_ASCII: Final = re.compile(r"(?:\\x[0-9a-f]{2}|[^\x21-\x7e])+")


@dataclass(frozen=True, slots=True)
class Grammar:
    """How lines are told apart: regular expressions searched in one line without its end; `eol` ends our requests."""

    ack: str
    nak: str | None = None
    busy: str | None = None
    notice: tuple[str, ...] = ()
    boot: str | None = None
    prompt: str | None = None
    echo: bool = False
    eol: str = "\n"


@dataclass(frozen=True, slots=True)
class Answered:
    """The outstanding request has its answer: `value` of an ack or reading (None without one), or a refusal."""

    refused: bool
    value: str | None
    line: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The device says that it is busy."""

    line: str


@dataclass(frozen=True, slots=True)
class Notice:
    """The device tells something that nobody asked for."""

    line: str


@dataclass(frozen=True, slots=True)
class Started:
    """The device announces that it has started."""

    line: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Input that answers nothing asked now.

    `why`: `answer` looks like one and was not asked for, `echo` is our own line where none is expected, `collision` is
    what came back instead of the expected echo, `telnet` is option negotiation of a terminal server, `junk` all else.
    """

    why: Literal["answer", "echo", "collision", "telnet", "junk"]
    line: str
    data: bytes


Event = Answered | Waiting | Notice | Started | Ignored


class _Echo(Enum):
    """What is known of the outstanding request's echo."""

    NONE = auto()
    DUE = auto()
    RIGHT = auto()
    WRONG = auto()


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked: its text, the pattern that alone answers it, and whether a refusal may be somebody else's."""

    text: str
    reply: re.Pattern[str] | None
    refusable: bool


class LineRequester:
    """The agent's side of one stream of lines; a new connection gets a new one."""

    def __init__(self, grammar: Grammar) -> None:
        self._eol = grammar.eol.encode()
        self._echoes = grammar.echo
        self._ack = re.compile(grammar.ack)
        self._nak, self._busy, self._boot, self._prompt = (
            re.compile(pattern) if pattern is not None else None
            for pattern in (grammar.nak, grammar.busy, grammar.boot, grammar.prompt)
        )
        self._notices = tuple(re.compile(pattern) for pattern in grammar.notice)
        self._buffer = bytearray()
        self._too_long = False
        self._request: _Request | None = None
        self._asked: str | None = None
        self._echo = _Echo.NONE

    def ask(self, text: str, reply: str | None = None, *, refusable: bool = True) -> bytes:
        """The bytes of a request, which is outstanding from now on.

        Args:
            text: one line without its end.
            reply: the pattern that alone answers it; without one an ack does.
            refusable: False where a refusal could be the answer to an earlier request, and so answers nothing.

        Raises:
            ValueError: the text holds a line end, which would be a second request.
        """
        if _ENDS.search(text.encode()):
            raise ValueError("a line end would be a second request")
        self._request = _Request(text, re.compile(reply) if reply is not None else None, refusable)
        self._asked, self._echo = text.strip(), _Echo.DUE if self._echoes else _Echo.NONE
        return text.encode() + self._eol

    def abandon(self) -> None:
        """Nothing is outstanding any more."""
        self._request = None
        self._echo = _Echo.NONE

    def receive(self, data: bytes) -> list[Event]:
        """What came in, in any pieces, as events."""
        self._buffer += data
        events: list[Event] = []
        start = 0
        for end in _ENDS.finditer(self._buffer):
            raw = bytes(self._buffer[start : end.start()])
            start = end.end()
            if self._too_long or len(raw) > LINE_MAX:
                self._too_long = False
                events.append(Ignored("junk", f"a line of more than {LINE_MAX} bytes", raw[:80]))
            else:
                events += self._line(raw)
        del self._buffer[:start]
        if len(self._buffer) > LINE_MAX:
            self._too_long = True
            self._buffer.clear()
        if self._prompt is not None and self._prompt.fullmatch(_text(bytes(self._buffer))):
            self._buffer.clear()  # a prompt has no end, the next line begins behind it
        return events

    def _line(self, raw: bytes) -> list[Event]:
        events: list[Event] = []
        if _TELNET.search(raw):
            events.append(Ignored("telnet", "option negotiation of a terminal server", raw))
            raw = _TELNET.sub(b"", raw)
        text = self._without_prompt(_text(raw))
        noise = _NOT_ASCII.match(text)
        if not self._is_known(text) and noise is not None and self._is_known(text[noise.end() :]):
            text = text[noise.end() :]  # switching the direction of a half-duplex line leaves noise in front
        meant = self._meaning(text, raw) if text else None
        return events if meant is None else [*events, meant]

    def _without_prompt(self, text: str) -> str:
        if self._prompt is None:
            return text
        for end in range(min(len(text), _PROMPT_MAX), 0, -1):
            if self._prompt.fullmatch(text[:end]):
                return text[end:].strip(_NOISE)
        return text

    def _is_known(self, text: str) -> bool:
        patterns = (self._ack, self._nak, self._busy, self._boot, *self._notices)
        reply = self._request.reply if self._request is not None else None
        return text == self._asked or any(p is not None and p.search(text) for p in (*patterns, reply))

    def _meaning(self, text: str, raw: bytes) -> Event | None:
        if text == self._asked:
            if self._echo is not _Echo.DUE:
                return Ignored("echo", text, raw)
            self._echo = _Echo.RIGHT
            return None
        if any(notice.search(text) for notice in self._notices):
            return Notice(text)
        if self._boot is not None and self._boot.search(text):
            return Started(text)
        if self._echo in (_Echo.DUE, _Echo.WRONG):
            self._echo = _Echo.WRONG
            return Ignored("collision", text, raw)
        if self._busy is not None and self._busy.search(text):
            return Waiting(text)
        return self._answer(text, raw)

    def _answer(self, text: str, raw: bytes) -> Event:
        request = self._request
        nak = self._nak.search(text) if self._nak is not None else None
        ack = self._ack.search(text)
        own = request.reply.search(text) if request is not None and request.reply is not None else None
        if request is None or (nak is not None and not request.refusable):
            return Ignored("answer" if nak or ack else "junk", text, raw)
        answer = nak or (own if request.reply is not None else ack)
        if answer is None:
            return Ignored("answer" if ack else "junk", text, raw)
        self._request = None
        if nak is not None:
            return Answered(True, nak.groupdict().get("reason") or text, text)
        return Answered(False, answer.groupdict().get("value"), text)


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace").strip(_NOISE)
