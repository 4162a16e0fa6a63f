"""The choice of policy, over all kinds and everything that a device can offer."""

import subprocess
import sys
from itertools import product

import pytest

from devices.catalog import CLASS_OF, EffectClass, Kind, Policy, PolicyRefused, choose, resolve
from devices.loader import find
from devices.profile import AbsoluteForm, Command, Line, Profile, Sequence, Setting, Verify

RESEND, FORM, VERIFY, ONCE = Policy.RESEND, Policy.READ_THEN_SET, Policy.GET_VERIFY, Policy.NO_RETRY
IDEMPOTENT = (Kind.QUERY, Kind.ABSOLUTE, Kind.SAVE)
CUMULATIVE = (Kind.RELATIVE, Kind.TOGGLE, Kind.TRIGGER, Kind.RESET, Kind.CONSUMING, Kind.LINK)

# What the device offers: dedup, an equivalent absolute form, a verify, other writers; and what is then chosen and
# allowed for a cumulative command.
TABLE = [
    # dedup  form   verify others  chosen  allowed
    (False, False, False, False, ONCE, {ONCE}),
    (False, False, True, False, VERIFY, {VERIFY, ONCE}),
    (False, True, False, False, FORM, {FORM, ONCE}),
    (False, True, True, False, FORM, {FORM, VERIFY, ONCE}),
    (False, False, False, True, ONCE, {ONCE}),
    (False, False, True, True, ONCE, {ONCE}),
    (False, True, False, True, ONCE, {ONCE}),
    (False, True, True, True, ONCE, {ONCE}),
    (True, False, False, False, RESEND, {RESEND, ONCE}),
    (True, False, True, False, RESEND, {RESEND, VERIFY, ONCE}),
    (True, True, False, False, RESEND, {RESEND, FORM, ONCE}),
    (True, True, True, False, RESEND, {RESEND, FORM, VERIFY, ONCE}),
    (True, True, True, True, RESEND, {RESEND, ONCE}),
]


def offering(
    kind: Kind, *, dedup: str = "", form: bool = False, verify: bool = False, others: bool = False
) -> tuple[Profile, Command]:
    """Return a profile with one command of that kind beside its absolute form."""
    setter = Command("SET x", Kind.ABSOLUTE, EffectClass.IDEMPOTENT, send="SET x {value}", setting="x")
    command = Command(
        name="CHANGE",
        kind=kind,
        effect_class=CLASS_OF[kind],
        send="CHANGE",
        absolute_form=AbsoluteForm("SET x", "before + 1", equivalent=True) if form else None,
        verify=Verify("x", "before + 1") if verify else None,
    )
    return Profile(
        name="acme/logger",
        dialect="lsq" if dedup == "lsq" else "line",
        commands=(setter, command),
        settings={"x": Setting("x", "int", other_writers=others)},
        line=None if dedup == "lsq" else Line(),
        sequence=Sequence("{seq} {command}", r"^(?P<seq>\d+) (?P<rest>.*)$") if dedup == "sequence" else None,
    ), command


@pytest.mark.parametrize("kind", CUMULATIVE)
@pytest.mark.parametrize(("dedup", "form", "verify", "others", "chosen", "allowed"), TABLE)
def test_cumulative_commands(
    kind: Kind, dedup: bool, form: bool, verify: bool, others: bool, chosen: Policy, allowed: set[Policy]
) -> None:
    """The strongest policy that holds is chosen, and only those that hold can be asked for."""
    for how in ("lsq", "sequence") if dedup else ("",):
        profile, command = offering(kind, dedup=how, form=form, verify=verify, others=others)
        assert choose(profile, command).policy is chosen
        for asked in Policy:
            if asked in allowed:
                assert choose(profile, command, asked).policy is asked
            else:
                with pytest.raises(PolicyRefused):
                    choose(profile, command, asked)


