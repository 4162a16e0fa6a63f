"""A value is odd: was a retry the cause? Which operations of the log answer that, and what do they amount to?

Whole operations are chosen, so that no copy is shown without what led to it. The sentences count what the log holds and
claim no more: it may have been rotated, and what touches a setting unnamed is said, not guessed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devices.problems import did_you_mean
from logs.retries import ENDINGS, Trail


@dataclass(frozen=True, slots=True)
class Review:
    """The ids of the chosen operations, and what to say of them below."""

    ops: frozenset[str]
    sentences: tuple[str, ...]


def review(trails: Mapping[str, Trail], *, setting: str | None, since: str | None, retried: bool) -> Review:
    """Choose among the operations of a log.

    Args:
        trails: what the log tells of each operation, by id.
        setting: only what names this setting; None is all.
        since: only what has a record at or after this time, in the form of `Event.ts`; None is all.
        retried: only what was sent more than once. It is counted among the others all the same.
    """
    recent = [trail for trail in trails.values() if since is None or trail.ts >= since]
    meant = [trail for trail in recent if setting in (None, trail.setting)]
    again = [trail for trail in meant if trail.repeated]
    sentences = [_count(meant, again, setting) if meant else _nothing(recent, setting)]
    if setting is not None:
        sentences += _unnamed(recent, {trail.device for trail in meant})
    if again:
        sentences.append(f"Next: ackonce trace {max(again, key=lambda trail: trail.ts).op}")
    return Review(frozenset(trail.op for trail in (again if retried else meant)), tuple(sentences))


def _count(meant: Sequence[Trail], again: Sequence[Trail], setting: str | None) -> str:
    on = f" on {setting}" if setting is not None else ""
    head = f"{_operations(len(meant))}{on} in this log, "
    if not again:
        return f"{head}none sent more than once."
    ended = Counter(trail.ending for trail in again)
    words = [
        f"{ended[ending]} {text}" if len(again) > 1 else text
        for ending, text in (*ENDINGS.items(), (None, "without an end in the log"))
        if ended[ending]
    ]
    return f"{head}{len(again)} sent more than once: {', '.join(words)}."


def _nothing(recent: Sequence[Trail], setting: str | None) -> str:
    if setting is None:
        return "No operation in this log."
    named = sorted({trail.setting for trail in recent if trail.setting is not None})
    hint = did_you_mean(setting, named) or (f"Settings that are named: {', '.join(named)}." if named else "")
    return f"No operation in this log names the setting '{setting}'. {hint}".rstrip()


def _unnamed(recent: Sequence[Trail], devices: set[str | None]) -> list[str]:
    """What was repeated on the same devices and may have changed the setting, for all that the log knows."""
    more = [trail for trail in recent if trail.repeated and trail.setting is None and trail.device in devices]
    if not more:
        return []
    name = "that names" if len(more) == 1 else "that name"
    return [
        f"Sent more than once too: {_operations(len(more))} {name} no setting. See: ackonce log --retried"
    ]


def _operations(number: int) -> str:
    return f"{number} operation{'' if number == 1 else 's'}"
