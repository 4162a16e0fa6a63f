"""How do the checked sections of a profile file become a `Profile`?

Every key gets its default here, and for Modbus registers and writes become request texts (`registers`).
"""

from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from devices import profile as model
from devices import registers
from devices.kinds import CLASS_OF
from devices.schema import (
    ArgumentSection,
    CommandSection,
    ConfirmSection,
    IdentitySection,
    ProfileFile,
    SettingSection,
    TimingSection,
)
from devices.source import Document
from devices.values import normalise, plain


def build(file: ProfileFile, document: Document) -> model.Profile:
    """Return the profile of a file in which `checks.misfits` found nothing; `document` says where it comes from."""
    settings = {name: _setting(name, section, file) for name, section in file.settings.items()}
    return model.Profile(
        name=file.profile,
        dialect=file.dialect,
        commands=tuple(_command(section, settings, file) for section in file.commands),
        title=file.title or "",
        sources=tuple(file.sources),
        verified_on_hardware=file.verified_on_hardware,
        settings=MappingProxyType(settings),
        timing=_timing(file.timing),
        boot_read=None if file.boot_read is None else _asked(file.boot_read, settings, file),
        boot_reply=file.boot_reply,
        model=file.model,
        firmware=file.firmware,
        opening_resets=file.opening_resets,
        identity=_identity(file.identity, settings, file),
        line=_line(file),
        sequence=model.Sequence(**dict(file.sequence)) if file.sequence else None,
        modbus=_modbus(file),
        run=_run(file, Path(document.path)),
        isolation=file.isolation,
        breaker_key=file.breaker_key,
        source=document.path,
        digest=document.digest,
    )


def _timing(section: TimingSection) -> model.Timing:
    given = section.model_dump(exclude_none=True)
    return model.Timing(reply_given="reply_s" in given, **given)


def _line(file: ProfileFile) -> model.Line | None:
    if file.dialect != "line":
        return None
    if file.line is None:
        return model.Line()
    given = {key: getattr(file.line, key) for key in file.line.model_fields_set - {"notice"}}
    required = {key: value for key, value in given.items() if value is not None or key not in ("eol", "ack")}
    return model.Line(notice=tuple(file.line.notice), **required)


def _modbus(file: ProfileFile) -> model.Modbus | None:
    if file.dialect != "modbus":
        return None
    return model.Modbus(**dict(file.modbus)) if file.modbus else model.Modbus()


def _run(file: ProfileFile, path: Path) -> tuple[str, ...]:
    """Return the words of `run`; a program named with ./ or ../ stands beside the profile, wherever we were started."""
    if not file.run or not file.run[0].startswith(("./", "../")):
        return tuple(file.run)
    return (str(path.absolute().parent / file.run[0]), *file.run[1:])


def _asked(text: str, settings: dict[str, model.Setting], file: ProfileFile) -> str:
    """Return the text to ask with: as it stands, or for Modbus the one of the setting that it names."""
    return text if file.dialect != "modbus" else settings[text].read or ""


def _identity(
    section: IdentitySection | None, settings: dict[str, model.Setting], file: ProfileFile
) -> model.Identity | None:
    if section is None:
        return None
    return model.Identity(_asked(section.read, settings, file), section.expect, section.reply)


def _setting(name: str, section: SettingSection, file: ProfileFile) -> model.Setting:
    kind, read, resolution = section.type, section.read, section.step
    if file.dialect == "modbus":
        kind = registers.value_type(section.type, section.scale)
        read = registers.read_of(section, file.modbus)
        if resolution is None and kind == "decimal":
            resolution = registers.resolution_of(registers.content_of(section))
    step = None if resolution is None else plain(resolution)
    at_start = section.at_start
    return model.Setting(
        name=name,
        type=kind,
        unit=section.unit,
        min=section.min,
        max=section.max,
        step=step,
        read=read,
        reply=section.reply,
        durable=section.durable,
        at_start=None if at_start is None else normalise(kind, at_start, step),
        clamps=section.clamps,
        other_writers=section.other_writers,
    )


def _argument(section: ArgumentSection, command: CommandSection, file: ProfileFile) -> model.Argument:
    step = None if section.step is None else plain(section.step)
    low, high = section.min, section.max
    held = _held(section, command, file)
    if held is not None:
        low, high = (held[0] if low is None else low), (held[1] if high is None else high)
    return model.Argument(section.name, section.type, low, high, section.unit, step, section.secret)


def _held(
    section: ArgumentSection, command: CommandSection, file: ProfileFile
) -> tuple[Decimal, Decimal] | None:
    """The limits of the registers to which an argument is written as it was given; None where there are none."""
    write = command.write
    if write is None or write.value != f"{{{section.name}}}" or section.type not in ("int", "decimal"):
        return None
    content = registers.written_content(write, file.settings.get(command.setting or ""))
    if content is None or content.type in registers.FLOATS:
        return None  # nobody would call those limits
    return registers.limits_of(content)


def _sent(command: CommandSection, file: ProfileFile) -> str | None:
    if file.dialect != "modbus" or command.write is None:
        return command.send
    return registers.send_of(command.write, file.settings.get(command.setting or ""), file.modbus)


def _confirm(
    section: ConfirmSection | None, settings: dict[str, model.Setting], file: ProfileFile
) -> model.Confirm | None:
    if section is None:
        return None
    return model.Confirm(section.at, _asked(section.read, settings, file), section.expect)


def _command(section: CommandSection, settings: dict[str, model.Setting], file: ProfileFile) -> model.Command:
    form, mode = section.absolute_form, section.mode
    return model.Command(
        name=section.name,
        kind=section.kind,
        effect_class=CLASS_OF[section.kind],
        args=tuple(_argument(each, section, file) for each in section.args),
        send=_sent(section, file),
        setting=section.setting,
        absolute_form=model.AbsoluteForm(form.command, form.value, form.equivalent) if form else None,
        verify=_verify(section),
        policy=section.policy,
        mode=model.Mode(mode.setting, normalise(settings[mode.setting].type, mode.value)) if mode else None,
        ack_means=section.ack_means,
        nak_may_follow_effect=section.nak_may_follow_effect,
        execution_s=section.execution_s,
        confirm=_confirm(section.confirm, settings, file),
        danger=section.danger,
    )


def _verify(section: CommandSection) -> model.Verify | None:
    verify = section.verify
    if verify is None:
        return None
    tolerance = None if verify.tolerance is None else plain(verify.tolerance)
    return model.Verify(verify.setting, verify.expect, tolerance)
