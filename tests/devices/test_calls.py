"""Typed words become one command of the catalog and the exact text, or a usage problem before any connection."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import catalog
from devices.calls import raw, resolve
from devices.kinds import CLASS_OF, EffectClass, Kind
from devices.problems import UsageProblem
from devices.profile import Argument, Command, Profile
from devices.templates import TemplateError, parse, render


def command(name: str, send: str | None, *args: Argument, kind: Kind = Kind.TRIGGER) -> Command:
    """Return a command of the catalog."""
    return Command(name, kind, CLASS_OF[kind], args, send)


VALUE = Argument("value", "int", Decimal(1), Decimal(3600), "s")
PROFILE = Profile(
    name="acme/logger",
    dialect="line",
    commands=(
        command("SET interval", "SET interval {value}", VALUE, kind=Kind.ABSOLUTE),
        command(
            "ADJUST offset", "ADJUST offset {delta:+d}", Argument("delta", "int", Decimal(-50), Decimal(50))
        ),
        command("ROTATE log", "ROTATE log"),
        command("ROTATE log now", "ROTATE log now {reason}", Argument("reason", "text")),
        command(
            "MOVE",
            "G1 X{x:.2f} F{feed}",
            Argument("x", "decimal", step="0.005"),
            Argument("feed", "int", min=Decimal(1)),
        ),
        command("MODE", "MODE {mode}", Argument("mode", "enum(AUTO, MAN)")),
        command("TURN", "TURN {angle}", Argument("angle", "int", Decimal(1), step="5")),
        command("RELAY", "RELAY {on:d}", Argument("on", "bool")),
        command("FLIP", None, Argument("channel", "int", max=Decimal(8))),
    ),
)


@pytest.mark.parametrize(
    ("words", "name", "args", "text"),
    [
        ("SET interval 030", "SET interval", {"value": "30"}, "SET interval 30"),
        ("SET interval value=30", "SET interval", {"value": "30"}, "SET interval 30"),
        ("SET interval 3600", "SET interval", {"value": "3600"}, "SET interval 3600"),
        ("TURN 11", "TURN", {"angle": "11"}, "TURN 11"),
        ("ADJUST offset +5", "ADJUST offset", {"delta": "5"}, "ADJUST offset +5"),
        ("ADJUST offset 5", "ADJUST offset", {"delta": "5"}, "ADJUST offset +5"),
        ("ADJUST offset -5", "ADJUST offset", {"delta": "-5"}, "ADJUST offset -5"),
        ("ADJUST offset -50", "ADJUST offset", {"delta": "-50"}, "ADJUST offset -50"),
        ("ROTATE log", "ROTATE log", {}, "ROTATE log"),
        ("ROTATE log now a=b", "ROTATE log now", {"reason": "a=b"}, "ROTATE log now a=b"),
        ("MOVE feed=100 1.50", "MOVE", {"x": "1.5", "feed": "100"}, "G1 X1.50 F100"),
        ("MODE MAN", "MODE", {"mode": "MAN"}, "MODE MAN"),
        ("RELAY on", "RELAY", {"on": "true"}, "RELAY 1"),
        ("FLIP 3", "FLIP", {"channel": "3"}, "FLIP 3"),
    ],
)
def test_words_and_their_text(words: str, name: str, args: dict[str, str], text: str) -> None:
    """The longest name wins, arguments come in order or by name, and the text is exact."""
    for typed in (words.split(), [words]):
        call = resolve(PROFILE, typed)
        assert (call.command.name, dict(call.args), call.text) == (name, args, text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no command given. Commands of acme/logger: SET interval, "),
        ("ADJUS offset +5", "unknown command 'ADJUS offset'. Did you mean 'ADJUST offset'?"),
        ("ADJ offset +5", "unknown command 'ADJ offset'. Did you mean 'ADJUST offset'?"),
        ("adjust offset +5", "unknown command 'adjust offset'. Did you mean 'ADJUST offset'?"),
        ("REBOOT", "unknown command 'REBOOT'. Commands of acme/logger: SET interval, "),
        ("SET", "unknown command 'SET'. Did you mean 'SET interval'?"),
        ("M", "unknown command 'M'. Did you mean 'MOVE' or 'MODE'?"),
        ("rotate LO", "unknown command 'rotate LO'. Did you mean 'ROTATE log' or 'ROTATE log now'?"),
        (
            "ADJUST offset dleta=5",
            "ADJUST offset: delta is not a whole number: 'dleta=5'. Did you mean delta=5? Type: ADJUST offset <delta",
        ),
        (
            "SET interval",
            "SET interval takes 1 argument, 0 given. Type: SET interval <value: int, 1 to 3600 s>",
        ),
        ("SET interval 1 2", "SET interval takes 1 argument, 2 given."),
        ("ROTATE log 1", "ROTATE log takes no argument, 1 given."),
        ("SET interval value=1 value=2", "SET interval: 'value' is given twice."),
        ("SET interval 3601", "SET interval: value must be 1 to 3600 s, not 3601"),
        ("SET interval 0", "SET interval: value must be 1 to 3600 s, not 0"),
        ("SET interval 1.5", "SET interval: value is not a whole number: '1.5'."),
        ("SET interval ten", "SET interval: value is not a whole number: 'ten'."),
        ("MOVE 1 0", "MOVE: feed must be at least 1, not 0"),
        ("FLIP 9", "FLIP: channel must be at most 8, not 9"),
        ("MOVE 1.001 5", "MOVE: x goes in steps of 0.005, 1.001 lies between"),
        ("MOVE 1.005 5", "MOVE: 1.005 is finer than the format '.2f' of 'x' can carry"),
        ("TURN 10", "TURN: angle goes in steps of 5, 10 lies between"),
        ("MODE auto", "MODE: mode is not one of AUTO, MAN: 'auto'. Did you mean 'AUTO'?"),
    ],
)
def test_wrong_words(words: str, message: str) -> None:
    """What is wrong is said in one sentence, with the range and unit and what to type instead."""
    with pytest.raises(UsageProblem) as caught:
        resolve(PROFILE, words.split())
    assert str(caught.value).startswith(message)


def test_many_commands_that_fit() -> None:
    """Of commands that the words begin five are named, and how many more there are."""
    many = Profile(name="x/y", dialect="line", commands=tuple(command(f"GO {n}", f"G{n}") for n in range(8)))
    with pytest.raises(UsageProblem) as caught:
        resolve(many, ["GO"])
    assert caught.value.hint == "Did you mean 'GO 0', 'GO 1', 'GO 2', 'GO 3', 'GO 4' or one of 3 more?"


def test_a_line_break_in_an_argument_is_refused() -> None:
    """An argument cannot carry a second command."""
    with pytest.raises(UsageProblem, match="control characters"):
        resolve(PROFILE, ["ROTATE", "log", "now", "x\nRESET counter"])


@given(delta=st.integers(-50, 50), zeros=st.integers(0, 3), sign=st.sampled_from(["", "+"]))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_resolving_what_was_resolved_changes_nothing(delta: int, zeros: int, sign: str) -> None:
    """The canonical words of a call resolve to the same call, however they were typed first."""
    typed = ("-" if delta < 0 else sign) + "0" * zeros + str(abs(delta))
    call = resolve(PROFILE, ["ADJUST", "offset", typed])
    again = resolve(PROFILE, [*call.command.name.split(), *(value for _, value in call.args)])
    assert again == call
    assert resolve(PROFILE, call.text.split()) == call
    assert int(call.args[0][1]) == delta


@given(
    words=st.lists(
        st.text(min_size=1, max_size=8)
        | st.sampled_from(["SET", "interval", "ADJUST", "offset", "+5", "MOVE", "x=1"]),
        max_size=5,
    )
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_any_words_are_a_call_or_a_usage_problem(words: list[str]) -> None:
    """Nothing but UsageProblem is ever raised, and no text holds a line break."""
    try:
        call = resolve(PROFILE, words)
    except UsageProblem:
        return
    assert "\n" not in call.text


def test_raw_is_cumulative_and_sent_once() -> None:
    """A text that the catalog does not know has the worst class, and no policy but no-retry, dedup or not."""
    call = raw(PROFILE, "SET a 1; ADJUST b 2")
    assert (call.text, call.args) == ("SET a 1; ADJUST b 2", ())
    assert call.command.effect_class is EffectClass.CUMULATIVE
    lsq = Profile(name="demo/controller", dialect="lsq", commands=())
    assert catalog.choose(lsq, call.command).policy is catalog.Policy.NO_RETRY
    for asked in set(catalog.Policy) - {catalog.Policy.NO_RETRY}:
        with pytest.raises(catalog.PolicyRefused):
            catalog.choose(lsq, call.command, asked)


@pytest.mark.parametrize("text", ["", "  ", "A\nB", "A\rB", "\x1b[2J", "A\x85B", "A\u2028B"])
def test_raw_is_one_printable_line(text: str) -> None:
    """A raw text is one line without control characters."""
    with pytest.raises(UsageProblem):
        raw(PROFILE, text)


@pytest.mark.parametrize(
    "template",
    [
        "{a.b}",
        "{a[0]}",
        "{a!r}",
        "{}",
        "{0}",
        "{a:{b}}",
        "{a",
        "a}",
        "{a:s}",
        "{a:>9999d}",
        "{a:+}",
        "{a:.2d}",
        "x\ny",
        "{a:99d}",
        "{a.b - 1}",
        "{a - }",
        "{a-1!r}",
        "{1 + 1}",
        "{a ** 2}",
        "{exit()}",
        "{a < 2}",
    ],
)
def test_templates_have_plain_names_and_number_formats_only(template: str) -> None:
    """A template can reach into nothing and cannot blow a text up."""
    with pytest.raises(TemplateError):
        parse(template)


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{{{a}}}", "x", "{x}"),
        ("{a:03d}", "5", "005"),
        ("{a:04X}", "255", "00FF"),
        ("{a:+d}", "0", "+0"),
        ("{a:.1f}", "2.5", "2.5"),
        ("{a:d}", "false", "0"),
    ],
)
def test_template_formats(template: str, value: str, text: str) -> None:
    """Each number format gives the digits that it says."""
    assert render(template, {"a": value}) == text


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("fc05 0x{channel - 1:04X} bool {on}", {"channel": "8", "on": "true"}, "fc05 0x0007 bool true"),
        ("{seconds * 10:04X}", {"seconds": "0.7"}, "0007"),
        ("{a + b * 2}", {"a": "1.5", "b": "3"}, "7.5"),
        ("{clamp(a, 0, 9):d}", {"a": "12"}, "9"),
        ("{a % 3:+d}", {"a": "-1"}, "+2"),
        ("{not on} {not on:d}", {"on": "true"}, "false 0"),
        ("{a - 1}", {"a": "0"}, "-1"),
    ],
)
def test_braces_can_compute(template: str, values: dict[str, str], text: str) -> None:
    """Arithmetic over arguments stands in braces as a name does, exactly and in decimals."""
    assert render(template, values) == text


@pytest.mark.parametrize(
    ("template", "value", "why"),
    [
        ("{a - 1:04X}", "0", "'a - 1' is -1, which '04X' cannot carry"),
        ("{a / 2:d}", "3", "'a / 2' gives no whole number, as 'd' needs one"),
        ("{a * 10:04X}", "0.75", "'a * 10' gives no whole number, as '04X' needs one"),
        ("{a / 3:.2f}", "1", "finer than the format"),
        ("{1 / a}", "0", "'1 / a' gives no value: division by zero"),
        ("{a + 1}", "abc", "'a + 1' gives no value: 'abc' is not a number"),
        ("{(a)}", "abc", "'(a)' gives no number"),
    ],
)
def test_what_braces_cannot_carry_is_said(template: str, value: str, why: str) -> None:
    """A result that its format cannot carry, or none at all, never becomes a text."""
    with pytest.raises(TemplateError) as caught:
        render(template, {"a": value})
    assert why in str(caught.value)


def test_a_command_without_a_text_is_its_words() -> None:
    """A script is told the command's name and its arguments in canonical form, whatever way they were typed."""
    script = Profile("a/script", "exec", (command("push rules", None, VALUE, Argument("set", "bool")),))
    assert resolve(script, ["push", "rules", "set=on", "0030"]).text == "push rules 30 true"
