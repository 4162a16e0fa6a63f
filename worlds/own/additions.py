"""What could be added to a profile so that a command ends in doubt less often?

A table of candidates. Each says when it makes sense at all, seen from the profile alone; whether it helps is found by
playing a copy of the profile that has it (`report.py`). Rule: an addition claims something of the equipment. So its
sentence names what has to be true for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

from agent.operation import Readback, Terms
from agent.readback import baseline_authorises
from devices.catalog import choose, trusts_dedup
from devices.expressions import names_of
from devices.kinds import EffectClass, Kind, Policy
from devices.misfit import BEFORE
from devices.profile import AbsoluteForm, Command, Profile, Setting, Verify

COUNTER = "how_often"
SETTLE_S = 0.2
_BOOT_REPLY = r"^boots=(?P<value>\d+)$"
_READS = ("GET", "READ")


@dataclass(frozen=True, slots=True)
class Addition:
    """One thing to add.

    Attributes:
        what: The words of the profile, such as `boot_read`.
        claim: What has to be true of the equipment for it.
        profile: A copy of the profile that has it.
    """

    what: str
    claim: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Case:
    """A command of a profile, with the terms of one call of it."""

    profile: Profile
    command: Command
    terms: Terms

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


def additions(profile: Profile, command: Command, terms: Terms) -> Iterator[Addition]:
    """What makes sense for a command."""
    wished = command.policy is Policy.NO_RETRY
    if wished:
        command = replace(command, policy=None)
        profile = _with_command(profile, command)
        chosen = choose(profile, command).policy
        if chosen is not Policy.NO_RETRY:
            yield Addition(f"policy: {chosen}", "nobody minds that it is read back or sent again", profile)
    case = Case(profile, command, terms)
    for candidate in _CANDIDATES:
        addition = candidate(case)
        if addition is not None:
            yield replace(addition, what=f"{addition.what}, no 'policy'") if wished else addition


def _absolute_form(case: Case) -> Addition | None:
    command, form = case.command, case.command.absolute_form
    if not (case.plain and case.cumulative):
        return None
    if form is not None:
        if form.equivalent:
            return None
        what = f"absolute_form: {{command: {form.command}, …, equivalent: true}}"
        claim = f"'{form.command}' does the same and nothing else"
        equal = replace(form, equivalent=True)
        return Addition(what, claim, _with_command(case.profile, replace(command, absolute_form=equal)))
    target = _absolute_of(case)
    expect = _expected(case)
    if target is None or expect is None:
        return None
    added = AbsoluteForm(target.name, expect, equivalent=True)
    what = f'absolute_form: {{command: {target.name}, value: "{expect}", equivalent: true}}'
    claim = f"'{target.name}' does the same and nothing else"
    return Addition(what, claim, _with_command(case.profile, replace(command, absolute_form=added)))


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


def _verify(case: Case) -> Addition | None:
    command = case.command
    if not (case.plain and case.cumulative) or _tells(command) or command.kind is Kind.LINK:
        return None
    expect = _expected(case)
    if expect is not None and command.setting is not None and command.verify is None:
        verify = Verify(command.setting, expect)
        what = f'verify: {{setting: {command.setting}, expect: "{expect}"}}'
        claim = f"'{command.setting}' reads so afterwards"
        return Addition(what, claim, _with_command(case.profile, replace(command, verify=verify)))
    counter = Setting(
        name=COUNTER, type="int", read=_unused(case.profile, COUNTER), reply=_own_reply(case, COUNTER),
        durable=True, clamps=False,
    )  # fmt: skip
    profile = _with_setting(case.profile, counter)
    what = 'verify: {setting: …, expect: "before + 1"}'
    claim = "a setting counts the executions (durable: true, clamps: false, a reply of its own)"
    verify = Verify(COUNTER, "before + 1")
    return Addition(what, claim, _with_command(profile, replace(command, verify=verify)))


def _boot_read(case: Case) -> Addition | None:
    if not case.plain or case.back is None or case.back.durable or case.profile.boot_read is not None:
        return None
    reply = _BOOT_REPLY if case.profile.dialect == "line" else None
    profile = replace(case.profile, boot_read=_unused(case.profile, "boots"), boot_reply=reply)
    return Addition("boot_read", "the equipment counts its starts", profile)


def _durable(case: Case) -> Addition | None:
    setting = case.read_back
    if setting is None or setting.durable:
        return None
    claim = f"'{setting.name}' survives a restart"
    return _changed(case, replace(setting, durable=True), f"durable: true on '{setting.name}'", claim)


def _stops(case: Case) -> Addition | None:
    setting, back = case.read_back, case.back
    if setting is None or back is None or case.terms.idempotent or setting.type not in ("int", "decimal"):
        return None
    inside = str(back.min) if back.min is not None else "0"
    if baseline_authorises(case.terms, inside):
        return None
    what = f"min and max, or clamps: false, on '{setting.name}'"
    claim = f"it is known where '{setting.name}' stops, or that it never does"
    return _changed(case, replace(setting, clamps=False), what, claim)


def _reply(case: Case) -> Addition | None:
    setting = case.read_back
    if setting is None or case.profile.dialect != "line" or case.terms.apart:
        return None
    setting = replace(setting, reply=_own_reply(case, setting.name))
    profile = _with_setting(case.profile, setting)
    boots = profile.boot_read is not None and not setting.durable
    if boots:
        profile = replace(profile, boot_reply=_BOOT_REPLY)
    what = f"reply on '{setting.name}'" + (" and boot_reply" if boots else "")
    return Addition(what, "the answer names the value, so that no ack looks like it", profile)


def _settle(case: Case) -> Addition | None:
    timing = case.profile.timing
    if not case.plain or case.back is None or timing.settle_s or not case.terms.survives_reopen:
        return None
    profile = replace(case.profile, timing=replace(timing, settle_s=SETTLE_S))
    return Addition(
        f"timing: {{settle_s: {SETTLE_S:g}}}", "two equal readings so far apart are one value", profile
    )


_CANDIDATES: tuple[Callable[[Case], Addition | None], ...] = (
    _absolute_form, _verify, _boot_read, _durable, _stops, _reply, _settle,
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


def _changed(case: Case, setting: Setting, what: str, claim: str) -> Addition:
    return Addition(what, claim, _with_setting(case.profile, setting))


def _with_setting(profile: Profile, setting: Setting) -> Profile:
    return replace(profile, settings=MappingProxyType({**profile.settings, setting.name: setting}))


def _with_command(profile: Profile, command: Command) -> Profile:
    commands = tuple(command if each.name == command.name else each for each in profile.commands)
    return replace(profile, commands=commands)
