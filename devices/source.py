"""How does a YAML file become plain data that remembers where it stood?

The one place that reads YAML (1.2 core schema, by ruamel.yaml). Rules: every failure is a `FileProblem` with
a place, never a traceback; keys are always text; a key given twice is an error, since the second would win
silently; numbers with a point become `Decimal`; NaN and infinity are refused; `on`, `22:00` and dates stay
text. Size, depth and the number of values are limited, so that aliases cannot blow a small file up.
"""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path as FilePath

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, MappingStartEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from devices.problems import FileProblem, FileProblems
from devices.yaml_words import in_words

BYTES_MAX = 4_000_000
VALUES_MAX = 200_000
DEPTH_MAX = 20
NUMBER_LENGTH_MAX = 64

Path = tuple[str | int, ...]
Place = tuple[int, int]

_STR = "tag:yaml.org,2002:str"
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value")
)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# ruamel's scanner and composer fail on hostile text with these instead of its own errors.
_PARSER_FAILURES = (
    ValueError,
    OverflowError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A file's data with its places.

    Attributes:
        path: as given.
        digest: hex SHA-256 of the bytes.
        data: dict, list, str, int, Decimal, bool and None.
        keys: the place (line, column; from 1) of each key, by the path to its value.
        values: the place of each value, by its path; `()` is the whole file.
        typed: what was typed for each plain value, by its path: `007` where the data has 7.
    """

    path: str
    digest: str
    data: object
    keys: Mapping[Path, Place] = field(default_factory=dict)
    values: Mapping[Path, Place] = field(default_factory=dict)
    typed: Mapping[Path, str] = field(default_factory=dict)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return where `path` stands, or its nearest enclosing part that does: the value, or its key."""
        for length in range(len(path), -1, -1):
            part = path[:length]
            where = (key and length == len(path) and self.keys.get(part)) or self.values.get(part)
            if where:
                return where
        return (1, 1)

    def problem(self, path: Path, message: str, hint: str | None = None, *, key: bool = False) -> FileProblem:
        """Return the problem `message` at the place of `path`."""
        line, column = self.place(path, key=key)
        return FileProblem(self.path, line, column, message, hint)


def read_text(path: FilePath) -> tuple[str, str]:
    """Return the text of a file (UTF-8, with or without a byte order mark) and the hex SHA-256 of its bytes.

    Raises:
        FileProblems: not there, a folder, unreadable, larger than `BYTES_MAX`, not UTF-8.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        raise _whole_file(path, "there is no such file") from None
    except IsADirectoryError:
        raise _whole_file(path, "this is a folder, not a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _whole_file(path, f"cannot be read: {reason}") from None
    if len(raw) > BYTES_MAX:
        raise _whole_file(path, f"larger than {BYTES_MAX // 1_000_000} MB")
    try:
        return raw.decode("utf-8-sig"), hashlib.sha256(raw).hexdigest()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        problem = FileProblem(str(path), line, column, "not UTF-8", "Save the file as UTF-8")
        raise FileProblems([problem]) from None


def read(path: FilePath) -> Document:
    """Read one YAML document.

    Raises:
        FileProblems: whatever `read_text` raises, not YAML, empty, more than one document, an unknown tag, a
            key given twice, a number that is none, too deep, too much.
    """
    return parse(path, *read_text(path))


def parse(path: FilePath, text: str, digest: str) -> Document:
    """As `read`, of a text that is at hand already; `path` is what problems name.

    Raises:
        FileProblems: as `read`, but for what is wrong with the file itself.
    """
    root = _composed(path, text)
    if root is None:
        raise _whole_file(path, "the file is empty")
    builder = _Builder(str(path))
    data = builder.build(root, ())
    if builder.problems:
        raise FileProblems(builder.problems)
    return Document(str(path), digest, data, builder.keys, builder.values, builder.typed)


def peek(path: FilePath, key: str) -> str | None:
    """Return the text of the top-level `key` of a mapping, reading no further than needed; None if none.

    Raises:
        FileProblems: unreadable, or not YAML before that key.
    """
    text, _ = read_text(path)
    depth = 0
    at_key = True
    wanted = False
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            opens = type(event).__name__.endswith(("MappingStartEvent", "SequenceStartEvent"))
            closes = type(event).__name__.endswith(("MappingEndEvent", "SequenceEndEvent"))
            depth -= closes
            if depth == 0 and opens and not isinstance(event, MappingStartEvent):
                return None
            if depth == 1 and (closes or not opens):
                if wanted:
                    return event.value if isinstance(event, ScalarEvent) else None
                wanted = at_key and isinstance(event, ScalarEvent) and event.value == key
                at_key = not at_key
            depth += opens
    except (YAMLError, *_PARSER_FAILURES) as error:
        raise _not_yaml(path, error) from None
    return None


def _whole_file(path: FilePath, message: str) -> FileProblems:
    return FileProblems([FileProblem(str(path), None, None, message)])


def _not_yaml(path: FilePath, error: Exception) -> FileProblems:
    if not isinstance(error, MarkedYAMLError):
        first_line = (str(error).splitlines() or ["unreadable"])[0]
        return _whole_file(path, f"not YAML: {first_line}")
    line, column, message, hint = in_words(error)
    return FileProblems([FileProblem(str(path), line, column, f"not YAML: {message}", hint)])


def _composed(path: FilePath, text: str) -> Node | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReusedAnchorWarning)
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except ReusedAnchorWarning:
        raise _whole_file(path, "an anchor (&name) is given twice") from None
    except RecursionError:
        raise FileProblems([FileProblem(str(path), *_first_too_deep(text), _TOO_DEEP)]) from None
    except (YAMLError, *_PARSER_FAILURES) as error:
        raise _not_yaml(path, error) from None
    return node


_TOO_DEEP = f"nested too deeply: more than {DEPTH_MAX} levels"


def _first_too_deep(text: str) -> tuple[int | None, int | None]:
    """Where a text that is too deep to be composed goes below `DEPTH_MAX`; its events come one by one, at any depth."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEPTH_MAX + 1:
            return event.start_mark.line + 1, event.start_mark.column + 1
    return None, None


class _Builder:
    """Turns nodes into data; collects problems and goes on, except where going on would be without end."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self.typed: dict[Path, str] = {}
        self.problems: list[FileProblem] = []
        self._around: list[Node] = []

    def build(self, node: Node, path: Path) -> object:
        place = _place(node)
        self.values[path] = place
        if any(node is each for each in self._around):
            self._in_itself(node)
            return None
        if len(path) > DEPTH_MAX:
            raise FileProblems([FileProblem(self.path, *place, _TOO_DEEP)])
        if len(self.values) > VALUES_MAX:
            raise FileProblems([FileProblem(self.path, *place, f"more than {VALUES_MAX} values")])
        if isinstance(node, MappingNode) and node.tag == "tag:yaml.org,2002:map":
            with self._inside(node):
                return self._mapping(node, path)
        if isinstance(node, SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            with self._inside(node):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and node.tag in _PLAIN_TAGS:
            self.typed[path] = str(node.value)
            return self._scalar(node)
        self._problem(node, f"the tag '{str(node.tag).removeprefix('tag:yaml.org,2002:')}' is not used here")
        return None

    @contextmanager
    def _inside(self, node: Node) -> Iterator[None]:
        self._around.append(node)
        yield
        self._around.pop()

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._problem(key_node, "a key must be one word or text")
                continue
            key = self._text(key_node)
            here = (*path, key)
            if key in data:
                self._problem(key_node, f"'{key}' is given twice, first in line {self.keys[here][0]}")
                continue
            self.keys[here] = _place(key_node)
            data[key] = self.build(value_node, here)
        return data

    def _scalar(self, node: ScalarNode) -> object:
        text = self._text(node)
        if node.tag == _STR:
            return text
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _NOT_FINITE.fullmatch(text):
            self._problem(node, f"'{text}' is not a finite number")
            return None
        is_int = _INT.fullmatch(text)
        if not is_int and not _FLOAT.fullmatch(text):
            return text
        if len(text) > NUMBER_LENGTH_MAX:
            self._problem(node, f"a number of more than {NUMBER_LENGTH_MAX} characters")
            return None
        if not is_int:
            return Decimal(text)
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))

    def _text(self, node: ScalarNode) -> str:
        text = str(node.value)
        if any("\ud800" <= char <= "\udfff" for char in text):
            self._problem(node, "half a character (a lone surrogate)")
            return ""
        return text

    def _in_itself(self, node: Node) -> None:
        """Said once, however often the whole is named."""
        message = f"the anchor '&{node.anchor}' contains itself, by the alias '*{node.anchor}'"
        if all(each.message != message for each in self.problems):
            self._problem(node, message)

    def _problem(self, node: Node, message: str) -> None:
        self.problems.append(FileProblem(self.path, *_place(node), message))


def _place(node: Node) -> Place:
    return (node.start_mark.line + 1, node.start_mark.column + 1)
