"""What could be added to a profile, or changed in it, so that a command ends in doubt less often?

A table of candidates. Each says when it makes sense at all, seen from the files alone; whether it helps is found by
playing a copy of the device that has it (`search.py`). Rule: an edit claims something of the equipment or of the people
around it. So its sentence names what has to be true for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

from agent.operation import Readback, Terms
from agent.readback import baseline_authorises
from agent.stations import Target
from devices.catalog import trusts_dedup
from devices.expressions import names_of
from devices.kinds import EffectClass, Kind, Policy
from devices.misfit import BEFORE
from devices.profile import AbsoluteForm, Command, Profile, Setting, Verify
from worlds.own.plays import policy_of, samples, terms_of

COUNTER = "how_often"
SETTLE_S = 0.2
_BOOT_REPLY = r"^boots=(?P<value>\d+)$"
_READS = ("GET", "READ")


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing to add to a profile, or a value to change in it or in the inventory.

    Attributes:
        key: The key of the file that it is about. Two edits of one key do not go together.
        what: The words of the file, such as `boot_read`; of a change, what is there and what it becomes.
        claim: What has to be true for it.
        target: A copy of the device that has it.
        changes: Something that is there is changed.
    """

    key: str
    what: str
    claim: str
    target: Target
    changes: bool = False

    def __str__(self) -> str:
        return f"{'change' if self.changes else 'add'} {self.what}"


@dataclass(frozen=True, slots=True)
class Case:
    """A command of a device, with the terms of one call of it."""

    target: Target
    command: Command
    terms: Terms

    @property
    def profile(self) -> Profile:
        """What the device is."""
        return self.target.profile

    @property
    def back(self) -> Readback | None:
        """What is read back."""
        return self.terms.readback

    @property
    def read_back(self) -> Setting | None:
        """The setting that is read back."""
        return self.profile.settings[self.back.setting] if self.back is not None else None

    @property
    def plain(self) -> bool:
        """Equipment without numbers, which evidence has to make up for."""
        return not trusts_dedup(self.profile)

    @property
    def cumulative(self) -> bool:
        """A second copy does harm."""
        return self.command.effect_class is EffectClass.CUMULATIVE

    def edit(self, key: str, what: str, claim: str, profile: Profile, *, changes: bool = False) -> Edit:
        """An edit of the profile."""
        return Edit(key, what, claim, replace(self.target, profile=profile), changes)


def edits(target: Target, command: Command) -> Iterator[Edit]:
    """What makes sense for a command of a device, one by one.

    A wish for `no-retry` makes evidence useless. Where another policy is possible without it, dropping it is the one
    edit; else it goes with whatever is added.
    """
    suffix = ""
    if command.policy is Policy.NO_RETRY:
        command = replace(command, policy=None)
        target = replace(target, profile=_with_command(target.profile, command))
        chosen = policy_of(target, command)
        if chosen is not Policy.NO_RETRY:
            claim = "nobody minds that it is read back or sent again"
            yield Edit("policy", f"policy: no-retry to {chosen}", claim, target, changes=True)
            return
        suffix = ", no 'policy'"
    calls = samples(target.profile, command)
    if not calls:
        return
    case = Case(target, command, terms_of(target, calls[0]))
    for candidate in _CANDIDATES:
        edit = candidate(case)
        if edit is not None:
            yield replace(edit, what=edit.what + suffix)


def _absolute_form(case: Case) -> Edit | None:
    command, form = case.command, case.command.absolute_form
    if not (case.plain and case.cumulative):
        return None
    if form is not None:
        if form.equivalent:
            return None
        what = f"absolute_form: {{command: {form.command}, …}} to {{…, equivalent: true}}"
        claim = f"'{form.command}' does the same and nothing else"
        changed = replace(command, absolute_form=replace(form, equivalent=True))
        return case.edit("absolute_form", what, claim, _with_command(case.profile, changed), changes=True)
    target = _absolute_of(case)
    expect = _expected(case)
    if target is None or expect is None:
        return None
    added = AbsoluteForm(target.name, expect, equivalent=True)
    what = f'absolute_form: {{command: {target.name}, value: "{expect}", equivalent: true}}'
    claim = f"'{target.name}' does the same and nothing else"
    profile = _with_command(case.profile, replace(command, absolute_form=added))
    return case.edit("absolute_form", what, claim, profile)


