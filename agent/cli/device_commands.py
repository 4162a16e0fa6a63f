"""`ackonce devices`, `get`, `probe`, `explain`: looking without changing anything."""

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exit_codes, output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command
from devices.problems import UsageProblem
from logs.text import escape

if TYPE_CHECKING:
    from agent.service import Probe, Service
    from agent.station import Identity
    from agent.targets import Chosen

Targets = Annotated[
    list[str], typer.Argument(metavar="TARGET...", help="Name, glob, group:, tag:, @FILE or URL.")
]
Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="Name, glob, group:NAME, tag:NAME, @FILE or URL.")
]
ProfileName = Annotated[str | None, typer.Option(metavar="NAME", help="Profile, needed with a URL.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "get", epilog=exit_codes.EPILOG)(get)
    command(app, "explain", context_settings={"ignore_unknown_options": True})(explain)
    command(app, "probe", epilog=exit_codes.EPILOG)(probe)
    command(app, "devices")(devices)


def devices(common: Common) -> None:
    """List the inventory."""
    from agent.cli.device_table import show_devices
    from agent.cli.places import settings_of
    from agent.targets import inventory_of

    settings = settings_of(common)
    show_devices(common, settings, inventory_of(settings))


def explain(
    common: Common,
    target: Target,
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="As in: ADJUST offset +5")],
    profile: ProfileName = None,
    policy: Annotated[
        str | None, typer.Option(metavar="POLICY", help="What if this one were asked for?")
    ] = None,
) -> None:
    """Say which policy a command gets, why, and what each loss would lead to. Sends nothing."""
    from agent.cli.explain_text import show_explanation
    from agent.cli.places import settings_of
    from agent.orders import choose_policy, terms_of
    from agent.targets import choose_targets
    from devices.catalog import resolve

    for chosen in choose_targets(settings_of(common), [target], profile):
        call = resolve(chosen.profile, words)
        choice = choose_policy(chosen, call, policy)
        show_explanation(
            common, chosen.device.name, chosen.profile, call, choice, terms_of(chosen, call, choice)
        )


