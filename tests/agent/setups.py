"""Which commands on which equipment do the tests of the policy play? Plain tables."""

from dataclasses import replace

from agent.operation import AbsoluteForm, Elsewhere, Numbering, Readback, Terms
from devices.kinds import Policy
from tests.agent.game import BASELINE, WANTED, Setup

SETTLE_S, LATE_S, BUSY_S = 0.25, 5.0, 60.0

ADJUST = Terms(
    policy=Policy.RESEND,
    idempotent=False,
    numbering=Numbering.LSQ1,
    text="ADJUST offset +5",
    args={"delta": "5"},
    types={"delta": "int", "offset": "int", "value": "int"},
    queries={"offset": "GET offset"},
    late_max_s=LATE_S,
    busy_max_s=BUSY_S,
)
SET = replace(ADJUST, idempotent=True, text="SET offset 15", args={"value": "15"})

OFFSET = Readback("offset", "int", "before + delta", step="1", min="-100", max="100", durable=True)
TARGET = replace(OFFSET, expect="value")
FORM = AbsoluteForm("SET offset {value}", "value", "int", "before + delta", min="-100", max="100")


def unnumbered(policy: Policy, *, durable: bool, boot_query: bool = False, settle_s: float = 0.0) -> Terms:
    """A cumulative command for equipment without numbers under get-verify or read-then-set."""
    return replace(
        ADJUST,
        policy=policy,
        numbering=Numbering.NONE,
        readback=replace(OFFSET, durable=durable),
        form=FORM if policy is Policy.READ_THEN_SET else None,
        boot_query="GET boots" if boot_query else None,
        settle_s=settle_s,
    )


def started(policy: Policy, at_start: str) -> Terms:
    """The same with a setting that a restart puts to a known value."""
    terms = unnumbered(policy, durable=False)
    return replace(terms, readback=replace(OFFSET, durable=False, at_start=at_start))


_DEVICES = ((False, False), (False, True), (True, False), (True, True))


def _lsq(attempts_max: int) -> list[Setup]:
    commands = {
        "cumulative": ADJUST,
        "cumulative no-retry": replace(ADJUST, policy=Policy.NO_RETRY),
        "cumulative get-verify": replace(ADJUST, policy=Policy.GET_VERIFY, readback=OFFSET),
        "cumulative get-verify volatile": replace(
            ADJUST, policy=Policy.GET_VERIFY, readback=replace(OFFSET, durable=False)
        ),
        "idempotent": SET,
        "idempotent durable read-back": replace(SET, readback=TARGET),
    }
    return [
        Setup(
            f"LSQ1 tier {2 if durable else 1} {name}, {'kept' if kept else 'opened'}, {attempts_max} attempts",
            replace(terms, attempts_max=attempts_max),
            durable,
            kept,
        )
        for name, terms in commands.items()
        for durable, kept in _DEVICES
        if not terms.idempotent or (durable == kept and not (kept and terms.readback))
    ]


def _plain(attempts_max: int) -> list[Setup]:
    verify, form = Policy.GET_VERIFY, Policy.READ_THEN_SET
    target = replace(SET, numbering=Numbering.NONE, readback=TARGET)
    unstated = unnumbered(verify, durable=True)
    commands = {
        "no-retry": replace(ADJUST, policy=Policy.NO_RETRY, numbering=Numbering.NONE),
        "resend": replace(SET, numbering=Numbering.NONE),
        "resend, durable read-back": target,
        "resend, volatile read-back": replace(target, readback=replace(TARGET, durable=False)),
        "resend, volatile read-back, boot count": replace(
            target, readback=replace(TARGET, durable=False), boot_query="GET boots"
        ),
        "resend, settled read-back": replace(target, settle_s=SETTLE_S),
        "get-verify durable": unnumbered(verify, durable=True),
        "get-verify durable, settled": unnumbered(verify, durable=True, settle_s=SETTLE_S),
        "get-verify volatile": unnumbered(verify, durable=False),
        "get-verify volatile, boot count": unnumbered(verify, durable=False, boot_query=True),
        "get-verify, nak may follow the effect": replace(
            unnumbered(verify, durable=True), nak_may_follow_effect=True
        ),
        "get-verify, stops not stated": replace(
            unstated, readback=replace(OFFSET, min=None, max=None, durable=True)
        ),
        "get-verify, answers told apart": replace(unnumbered(verify, durable=True), apart=True),
        "get-verify volatile, answers told apart": replace(unnumbered(verify, durable=False), apart=True),
        "get-verify, answers told apart, settled": replace(
            unnumbered(verify, durable=True, settle_s=SETTLE_S), apart=True
        ),
        "get-verify, an ack is only queued": replace(unnumbered(verify, durable=True), queued=True),
        "resend, an ack is only queued": replace(target, queued=True),
        "resend, if needed": replace(target, if_needed=True),
        "resend, if needed, volatile": replace(
            target, readback=replace(TARGET, durable=False), if_needed=True, boot_query="GET boots"
        ),
        "resend, if needed, settled": replace(target, if_needed=True, settle_s=SETTLE_S),
        "get-verify, if needed": replace(target, policy=verify, if_needed=True),
        "no-retry, an ack is only queued": replace(
            ADJUST, policy=Policy.NO_RETRY, numbering=Numbering.NONE, queued=True
        ),
        "read-then-set durable": unnumbered(form, durable=True),
        "read-then-set volatile, start known": started(form, BASELINE),
        "get-verify volatile, start known": started(verify, BASELINE),
        "read-then-set volatile, starts at the target": started(form, WANTED),
        "read-then-set volatile, boot count": unnumbered(form, durable=False, boot_query=True),
    }
    return [
        Setup(
            f"{name}{', serial' if serial else ''}, {attempts_max} attempts",
            replace(terms, attempts_max=attempts_max, survives_reopen=serial),
        )
        for name, terms in commands.items()
        for serial in (False, True)
    ]