@pytest.mark.parametrize("kind", IDEMPOTENT)
def test_idempotent_commands_are_resent(kind: Kind) -> None:
    """An idempotent command is re-sent, with dedup or without, whoever else writes."""
    for dedup, verify, others in product(("", "lsq", "sequence"), (False, True), (False, True)):
        profile, command = offering(kind, dedup=dedup, verify=verify, others=others)
        assert choose(profile, command).policy is RESEND
        assert choose(profile, command, ONCE).policy is ONCE
        with pytest.raises(PolicyRefused):
            choose(profile, command, FORM)


def test_every_kind_has_a_class() -> None:
    """Each kind is idempotent or cumulative, exactly as the table of the catalog says."""
    assert {kind for kind in Kind if CLASS_OF[kind] is EffectClass.IDEMPOTENT} == set(IDEMPOTENT)
    assert {kind for kind in Kind if CLASS_OF[kind] is EffectClass.CUMULATIVE} == set(CUMULATIVE)


@pytest.mark.parametrize("kind", CUMULATIVE)
def test_a_refusal_says_what_a_second_copy_would_do(kind: Kind) -> None:
    """Resending without dedup is refused with the harm in plain words."""
    profile, command = offering(kind, verify=True)
    with pytest.raises(
        PolicyRefused,
        match=r"resend is refused: The device does not recognise repeats, and .* (would|could) .*\.",
    ):
        choose(profile, command, RESEND)


def test_a_form_that_is_not_equivalent_is_not_offered() -> None:
    """Without `equivalent: true` the absolute form counts for nothing."""
    profile, command = offering(Kind.RELATIVE, verify=True)
    form = AbsoluteForm("SET x", "before + 1")
    claimed = Command(
        "CHANGE", Kind.RELATIVE, EffectClass.CUMULATIVE, absolute_form=form, verify=command.verify
    )
    assert choose(profile, claimed).policy is VERIFY
    with pytest.raises(PolicyRefused, match="does not state that 'SET x' is equivalent"):
        choose(profile, claimed, FORM)


def test_the_wish_of_a_profile_counts_until_somebody_asks() -> None:
    """A profile may choose a policy that holds; what a person asks for comes before it."""
    profile, command = offering(Kind.RELATIVE, form=True, verify=True)
    wished = Command(
        "CHANGE",
        Kind.RELATIVE,
        EffectClass.CUMULATIVE,
        absolute_form=command.absolute_form,
        verify=command.verify,
        policy=VERIFY,
    )
    choice = choose(profile, wished)
    assert choice.policy is VERIFY
    assert choice.why.startswith("The profile wishes it.")
    assert choose(profile, wished, ONCE).why.startswith("It was asked for.")


@pytest.mark.parametrize("kind", Kind)
def test_every_choice_explains_itself(kind: Kind) -> None:
    """A choice carries one sentence for the policy taken and one for each of the others."""
    for dedup, form, verify, others in product(("", "lsq"), (False, True), (False, True), (False, True)):
        profile, command = offering(kind, dedup=dedup, form=form, verify=verify, others=others)
        choice = choose(profile, command)
        assert {policy for policy, _ in choice.rejected} == set(Policy) - {choice.policy}
        assert all(
            text.endswith(".") and text[0].isupper() for text in (choice.why, *dict(choice.rejected).values())
        )


def test_the_demo_profile_is_resent_because_the_device_remembers_numbers() -> None:
    """On the demo device every command may be repeated, and the words of the manual give their text."""
    profile = find("demo/controller", [])
    assert {choose(profile, command).policy for command in profile.commands} == {RESEND}
    assert resolve(profile, ["ADJUST", "offset", "+5"]).text == "ADJUST offset +5"


def test_the_catalog_is_cheap_to_import() -> None:
    """Deciding needs neither pydantic nor ruamel.yaml, which take longer to import than a command to send."""
    script = (
        "import sys, devices.catalog, devices.values, devices.expressions, devices.problems; "
        "print([name for name in ('pydantic', 'ruamel') if any(m.split('.')[0] == name for m in sys.modules)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