def _absolute_of(case: Case) -> Command | None:
    """An absolute command that sets, by one argument of its own, what this command changes."""
    name = case.command.verify.setting if case.command.verify is not None else case.command.setting
    own = {argument.name for argument in case.command.args}
    if name is None or case.profile.settings[name].other_writers:
        return None
    return next(
        (
            each
            for each in case.profile.commands
            if each.kind is Kind.ABSOLUTE
            and each.setting == name
            and len(each.args) == 1
            and each.args[0].name not in own
        ),
        None,
    )


def _expected(case: Case) -> str | None:
    """What the command's setting reads after it, where its kind says so."""
    command = case.command
    if command.verify is not None:
        return command.verify.expect
    if command.setting is None or len(command.args) > 1:
        return None
    kind = case.profile.settings[command.setting].type
    if command.kind is Kind.TOGGLE and kind == "bool" and not command.args:
        return "not before"
    numbers = ("int", "decimal")
    if command.kind is Kind.RELATIVE and command.args and command.args[0].type in numbers and kind in numbers:
        return f"before + {command.args[0].name}"
    return None


def _verify(case: Case) -> Edit | None:
    command = case.command
    if not (case.plain and case.cumulative) or _tells(command) or command.kind is Kind.LINK:
        return None
    expect = _expected(case)
    if expect is not None and command.setting is not None and command.verify is None:
        profile = _with_command(case.profile, replace(command, verify=Verify(command.setting, expect)))
        what = f'verify: {{setting: {command.setting}, expect: "{expect}"}}'
        return case.edit("verify", what, f"'{command.setting}' reads so afterwards", profile)
    counter = Setting(
        name=COUNTER, type="int", read=_unused(case.profile, COUNTER), reply=_own_reply(case, COUNTER),
        durable=True, clamps=False,
    )  # fmt: skip
    changed = replace(command, verify=Verify(COUNTER, "before + 1"))
    profile = _with_command(_with_setting(case.profile, counter), changed)
    what = 'verify: {setting: …, expect: "before + 1"}'
    if command.verify is not None:
        what = f'verify: {{setting: {command.verify.setting}, …}} to {{setting: …, expect: "before + 1"}}'
    claim = "a setting counts the executions (durable: true, clamps: false, a reply of its own)"
    return case.edit("verify", what, claim, profile, changes=command.verify is not None)


def _boot_read(case: Case) -> Edit | None:
    if not case.plain or case.back is None or case.back.durable or case.profile.boot_read is not None:
        return None
    reply = _BOOT_REPLY if case.profile.dialect == "line" else None
    profile = replace(case.profile, boot_read=_unused(case.profile, "boots"), boot_reply=reply)
    return case.edit("boot_read", "boot_read", "the equipment counts its starts", profile)


def _durable(case: Case) -> Edit | None:
    setting = case.read_back
    if setting is None or setting.durable:
        return None
    claim = f"'{setting.name}' survives a restart"
    profile = _with_setting(case.profile, replace(setting, durable=True))
    return case.edit("durable", f"durable: true on '{setting.name}'", claim, profile)


def _stops(case: Case) -> Edit | None:
    setting, back = case.read_back, case.back
    if setting is None or back is None or case.terms.idempotent or setting.type not in ("int", "decimal"):
        return None
    inside = str(back.min) if back.min is not None else "0"
    if baseline_authorises(case.terms, inside):
        return None
    what = f"min and max, or clamps: false, on '{setting.name}'"
    claim = f"it is known where '{setting.name}' stops, or that it never does"
    return case.edit("clamps", what, claim, _with_setting(case.profile, replace(setting, clamps=False)))