def telling_more() -> list[Setup]:
    """Equipment that tells busy from taken, and a command that moves the device to another address."""
    once = replace(ADJUST, policy=Policy.NO_RETRY, numbering=Numbering.NONE)
    place = Elsewhere("unit 5", "GET unit", "5")
    verify = replace(unnumbered(Policy.GET_VERIFY, durable=True), apart=True)
    commands = {
        "no-retry": (once, True),
        "no-retry, nak may follow the effect": (replace(once, nak_may_follow_effect=True), True),
        "no-retry, moves": (replace(once, elsewhere=place), True),
        "get-verify, moves": (replace(verify, elsewhere=place), False),
        "resend": (replace(SET, numbering=Numbering.NONE, readback=TARGET), True),
        "get-verify": (verify, False),
        "read-then-set": (replace(unnumbered(Policy.READ_THEN_SET, durable=True), apart=True), False),
    }
    return [
        Setup(f"tells more: {name}", replace(terms, attempts_max=1), disturbed=disturbed, tells_more=True)
        for name, (terms, disturbed) in commands.items()
    ]


ATTEMPTS = (1, 2, 3)
HEAVY = (
    "idempotent durable read-back",
    "volatile, boot count",
    "cumulative get-verify",
    "idempotent, kept",
    "told apart",
    "queued",
    "nak may follow",
    "not stated",
    "idempotent, opened",
    "settled, serial",
    "if needed, ",
    "start known",
    "starts at",
    "cumulative, kept",
)
"""Games with so many positions that intrusions would not fit into the time of a test; lighter ones show the same."""


def _disturbed(setup: Setup) -> bool:
    """One attempt shows every rule of taking up and giving up; `tests/exhaustive` plays more with several copies."""
    return setup.terms.attempts_max == 1 and not any(words in setup.name for words in HEAVY)


THRICE = ("LSQ1 tier 1 cumulative, opened", "resend, 3")
"""Where a third attempt is played; it shows nothing that a second one does not, which these are to prove."""


def _playable(setup: Setup) -> bool:
    """Numbers that are drawn freely, or read back after the session, multiply the games with each attempt more."""
    if setup.terms.attempts_max == max(ATTEMPTS) and not setup.name.startswith(THRICE):
        return False
    if setup.terms.if_needed:
        return setup.terms.attempts_max == 1
    read_back = setup.terms.readback is not None
    if setup.numbered and read_back and not setup.terms.idempotent:
        return setup.terms.attempts_max == 1 and "opened" in setup.name
    if "start known" in setup.name or "starts at" in setup.name:
        return setup.terms.attempts_max == 1
    if "told apart" in setup.name or "queued" in setup.name or "boot count" in setup.name:
        return setup.terms.attempts_max <= (1 if "settled" in setup.name or "serial" in setup.name else 2)
    free = setup.numbered and setup.terms.idempotent
    return not free or setup.terms.attempts_max + (setup.terms.readback is not None) <= 2


SETUPS = [
    replace(setup, disturbed=_disturbed(setup))
    for attempts_max in ATTEMPTS
    for setup in (*_lsq(attempts_max), *_plain(attempts_max))
    if _playable(setup)
]
SETUPS += telling_more()
"""Every setup that is played to the end."""


def setup_named(name: str) -> Setup:
    """The setup of that name. Raises StopIteration where there is none."""
    return next(setup for setup in SETUPS if setup.name == name)
