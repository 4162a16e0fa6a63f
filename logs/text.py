r"""How does text from outside stand in a line that people read?

Rule 1. One line stays one line: whatever does not print (control characters, line ends, direction
        overrides, lone surrogates) is written as its escape, `\x1b` or `\u202e`, and never interpreted.
Rule 2. What prints is left as it is, backslashes too, so escaping twice changes nothing.
Rule 3. Bytes can be told from each other: a backslash among them is written twice, since the four characters
        `\r\n`, sent where a line end was meant, must not look like the line end.
Rule 4. No text is longer than its limit; a cut one ends in three dots.
"""

TEXT_MAX = 500
"""Characters of one free text in a record: an answer of a device, a reason, a name."""

BYTES_MAX = 2_100
"""Characters of the bytes of one exchange: the longest frame (519 bytes) with every byte escaped fits."""

_CUT = "..."


def escape(text: str, limit: int = TEXT_MAX) -> str:
    """Return `text` on one printable line of at most `limit` characters (`limit` >= 3)."""
    if len(text) <= limit and text.isprintable():
        return text
    # Escapes only lengthen a text, so nothing behind the limit can come to stand before it.
    shown = "".join(c if c.isprintable() else _code(c) for c in text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - len(_CUT)] + _CUT


def bytes_text(data: bytes) -> str:
    r"""Return bytes as people read them: printable text as it is (UTF-8), a backslash twice, each other byte escaped.

    A request `GET x` with its line end and a stray byte 255 reads `GET x\n\xff`: one line, at most
    `BYTES_MAX` characters. Other bytes never read the same, as far as they are shown whole.
    """
    text = data.decode("utf-8", errors="surrogateescape")
    return escape("".join(c if c.isprintable() and c != "\\" else _codes(c) for c in text), BYTES_MAX)


def _codes(character: str) -> str:
    """Each byte of a character by itself: byte 155 and U+009B, which is two bytes, must not look alike."""
    return "".join(_code(chr(byte)) for byte in character.encode("utf-8", errors="surrogateescape"))


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
