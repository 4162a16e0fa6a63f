"""What does an operator's word on a device or an agent change, and has somebody said it already?

A word that holds already is not written again: the first one's reason stays.
"""

from shlex import quote
from typing import TYPE_CHECKING

from agent.cli import output
from agent.cli.fleet_view import View, with_view
from agent.cli.fleet_words import NOT_HELD_BACK, said
from agent.cli.options import Common
from agent.cli.places import settings_of
from agent.fleet.facts import name_of
from agent.fleet.marks import Mark, Marks, Word
from devices.problems import UsageProblem

if TYPE_CHECKING:
    from agent.service import Service

_CHANGES = {
    (Mark.DISABLED, True): (
        "{name} is disabled: no route is to go there, not even as the last resort. What is in flight reaches its word; "
        f"{NOT_HELD_BACK}. Take it back: ackonce fleet enable {{typed}}"
    ),
    (Mark.DISABLED, False): "{name} is enabled: what goes there is decided by its status again.",
    (Mark.REFERENCE, True): (
        "{name} is a reference: whom it cannot reach is unreachable on its word alone, while it reports well and sees "
        "something itself; and that ordinary agents cannot reach it excludes it no more. Take it back: "
        "ackonce fleet reference {typed} --off"
    ),
    (Mark.REFERENCE, False): "{name} is no reference any more: it has one vote as any other agent.",
}
_SAID_ALREADY = {
    (Mark.DISABLED, False): "{name} is not disabled. Nothing was changed.",
    (Mark.REFERENCE, False): "{name} is no reference. Nothing was changed.",
}


def put_mark(common: Common, typed: str, mark: Mark, *, holds: bool) -> None:
    """Write an operator's word, and tell what it changes.

    Raises:
        UsageProblem: nobody knows the target, or a device is to be a reference.
        StoreError: nothing is written.
    """
    actor = settings_of(common).actor

    def work(service: "Service", view: View) -> tuple[str, Word | None, bool]:
        target = view.meant(typed)
        if mark is Mark.REFERENCE and not target.startswith("agent:"):
            raise UsageProblem(
                f"{view.short(target)} is a device, and only an agent can be a reference, since its looks judge",
                "See: ackonce fleet agents",
            )
        before = view.words.get((target, mark))
        if (before is not None) is holds:
            return target, before, False
        marks = Marks(service)
        if mark is Mark.REFERENCE:
            marks.reference(target, holds=holds, by=actor, reason=common.reason)
        elif holds:
            marks.disable(target, by=actor, reason=common.reason)
        else:
            marks.enable(target, by=actor, reason=common.reason)
        return (
            target,
            next(each for each in marks.words() if (each.target, each.mark) == (target, mark)),
            True,
        )

    view, (target, word, changed) = with_view(common, work)
    if common.json:
        output.put_json(
            {
                "schema": 1,
                "target": target,
                "mark": mark.value,
                "holds": holds,
                "changed": changed,
                "by": word.by if word is not None else None,
                "reason": word.reason if word is not None else None,
                "utc": word.utc if word is not None else None,
            }
        )
    elif not common.quiet:
        for line in _told(view, target, mark, word, holds=holds, changed=changed):
            output.say(line)


def _told(view: View, target: str, mark: Mark, word: Word | None, *, holds: bool, changed: bool) -> list[str]:
    name = view.short(target)
    if not changed:
        already = f"{name} is {said(word)}, already. Nothing was changed." if word is not None else None
        return [already or _SAID_ALREADY[mark, holds].format(name=name)]
    lines = [_CHANGES[mark, holds].format(name=name, typed=quote(name))]
    distrust = view.fleet.untrusted.get(name_of(target))
    if mark is Mark.REFERENCE and holds and distrust is not None:
        lines.append(f"Its votes are ignored now, so it judges nobody until that ends: {distrust}.")
    return lines
