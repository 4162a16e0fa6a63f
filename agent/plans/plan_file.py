"""What does a plan file say?

YAML (CLI.md 4). Rules: every problem is found in one go and has its place in the file; a plan is checked without
inventory and profiles, what its words mean for a device is `layout`'s business; values under `set` are the words as
typed, `on` and `007` too. pydantic checks the shape: import this file where a plan is read, not at start.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BeforeValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from agent.plans.waves import NO_ABORT, REST, Abort, Amount, Limit, Rest, WaveSize
from agent.plans.window import Window
from agent.targets import is_url
from devices import source
from devices.kinds import Policy
from devices.problems import FileProblem, FileProblems, did_you_mean
from devices.source import Document, Place
from devices.validation import SENTENCE, Strict, validate

PARALLEL_DEFAULT = 8
PARALLEL_MAX = 256
DEVICES_MAX = 100_000
ID_LENGTH_MAX = 100
STEPS_MAX = 1000
"""More is a mistake, not a plan."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_PERCENT = re.compile(r"([0-9]{1,3})\s*%")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do on each device that it is for.

    Either `words`, a command as one types it behind `send`, or `setting`, a setting and the value it is to have.
    `devices` are target patterns that pick some of the plan's devices; empty: all of them. `id` is None where it
    follows from the content. `where`: line and column in the file.
    """

    words: tuple[str, ...] | None
    setting: tuple[str, str] | None
    devices: tuple[str, ...]
    id: str | None
    policy: str | None
    where: Place


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan, every key resolved to its default.

    `path` is as given, `text` the whole file, `digest` the hex SHA-256 of the text. `targets_at` are the places of
    `targets`. `parallel` devices at most are worked on at once. Without `waves` all devices are one wave.
    """

    name: str
    path: str
    text: str
    digest: str
    targets: tuple[str, ...]
    targets_at: tuple[Place, ...]
    steps: tuple[Step, ...]
    waves: tuple[WaveSize, ...] = ()
    parallel: int = PARALLEL_DEFAULT
    abort_after: Abort = NO_ABORT
    window: Window | None = None
    hold_after_refused: bool = False
    reason_required: bool = False


def load_plan(path: Path) -> PlanFile:
    """Read a plan. Raises FileProblems: unreadable, no YAML, and everything that `parse_plan` raises."""
    text, _ = source.read_text(path)
    return parse_plan(text, str(path))


def parse_plan(text: str, path: str) -> PlanFile:
    """The plan that a text is; `path` is where it stood, for messages and for lists named relative to it.

    Raises:
        FileProblems: everything that is wrong with it.
    """
    if path.lower().endswith(".csv"):
        hint = "A table of devices is an inventory: give it with -i"
        raise FileProblems([FileProblem(path, None, None, "a plan is a YAML file, not a table", hint)])
    digest = hashlib.sha256(text.encode()).hexdigest()
    document = source.parse(Path(path), text, digest)
    problems = list(_misfits(document))
    try:
        file = validate(document, _PlanSection)
    except FileProblems as found:
        raise FileProblems([*found.problems, *problems]) from None
    if problems:
        raise FileProblems(problems)
    return PlanFile(
        name=file.plan,
        path=path,
        text=text,
        digest=digest,
        targets=tuple(file.targets),
        targets_at=tuple(document.place(("targets", n)) for n in range(len(file.targets))),
        steps=tuple(_steps(file, document)),
        waves=tuple(file.waves),
        parallel=file.limits.parallel,
        abort_after=Abort(file.limits.abort_after.failed, file.limits.abort_after.in_doubt),
        window=None if file.window is None else Window(file.window.start, file.window.end, file.window.tz),
        hold_after_refused=file.on_refused == "hold",
        reason_required=file.reason_required,
    )


# --- single values ----------------------------------------------------------------------------------------------------


def _wrong(sentence: str) -> PydanticCustomError:
    return PydanticCustomError(SENTENCE, "{sentence}", {"sentence": sentence})


def _name(value: object) -> object:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise _wrong(f"'{value[:60]}' cannot be a plan's name: 1 to 100 letters, digits and . _ -")
    return value


def _words(value: object) -> list[str]:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "must be text")
    if any(mark in value for mark in "'\""):
        try:
            words = shlex.split(value)
        except ValueError:
            raise _wrong(f"a quotation mark is not closed: {value[:60]}") from None
    else:
        words = value.split()
    if not words:
        raise _wrong("'send' has no command in it")
    return words


def _target(value: object) -> object:
    if isinstance(value, str) and is_url(value):
        raise _wrong(f"'{value[:60]}' is an address: a plan names devices of the inventory")
    return value


def _time(value: object) -> time:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        hint = ": midnight is 00:00" if value == "24:00" else ""
        raise PydanticCustomError("time", "must be a time of the day such as 22:00" + hint)
    return time(int(match[1]), int(match[2]))


def _amount(value: object) -> Amount:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= DEVICES_MAX:
            raise PydanticCustomError("amount", f"must be 1 to {DEVICES_MAX} devices")
        return Amount(value)
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("amount", "must be a number of devices, or a percentage such as 10%")
    if not 1 <= int(match[1]) <= 100:
        raise PydanticCustomError("amount", "must be 1% to 100%")
    return Amount(int(match[1]), percent=True)


