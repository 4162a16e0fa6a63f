"""Which operation do typed words mean? Everything that can be wrong with them is found here, before any connection."""

import shlex
from collections.abc import Mapping, Sequence

from ulid import ULID

from agent.operation import Operation, Terms
from agent.secrets import NoSecret, look_up
from agent.settings import Settings
from agent.targets import Chosen
from agent.terms import terms_for
from devices import catalog, templates, values
from devices.calls import marked
from devices.catalog import Call, Choice, Policy, PolicyRefused
from devices.kinds import EffectClass
from devices.problems import UsageProblem
from devices.profile import Argument, Command, Profile


def order_for(
    settings: Settings,
    chosen: Chosen,
    words: Sequence[str],
    *,
    raw: bool = False,
    policy: str | None = None,
    key: str | None = None,
    attempts: int | None = None,
    reason: str | None = None,
    if_needed: bool = False,
) -> Operation:
    """The operation that words mean for a device. `raw`: the words as they are. Raises UsageProblem."""
    call = catalog.raw(chosen.profile, " ".join(words)) if raw else catalog.resolve(chosen.profile, words)
    return order_of(
        settings,
        chosen,
        call,
        policy=policy,
        key=key,
        attempts=attempts,
        reason=reason,
        if_needed=if_needed,
    )


def order_of(
    settings: Settings,
    chosen: Chosen,
    call: Call,
    *,
    policy: str | None = None,
    key: str | None = None,
    attempts: int | None = None,
    reason: str | None = None,
    run: str | None = None,
    step: str | None = None,
    if_needed: bool = False,
) -> Operation:
    """The operation of a call on a device. `if_needed` as in `terms.terms_for`.

    Raises UsageProblem, also where a secret that the call names cannot be found now.
    """
    if chosen.target.unit == 0 and call.command.effect_class is EffectClass.CUMULATIVE:
        raise UsageProblem(
            f"{chosen.device.name} has unit 0, which a gateway passes on to everybody: "
            f"'{spelled(chosen.profile, call)}' is not sent to an address at which several devices may carry it "
            "out",
            "Give the device its own unit in the inventory (255 is the device itself on Modbus TCP)",
        )
    for reference in call.secrets:
        try:
            look_up(reference)
        except NoSecret as problem:
            raise UsageProblem(str(problem)) from None
    choice = choose_policy(chosen, call, policy)
    return Operation(
        op=str(ULID()),
        device=chosen.device.name,
        command=spelled(chosen.profile, call),
        kind=call.command.kind.value,
        terms=terms_of(chosen, call, choice, attempts, if_needed=if_needed),
        profile=chosen.profile.name,
        profile_digest=chosen.profile.digest,
        route=chosen.target.url,
        submitted_by=settings.actor,
        key=key,
        reason=reason,
        run=run,
        step=step,
    )


def terms_of(
    chosen: Chosen, call: Call, choice: Choice, attempts: int | None = None, *, if_needed: bool = False
) -> Terms:
    """The terms of a call on a device, as patient as this run is."""
    return terms_for(
        chosen.profile,
        call,
        choice.policy,
        reply_s=chosen.target.timeout_s,
        attempts=attempts or chosen.target.attempts,
        survives_reopen=chosen.target.survives_reopen,
        if_needed=if_needed,
    )


def choose_policy(chosen: Chosen, call: Call, asked: str | None) -> Choice:
    """The policy of a call. Raises UsageProblem where the one asked for is unknown or promises less."""
    wish: Policy | None = None
    if asked is not None:
        try:
            wish = Policy(asked)
        except ValueError:
            raise UsageProblem(f"no such policy: {asked}", f"Known: {', '.join(Policy)}") from None
    try:
        return catalog.choose(chosen.profile, call.command, wish)
    except PolicyRefused as refused:
        raise UsageProblem(str(refused)) from None


def spelled(profile: Profile, call: Call) -> str:
    """The command of a call in one spelling, so that a key meets the same words again however they were typed.

    It is what a person types (`failures.again`): the text that leaves, where typing that means this very call;
    else the catalog's name and the arguments, as the device gets them where that is the same value to whoever
    types it (`+5`). Arguments that are empty or have blanks in them stand in quotes, as all words then do for a
    shell. A secret is its reference in braces.
    """
    if not call.command.in_catalog or (call.text.startswith(call.command.name) and _means(profile, call)):
        return call.text
    name, args = call.command.name.split(), dict(call.args)
    if any(value.split() != [value] for value in args.values()):
        return shlex.join([*name, *args.values()])
    return " ".join([*name, *(_as_sent(call.command, argument, args) for argument in call.command.args)])


def _means(profile: Profile, call: Call) -> bool:
    """Whether the text of a call, typed, is this call again."""
    typed = call.text
    for reference in call.secrets:
        typed = typed.replace(marked(reference), reference)
    try:
        return catalog.resolve(profile, [typed]) == call
    except UsageProblem:
        return False


def _as_sent(command: Command, argument: Argument, args: Mapping[str, str]) -> str:
    """An argument as its field in the text has it, where whoever types that means the same value; else canonical."""
    value = args[argument.name]
    for field in templates.parse(command.send or ""):
        if isinstance(field, templates.Field) and field.name == argument.name and field.spec:
            sent = templates.render(f"{{{field.name}:{field.spec}}}", args)
            try:
                return sent if values.normalise(argument.type, sent) == value else value
            except ValueError:
                return value
    return value
