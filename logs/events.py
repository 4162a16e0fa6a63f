"""What is one record of the log, as a JSON line and as a line for people?

Rule 1. An `Event` is valid and clean from its construction on: known words, a UTC time, free texts escaped
        and bounded (logs/text.py). So no later step has to ask where a text came from.
Rule 2. The human line is a contract, letter by letter: the level, the front (`seq=`, `cmd=`, `attempt=`, as
        far as known), the ending of the event. `_SHAPES` is that contract; nothing else builds such lines.
Rule 3. The JSON line has every field in the order of the class, `null` where unknown; nothing is left out.
Rule 4. The log is for reading. What the agent knows it takes from the journal, never from here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, Literal, get_args

from logs.text import BYTES_MAX, TEXT_MAX, escape

SCHEMA: Final = 1
"""Version of the JSON record; a line of another version is not read."""

Level = Literal["DEBUG", "INFO", "WARN", "ERROR"]
EventName = Literal[
    "sent",
    "timeout",
    "ack",
    "duplicate_ack",
    "late_ack",
    "settled",
    "verify",
    "in_doubt",
    "resolved",
    "refused",
    "busy",
    "lost",
    "unsent",
    "not_sent",
    "ignored",
    "connected",
    "session",
    "boot",
    "notice",
    "waiting",
    "note",
]

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
"""From the least to the most urgent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One record: what was sent, heard or decided, and for which operation.

    `ts` is UTC in ISO 8601 with milliseconds (`2026-11-29T22:48:03.120Z`, see `timestamp`); `seq` the number
    on the wire or, where the equipment has none, the agent's own; `cmd` the first word of what was sent;
    `setting` the one that the operation changes, as its profile names it (unknown in older records);
    `attempt` the copy that was sent or answered (1 is the first); `text` the free words of the event;
    `elapsed_s` seconds since the copy left; `bytes` what was written or heard, as `logs.text.bytes_text`
    gives it; `route` the URL in use.

    Raises:
        ValueError: `ts` has another form, or `level` or `event` is not a known word.
    """

    ts: str
    level: Level
    op: str | None = None
    run: str | None = None
    device: str | None = None
    agent: str | None = None
    policy: str | None = None
    session: int | None = None
    seq: int | None = None
    cmd: str | None = None
    setting: str | None = None
    attempt: int | None = None
    event: EventName
    text: str | None = None
    elapsed_s: float | None = None
    bytes: str | None = None
    route: str | None = None

    def __post_init__(self) -> None:
        if not self.ts.endswith("Z") or timestamp(_moment(self.ts)) != self.ts:
            raise ValueError(f"not a UTC time with milliseconds: {self.ts!r}")
        if self.level not in LEVELS:
            raise ValueError(f"not a level: {self.level!r}")
        if self.event not in _SHAPES:
            raise ValueError(f"not an event: {self.event!r}")
        for name, limit in _LIMITS.items():
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, escape(text, limit))

    def to_json(self) -> str:
        """Return the record as one line of JSON in ASCII, without its line end."""
        return _encode(dict(zip(_KEYS, (SCHEMA, *_values(self)), strict=True)))


_FIELDS: Final = tuple(field.name for field in fields(Event))
_KEYS: Final = ("schema", *_FIELDS)
_LIMITS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("op", "run", "device", "agent", "policy", "cmd", "setting", "text", "route"), TEXT_MAX),
    "bytes": BYTES_MAX,
}
_NUMBERS: Final[Mapping[str, tuple[type, ...]]] = {
    "session": (int,),
    "seq": (int,),
    "attempt": (int,),
    "elapsed_s": (float, int),
}
_REQUIRED: Final = frozenset({"ts", "level", "event"})

_values = attrgetter(*_FIELDS)
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def timestamp(moment: datetime) -> str:
    """Return an aware time as records carry it: UTC, milliseconds, `Z`; such texts sort as times do.

    Raises:
        ValueError: `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"a time without zone: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def from_json(line: str) -> Event:
    """Return the record that `to_json` wrote; keys that this version does not know are passed over.

    Raises:
        ValueError: the line is not JSON, not a record of this schema, or a field has a wrong type or word.
    """
    try:
        record = json.loads(line)
    except RecursionError as error:  # a foreign line of a hundred thousand brackets
        raise ValueError("nested too deeply for a log record") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise ValueError(f"not a log record of schema {SCHEMA}")
    known: dict[str, Any] = {name: record.get(name) for name in _FIELDS}
    for name, value in known.items():
        if value is None and name not in _REQUIRED:
            continue
        if type(value) not in _NUMBERS.get(name, (str,)):  # exact: true is no number
            raise ValueError(f"{name} is not of its type: {value!r}")
    return Event(**known)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The human form of an event: `front` names the leading fields, `full` takes the field `fills`.

    `bare` stands where that field is unknown, or always where there is no `full`.
    """

    front: tuple[str, ...]
    bare: str
    full: str | None = None
    fills: str = "text"


_COPY: Final = ("seq", "attempt")

_SHAPES: Final[Mapping[EventName, _Shape]] = {
    "sent": _Shape(("seq", "cmd", "attempt"), "sent"),
    "timeout": _Shape(_COPY, "timeout"),
    "ack": _Shape(_COPY, "ack"),
    "duplicate_ack": _Shape(_COPY, "ack (device: duplicate, ignored)"),
    # The ending names the attempt that was answered late; in front it would look like the one under way.
    "late_ack": _Shape(("seq",), "late ack, ignored", "late ack of attempt {}, ignored", fills="attempt"),
    "settled": _Shape(("seq",), "settled", "settled: {}"),
    "verify": _Shape(("seq",), "verify", "verify {}"),
    "in_doubt": _Shape(("seq",), "in doubt", "in doubt: {}"),
    "resolved": _Shape(("seq",), "resolved", "resolved by {}"),
    "refused": _Shape(_COPY, "refused", "refused: {}"),
    "busy": _Shape(_COPY, "busy", "busy: {}"),
    "lost": _Shape(_COPY, "connection lost"),
    "unsent": _Shape(_COPY, "did not leave", "did not leave: {}"),
    "not_sent": _Shape(("seq", "cmd"), "not sent", "not sent: {}"),
    "ignored": _Shape((), "ignored", "ignored {}"),
    "connected": _Shape((), "connected", "{}"),
    "session": _Shape((), "session", "{}"),
    "boot": _Shape((), "boot", "{}"),
    # An unsolicited line answers no command, so no number of ours may stand in front of it.
    "notice": _Shape((), "notice", "notice: {}"),
    "waiting": _Shape((), "waiting", "waiting {}"),
    "note": _Shape(("seq",), "note", "{}"),
}


def human(event: Event, *, with_bytes: bool = False) -> str:
    """Return the line for people, such as `[INFO] seq=1042 cmd=ADJUST attempt=1 sent`, without its line end.

    `with_bytes` puts what was written or heard behind it, after a bar, where it is known.
    """
    shape = _SHAPES[event.event]
    words = [f"[{event.level}]"]
    words += [f"{name}={value}" for name in shape.front if (value := getattr(event, name)) is not None]
    filling = getattr(event, shape.fills)
    words.append(shape.bare if shape.full is None or filling is None else shape.full.format(filling))
    if with_bytes and event.bytes is not None:
        words.append(f"| {event.bytes}")
    return " ".join(words)


def dated(event: Event) -> str:
    """Return the human line with its time and, where known, its device in front."""
    return " ".join(word for word in (event.ts, event.device, human(event)) if word is not None)


def _moment(ts: str) -> datetime:
    try:
        return datetime.fromisoformat(ts)
    except ValueError as error:
        raise ValueError(f"not a UTC time with milliseconds: {ts!r}") from error
