"""Which setups are played?

All policies on devices of all tiers and on plain equipment, over connections that opening anew cuts and over lines that
it does not; and for each rule about readings (CATALOG.md 2) a setup in which it matters.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from devices.catalog import Policy
from devices.profile import AbsoluteForm, Profile, Verify
from tests.agent.line_profiles import naming, with_command, with_setting, with_timing
from tests.exhaustive.commands import (
    ADJUST,
    BEEP,
    FORM,
    FULL,
    LEVEL,
    LEVEL_FORM,
    ROTATE,
    SET,
    SET_LEVEL,
    STOPPED,
    Command,
)
from tests.exhaustive.fates import Depth, Fate
from tests.exhaustive.setup import NUMBERED, PLAIN, Bounds, Setup

_WIDE = Bounds(Depth.ALL, stops=2)
_NARROW = Bounds(Depth.CORE, others=1)
_CORE = Bounds(Depth.CORE)
_LEAN = Bounds(Depth.LEAN, others=1)
_STOPS = Bounds(stops=2)
_CORE_STOPS = Bounds(Depth.CORE, stops=2)
_NARROW_STOPS = Bounds(Depth.CORE, others=1, stops=2)

_SETTLING = with_timing(NUMBERED, settle_s=0.2)
_LEVELLED = replace(
    NUMBERED,
    settings={**NUMBERED.settings, "level": PLAIN.settings["level"]},
    commands=(*NUMBERED.commands, *(each for each in PLAIN.commands if each.name.endswith(" level"))),
)
_FORMED = with_command(
    "ADJUST level", absolute_form=AbsoluteForm("SET level", "clamp(before + delta, 0, 10)", equivalent=True)
)
_UNCOUNTED = replace(PLAIN, boot_read=None)
_COARSE = with_command(
    "ROTATE log",
    with_setting("log_files", type="decimal"),
    verify=Verify("log_files", "before + 1.4", tolerance="0.5"),
)
_UNSTATED = with_command(
    "ADJUST level",
    with_setting("level", min=None, max=None, clamps=None),
    verify=Verify("level", "before + delta"),
)


def _all() -> Iterator[Setup]:
    yield _lsq(1, "resend, ADJUST", ADJUST, _WIDE)
    yield _lsq(1, "resend, ADJUST, one attempt", ADJUST, _STOPS, attempts=1, more=(Fate.DOUBLED,))
    yield _lsq(1, "resend, SET", SET, _CORE, overtakes=True)
    yield from _asked_for(1, _NARROW)
    yield _lsq(1, "get-verify, ADJUST, settled", ADJUST, _NARROW, policy=Policy.GET_VERIFY, profile=_SETTLING,
               more=(Fate.WATCHDOG_SLOW,))  # fmt: skip
    yield _lsq(1, "get-verify volatile, LEVEL", LEVEL, _NARROW, policy=Policy.GET_VERIFY, profile=_LEVELLED)
    yield _lsq(1, "resend, ADJUST", ADJUST, _CORE_STOPS, stays=True)
    yield _lsq(1, "resend, ADJUST, one attempt", ADJUST, _CORE, stays=True, attempts=1)
    for tier in (0, 2):
        yield _lsq(tier, "resend, ADJUST", ADJUST, _NARROW_STOPS if tier else _NARROW)
        yield _lsq(tier, "resend, ADJUST, one attempt", ADJUST, _CORE, attempts=1)
        yield _lsq(tier, "resend, SET", SET, _LEAN)
        yield from _asked_for(tier, _LEAN)
    yield _lsq(2, "resend, ADJUST, effect and record apart", ADJUST, _NARROW, atomic=False,
               more=(Fate.BOOT_BEGUN, Fate.BOOT_INSIDE))  # fmt: skip
    for stays in (False, True):
        yield from _plain(stays=stays)
    yield _line("get-verify volatile, behind a gateway, told apart", LEVEL, Bounds(), stays=False, gateway=True,
                named=True, profile=naming())  # fmt: skip


def _asked_for(tier: int, bounds: Bounds) -> Iterator[Setup]:
    """The policies that one may ask for where the equipment numbers its commands."""
    yield _lsq(tier, "get-verify, ADJUST", ADJUST, bounds, policy=Policy.GET_VERIFY)
    yield _lsq(tier, "read-then-set, ADJUST", FORM, bounds, policy=Policy.READ_THEN_SET)
    yield _lsq(tier, "no-retry, BEEP", BEEP, bounds, policy=Policy.NO_RETRY)


def _plain(*, stays: bool) -> Iterator[Setup]:
    """Equipment that numbers nothing."""
    yield _line("resend, SET", SET, _STOPS if stays else _CORE_STOPS, stays=stays, more=(Fate.DOUBLED,),
                overtakes=stays)  # fmt: skip
    yield _line("read-then-set, ADJUST", FORM, _STOPS, stays=stays)
    yield _line("get-verify durable, ROTATE", ROTATE, _STOPS, stays=stays)
    yield _line("get-verify volatile, LEVEL", LEVEL, _CORE_STOPS if stays else _CORE, stays=stays)
    yield _line("resend volatile, SET level", SET_LEVEL, _CORE, stays=stays, attempts=2)
    yield _line("read-then-set volatile, LEVEL", LEVEL_FORM, _NARROW, stays=stays, profile=_FORMED)
    yield _line("no-retry, BEEP", BEEP, _STOPS, stays=stays)
    yield _line("get-verify volatile, starts not counted", LEVEL, _NARROW, stays=stays, profile=_UNCOUNTED)
    yield _line("get-verify, void", FULL, _NARROW, stays=stays)
    yield _line("get-verify, undeclared stop", STOPPED, _NARROW, stays=stays, profile=_UNSTATED)
    yield _line("get-verify, shown coarsely", ROTATE, _NARROW, stays=stays, profile=_COARSE)
    yield _line("get-verify durable, told apart", ROTATE, _NARROW, stays=stays, named=True, profile=naming())


def _lsq(
    tier: int, name: str, command: Command, bounds: Bounds, *, profile: Profile = NUMBERED, **how: Any
) -> Setup:
    over = " over serial" if how.get("stays") else ""
    return Setup(f"LSQ1 tier {tier}{over}, {name}", profile, command, bounds, tier=tier, **how)


def _line(
    name: str, command: Command, bounds: Bounds, *, stays: bool, profile: Profile = PLAIN, **how: Any
) -> Setup:
    over = "serial" if stays else "TCP"
    return Setup(f"line over {over}, {name}", profile, command, bounds, stays=stays, **how)


SETUPS = list(_all())
"""Every setup of the suite."""


def setup_named(name: str) -> Setup:
    """The setup of that name. Raises StopIteration where there is none."""
    return next(setup for setup in SETUPS if setup.name == name)
