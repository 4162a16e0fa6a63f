"""Is it safe to send this command again, and what does the agent do about silence?

Decided by the nature of the command, never by the retry code (CATALOG.md, sections 1 and 2). `choose` is
pure: the strongest policy that holds, in a fixed order; another one may be asked for, never a weaker promise.
The vocabulary (`Kind`, `EffectClass`, `Policy`) and the matching of words (`resolve`, `raw`) are offered here
too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from devices.calls import Call, raw, resolve
from devices.kinds import CLASS_OF, EffectClass, Kind, Policy
from devices.problems import UsageProblem, did_you_mean
from devices.profile import Command, Profile

__all__ = [
    "CLASS_OF",
    "Call",
    "Choice",
    "EffectClass",
    "Kind",
    "Policy",
    "PolicyRefused",
    "UsageProblem",
    "call_to_set",
    "choose",
    "raw",
    "resolve",
    "trusts_dedup",
]


class PolicyRefused(ValueError):  # noqa: N818  # it reads as what happened
    """The policy asked for would promise less than the command needs; `reason` is one sentence for people."""

    def __init__(self, policy: Policy, reason: str) -> None:
        super().__init__(policy, reason)
        self.policy = policy
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.policy} is refused: {self.reason}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy of a command, why, and why each of the others is not taken; each reason is one sentence."""

    policy: Policy
    why: str
    rejected: tuple[tuple[Policy, str], ...]


def trusts_dedup(profile: Profile) -> bool:
    """Tell whether the equipment itself drops repeats by number: LSQ1, or a declared `sequence`.

    The conditions of that trust that only show at run time (boots, reconnects, other senders) are the
    caller's.
    """
    return profile.dialect == "lsq" or profile.sequence is not None


def call_to_set(profile: Profile, setting: str, value: str) -> Call:
    """Return the call of the one absolute command that gives a setting a value.

    That is a command of one argument which is the value: a `verify` that expects anything else says that the setting
    would then read otherwise.

    Raises:
        UsageProblem: no such setting, no such command or several, or the value does not fit its argument.
    """
    if setting not in profile.settings:
        known = f"Settings of {profile.name}: {', '.join(profile.settings) or 'none'}"
        raise UsageProblem(
            f"{profile.name} has no setting '{setting}'", did_you_mean(setting, profile.settings) or known
        )
    setters = [command for command in profile.commands if _sets(command, setting)]
    if len(setters) != 1:
        how_many = "no command" if not setters else "more than one command"
        changing = [c.name for c in profile.commands if c.setting == setting]
        hint = f"Those that change it: {', '.join(changing)}. Name one with 'send'" if changing else None
        raise UsageProblem(f"{profile.name} has {how_many} that sets '{setting}' to a value", hint)
    [command] = setters
    return resolve(profile, [*command.name.split(), f"{command.args[0].name}={value}"])


def _sets(command: Command, setting: str) -> bool:
    if command.kind is not Kind.ABSOLUTE or command.setting != setting or len(command.args) != 1:
        return False
    verify = command.verify
    return verify is None or (verify.setting == setting and verify.expect.strip() == command.args[0].name)


def choose(profile: Profile, command: Command, asked: Policy | None = None) -> Choice:
    """Return the policy of a command of this profile.

    Args:
        profile: what the equipment offers.
        command: one of its commands, or the one of a raw `Call`.
        asked: what a person asked for; without it the profile's own wish counts, then the strongest that
            holds.

    Raises:
        PolicyRefused: the wish would be a weaker promise than the command needs.
    """
    obstacles = {policy: find(profile, command) for policy, find in _OBSTACLES.items()}
    strongest = next(policy for policy, obstacle in obstacles.items() if obstacle is None)
    wish = asked or command.policy
    policy = wish or strongest
    obstacle = obstacles[policy]
    if obstacle is not None:
        raise PolicyRefused(policy, obstacle)
    why = _WHY[policy](profile, command)
    if wish is not None and wish is not strongest:
        why = f"{'It was asked for' if asked else 'The profile wishes it'}. {why}"
    rejected = tuple(
        (
            other,
            reason
            or f"It would be safe too; {policy} comes first{' because it was wished' if wish else ''}.",
        )
        for other, reason in obstacles.items()
        if other is not policy
    )
    return Choice(policy, why, rejected)


