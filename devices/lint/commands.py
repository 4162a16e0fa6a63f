"""Is a command what it says it is, and is there a way to tell what became of it?"""

import re
from collections.abc import Callable, Iterator

from devices.expressions import names_of
from devices.kinds import Kind
from devices.lint.remark import Remark, commands_of, is_cumulative, is_plain, read_back
from devices.misfit import BEFORE
from devices.profile import Command, Profile

_HAPPENS = re.compile(
    r"(?<![a-z_])(adjust|append|beep|decrement|increment|jog|move|pulse|reboot|restart|rotate|toggle)(?![a-z_])",
    re.IGNORECASE,
)
"""Words of things that happen each time, whatever the value that is given with them."""


def _disguises(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        if command.kind is not Kind.ABSOLUTE:
            continue
        verify = command.verify
        if verify is not None and verify.setting == command.setting and BEFORE in names_of(verify.expect):
            message = (
                f"'{verify.expect}' depends on the value before, so a second copy counts again: "
                "the kind is relative, not absolute"
            )
            yield Remark("error", (*path, "kind"), command.name, message)
        word = _HAPPENS.search(f"{command.name} {command.send or ''}")
        if word is not None:
            message = (
                f"'{word[0]}' sounds like something that happens each time: if a second copy does it again, "
                "the kind is trigger or toggle, and calling it absolute would have it sent twice"
            )
            yield Remark("warning", (*path, "kind"), command.name, message)


def _ways_out(profile: Profile) -> Iterator[Remark]:
    """Find commands after whose silence nothing can be told although something could be."""
    if not is_plain(profile):
        return
    for path, command in commands_of(profile):
        if read_back(profile, command) is not None:
            continue
        if command.kind in (Kind.RELATIVE, Kind.TOGGLE) and command.policy is None:
            message = (
                "neither numbers, a form nor a read-back: every silence ends in doubt; "
                "name a reading that tells ('verify'), or say that it is meant so: policy: no-retry"
            )
            yield Remark("warning", path, command.name, message)
        if command.kind is Kind.ABSOLUTE:
            yield Remark("warning", path, command.name, _no_reading(command))
        if command.ack_means == "queued":
            message = "ends in doubt each time: an ack that only says queued proves nothing, and nothing is read back"
            yield Remark("warning", (*path, "ack_means"), command.name, message)
        if command.nak_may_follow_effect and is_cumulative(command) and profile.dialect != "exec":
            message = "a refusal may come after the effect, and nothing is read back: it ends in doubt"
            yield Remark("warning", (*path, "nak_may_follow_effect"), command.name, message)


def _no_reading(command: Command) -> str:
    if command.setting is None:
        return "no 'setting': when no copy is answered nothing can be read back, and it ends in doubt"
    return (
        f"'{command.setting}' cannot be compared with {len(command.args)} arguments: give a 'verify', "
        "or it ends in doubt when no copy is answered"
    )


def _ranges(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        if command.setting is None or command.kind is not Kind.ABSOLUTE or len(command.args) != 1:
            continue
        argument, setting = command.args[0], profile.setting(command.setting)
        below = argument.min is not None and setting.min is not None and argument.min < setting.min
        above = argument.max is not None and setting.max is not None and argument.max > setting.max
        if below or above:
            message = (
                f"'{argument.name}' may be outside of what '{setting.name}' can hold: such a value would be "
                "sent, and refused or cut off"
            )
            yield Remark("warning", (*path, "args", 0), command.name, message)


def _links(profile: Profile) -> Iterator[Remark]:
    for path, command in commands_of(profile):
        if command.kind is Kind.LINK and command.confirm is None and command.verify is None:
            message = "no 'confirm': the device is not looked for on its new settings, so it ends in doubt"
            yield Remark("warning", path, command.name, message)


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_disguises, _ways_out, _ranges, _links)
