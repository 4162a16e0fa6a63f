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
* Noise never decides. In front of a line it comes off, but only where no single character in its place would make
  another answer of the line: a mangled NOK is no OK, a mangled 150 is not 50. Nor is a value believed that noise
  touches, unless it would be the same with any character there. Noise that reads as a character cannot be told.
"""

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Literal

from protocol.line_text import ENDS, NOISE, NOISE_IN_FRONT, is_noise, shown, telnet_in, text_of

LINE_MAX: Final = 4096
"""Bytes of the longest line that is looked at."""
_TOLD_MAX: Final = 80
"""Bytes of a longer line that are told."""
_PROMPT_MAX: Final = 64
"""Characters of the longest prompt, and prompts that may stand in front of one line."""
_NOISY_MAX: Final = 128
"""Characters of the longest line with noise that is believed: it is searched once for each character in its place."""
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
    """What is known of the outstanding request's echo: not to come (any more), still to come, or came back damaged."""

    NONE = auto()
    DUE = auto()
    WRONG = auto()


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line says if it is the answer; two say the same whatever their reasons and the places that matched.

    `begins`, `ends`: where the match and its value do.
    """

    refused: bool
    value: str | None
    reason: str | None = field(compare=False)
    begins: frozenset[int] = field(compare=False)
    ends: frozenset[int] = field(compare=False)


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
        self._asked: str | None = None
        self._reply: re.Pattern[str] | None = None
        self._refusable = True
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
        if ENDS.search(line) or self._eol in line:
            raise ValueError("a line end would be a second request")
        self._asked, self._refusable = text_of(line), refusable
        self._reply = re.compile(reply) if reply is not None else None
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
        *lines, rest = ENDS.split(self._buffer + data)
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
        telnet = None if self._telnet_told else telnet_in(raw[:LINE_MAX])
        if telnet is not None:
            self._telnet_told = True
            events.append(Ignored("telnet", "option negotiation of a terminal server", telnet))
        if len(raw) > LINE_MAX:
            self._too_long = True
            events.append(Ignored("junk", f"a line of more than {LINE_MAX} bytes", raw[:_TOLD_MAX]))
        return events

    # --- what is the line's own ---------------------------------------------------------------------------------------

    def _line(self, raw: bytes) -> list[Event]:
        # An answer began after its request, though there may have been noise and prompts before.
        since = raw[self._begun :]
        whole = since if self._is_nothing(raw[: self._begun]) else raw
        text = self._without_noise(self._without_prompts(text_of(whole)))
        fresh = text_of(since).endswith(text)
        meant = self._meaning(text, raw, fresh=fresh) if text else None
        return [] if meant is None else [meant]

    def _is_nothing(self, head: bytes) -> bool:
        """Tell whether the beginning of a line is noise and prompts, so that the line is what follows."""
        return not self._without_prompts(NOISE.sub("", text_of(head)).strip())

    def _without_prompts(self, text: str) -> str:
        """The line behind its prompts; with one that makes it ours, or anything but a yes, it stays as it is."""
        views = [text]
        while len(views) <= _PROMPT_MAX and (end := self._prompt_end(views[-1])):
            views.append(views[-1][end:].lstrip(" \t"))
        if self._asked in views:
            return self._asked
        return next((view for view in views if self._is_no_yes(view)), views[-1])

    def _prompt_end(self, text: str) -> int:
        ends = range(min(len(text), _PROMPT_MAX), 0, -1)
        return next((end for end in ends if self._prompt.fullmatch(text[:end])), 0)

    def _without_noise(self, text: str) -> str:
        noise = NOISE_IN_FRONT.match(text)
        if noise is None or len(text) > _NOISY_MAX or text == self._asked or self._is_no_yes(text):
            return text
        clean = self._without_prompts(text[noise.end() :])
        known = clean == self._asked or self._is_no_yes(clean) or self._is_like_an_answer(clean)
        return clean if clean and known and self._is_sure("", clean, self._said(clean)) else text

    def _is_no_yes(self, text: str) -> bool:
        """Tell whether a line says anything else: a refusal, a sign of life, something of its own accord."""
        return any(p.search(text) for p in (self._nak, self._busy, self._boot, *self._notices))

    def _is_like_an_answer(self, text: str) -> bool:
        return any(p is not None and p.search(text) for p in (self._ack, self._nak, self._reply))

    def _is_named(self, text: str) -> bool:
        """Tell whether control characters alone are an answer, as ACK and NAK are, and not because anything is."""
        return self._said(text) is not None and not any(map(self._said, _PRINTABLE))

    # --- what it means ------------------------------------------------------------------------------------------------

    def _meaning(self, text: str, raw: bytes, *, fresh: bool) -> Event | None:
        line = shown(text)
        if text == self._asked:
            if self._echo is not _Echo.DUE or not fresh:
                return Ignored("echo", line, raw)
            self._echo = _Echo.NONE
            return None
        if any(notice.search(text) for notice in self._notices):
            return Notice(line)
        if self._boot.search(text) or self._boot.search(NOISE.split(text)[-1]):
            return Started(line)  # a reset may cut off what was being said, and leave noise in between
        if is_noise(text) and not self._is_named(text):
            return Ignored("junk", line, raw)
        if fresh and self._echo in (_Echo.DUE, _Echo.WRONG):
            self._echo = _Echo.WRONG
            return Ignored("collision", line, raw)
        if self._busy.search(text):
            return Waiting(line)
        why: Literal["answer", "junk"] = "answer" if self._is_like_an_answer(text) else "junk"
        return (self._answer(text) if fresh else None) or Ignored(why, line, raw)

    def _answer(self, text: str) -> Answered | None:
        """The answer to the outstanding request, if the line is it."""
        said = self._said(text) if self._outstanding else None
        if said is None or (said.refused and not self._refusable) or self._may_be_mangled(text, said):
            return None
        self._outstanding = False
        value = (said.reason or text) if said.refused else said.value
        return Answered(said.refused, None if value is None else shown(value), shown(text))

    def _said(self, text: str) -> _Said | None:
        """What a line says as the answer to what was asked last, None where it is none."""
        nak = self._nak.search(text)
        found = nak or (self._reply or self._ack).search(text)
        if found is None:
            return None
        groups = found.groupdict()
        value = groups.get("value") if nak is None else None
        spans = [found.span(), *([found.span("value")] if value is not None else [])]
        begins, ends = map(frozenset, zip(*spans, strict=True))
        return _Said(nak is not None, value, groups.get("reason"), begins, ends)

    def _may_be_mangled(self, text: str, said: _Said) -> bool:
        """Whether noise that touches what was said may have been a character that belongs to it."""
        runs = [run for run in NOISE.finditer(text) if run.end() in said.begins or run.start() in said.ends]
        sure = all(self._is_sure(text[: run.start()], text[run.end() :], said) for run in runs)
        return bool(runs) and (len(text) > _NOISY_MAX or not sure)

    def _is_sure(self, before: str, behind: str, said: _Said | None) -> bool:
        """Whether any character in between would leave what is said as it is, or make no answer of the line."""
        return said is None or all(self._said(before + char + behind) in (None, said) for char in _PRINTABLE)
