"""How is a plan kept with the values that were read for it, and what has moved since?

One JSON file: the plan's text, what each step means on each device, and the readings that its targets stand on. Rules:
it is written whole or not at all, and never over anything but another saved plan; a digest over its content tells an
edited or torn file; what would be done now must be what was planned, to the bytes that are sent; values that nobody
could read when it was made are no claim, so they cannot have moved.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.operation import Cause
from agent.plans.course import Missed, Note
from agent.plans.layout import Layout
from agent.plans.look import DeviceReading, Row
from agent.plans.plan_file import PlanFile, parse_plan
from devices import source
from devices.problems import FileProblem, FileProblems

FORMAT = 1
_MARK = re.compile(r'\s*\{\s*"saved_plan"')
_ANEW = "Make it anew: ackonce plan FILE --out FILE"


@dataclass(frozen=True, slots=True)
class SavedStep:
    """A step on a device as it was planned; `text` is what is sent, before read-then-set puts a target in its place."""

    device: str
    step: str
    command: str
    policy: str
    text: str
    route: str


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan with the values that were read for it.

    `key` is the run key that it is applied under unless another is given; `made_utc` is ISO 8601. `readings`: by
    device and setting, None where a value could not be read.
    """

    path: str
    key: str
    made_utc: str
    plan: PlanFile
    steps: tuple[SavedStep, ...]
    readings: Mapping[str, Mapping[str, str | None]]

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that it was made for, in order; it may be applied to no other."""
        return tuple(dict.fromkeys(step.device for step in self.steps))


def save(path: Path, layout: Layout, rows: Sequence[Row], made_utc: str) -> None:
    """Write a plan with what was read for it.

    Args:
        path: where to; a saved plan there is replaced.
        layout: the plan; its key becomes the saved plan's own.
        rows: what `look` found for this layout.
        made_utc: when the values were read, ISO 8601.

    Raises:
        FileProblems: it cannot be written, or something else is there. Then nothing has changed.
    """
    readings: dict[str, dict[str, str | None]] = {}
    for row in rows:
        readings.setdefault(row.device, {}).update(row.read)
    content = {
        "saved_plan": FORMAT,
        "key": layout.key,
        "made_utc": made_utc,
        "path": str(Path(layout.plan.path).absolute()),
        "text": layout.plan.text,
        "steps": [asdict(step) for step in _steps(layout)],
        "readings": readings,
    }
    content["digest"] = _digest(content)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if len(text.encode()) > source.BYTES_MAX:
        too_large = FileProblem(
            str(path), None, None, "the plan is too large to be saved", "Plan fewer targets"
        )
        raise FileProblems([too_large])
    _refuse_to_replace_anything_else(path)
    _write_whole(path, text)


def load_saved(path: Path) -> SavedPlan | None:
    """Read a saved plan; None where the file is something else, such as a plan as people write them.

    Raises:
        FileProblems: unreadable; a saved plan that is torn, was edited, or is of another version.
    """
    text, _ = source.read_text(path)
    if not _MARK.match(text):
        return None
    try:
        content = json.loads(text)
        if content["saved_plan"] != FORMAT:
            raise _problem(path, "another version of ackonce saved this plan")
        intact = content.pop("digest", None) == _digest(content)
        saved = _saved(path, content) if intact else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        saved = None
    if saved is None:
        raise _problem(path, "the saved plan is damaged, or was edited")
    return saved


def refuse_other_work(saved: SavedPlan, layout: Layout) -> None:
    """Raise FileProblems where the plan means anything else by now than what was planned.

    So it does after a change of inventory or profile.
    """
    now = {(step.device, step.step): step for step in _steps(layout)}
    planned = {(step.device, step.step): step for step in saved.steps}
    others = [at for at in dict.fromkeys((*planned, *now)) if planned.get(at) != now.get(at)]
    if others:
        device, step = others[0]
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        what = f"'{step}' on {device}{more}"
        raise _problem(Path(saved.path), f"by now the plan means something else than was planned: {what}")


def moved(saved: SavedPlan, readings: Mapping[str, DeviceReading]) -> dict[str, Note]:
    """Which devices nothing of the plan is to be sent to, and why.

    Those that have other values than when the plan was made are stale. Of those that cannot be read now nobody can
    tell, so their steps are not tried. Devices that were not read again are left alone.
    """
    found = {}
    for device, reading in readings.items():
        note = _compared(saved.readings.get(device, {}), reading)
        if note is not None:
            found[device] = note
    return found


def _compared(planned: Mapping[str, str | None], reading: DeviceReading) -> Note | None:
    """What keeps the plan from a device, by the values that it was made with and those of now."""
    known = {setting: value for setting, value in planned.items() if value is not None}
    if known and reading.unreached is not None:
        return _cannot_tell(reading.unreached, reading.cause)
    unread = None
    for setting, value in known.items():
        now = reading.values.get(setting)
        if now is None:
            unread = unread or reading.problems.get(setting, f"{setting} was not read")
        elif now != value:
            return Note(Missed.STALE, f"{setting} was {value} when this was planned and is {now} now")
    return _cannot_tell(unread, Cause.UNREACHABLE) if unread is not None else None


def _cannot_tell(why: str, cause: Cause) -> Note:
    return Note(
        Missed.AFTER_FAILURE, f"not tried: nobody can tell whether it is as planned: {why}", cause=cause
    )


def _steps(layout: Layout) -> tuple[SavedStep, ...]:
    return tuple(
        SavedStep(o.device, o.step or "", o.command, o.terms.policy.value, o.terms.text, o.route)
        for o in layout.operations()
    )


def _saved(path: Path, content: Mapping[str, Any]) -> SavedPlan:
    """The plan of an intact file. Raises ValueError, KeyError, TypeError, AttributeError; FileProblems of the plan."""
    readings = {device: dict(values) for device, values in content["readings"].items()}
    steps = tuple(SavedStep(**step) for step in content["steps"])
    plan = parse_plan(content["text"], content["path"])
    return SavedPlan(str(path), content["key"], content["made_utc"], plan, steps, readings)


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_to_replace_anything_else(path: Path) -> None:
    if not (path.exists() or path.is_symlink()):
        return
    if not path.is_file() or not _MARK.match(source.read_text(path)[0]):
        there = FileProblem(
            str(path), None, None, "this is there already, and it is no saved plan", "Choose another --out"
        )
        raise FileProblems([there])


def _write_whole(path: Path, text: str) -> None:
    """Put a text in the place of a file; a crash or a full disk leaves what was there."""
    place = path.resolve()
    new = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with new.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(place)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        reason = error.strerror or str(error)
        raise FileProblems([FileProblem(str(path), None, None, f"cannot be written: {reason}")]) from None


def _problem(path: Path, message: str) -> FileProblems:
    return FileProblems([FileProblem(str(path), None, None, message, _ANEW)])
