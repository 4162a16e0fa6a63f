"""How does a profile file become a `Profile`, and where is it looked for?

Everything that is wrong in a file is reported at once, with its place, and refuses to load (CATALOG.md,
section 4). A profile is found by its `profile:` key, the file's name is free.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from devices import profile as model
from devices.catalog import PolicyRefused, choose
from devices.checks import misfits
from devices.claims import contradictions
from devices.kinds import CLASS_OF
from devices.problems import FileProblem, FileProblems, UnknownProfile, did_you_mean
from devices.registers import value_type
from devices.schema import ArgumentSection, CommandSection, ProfileFile, SettingSection, TimingSection
from devices.source import Document, peek, read
from devices.validation import validate
from devices.values import normalise, plain

__all__ = ["SHIPPED", "FileProblem", "FileProblems", "UnknownProfile", "available", "find", "load"]

SHIPPED = Path(__file__).parent / "profiles"


def load(path: Path) -> model.Profile:
    """Read one profile file.

    Raises:
        FileProblems: unreadable, malformed, or contradicting itself.
    """
    document = read(path)
    file = validate(document, ProfileFile)
    problems = [document.problem(each.path, each.message, each.hint, key=each.key) for each in misfits(file)]
    if problems:
        raise FileProblems(problems)
    profile = _profile(file, document)
    refused = [document.problem(each.path, each.message) for each in contradictions(profile)]
    refused += [
        document.problem(("commands", index, "policy"), reason)
        for index, command in enumerate(profile.commands)
        if (reason := _refusal(profile, command)) is not None
    ]
    if refused:
        raise FileProblems(refused)
    return profile


def find(name: str, roots: Sequence[Path]) -> model.Profile:
    """Load the profile called `name`.

    Args:
        name: the `profile:` key, vendor/model.
        roots: folders in the order of search, those that do not exist are skipped; the shipped profiles come
            last.

    Raises:
        UnknownProfile: no file has that key.
        FileProblems: the key is given twice in one folder, or the file is wrong.
    """
    known: list[str] = []
    unreadable: list[str] = []
    for root in (*roots, SHIPPED):
        found: list[Path] = []
        for path in _files(root):
            try:
                key = peek(path, "profile")
            except FileProblems as problems:
                unreadable.append(str(problems.problems[0]))
                continue
            if key == name:
                found.append(path)
            elif key is not None:
                known.append(key)
        if len(found) > 1:
            others = ", ".join(str(path) for path in found[:-1])
            raise FileProblems(
                [FileProblem(str(found[-1]), 1, 1, f"the profile '{name}' is also in {others}")]
            )
        if found:
            return load(found[0])
    hint = did_you_mean(name, known) or f"Known profiles: {', '.join(sorted(set(known)))}"
    places = ", ".join(str(root) for root in (*roots, SHIPPED))
    skipped = f" Not readable: {' '.join(unreadable)}" if unreadable else ""
    raise UnknownProfile([FileProblem(places, None, None, f"no profile '{name}' here", hint + skipped)])


def available(roots: Sequence[Path]) -> list[tuple[str, Path, str]]:
    """Return (name, path, title) of each profile that `find` would find, by name.

    Files that cannot be read are left out.
    """
    found: dict[str, tuple[str, Path, str]] = {}
    for root in (*roots, SHIPPED):
        for path in _files(root):
            try:
                name, title = peek(path, "profile"), peek(path, "title")
            except FileProblems:
                continue
            if name is not None:
                found.setdefault(name, (name, path, title or ""))
    return [found[name] for name in sorted(found)]


def _files(root: Path) -> Iterator[Path]:
    return iter(sorted(path for path in root.rglob("*.yaml") if path.is_file()))


def _refusal(profile: model.Profile, command: model.Command) -> str | None:
    try:
        choose(profile, command)
    except PolicyRefused as refusal:
        return str(refusal).rstrip(".")
    return None


def _profile(file: ProfileFile, document: Document) -> model.Profile:
    settings = {name: _setting(name, section, file) for name, section in file.settings.items()}
    return model.Profile(
        name=file.profile,
        dialect=file.dialect,
        commands=tuple(_command(section, settings) for section in file.commands),
        title=file.title or "",
        sources=tuple(file.sources),
        verified_on_hardware=file.verified_on_hardware,
        settings=MappingProxyType(settings),
        timing=_timing(file.timing),
        boot_read=file.boot_read,
        boot_reply=file.boot_reply,
        model=file.model,
        firmware=file.firmware,
        opening_resets=file.opening_resets,
        identity=model.Identity(**file.identity.model_dump()) if file.identity else None,
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


def _setting(name: str, section: SettingSection, file: ProfileFile) -> model.Setting:
    register = None
    kind = section.type
    if file.dialect == "modbus":
        kind = value_type(section.type, section.scale)
        if section.table is not None and section.address is not None:
            register = model.Register(section.table, section.address, section.type, section.scale)
    return model.Setting(
        name=name,
        type=kind,
        unit=section.unit,
        min=section.min,
        max=section.max,
        step=None if section.step is None else plain(section.step),
        read=section.read,
        reply=section.reply,
        durable=section.durable,
        clamps=section.clamps,
        other_writers=section.other_writers,
        register=register,
    )


def _argument(section: ArgumentSection) -> model.Argument:
    step = None if section.step is None else plain(section.step)
    return model.Argument(
        section.name, section.type, section.min, section.max, section.unit, step, section.secret
    )


def _command(section: CommandSection, settings: dict[str, model.Setting]) -> model.Command:
    form, mode = section.absolute_form, section.mode
    confirm, write = section.confirm, section.write
    return model.Command(
        name=section.name,
        kind=section.kind,
        effect_class=CLASS_OF[section.kind],
        args=tuple(_argument(each) for each in section.args),
        send=section.send,
        setting=section.setting,
        absolute_form=model.AbsoluteForm(form.command, form.value, form.equivalent) if form else None,
        verify=_verify(section),
        policy=section.policy,
        mode=model.Mode(mode.setting, normalise(settings[mode.setting].type, mode.value)) if mode else None,
        ack_means=section.ack_means,
        nak_may_follow_effect=section.nak_may_follow_effect,
        execution_s=section.execution_s,
        confirm=model.Confirm(confirm.at, confirm.read, confirm.expect) if confirm else None,
        danger=section.danger,
        write=model.Write(**dict(write)) if write else None,
    )


def _verify(section: CommandSection) -> model.Verify | None:
    verify = section.verify
    if verify is None:
        return None
    tolerance = None if verify.tolerance is None else plain(verify.tolerance)
    return model.Verify(verify.setting, verify.expect, tolerance)