_NOT_NEEDED = "There is no need, since a second copy does no harm."


def _resend_obstacle(profile: Profile, command: Command) -> str | None:
    if not command.in_catalog:
        return "The catalog does not know this command, so it is never sent again."
    if command.effect_class is EffectClass.IDEMPOTENT or trusts_dedup(profile):
        return None
    harm = f"a second copy of this {_NOUN[command.kind]} {_HARM[command.kind]}"
    return f"The device does not recognise repeats, and {harm}."


def _form_obstacle(profile: Profile, command: Command) -> str | None:
    form = command.absolute_form
    if command.effect_class is EffectClass.IDEMPOTENT:
        return _NOT_NEEDED
    if form is None:
        return "The profile names no absolute command that does the same."
    if not form.equivalent:
        return f"The profile does not state that '{form.command}' is equivalent."
    setting = profile.command(form.command).setting
    return _others(profile, setting, "a target computed from a reading could undo their change")


def _verify_obstacle(profile: Profile, command: Command) -> str | None:
    if command.effect_class is EffectClass.IDEMPOTENT and command.verify is None:
        return _NOT_NEEDED
    if command.verify is None:
        return "The profile declares no 'verify' for it: no reading that tells applied from not applied."
    return _others(profile, command.verify.setting, "a reading does not tell our change from theirs")


def _others(profile: Profile, setting: str | None, harm: str) -> str | None:
    if setting is not None and profile.setting(setting).other_writers:
        return f"Others write '{setting}' too, so {harm}."
    return None


def _no_obstacle(_profile: Profile, _command: Command) -> str | None:
    return None


# In the order of strength: the first without an obstacle is chosen.
_OBSTACLES: Mapping[Policy, Callable[[Profile, Command], str | None]] = MappingProxyType(
    {
        Policy.RESEND: _resend_obstacle,
        Policy.READ_THEN_SET: _form_obstacle,
        Policy.GET_VERIFY: _verify_obstacle,
        Policy.NO_RETRY: _no_obstacle,
    }
)

_NOUN: Mapping[Kind, str] = MappingProxyType(
    {kind: f"{kind} command" for kind in Kind} | {Kind.CONSUMING: "consuming read"}
)

_HARM: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.RELATIVE: "would count twice",
        Kind.TOGGLE: "would undo the first",
        Kind.TRIGGER: "would make it happen again",
        Kind.RESET: "would wipe what came in between",
        Kind.CONSUMING: "would lose what the first returned",
        Kind.LINK: "could reach a device that has moved to other settings",
    }
)


def _why_resend(profile: Profile, command: Command) -> str:
    if command.effect_class is EffectClass.IDEMPOTENT:
        return f"A second copy of this {_NOUN[command.kind]} changes nothing that the first did not."
    if profile.dialect == "lsq":
        return (
            "The device remembers the number of the last command and answers a repeat without acting again."
        )
    return (
        "The equipment numbers its commands and drops a repeat, as long as it has not restarted in between."
    )


def _why_form(_profile: Profile, command: Command) -> str:
    form = command.absolute_form
    target = form.command if form else ""
    return (
        f"The value is read once and the target is set with '{target}', which may be repeated without harm."
    )


def _why_verify(_profile: Profile, command: Command) -> str:
    setting = command.verify.setting if command.verify else ""
    return f"After silence '{setting}' is read back first: it tells whether the command took effect."


def _why_no_retry(_profile: Profile, command: Command) -> str:
    if command.effect_class is EffectClass.IDEMPOTENT:
        return "It is sent once; silence is left to a person."
    if command.confirm is not None:
        return "It is sent once; whether it took effect is asked of the device where it is found then."
    return (
        "Nothing tells afterwards whether it took effect, so it is sent once and silence is left to a person."
    )


_WHY: Mapping[Policy, Callable[[Profile, Command], str]] = MappingProxyType(
    {
        Policy.RESEND: _why_resend,
        Policy.READ_THEN_SET: _why_form,
        Policy.GET_VERIFY: _why_verify,
        Policy.NO_RETRY: _why_no_retry,
    }
)
