"""How does a secret reach the device, and nobody else?

A command names its secrets by reference, `env:NAME` or `file:PATH`; its text carries the reference in braces, and that
is what journal, log and screen have. Only what is written to the device carries the value. Rules:

* It is looked up anew for every copy. A copy must be the bytes of the first one: what was written is remembered in
  memory only, so another value, or another process, sends no further copy, and evidence decides.
* From the first look on, the value is masked in whatever the device says, as long as its station lives, in pieces too
  and whatever the case of its letters.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from devices.calls import marked

MASK = "***"
VALUE_MAX = 1024
"""Bytes of a secret."""


class NoSecret(Exception):  # noqa: N818 - it reads as what it is
    """A reference leads to nothing that can be sent; the sentence has the reference and never the value."""


def look_up(reference: str, environ: Mapping[str, str] = os.environ) -> str:
    """The value of `env:NAME` or `file:PATH`, of a file without the line end behind it. Raises NoSecret."""
    source, _, name = reference.partition(":")
    value = _in_file(reference, Path(name)) if source == "file" else environ.get(name)
    if value is None:
        raise NoSecret(f"{reference}: this environment variable is not set")
    if not value:
        raise NoSecret(f"{reference} is empty")
    if not value.isprintable():
        raise NoSecret(f"{reference} holds a line end or another character that a command cannot carry")
    if len(value.encode()) > VALUE_MAX:
        raise NoSecret(f"{reference} is longer than {VALUE_MAX} bytes")
    return value


def _in_file(reference: str, path: Path) -> str:
    try:
        path = path.expanduser()
        if not stat.S_ISREG(path.stat().st_mode):
            raise NoSecret(f"{reference} is not a file")  # a pipe could be read only once, or never
        with path.open("rb") as file:
            data = file.read(VALUE_MAX + len("\r\n") + 1)
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise NoSecret(f"{reference} is not text in UTF-8") from None
    except (OSError, RuntimeError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "no such file can be"
        raise NoSecret(f"{reference} cannot be read: {why}") from None


class Veil:
    """Hides the secrets of the commands that go to one device."""

    def __init__(self) -> None:
        self._references: tuple[str, ...] = ()
        self._values: dict[str, str] = {}
        self._written: str | None = None
        self._known: set[str] = set()
        self._encoded: set[bytes] = set()
        self._held = b""

    def begin(self, references: Sequence[str]) -> str | None:
        """A command with these references is taken in hand. Returns why it cannot be sent, None where it can."""
        self._references, self._values, self._written = tuple(references), {}, None
        return self._renew()

    def before_copy(self, text: str, *, first: bool) -> str | None:
        """Look the secrets up for a copy of a text. Returns why it may not be sent, None where it may.

        `first`: no copy of the command was written before, by whatever process.
        """
        problem = self._renew()
        if problem is not None or not self._references:
            return problem
        before, self._written = self._written, self.lift(text)
        if first or before == self._written:
            return None
        names = ", ".join(self._references)
        if before is None:
            return f"only the process that sent the first copy knew the value of {names} then"
        return f"the value of {names} has changed since the first copy"

    def _renew(self) -> str | None:
        try:
            self._values = {marked(each): look_up(each) for each in self._references}
        except NoSecret as problem:
            return str(problem)
        self._known |= set(self._values.values())
        return None

    def lift(self, text: str) -> str:
        """A text as the device is to get it. Raises KeyError where a secret was not found."""
        if not self._references:
            return text
        anyone = "|".join(re.escape(marked(each)) for each in self._references)
        return re.sub(anyone, lambda found: self._values[found[0]], text)

    def hide_bytes(self, encoded: bytes) -> None:
        """The bytes in which a command with secrets is written, where they are not its text, are one too."""
        if encoded:
            self._encoded.add(encoded.lower())

    def mask_bytes(self, data: bytes) -> bytes:
        """As `mask`, for bytes."""
        return b"".join(self._masked(data)) if self._known else data

    def mask(self, text: str) -> str:
        """A text with no secret in it that was looked up; also where the text shows it with Python's escapes."""
        if not self._known:
            return text
        shown = {form for value in self._known for form in (value, repr(value)[1:-1])}
        anyone = "|".join(re.escape(form) for form in sorted(shown, key=len, reverse=True))
        return re.sub(anyone, MASK, text, flags=re.IGNORECASE)

    def hides(self, text: str) -> bool:
        """Whether `mask` would change a text."""
        return self.mask(text) != text

    def watch(self, trace: Callable[[str, bytes], None]) -> Callable[[str, bytes], None]:
        """A trace of bytes as `Exchange` takes it, with the secrets masked, in pieces too.

        What may be the beginning of a secret is held back until more comes, and never told where nothing does.
        """

        def told(way: str, data: bytes) -> None:
            if way == ">":
                self._held = b""
            data, self._held = self._held + data, b""
            kept = max((_begun(data, each) for each in self._in_bytes()), default=0) if way == "<" else 0
            if kept:
                data, self._held = data[:-kept], data[-kept:]
            if data:
                trace(way, b"".join(self._masked(data)))

        return told

    def _in_bytes(self) -> list[bytes]:
        forms = {value.encode().lower() for value in self._known} | self._encoded
        return sorted(forms, key=len, reverse=True)

    def _masked(self, data: bytes) -> Iterator[bytes]:
        secrets, folded, at = self._in_bytes(), data.lower(), 0
        while at < len(data):
            length = next((n for each in secrets if (n := _length_at(folded, at, each))), 0)
            yield MASK.encode() if length else data[at : at + 1]
            at += length or 1


def _length_at(data: bytes, at: int, secret: bytes) -> int:
    """How many bytes of data are a secret there; a long LSQ1 frame may have one byte of its own in the midst of it."""
    if data.startswith(secret, at):
        return len(secret)
    piece = data[at : at + len(secret) + 1]
    same = next((n for n, (a, b) in enumerate(zip(piece, secret, strict=False)) if a != b), len(secret))
    return len(piece) if same and len(piece) > len(secret) and piece[same + 1 :] == secret[same:] else 0


def _begun(data: bytes, secret: bytes) -> int:
    """How many bytes at the end of data may be the beginning of a secret."""
    end = data[-len(secret) :].lower()
    return next((n for n in range(len(end), 0, -1) if n < len(secret) and secret.startswith(end[-n:])), 0)
