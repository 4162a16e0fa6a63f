"""The demo controller as a plain text device: what its profile says must not happen twice, and what is sent."""

import re

import pytest

from devices.calls import resolve
from devices.catalog import Policy, choose
from devices.loader import find
from devices.profile import Profile
from devices.samples import outcomes


@pytest.fixture(scope="module")
def plain() -> Profile:
    """The profile."""
    return find("demo/controller-line", [])


@pytest.mark.parametrize(
    ("command", "policy"),
    [
        ("SET interval", Policy.RESEND),
        ("SET offset", Policy.RESEND),
        ("SET level", Policy.RESEND),
        ("SET relay", Policy.RESEND),
        ("ADJUST offset", Policy.READ_THEN_SET),
        ("ADJUST level", Policy.GET_VERIFY),
        ("TOGGLE relay", Policy.GET_VERIFY),
        ("RESET counter", Policy.GET_VERIFY),
        ("ROTATE log", Policy.GET_VERIFY),
        ("BEEP", Policy.NO_RETRY),
    ],
)
def test_policies(plain: Profile, command: str, policy: Policy) -> None:
    """Only absolute commands may be repeated, and what nothing can read back is sent once."""
    assert choose(plain, plain.command(command)).policy is policy


def test_no_command_is_left_out(plain: Profile) -> None:
    """It does what the numbered controller does, and a few things more."""
    numbered = find("demo/controller", [])
    assert {each.name for each in numbered.commands} < {each.name for each in plain.commands}
    assert set(numbered.settings) < set(plain.settings)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["SET", "relay", "on"], "SET relay 1"),
        (["SET", "relay", "false"], "SET relay 0"),
        (["ADJUST", "level", "3"], "ADJUST level +3"),
        (["ADJUST", "offset", "-5"], "ADJUST offset -5"),
    ],
)
def test_texts(plain: Profile, words: list[str], text: str) -> None:
    """What leaves is what the equipment understands: signs always, on and off as digits."""
    assert resolve(plain, words).text == text


def test_a_level_is_expected_to_stop(plain: Profile) -> None:
    """The expectation of the level stays between its stops, that of the relay is the other state."""
    adjust, level = plain.command("ADJUST level"), plain.setting("level")
    assert adjust.verify is not None
    after = {each.after for each in outcomes(plain, adjust, adjust.verify.expect, level, level)}
    assert {"0", "10"} < after
    assert all(0 <= int(value or "-1") <= 10 for value in after)
    toggle, relay = plain.command("TOGGLE relay"), plain.setting("relay")
    assert toggle.verify is not None
    flips = outcomes(plain, toggle, toggle.verify.expect, relay, relay)
    assert {(each.before, each.after) for each in flips} == {("true", "false"), ("false", "true")}


@pytest.mark.parametrize(
    ("name", "line"),
    [("ack", "OK"), ("ack", "OK 5"), ("nak", "ERR range"), ("busy", "BUSY"), ("boot", "READY ACME")],
)
def test_lines(plain: Profile, name: str, line: str) -> None:
    """Each sort of line is recognised by its own pattern and by no other."""
    assert plain.line is not None
    patterns = {each: getattr(plain.line, each) for each in ("ack", "nak", "busy", "boot")}
    assert [each for each, pattern in patterns.items() if re.search(pattern, line)] == [name]
    assert not re.search(plain.line.notice[0], line)


def test_what_a_restart_clears_is_not_durable(plain: Profile) -> None:
    """Readings of what a restart clears count only where none can have happened, which the boot count tells."""
    volatile = {each.name for each in plain.settings.values() if not each.durable}
    assert volatile == {"counter", "level", "relay"}
    assert plain.boot_read == "GET boots"