def get(
    common: Common,
    target: Target,
    settings_names: Annotated[list[str], typer.Argument(metavar="SETTING...", help="As in the profile.")],
    profile: ProfileName = None,
) -> None:
    """Read settings."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.targets import reachable_targets

    settings = settings_of(common)
    chosen = reachable_targets(settings, [target], profile)
    for each in chosen:
        _check_settings(each, settings_names)
    codes = run_agent(common, settings, lambda service: _get_all(common, service, chosen, settings_names))
    raise typer.Exit(exit_codes.worst(codes))


def _check_settings(chosen: "Chosen", names: list[str]) -> None:
    from devices.problems import did_you_mean

    for name in names:
        setting = chosen.profile.settings.get(name)
        if setting is None:
            known = f"Known: {', '.join(chosen.profile.settings)}"
            hint = did_you_mean(name, chosen.profile.settings) or known
            raise UsageProblem(f"{chosen.profile.name} has no setting '{name}'", hint)
        if setting.read is None:
            raise UsageProblem(f"the profile {chosen.profile.name} does not say how to read '{name}'")


_GET_COLUMNS = ("device", "setting", "value", "unit")
_WITH_BYTES = 2
"""So often must -v be given that all bytes are shown."""


async def _get_all(
    common: Common, service: "Service", chosen: list["Chosen"], names: list[str]
) -> list[Exit]:
    rows: list[tuple[object, ...]] = []
    codes: list[Exit] = []
    for each in chosen:
        if service.executor.stopping():
            break
        found, code = await _get_from(common, service, each, names)
        rows += found
        codes.append(code)
    if common.json:
        for row in rows:
            output.put_json(dict(zip(_GET_COLUMNS, row, strict=True)))
    else:
        output.put_table(_GET_COLUMNS, rows)
    return _unless_interrupted(service, codes)


async def _get_from(
    common: Common, service: "Service", each: "Chosen", names: list[str]
) -> tuple[list[tuple[object, ...]], Exit]:
    """The rows of one device, and the code that they make; what could not be read is told at once, with a way on."""
    from agent.cli.wording import what_next
    from agent.links.link import PortHeld, Unreachable
    from agent.operation import Cause
    from agent.registry import WrongDevice
    from agent.station import ReadAnswer
    from devices.values import normalise

    name, wanted = each.device.name, [each.profile.settings[name] for name in names]
    cause: Cause | None = None
    code = Exit.OK
    try:
        answers = await service.get(each.target, wanted)
    except (Unreachable, WrongDevice) as problem:
        output.say(f"ackonce: {name}: nothing was read: {problem}")
        answers, code = [ReadAnswer(None)] * len(wanted), Exit.NOT_SENT
        cause = Cause.WRONG_DEVICE if isinstance(problem, WrongDevice) else Cause.UNREACHABLE
        if isinstance(problem, PortHeld) and problem.ours:
            cause, code = Cause.HELD, Exit.HELD
        elif cause is Cause.UNREACHABLE and service.executor.stopping():
            cause = Cause.INTERRUPTED
    rows: list[tuple[object, ...]] = []
    unread = None
    for setting, (raw, said, _) in zip(wanted, answers, strict=True):
        value = None
        if raw is not None:
            try:
                value = normalise(setting.type, raw, setting.step)
            except ValueError as problem:
                said = f"the device answered a value that is {problem}"
                output.say(f"ackonce: {name}: {setting.name}: {escape(said)}")
        elif cause is None:
            output.say(f"ackonce: {name}: {setting.name}: {escape(said or 'no answer')}")
        if value is None and cause is None:
            code, unread = Exit.NOT_SENT, unread or setting.name
        rows.append((name, setting.name, value, setting.unit))
    unread = unread if common.verbose < _WITH_BYTES else None  # what it answered has been shown
    hint = what_next(name, each.profile.name, cause, unread)
    if hint is not None and not common.quiet:
        output.say(hint)
    return rows, code


def probe(
    common: Common,
    targets: Targets,
    profile: ProfileName = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Make a device ours that another store has used.")
    ] = False,
) -> None:
    """Ask devices who they are; with --take-over also make them ours."""
    from agent.cli.places import settings_of
    from agent.cli.running import run_agent
    from agent.targets import reachable_targets

    if take_over and not common.reason:
        raise UsageProblem(
            "--take-over cuts off whoever used the device before", "Say why with --reason TEXT"
        )
    settings = settings_of(common)
    chosen = reachable_targets(settings, targets, profile)
    codes = run_agent(
        common,
        settings,
        lambda service: _probe_all(common, service, chosen, common.reason if take_over else None),
    )
    raise typer.Exit(exit_codes.worst(codes))


_PROBE_COLUMNS = ("device", "state", "serial", "model", "firmware", "tier", "epoch", "round trip", "message")


async def _probe_all(
    common: Common, service: "Service", chosen: list["Chosen"], reason: str | None
) -> list[Exit]:
    from agent.links.link import PortHeld, Unreachable
    from agent.registry import WrongDevice
    from agent.station import Identity
    from agent.store.database import Refused

    rows: list[tuple[object, ...]] = []
    codes: list[Exit] = []
    for each in chosen:
        if service.executor.stopping():
            break
        found: Probe | None = None
        who = Identity()
        state, code = "ok", Exit.OK
        message: str | None = None
        try:
            if reason is not None:
                await service.take_over(each.target, reason)
                state = "taken over"
            found = await service.probe(each.target)
            who = found.identity
            if found.round_trip_s is None:
                state, message = "open", "it can be opened; its profile names nothing to ask"
        except PortHeld as problem:
            state, message, code = "held", str(problem), Exit.HELD if problem.ours else Exit.NOT_SENT
        except Unreachable as problem:
            state, message, code = "unreachable", str(problem), Exit.NOT_SENT
        except WrongDevice as problem:
            state, message, code = "wrong device", str(problem), Exit.NOT_SENT
            who = Identity(problem.serial, problem.model)
        except Refused as problem:
            state, message, code = "held", str(problem), Exit.HELD
        rows.append(_probe_row(each.device.name, state, found, who, message))
        codes.append(code)
    if common.json:
        for row in rows:
            output.put_json(dict(zip((name.replace(" ", "_") for name in _PROBE_COLUMNS), row, strict=True)))
    else:
        output.put_table(_PROBE_COLUMNS, rows)
    return _unless_interrupted(service, codes)


def _unless_interrupted(service: "Service", codes: list[Exit]) -> list[Exit]:
    return [*codes, Exit.INTERRUPTED] if service.executor.stopping() else codes


def _probe_row(
    name: str, state: str, found: "Probe | None", who: "Identity", message: str | None
) -> tuple[object, ...]:
    took_s = found.round_trip_s if found is not None else None
    round_trip = f"{took_s * 1000:.1f} ms" if took_s is not None else None
    return (name, state, who.serial, who.model, who.firmware, who.tier, who.epoch, round_trip, message)
