"""What does a plan file say?

YAML (CLI.md 4). Rules: every problem is found in one go and has its place in the file; a plan is checked without
inventory and profiles, what its words mean for a device is `layout`'s business; values under `set` are the words as
typed, `on` and `007` too. pydantic checks the shape: import this file where a plan is read, not at start.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator

from agent.plans.plan_values import (
    amount_of,
    id_of,
    name_of,
    target_of,
    time_of,
    value_of,
    wave_of,
    words_of,
    wrong,
)
from agent.plans.waves import NO_ABORT, REST, Abort, Amount, Limit, Rest, WaveSize
from agent.plans.window import Window
from devices import source
from devices.kinds import Policy
from devices.problems import FileProblem, FileProblems, did_you_mean
from devices.source import Document, Place
from devices.validation import Strict, validate

PARALLEL_DEFAULT = 8
PARALLEL_MAX = 256
STEPS_MAX = 1000
"""More is a mistake, not a plan."""


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


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan that may be wrong: `plan` is what of it makes sense, `problems` are all that the file alone shows.

    So that what is wrong with the rest by inventory and profiles is found in the same go. It is for nothing else.
    """

    plan: PlanFile
    problems: tuple[FileProblem, ...] = ()


def load_plan(path: Path) -> PlanFile:
    """Read a plan. Raises FileProblems: unreadable, no YAML, and everything that `parse_plan` raises."""
    text, _ = source.read_text(path)
    return parse_plan(text, str(path))


def load_draft(path: Path) -> Draft:
    """Read a plan that may be wrong. Raises FileProblems: unreadable, and what `draft_plan` raises."""
    text, _ = source.read_text(path)
    return draft_plan(text, str(path))


def parse_plan(text: str, path: str) -> PlanFile:
    """The plan that a text is; `path` is where it stood, for messages and for lists named relative to it.

    Raises:
        FileProblems: everything that is wrong with it.
    """
    draft = draft_plan(text, path)
    if draft.problems:
        raise FileProblems(draft.problems)
    return draft.plan


def draft_plan(text: str, path: str) -> Draft:
    """As `parse_plan`, for a text with steps that are wrong, or with limits that are.

    Raises:
        FileProblems: everything that is wrong with it, where name or targets are.
    """
    if path.lower().endswith(".csv"):
        hint = "A table of devices is an inventory: give it with -i"
        raise FileProblems([FileProblem(path, None, None, "a plan is a YAML file, not a table", hint)])
    digest = hashlib.sha256(text.encode()).hexdigest()
    document = source.parse(Path(path), text, digest)
    problems = list(_misfits(document))
    try:
        file = validate(document, _PlanSection)
        steps = dict(enumerate(file.steps))
    except FileProblems as found:
        problems = [*found.problems, *problems]
        try:
            file, steps = _what_makes_sense(document)
        except ValidationError:
            raise FileProblems(problems) from None
    plan = PlanFile(
        name=file.plan,
        path=path,
        text=text,
        digest=digest,
        targets=tuple(file.targets),
        targets_at=tuple(document.place(("targets", n)) for n in range(len(file.targets))),
        steps=tuple(_steps(steps, document)),
        waves=tuple(file.waves),
        parallel=file.limits.parallel,
        abort_after=Abort(file.limits.abort_after.failed, file.limits.abort_after.in_doubt),
        window=None if file.window is None else Window(file.window.start, file.window.end, file.window.tz),
        hold_after_refused=file.on_refused == "hold",
        reason_required=file.reason_required,
    )
    return Draft(plan, tuple(problems))


# --- sections ---------------------------------------------------------------------------------------------------------

Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Targets = list[Annotated[Word, BeforeValidator(target_of)]]


class _AbortSection(Strict):
    failed: Annotated[Limit, BeforeValidator(amount_of)] | None = None
    in_doubt: Annotated[Limit, BeforeValidator(amount_of)] | None = None


class _LimitsSection(Strict):
    parallel: Annotated[int, Field(ge=1, le=PARALLEL_MAX)] = PARALLEL_DEFAULT
    abort_after: _AbortSection = _AbortSection()


class _WindowSection(Strict):
    start: Annotated[time, BeforeValidator(time_of), Field(alias="from")]
    end: Annotated[time, BeforeValidator(time_of), Field(alias="to")]
    tz: Word | None = None

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.start == self.end:
            raise wrong("'from' and 'to' are the same: leave 'window' out if any time will do")
        return self


class _StepSection(Strict):
    send: Annotated[list[str], BeforeValidator(words_of)] | None = None
    set: Annotated[dict[str, Annotated[Any, BeforeValidator(value_of)]], Field(min_length=1)] | None = None
    devices: Annotated[Targets, Field(min_length=1)] = Field(default_factory=list)
    id: Annotated[str, BeforeValidator(id_of)] | None = None
    policy: Annotated[Policy, Field(strict=False)] | None = None


class _PlanSection(Strict):
    plan: Annotated[str, BeforeValidator(name_of)]
    targets: Annotated[Targets, Field(min_length=1)]
    limits: _LimitsSection = _LimitsSection()
    waves: list[Annotated[Amount | Rest, BeforeValidator(wave_of)]] = Field(default_factory=list)
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


def _what_makes_sense(document: Document) -> tuple[_PlanSection, dict[int, _StepSection]]:
    """Name and targets, and the steps that are right by their places. Raises ValidationError without the former."""
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("steps")
    steps = {}
    for n, step in enumerate(listed if isinstance(listed, list) else ()):
        with suppress(ValidationError):
            steps[n] = _StepSection.model_validate(step)
    parts = {"plan": data.get("plan"), "targets": data.get("targets")}
    any_step = {"send": "-"}  # so that targets are looked at where no step is right; nobody reads it
    return _PlanSection.model_validate(parts | {"steps": [any_step]}), steps


def _steps(sections: Mapping[int, _StepSection], document: Document) -> Iterator[Step]:
    for n, section in sections.items():
        path = ("steps", n)
        devices, policy = tuple(section.devices), section.policy
        if section.send is not None:
            where = document.place((*path, "send"))
            yield Step(tuple(section.send), None, devices, section.id, policy, where)
        for name in section.set or ():
            where = document.place((*path, "set", name), key=True)
            setting = (name, document.typed[*path, "set", name])
            yield Step(None, setting, devices, section.id, policy, where)
