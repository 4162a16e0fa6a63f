"""Under which words is an operation kept? Typed once more they must mean the same command."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from agent.fleet.failures import again
from agent.inventory import Defaults, Device
from agent.operation import Operation
from agent.orders import order_for
from agent.settings import Settings
from agent.targets import Chosen, with_profiles
from devices.loader import SHIPPED

PROFILE = """\
profile: test/meter
dialect: line
commands:
  - {name: BEEP, kind: trigger, send: "BEEP;*OPC?"}
  - {name: BEEP LONG, kind: trigger, send: "BEEP LONG"}
  - {name: VOLT, kind: absolute, args: [{name: v, type: decimal}], send: "VOLT {v};*OPC?"}
  - {name: CURR, kind: absolute, args: [{name: i, type: decimal}], send: "CURR {i:.2f};*OPC?"}
  - {name: STEP, kind: relative, args: [{name: by, type: int}], send: "STEP {by:+d};*OPC?"}
  - {name: MASK, kind: absolute, args: [{name: bits, type: int}], send: "MASK {bits:04X}"}
  - {name: SAY, kind: trigger, args: [{name: a, type: text}, {name: b, type: text}], send: "SAY {a}|{b}"}
  - {name: NOTE, kind: trigger, args: [{name: a, type: text}], send: "NOTE {a}"}
  - {name: passwd, kind: absolute, args: [{name: p, type: text, secret: true}], send: "passwd {p}"}
  - {name: login, kind: absolute, args: [{name: p, type: text, secret: true}], send: "login {p};*OPC?"}
"""
DEMO = ("demo/controller-line", "ADJUST offset +5")


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """A device with that profile, and a password to refer to."""
    monkeypatch.setenv("MYPW", "hunter2")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/meter.yaml").write_text(PROFILE)
    return device_of("test/meter", tmp_path)


def device_of(profile: str, folder: Path) -> Chosen:
    """A device with a profile of a folder."""
    [chosen] = with_profiles(settings(folder), [(Device("e1", "tcp://e1:1", profile=profile), Defaults())])
    return chosen


def settings(folder: Path) -> Settings:
    """Those of a run in a folder."""
    return Settings(folder, folder, None, None, "desk", "ana")


def typed_again(chosen: Chosen, operation: Operation, *, raw: bool | None = False) -> Operation:
    """The operation that the words to type next mean, as `send` takes them."""
    program, verb, device, *words = shlex.split(again(operation, raw=raw))
    assert (program, verb, device) == ("ackonce", "send", "e1")
    return order_for(
        settings(Path()), chosen, [word for word in words if word != "--raw"], raw="--raw" in words
    )


SPELLED = {
    "BEEP": "BEEP",
    "BEEP LONG": "BEEP LONG",
    "VOLT 5.250": "VOLT 5.25",
    "CURR 5.2": "CURR 5.20",
    "STEP 5": "STEP +5",
    "MASK 30": "MASK 30",
    "SAY x y": "SAY x y",
    "SAY 'x y' z": "SAY 'x y' z",
    "SAY x 'y z'": "SAY x 'y z'",
    "NOTE ''": "NOTE ''",
    "NOTE 'a; b $(c)'": "NOTE 'a; b $(c)'",
    'NOTE "it\'s so"': "NOTE 'it'\"'\"'s so'",
    'NOTE "it\'s"': "NOTE it's",
    "passwd env:MYPW": "passwd {env:MYPW}",
    "login env:MYPW": "login {env:MYPW}",
}


@pytest.mark.parametrize(("typed", "command"), SPELLED.items())
def test_a_command_is_kept_as_it_can_be_typed(chosen: Chosen, typed: str, command: str) -> None:
    """Its text where that means it, else name and arguments as the device has them; a secret stays a reference."""
    operation = order_for(settings(Path()), chosen, shlex.split(typed))
    assert operation.command == command
    once_more = typed_again(chosen, operation)
    assert (once_more.command, once_more.terms) == (operation.command, operation.terms)


def test_different_commands_are_kept_apart(chosen: Chosen) -> None:
    """A key must never meet another command under the same words."""
    typed = [["SAY", "x y", "z"], ["SAY", "x", "y z"], ["NOTE", ""], ["NOTE", "x  y"], ["NOTE", "x y"]]
    kept = {order_for(settings(Path()), chosen, words).command for words in typed}
    assert len(kept) == len(typed)


def test_shipped_commands_are_kept_as_the_device_has_them() -> None:
    """What everybody sees of a plain text device is what it is sent."""
    profile, text = DEMO
    demo = device_of(profile, SHIPPED)
    for words in (text, text.replace("+", "")):
        operation = order_for(settings(Path()), demo, [words])
        assert (operation.command, operation.terms.text) == (text, text)


def test_words_of_a_command_are_never_more_than_words(chosen: Chosen) -> None:
    """A command that was not kept in quotes, though its arguments have blanks, is quoted as a whole."""
    operation = order_for(settings(Path()), chosen, ["NOTE", "a; b"])
    assert again(replace(operation, command="NOTE a; b")) == "ackonce send e1 'NOTE a; b'"
    assert again(replace(operation, command="NOTE a' b")).startswith("ackonce send e1 'NOTE a'")


def test_raw_words_are_typed_with_raw(chosen: Chosen) -> None:
    """Where it is known that the words were raw; where nobody has looked, no line is printed that may not run."""
    operation = order_for(settings(Path()), chosen, ["level+=3"], raw=True)
    assert typed_again(chosen, operation, raw=True).terms == operation.terms
    assert again(operation) == "send it again as it was typed (with --raw, if it was)"
