"""Can the lines of a text device be told apart?

The first pattern that matches says what a line is: notice, boot, busy, nak, then ack or the reading's own. A finding of
level error has a line to show for it; where it is only uncertain whether two patterns share one, the agent is merely
slower, since it then waits before it believes a reading.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType

from devices.lint.remark import Remark, commands_of
from devices.patterns import examples, exclude, is_bound
from devices.profile import Line, Profile, Setting
from devices.samples import texts_of
from devices.source import Path
from devices.templates import is_control
from devices.values import normalise

_TAKEN_FOR: Mapping[str, str] = MappingProxyType(
    {
        "ack": "an ack, and a lost or refused command for applied",
        "nak": "a refusal, and an applied command for refused",
        "busy": "busy, and silence be waited out",
        "boot": "a restart, and readings for void",
        "notice": "a notice, and an answer that holds it be thrown away",
    }
)
_SPELLED_END = re.compile(r"\\[rn]$")
_IN_QUOTES = r'"\r\n", in double quotes'
_NOISE = ("~", "#~ 9 zz")
"""Lines that no equipment sends as an answer; a pattern that takes them all takes anything."""


def _patterns(line: Line) -> list[tuple[str, Path, str]]:
    """Return (name, path, pattern) of what a line may be, in the order in which it is asked."""
    named = [("notice", ("line", "notice", index), each) for index, each in enumerate(line.notice)]
    others = [(name, ("line", name), getattr(line, name)) for name in ("boot", "busy", "nak", "ack")]
    return [(name, path, pattern) for name, path, pattern in (*named, *others) if pattern is not None]


def _bounds(profile: Profile) -> Iterator[Remark]:
    if profile.line is None:
        return
    for name, path, pattern in _patterns(profile.line):
        if _takes_anything(pattern):
            message = (
                f"{pattern!r} matches every line: noise or a late answer would pass for {_TAKEN_FOR[name]}"
            )
            yield Remark("error", path, f"line.{name}", message)
        elif not is_bound(pattern):
            message = f"{pattern!r} does not begin with ^: a line that only holds it would pass for {_TAKEN_FOR[name]}"
            yield Remark("warning", path, f"line.{name}", message)
    if profile.line.nak is None:
        message = "no 'nak': a refusal is not recognised and counts as silence"
        yield Remark("warning", ("line",), "line.nak", message)


def _ends(profile: Profile) -> Iterator[Remark]:
    """Find requests that do not end as somebody may have meant: single quotes make text of an escape."""
    if profile.line is None:
        return
    eol = profile.line.eol
    if not is_control(eol):
        message = (
            f"each request ends in '{eol}' and in no line end; where one is needed, write it as {_IN_QUOTES}"
        )
        yield Remark("note", ("line", "eol"), "line.eol", message)
    for path, where, text in _requests(profile):
        if _SPELLED_END.search(text):
            message = (
                f"the backslashes at the end of '{text}' would be sent as they are: leave them out, line.eol is the "
                f"end of every request, such as {_IN_QUOTES}"
            )
            yield Remark("warning", path, where, message)


def _requests(profile: Profile) -> Iterator[tuple[Path, str, str]]:
    """Yield (path, part of the profile, text) of what is written on the line."""
    identity = profile.identity
    asked: list[tuple[Path, str, str | None]] = [
        (("boot_read",), "boot_read", profile.boot_read),
        (("identity", "read"), "identity", identity.read if identity else None),
    ]
    asked += [(("settings", name, "read"), name, each.read) for name, each in profile.settings.items()]
    asked += [((*path, "send"), command.name, command.send) for path, command in commands_of(profile)]
    yield from ((path, where, text) for path, where, text in asked if text is not None)


def _takes_anything(pattern: str) -> bool:
    return all(re.search(pattern, line) for line in _NOISE)


def _overlaps(profile: Profile) -> Iterator[Remark]:
    """Find answers that are taken for something else, because that is asked first."""
    if profile.line is None:
        return
    asked = _patterns(profile.line)
    for index, (name, path, pattern) in enumerate(asked):
        for earlier, _, first in asked[:index]:
            if earlier != name:
                yield from _taken(name, path, pattern, earlier, first)
    for setting in profile.settings.values():
        for earlier, _, first in asked[:-1]:
            if setting.reply is not None:
                path = ("settings", setting.name, "reply")
                yield from _taken(setting.name, path, setting.reply, earlier, first)


def _taken(name: str, path: Path, pattern: str, earlier: str, first: str) -> Iterator[Remark]:
    line = next((line for line in examples(pattern) if re.search(first, line)), None)
    if line is not None and not _takes_anything(first):
        message = (
            f"the line {line!r} matches line.{earlier} too, which is asked first, so it would not be seen"
        )
        yield Remark("error", path, name, message)


def _echoes(profile: Profile) -> Iterator[Remark]:
    line = profile.line
    if line is None or line.echo:
        return
    for path, command in commands_of(profile):
        for name, meaning in (("ack", "a lost command for applied"), ("nak", "an applied one for refused")):
            pattern = getattr(line, name)
            if pattern is None or _takes_anything(pattern):
                continue
            sample = next((text for text in texts_of(command) if re.search(pattern, text)), None)
            if sample is not None:
                message = (
                    f"line.{name} matches the request itself ({sample!r}): an echo on the line would pass for an "
                    f"answer and {meaning}"
                )
                yield Remark("error", (*path, "send"), command.name, message)
    for setting in profile.settings.values():
        if _reads_its_request(setting, line):
            message = (
                f"the request itself ({setting.read!r}) looks like its answer: an echo on the line would pass for "
                "a reading"
            )
            yield Remark("error", ("settings", setting.name), setting.name, message)


def _reads_its_request(setting: Setting, line: Line) -> bool:
    found = re.search(setting.reply or line.ack, setting.read or "")
    value = found.groupdict().get("value") if found is not None else None
    if value is None:
        return False
    try:
        normalise(setting.type, value, setting.step)
    except ValueError:
        return False
    return True


def _alike(profile: Profile) -> Iterator[Remark]:
    line = profile.line
    if line is None or profile.sequence is not None or not profile.settings:
        return
    wait = (
        f"after a silence the agent must wait {profile.timing.late_s:g} s before it may believe the next one"
    )
    like_ack = [each for each in profile.settings.values() if not exclude(each.reply or line.ack, line.ack)]
    if like_ack:
        names = ", ".join(setting.name for setting in like_ack)
        message = f"answers to the reading of {names} look like an ack: {wait}; give each its own 'reply'"
        yield Remark("warning", ("settings",), "settings", message)
    else:
        yield from _alike_besides(profile, line)
    own = [each for each in profile.settings.values() if each not in like_ack]
    for one, other in combinations(own, 2):
        if not exclude(one.reply or "", other.reply or ""):
            message = f"its answer and that of '{one.name}' look alike: {wait}"
            yield Remark("warning", ("settings", other.name, "reply"), other.name, message)


def _alike_besides(profile: Profile, line: Line) -> Iterator[Remark]:
    """Where settings are told from acks, the other questions should be so too."""
    identity = profile.identity
    besides = [
        ("identity", identity.read if identity else None, identity.reply if identity else None, "give it a 'reply'"),
        ("boot_read", profile.boot_read, profile.boot_reply, "give it a 'boot_reply'"),
    ]  # fmt: skip
    for key, read, reply, cure in besides:
        if read is not None and not exclude(reply or line.ack, line.ack):
            message = (
                f"the answer to '{read}' looks like an ack: given twice, it could be taken for one; {cure}"
            )
            yield Remark("warning", (key,), key, message)


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_ends, _bounds, _overlaps, _echoes, _alike)