def _reply(case: Case) -> Edit | None:
    setting = case.read_back
    if setting is None or case.profile.dialect != "line" or case.terms.apart:
        return None
    setting = replace(setting, reply=_own_reply(case, setting.name))
    profile = _with_setting(case.profile, setting)
    boots = profile.boot_read is not None and not setting.durable
    if boots:
        profile = replace(profile, boot_reply=_BOOT_REPLY)
    what = f"reply on '{setting.name}'" + (" and boot_reply" if boots else "")
    return case.edit("reply", what, "the answer names the value, so that no ack looks like it", profile)


def _settle(case: Case) -> Edit | None:
    timing = case.profile.timing
    if not case.plain or case.back is None:
        return None
    if timing.settle_s:
        profile = replace(case.profile, timing=replace(timing, settle_s=0.0))
        what = f"timing: {{settle_s: {timing.settle_s:g}}} to 0"
        return case.edit("settle_s", what, "a value that can be read has come to rest", profile, changes=True)
    if not case.terms.survives_reopen:
        return None
    profile = replace(case.profile, timing=replace(timing, settle_s=SETTLE_S))
    what = f"timing: {{settle_s: {SETTLE_S:g}}}"
    return case.edit("settle_s", what, "two equal readings so far apart are one value", profile)


def _other_writers(case: Case) -> Edit | None:
    name = case.command.verify.setting if case.command.verify is not None else case.command.setting
    setting = case.profile.settings[name] if name is not None else None
    if setting is None or not (case.plain and setting.other_writers):
        return None
    profile = _with_setting(case.profile, replace(setting, other_writers=False))
    what, claim = f"other_writers: true to false on '{name}'", f"nobody else writes '{name}'"
    return case.edit("other_writers", what, claim, profile, changes=True)


def _ack_means(case: Case) -> Edit | None:
    if not case.terms.queued:
        return None
    profile = _with_command(case.profile, replace(case.command, ack_means="done"))
    claim = "the ack comes after the effect"
    return case.edit("ack_means", "ack_means: queued to done", claim, profile, changes=True)


def _attempts(case: Case) -> Edit | None:
    """More copies: only where a copy may follow another without evidence, and silence is all that stops it."""
    if case.terms.policy is not Policy.RESEND:
        return None
    few, more = case.target.attempts, 2 * case.target.attempts
    claim = "there is time for more copies"
    target = replace(case.target, attempts=more)
    return Edit("attempts", f"attempts: {few} to {more} in the inventory", claim, target, changes=True)


_CANDIDATES: tuple[Callable[[Case], Edit | None], ...] = (
    _absolute_form, _verify, _boot_read, _durable, _stops, _reply, _settle, _other_writers, _ack_means, _attempts,
)  # fmt: skip


def _tells(command: Command) -> bool:
    """The command has a reading that shows each execution, not only the first one."""
    return command.verify is not None and BEFORE in names_of(command.verify.expect)


def _own_reply(case: Case, name: str) -> str | None:
    return f"^{name}=(?P<value>.*)$" if case.profile.dialect == "line" else None


def _unused(profile: Profile, name: str) -> str:
    """A query that the profile does not use yet."""
    used = {setting.read for setting in profile.settings.values()} | {
        command.send for command in profile.commands
    }
    return next(text for text in (f"{word} {name}" for word in (*_READS, f"?{name}?")) if text not in used)


def _with_setting(profile: Profile, setting: Setting) -> Profile:
    return replace(profile, settings=MappingProxyType({**profile.settings, setting.name: setting}))


def _with_command(profile: Profile, command: Command) -> Profile:
    commands = tuple(command if each.name == command.name else each for each in profile.commands)
    return replace(profile, commands=commands)
