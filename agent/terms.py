"""What exactly is asked for? A catalog call, a policy and a device become the terms of an operation. Pure."""

from decimal import Decimal

from agent.operation import BOOT, AbsoluteForm, Elsewhere, Numbering, Readback, Terms
from devices.calls import Call
from devices.kinds import EffectClass, Policy
from devices.patterns import exclude
from devices.profile import Command, Profile, Setting
from devices.templates import render
from devices.values import plain


def terms_for(
    profile: Profile,
    call: Call,
    policy: Policy,
    *,
    reply_s: float,
    attempts: int,
    survives_reopen: bool,
    if_needed: bool = False,
) -> Terms:
    """The terms of one command.

    Args:
        profile: of the device's model.
        call: the command with its arguments.
        policy: as `devices.catalog.choose` gave it.
        reply_s: silence time of one exchange, as resolved for this device.
        attempts: how many copies may end in silence.
        survives_reopen: old answers may still come after the link was opened anew.
        if_needed: nothing is to be sent where the setting has its value already. Only an absolute command with a
            read-back can be asked for so; another one is sent.
    """
    command = call.command
    form = _absolute_form(profile, command) if policy is Policy.READ_THEN_SET else None
    back = _readback(profile, command, policy)
    settings = profile.settings
    execution_s = command.execution_s or 0.0
    return Terms(
        policy=policy,
        idempotent=command.effect_class is EffectClass.IDEMPOTENT,
        numbering=Numbering.LSQ1 if profile.dialect == "lsq" else Numbering.NONE,
        text=call.text,
        args=dict(call.args),
        types={**{s.name: s.type for s in settings.values()}, **{a.name: a.type for a in command.args}},
        queries={s.name: s.read for s in settings.values() if s.read is not None},
        replies=_replies(profile),
        readback=back,
        form=form,
        elsewhere=_elsewhere(profile, call),
        boot_query=profile.boot_read,
        mode=(command.mode.setting, command.mode.value) if command.mode is not None else None,
        setting=back.setting if back is not None else command.setting,
        attempts_max=attempts,
        settle_s=profile.timing.settle_s,
        late_max_s=_late_max_s(profile, max(reply_s, execution_s)),
        reply_s=max(reply_s, execution_s),
        busy_max_s=profile.timing.busy_max_s,
        survives_reopen=survives_reopen,
        nak_may_follow_effect=command.nak_may_follow_effect,
        apart=back is not None and _told_apart(profile, back),
        queued=command.ack_means == "queued",
        if_needed=if_needed and back is not None and command.effect_class is EffectClass.IDEMPOTENT,
        secrets=call.secrets,
    )


def _late_max_s(profile: Profile, reply_s: float) -> float:
    """Until when after a copy left it may still take effect. A program may send as long as it runs."""
    late_s = profile.timing.late_s
    return late_s + reply_s if profile.dialect == "exec" else max(late_s, reply_s)


def _elsewhere(profile: Profile, call: Call) -> Elsewhere | None:
    """Where the device is found after the command; a numbering device tells on its own what became of it."""
    confirm = call.command.confirm
    if confirm is None or profile.dialect == "lsq":
        return None
    args = dict(call.args)
    return Elsewhere(render(confirm.at, args), render(confirm.read, args), render(confirm.expect, args))


def _replies(profile: Profile) -> dict[str, str]:
    """The patterns of answers that have one of their own, by the name of what is read."""
    replies = {s.name: s.reply for s in profile.settings.values()} | {BOOT: profile.boot_reply}
    return {name: reply for name, reply in replies.items() if reply is not None}


def _told_apart(profile: Profile, back: Readback) -> bool:
    """Whether the answers of a read-back can never be mistaken for the ack of a command, nor the reverse.

    Those of Modbus name their function, and no function both reads and writes alone.
    """
    if profile.dialect == "modbus":
        return True
    line = profile.line
    asked = [back.setting, *([BOOT] if profile.boot_read is not None and not back.durable else [])]
    replies = _replies(profile)
    return (
        profile.dialect == "line"
        and line is not None
        and all(name in replies and exclude(replies[name], line.ack) for name in asked)
    )


def _readback(profile: Profile, command: Command, policy: Policy) -> Readback | None:
    """What shows the effect: the target of an absolute command, the form's or the verify's expectation."""
    if policy is Policy.READ_THEN_SET and command.absolute_form is not None:
        setting = profile.setting(profile.command(command.absolute_form.command).setting or "")
        return _of_setting(profile, setting, command.absolute_form.value)
    if command.verify is not None:
        setting = profile.setting(command.verify.setting)
        return _of_setting(profile, setting, command.verify.expect, command.verify.tolerance)
    if (
        command.setting is not None
        and command.effect_class is EffectClass.IDEMPOTENT
        and len(command.args) == 1
    ):
        setting = profile.setting(command.setting)
        if setting.read is not None and not setting.other_writers:
            return _of_setting(profile, setting, command.args[0].name)
    return None


def _of_setting(profile: Profile, setting: Setting, expect: str, tolerance: str | None = None) -> Readback:
    return Readback(
        setting=setting.name,
        type=setting.type,
        expect=expect,
        step=setting.step,
        tolerance=tolerance,
        min=_text(setting.min),
        max=_text(setting.max),
        durable=setting.durable,
        at_start=setting.at_start,
        clamps=setting.clamps,
        held_as=_held_as(profile, setting),
    )


def _held_as(profile: Profile, setting: Setting) -> str | None:
    """The cell of a register that holds floats: every other number stands in it as it was written."""
    if profile.dialect != "modbus" or setting.read is None:
        return None
    from protocol.modbus.requests import request_of

    cell = request_of(setting.read).cell
    return str(cell) if cell is not None and cell.type in ("f32", "f64") else None


def _absolute_form(profile: Profile, command: Command) -> AbsoluteForm | None:
    form = command.absolute_form
    if form is None:
        return None
    absolute = profile.command(form.command)
    own = {a.name for a in command.args}
    argument = next(a for a in absolute.args if a.name not in own)  # the loader has checked that there is one
    setting = profile.setting(absolute.setting or "")
    low = argument.min if argument.min is not None else setting.min
    high = argument.max if argument.max is not None else setting.max
    return AbsoluteForm(
        template=absolute.send or "",
        argument=argument.name,
        type=argument.type,
        value=form.value,
        step=setting.step,
        min=_text(low),
        max=_text(high),
    )


def _text(number: Decimal | None) -> str | None:
    return plain(number) if number is not None else None
