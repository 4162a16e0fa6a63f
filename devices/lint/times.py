"""What is unwise about the times of a profile?"""

from collections.abc import Callable, Iterator

from devices.catalog import Policy, choose
from devices.lint.remark import Remark, commands_of
from devices.profile import Profile


def _execution(profile: Profile) -> Iterator[Remark]:
    timing = profile.timing
    for path, command in commands_of(profile):
        takes_s = command.execution_s
        if takes_s is None:
            continue
        if takes_s > timing.reply_s:
            stated = "reply_s" if timing.reply_given else "the default reply_s"
            message = (
                f"it may take {takes_s:g} s but {stated} is {timing.reply_s:g} s: "
                "a slow execution would look like silence"
            )
            yield Remark("warning", (*path, "execution_s"), command.name, message)
        if takes_s > timing.late_s:
            message = (
                f"it may take {takes_s:g} s but late_max_s is {timing.late_s:g} s: "
                "it could still take effect when nothing is expected any more"
            )
            yield Remark("warning", (*path, "execution_s"), command.name, message)
        if takes_s > timing.busy_max_s:
            message = (
                f"it may take {takes_s:g} s but busy_max_s is {timing.busy_max_s:g} s: "
                "a device that says busy until it is done would be given up"
            )
            yield Remark("warning", (*path, "execution_s"), command.name, message)


def _late(profile: Profile) -> Iterator[Remark]:
    timing = profile.timing
    if timing.late_s < timing.reply_s:
        message = (
            f"late_max_s {timing.late_s:g} s is below reply_s {timing.reply_s:g} s: an answer that is in time "
            "would be too late to be expected"
        )
        yield Remark("warning", ("timing", "late_max_s"), "timing", message)


def _settling(profile: Profile) -> Iterator[Remark]:
    if profile.timing.settle_s:
        return
    verified = [each.name for each in profile.commands if choose(profile, each).policy is Policy.GET_VERIFY]
    if verified:
        message = (
            f"settle_s is 0, so one reading decides: a value that moves a moment after the command would look "
            f"unmoved, and {', '.join(verified)} be sent a second time"
        )
        yield Remark("warning", ("timing", "settle_s"), "timing", message)


RULES: tuple[Callable[[Profile], Iterator[Remark]], ...] = (_execution, _late, _settling)
