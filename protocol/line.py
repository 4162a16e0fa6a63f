"""Which line of a text device answers the request that is outstanding, and what are all the others?

The agent's side of plain text equipment (CATALOG.md section 4, dialect `line`), without waiting or deciding: bytes to
write come out of `ask`, events out of `receive`, the same ones however the bytes were cut. Rules:

* A line ends with CR, LF or CRLF, whatever the profile ends requests with. Nothing is read by size; a line longer than
  LINE_MAX is thrown away whole. Blank lines and prompts are nothing.
* One request is outstanding at most. There are no numbers, so a line answers it if it looks like an answer; that is why
  nothing else may be owed on the stream when a request is made. A line that had begun before the request answers
  nothing. A read with a pattern of its own is answered by that pattern or by a refusal, never by an ack.
* Our own line coming back is an echo, never an answer. Where the equipment echoes (`echo`), only what follows the right
  echo counts: a request that came back damaged may have been another command to the device.
* Notices, starts and busy lines never end the wait. What answers nothing is `Ignored` with the reason.
* Noise in front of a line is control characters and bytes that are no text: switching the direction of a half-duplex
  line leaves it there. It comes off only where no single character in its place would make an answer of the line too,
  since switching may as well damage the first one: a mangled NOK is no OK, a mangled 150 is not 50. Noise that reads as
  a character stays, and so does noise inside of a line or behind it.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

LINE_MAX: Final = 4096
"""Bytes of the longest line that is looked at."""
_TOLD_MAX: Final = 80
"""Bytes of a longer line that are told."""
_PROMPT_MAX: Final = 64
"""Characters of the longest prompt, and prompts that may stand in front of one line."""
_NOISY_MAX: Final = 128
"""Characters of the longest line that noise is taken off: it is searched once for each character in its place."""
_ENDS: Final = re.compile(rb"[\r\n]")
_TELNET: Final = re.compile(rb"\xff(?:[\xfb-\xfe][\x00-*,]|\xfa[^\xff]{0,64}\xff\xf0|[\xf1-\xf9])")
"""Telnet commands, negotiations, parameters. Options are 0 to 42 and 44, as in use: no sign or digit of a number."""
_FRONT: Final = re.compile(rb"\A(?:%b|[^!-~])*" % _TELNET.pattern)
"""What may stand before the first printable character of a line."""
_NOISE: Final = re.compile("[\x00-\x1f\x7f\udc80-\udcff]+")
_PRINTABLE: Final = tuple(map(chr, range(0x21, 0x7F)))
_NEVER: Final = r"(?!)"


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
    r"""The outstanding request has its answer: `value` of an ack or reading (None without one), or a refusal.

    The `value` of a refusal is the group `reason` of its pattern, else the whole line. In all texts of events, bytes
    that are not UTF-8 stand as `\xff`.
    """

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
    what came back instead of the expected echo, `telnet` is option negotiation of a terminal server (told once),
    `junk` all else. `data` is what came in, without the line end.
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
            re.compile(_NEVER if pattern is None else pattern)
            for pattern in (grammar.nak, grammar.busy, grammar.boot, grammar.prompt)
        )
        self._notices = tuple(re.compile(pattern) for pattern in grammar.notice)
        self._buffer = b""
        self._begun = 0  # bytes of the buffer that came in before the request
        self._too_long = False
        self._telnet_told = False
        self._asked: _Request | None = None
        self._outstanding = False
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
        line = text.encode()
        if _ENDS.search(line) or self._eol in line:
            raise ValueError("a line end would be a second request")
        self._asked = _Request(_text(line), re.compile(reply) if reply is not None else None, refusable)
        self._outstanding, self._echo = True, _Echo.DUE if self._echoes else _Echo.NONE
        self._begun = len(self._buffer)
        return line + self._eol

    def abandon(self) -> None:
        """Nothing is outstanding any more."""
        self._outstanding = False
        self._echo = _Echo.NONE

    # --- bytes to lines -----------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Event]:
        """What came in, in any pieces, as events."""
        *lines, rest = _ENDS.split(self._buffer + data)
        events: list[Event] = []
        for raw in lines:
            events += self._before_its_end(raw)
            if not self._too_long:
                events += self._line(raw)
            self._too_long, self._begun = False, 0
        events += self._before_its_end(rest)
        self._buffer = b"" if self._too_long else rest
        return events

    def _before_its_end(self, raw: bytes) -> list[Event]:
        """What is told of a line even if it never ends: a server that negotiates may be waiting for us."""
        if self._too_long:
            return []
        events: list[Event] = []
        telnet = _TELNET.search(_front(raw[:LINE_MAX]))
        if telnet is not None and not self._telnet_told:
            self._telnet_told = True
            events.append(Ignored("telnet", "option negotiation of a terminal server", telnet[0]))
        if len(raw) > LINE_MAX:
            self._too_long = True
            events.append(Ignored("junk", f"a line of more than {LINE_MAX} bytes", raw[:_TOLD_MAX]))
        return events

    # --- what is the line's own ---------------------------------------------------------------------------------------

    def _line(self, raw: bytes) -> list[Event]:
        front = _front(raw)
        text = self._without_noise(self._without_prompts(_text(_TELNET.sub(b"", front) + raw[len(front) :])))
        # Prompts and noise may have come in before the request, the answer's own first character may not.
        fresh = _text(raw[self._begun :]).endswith(text)
        meant = self._meaning(text, raw, fresh=fresh) if text else None
        return [] if meant is None else [meant]

    def _without_prompts(self, text: str) -> str:
        """The line behind its prompts; our own line and whatever does not say yes stay as soon as they are seen."""
        views = [text]
        while len(views) <= _PROMPT_MAX and (end := self._prompt_end(views[-1])):
            views.append(views[-1][end:].lstrip(" \t"))
        if any(self._is_ours(view) for view in views):
            return next(view for view in views if self._is_ours(view))
        patterns = (self._nak, self._busy, self._boot, *self._notices)
        return next((view for view in views if any(p.search(view) for p in patterns)), views[-1])

    def _prompt_end(self, text: str) -> int:
        ends = range(min(len(text), _PROMPT_MAX), 0, -1)
        return next((end for end in ends if self._prompt.fullmatch(text[:end])), 0)

    def _without_noise(self, text: str) -> str:
        noise = _NOISE.match(text)
        if noise is None or len(text) > _NOISY_MAX or self._is_known(text):
            return text
        clean = self._without_prompts(
            text[noise.end() :]
        )  # blanks stay: noise with one behind it may be a word
        sure = self._is_known(clean) and not any(self._is_like_an_answer(char + clean) for char in _PRINTABLE)
        return clean if sure else text

    def _is_ours(self, text: str) -> bool:
        return self._asked is not None and text == self._asked.text

    def _is_like_an_answer(self, text: str) -> bool:
        own = self._asked.reply if self._asked is not None else None
        return any(p is not None and p.search(text) for p in (self._ack, self._nak, own))

    def _is_known(self, text: str) -> bool:
        others = (self._busy, self._boot, *self._notices)
        return self._is_ours(text) or self._is_like_an_answer(text) or any(p.search(text) for p in others)

    # --- what it means ------------------------------------------------------------------------------------------------

    def _meaning(self, text: str, raw: bytes, *, fresh: bool) -> Event | None:
        shown = _shown(text)
        if self._is_ours(text):
            if self._echo is not _Echo.DUE or not fresh:
                return Ignored("echo", shown, raw)
            self._echo = _Echo.RIGHT
            return None
        if any(notice.search(text) for notice in self._notices):
            return Notice(shown)
        if self._boot.search(text) or self._boot.search(_NOISE.split(text)[-1]):
            return Started(shown)  # a reset may cut off what was being said, and leave noise in between
        if fresh and self._echo in (_Echo.DUE, _Echo.WRONG) and not _NOISE.fullmatch(text):
            self._echo = _Echo.WRONG
            return Ignored("collision", shown, raw)
        if self._busy.search(text):
            return Waiting(shown)
        why: Literal["answer", "junk"] = "answer" if self._is_like_an_answer(text) else "junk"
        return self._answer(text, fresh=fresh) or Ignored(why, shown, raw)

    def _answer(self, text: str, *, fresh: bool) -> Answered | None:
        """The answer to the outstanding request, if the line is it."""
        asked = self._asked
        if asked is None or not self._outstanding or not fresh:
            return None
        nak = self._nak.search(text)
        found = nak or (asked.reply or self._ack).search(text)
        if found is None or (nak is not None and not asked.refusable):
            return None
        self._outstanding = False
        if nak is not None:
            return Answered(True, _shown(nak.groupdict().get("reason") or text), _shown(text))
        value = found.groupdict().get("value")
        return Answered(False, None if value is None else _shown(value), _shown(text))


def _front(raw: bytes) -> bytes:
    front = _FRONT.match(raw)
    return front[0] if front is not None else b""


def _text(raw: bytes) -> str:
    """A line as patterns see it: what is not UTF-8 is no character, so that no pattern finds a digit in it.

    Blanks around it are not its own, nor are the NULs behind it with which some firmware ends its texts.
    """
    return raw.decode(errors="surrogateescape").lstrip(" \t").rstrip(" \t\0")


def _shown(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
