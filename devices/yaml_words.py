"""What does a complaint of the YAML parser mean to whoever wrote the file?

The parser speaks of its tokens and states. Here each complaint that people meet has its sentence: what is wrong at that
place, and what to do about it. What is not in the table is told as the parser has it.
"""

import re
from dataclasses import dataclass

from ruamel.yaml.error import MarkedYAMLError

_NEEDS_QUOTES = "A text with a colon, comma or bracket in it needs quotes, and each bracket its partner"
_STAR = "Put a word that begins with * or & in quotes"


@dataclass(frozen=True, slots=True)
class _Saying:
    """One complaint: a pattern of the parser's words, ours instead (`{0}`: what the pattern has caught), and the cure.

    `ours` None: the parser's words will do. `from_the_start`: it is about where the thing begins, not where it ends.
    """

    theirs: str
    ours: str | None
    cure: str | None
    from_the_start: bool = False


_SAYINGS = (
    _Saying(
        r"expected <block end>, but found '(?:<block (?:mapping|sequence) start>|\?|-)'",
        "the indentation of this line fits no list or table above",
        "The entries of a list begin in one column, and so do the keys of a table",
    ),
    _Saying(
        r"expected <block end>, but found '<scalar>'",
        "something stands behind a text that has ended",
        "Put quotes around the whole; a quote inside needs the other kind around it",
    ),
    _Saying(
        r"expected <block end>, but found '([^<].*)'",
        "'{0}' does not belong here",
        _NEEDS_QUOTES,
    ),
    _Saying(
        r"mapping values are not allowed here",
        "a second key, or a colon inside a text",
        "A key stands in the column of the keys beside it, with a blank behind each colon; a text with ': ' in it"
        " needs quotes",
    ),
    _Saying(
        r"could not find expected ':'",
        "here, or just before, a key has no colon",
        "Each key is followed by a colon and a blank",
    ),
    _Saying(r"expected ',' or '[\]}]'", None, _NEEDS_QUOTES),
    _Saying(
        r"found unexpected end of stream",
        "the quote that begins here does not end",
        "Look for its partner",
        from_the_start=True,
    ),
    _Saying(
        r"found unknown escape character",
        None,
        "Between double quotes a backslash is special: take single quotes",
    ),
    _Saying(r"found another document", None, "A file holds one document: leave out the line of dashes"),
    _Saying(r"undefined alias", None, _STAR),
    _Saying(r"expected alphabetic or numeric character", None, _STAR),
    _Saying(r"expected chomping or indentation", None, "Put a text that begins with | or > in quotes"),
    _Saying(r"\\t", None, "Indent with blanks, not tabs"),
    _Saying(r"cannot start any token", None, "Put the word in quotes"),
)


def in_words(error: MarkedYAMLError) -> tuple[int | None, int | None, str, str | None]:
    """Return (line, column, message, hint) of a complaint; places count from 1, None where the parser has none."""
    theirs = str(error.problem or error.context or "unreadable").splitlines()[0].removeprefix("but ")
    found = ((saying, re.search(saying.theirs, theirs)) for saying in _SAYINGS)
    saying, match = next(((each, match) for each, match in found if match), (None, None))
    start = saying is not None and saying.from_the_start
    mark = (error.context_mark if start else None) or error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    if saying is None or match is None:
        return line, column, theirs, None
    return line, column, theirs if saying.ours is None else saying.ours.format(*match.groups()), saying.cure