def _wave(value: object) -> WaveSize:
    if value == REST.value:
        return REST
    try:
        return _amount(value)
    except PydanticCustomError as problem:
        if isinstance(value, str) and not _PERCENT.fullmatch(value):
            raise PydanticCustomError("wave", "must be a number of devices, a percentage, or rest") from None
        raise problem from None


def _value(value: object) -> object:
    if not isinstance(value, str | int | Decimal):
        raise PydanticCustomError("value", "must be one value, such as 30 or on")
    return value


def _id(value: object) -> object:
    if isinstance(value, str):
        fits = value.isprintable() and value == value.strip() and 1 <= len(value) <= ID_LENGTH_MAX
        if not fits:
            what = f"1 to {ID_LENGTH_MAX} characters, no blank at an end"
            raise _wrong(f"{value[:60]!r} cannot be an id: {what}")
    return value


# --- sections ---------------------------------------------------------------------------------------------------------

Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Targets = list[Annotated[Word, BeforeValidator(_target)]]


class _AbortSection(Strict):
    failed: Annotated[Limit, BeforeValidator(_amount)] | None = None
    in_doubt: Annotated[Limit, BeforeValidator(_amount)] | None = None


class _LimitsSection(Strict):
    parallel: Annotated[int, Field(ge=1, le=PARALLEL_MAX)] = PARALLEL_DEFAULT
    abort_after: _AbortSection = _AbortSection()


class _WindowSection(Strict):
    start: Annotated[time, BeforeValidator(_time), Field(alias="from")]
    end: Annotated[time, BeforeValidator(_time), Field(alias="to")]
    tz: Word | None = None

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.start == self.end:
            raise _wrong("'from' and 'to' are the same: leave 'window' out if any time will do")
        return self


class _StepSection(Strict):
    send: Annotated[list[str], BeforeValidator(_words)] | None = None
    set: Annotated[dict[str, Annotated[Any, BeforeValidator(_value)]], Field(min_length=1)] | None = None
    devices: Annotated[Targets, Field(min_length=1)] = Field(default_factory=list)
    id: Annotated[str, BeforeValidator(_id)] | None = None
    policy: Annotated[Policy, Field(strict=False)] | None = None


class _PlanSection(Strict):
    plan: Annotated[str, BeforeValidator(_name)]
    targets: Annotated[Targets, Field(min_length=1)]
    limits: _LimitsSection = _LimitsSection()
    waves: list[Annotated[Amount | Rest, BeforeValidator(_wave)]] = Field(default_factory=list)
    window: _WindowSection | None = None
    on_refused: Literal["continue", "hold"] = "continue"
    reason_required: bool = False
    steps: Annotated[list[_StepSection], Field(min_length=1, max_length=STEPS_MAX)]


# --- what keys mean for each other ------------------------------------------------------------------------------------


def _misfits(document: Document) -> Iterator[FileProblem]:
    """What no single section shows; looked for in the bare data, so that it is told together with everything else."""
    data = document.data if isinstance(document.data, dict) else {}
    sizes = data.get("waves")
    sizes = sizes if isinstance(sizes, list) else []
    for n, size in enumerate(sizes):
        if size == REST.value and n < len(sizes) - 1:
            message = "'rest' takes every device that is left, so it can only be the last wave"
            yield document.problem(("waves", n), message)
    window = data.get("window")
    zone = window.get("tz") if isinstance(window, dict) else None
    if isinstance(zone, str) and not _is_zone(zone):
        hint = did_you_mean(zone, available_timezones()) or "One is Europe/Lisbon"
        yield document.problem(("window", "tz"), f"there is no time zone '{zone[:60]}'", hint)
    listed = data.get("steps")
    steps = [
        (("steps", n), step)
        for n, step in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(step, dict)
    ]
    for path, step in steps:
        yield from _misfits_of_step(document, path, step)
    names = [(path, step["id"]) for path, step in steps if isinstance(step.get("id"), str)]
    seen: set[str] = set()
    for path, name in names:
        if name in seen:
            yield document.problem((*path, "id"), f"the id '{name}' is given to another step already")
        seen.add(name)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _misfits_of_step(
    document: Document, path: tuple[str, int], step: dict[str, object]
) -> Iterator[FileProblem]:
    if "send" in step and "set" in step:
        hint = "Make them two steps"
        yield document.problem((*path, "set"), "a step has 'send' or 'set', not both", hint, key=True)
    if "send" not in step and "set" not in step:
        hint = "Such as: send: SET interval 30"
        yield document.problem(path, "a step needs 'send' or 'set'", hint)
    values = step.get("set")
    if "id" in step and isinstance(values, dict) and len(values) > 1:
        hint = "Make it one step for each setting"
        message = f"an id names one step, and this 'set' makes {len(values)}"
        yield document.problem((*path, "id"), message, hint, key=True)


def _steps(file: _PlanSection, document: Document) -> Iterator[Step]:
    for n, section in enumerate(file.steps):
        path = ("steps", n)
        devices, policy = tuple(section.devices), section.policy
        if section.send is not None:
            where = document.place((*path, "send"))
            yield Step(tuple(section.send), None, devices, section.id, policy, where)
        for name in section.set or ():
            where = document.place((*path, "set", name), key=True)
            setting = (name, document.typed[*path, "set", name])
            yield Step(None, setting, devices, section.id, policy, where)
