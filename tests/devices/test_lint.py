"""Lint: what loads but is unwise, each with the line and what could go wrong."""

from pathlib import Path

import pytest

from devices.lint import Finding, lint, lint_file
from devices.loader import SHIPPED
from tests.devices.files import loaded, write

# A profile without a finding; each case changes one line of it.
CLEAN = r"""profile: acme/logger
sources: ["manual, section 4"]
dialect: line
line: {ack: '^OK(?: (?P<value>.*))?$', nak: '^ERR'}
timing: {reply_s: 1}
boot_read: GET boots
identity: {read: GET serial, expect: "{serial}"}
settings:
  offset: {type: decimal, min: 0, max: 9, step: 0.1, read: GET offset, reply: '^o=(?P<value>.*)$'}
  total: {type: int, clamps: false, read: GET total, durable: true}
commands:
  - name: SET offset
    kind: absolute
    args: [{name: value, type: decimal}]
    send: "SET offset {value}"
    setting: offset
  - name: ADD
    kind: relative
    args: [{name: n, type: int}]
    send: "ADD {n}"
    absolute_form: {command: SET offset, value: before + n, equivalent: true}
    verify: {setting: offset, expect: before + n, tolerance: 0.05}
  - name: COUNT
    kind: trigger
    send: COUNT
    verify: {setting: total, expect: before + 1}
    execution_s: 1
  - name: SET baud
    kind: link
    send: BAUD
    confirm: {at: "?baud=9600", read: GET serial, expect: ok}
"""


def test_nothing_to_say_about_a_good_profile(tmp_path: Path) -> None:
    """A careful profile has no finding."""
    assert lint(loaded(tmp_path, CLEAN)) == []


@pytest.mark.parametrize(
    ("old", "new", "level", "line", "where", "message"),
    [
        (
            'sources: ["manual, section 4"]',
            "title: x",
            "warning",
            1,
            "sources",
            "nobody can check its claims",
        ),
        (
            'identity: {read: GET serial, expect: "{serial}"}',
            "title: x",
            "warning",
            1,
            "identity",
            "another device",
        ),
        ("boot_read: GET boots", "title: x", "warning", 1, "boot_read", "readings of offset prove nothing"),
        (", equivalent: true", "", "error", 21, "ADD", "it is not the same command"),
        (
            "tolerance: 0.05",
            "tolerance: 0.04",
            "error",
            22,
            "ADD",
            "a value that was applied would look wrong",
        ),
        ("clamps: false, ", "", "warning", 26, "COUNT", "an unchanged reading could be a stop"),
        ("min: 0, ", "", "warning", 22, "ADD", "an unchanged reading could be a stop"),
        ("max: 9, ", "other_writers: true, max: 9, ", "warning", 22, "ADD", "a reading proves nothing"),
        (
            "{ack: '^OK",
            "{ack: '^COUNT|OK",
            "error",
            25,
            "COUNT",
            "an echo on the line would pass for an answer",
        ),
        (
            ", reply: '^o=(?P<value>.*)$'",
            "",
            "warning",
            9,
            "settings",
            "the answers of offset, total look alike",
        ),
        (
            "execution_s: 1",
            "execution_s: 1.5",
            "warning",
            27,
            "COUNT",
            "it may take 1.5 s but reply_s is 1 s",
        ),
        ("timing: {reply_s: 1}", "timing: {late_max_s: 7}", "", 0, "", ""),
        (
            '    confirm: {at: "?baud=9600", read: GET serial, expect: ok}\n',
            "",
            "warning",
            28,
            "SET baud",
            "in doubt",
        ),
        ("{ack: '^OK", "{echo: true, ack: '^COUNT|OK", "", 0, "", ""),
    ],
)
def test_findings(
    tmp_path: Path, old: str, new: str, level: str, line: int, where: str, message: str
) -> None:
    """Each unwise change has one finding with its level, line and consequence; harmless ones have none."""
    assert CLEAN.count(old) == 1
    findings = lint(loaded(tmp_path, CLEAN.replace(old, new)))
    assert [(each.level, each.line, each.where) for each in findings] == (
        [(level, line, where)] if level else []
    )
    assert all(message in each.message for each in findings)


def test_an_expectation_that_clamps_states_the_stop(tmp_path: Path) -> None:
    """A stop that `expect` itself computes needs no `min`, `max` or `clamps` beside it."""
    text = CLEAN.replace("clamps: false, ", "").replace("before + 1}", "'clamp(before + 1, 0, 9)'}")
    assert lint(loaded(tmp_path, text)) == []


def test_the_default_reply_time_is_named(tmp_path: Path) -> None:
    """A slow command under an unstated reply time is told apart from one under a stated one."""
    text = CLEAN.replace("timing: {reply_s: 1}\n", "").replace("execution_s: 1", "execution_s: 2")
    assert "the default reply_s is 1 s" in lint(loaded(tmp_path, text))[0].message


def test_a_numbered_line_needs_no_different_replies(tmp_path: Path) -> None:
    """Where the equipment numbers its commands, answers that look alike are told apart by number."""
    sequence = r"sequence: {wrap: '{seq} {command}', reply: '^(?P<seq>\d+) (?P<rest>.*)$'}" + "\n"
    text = CLEAN.replace(", reply: '^o=(?P<value>.*)$'", "").replace("timing:", sequence + "timing:")
    assert lint(loaded(tmp_path, text)) == []


def test_lines_only_of_the_file_that_was_loaded(tmp_path: Path) -> None:
    """When the file has changed since it was loaded, findings name no line."""
    profile = loaded(tmp_path, CLEAN.replace('sources: ["manual, section 4"]\n', ""))
    assert [each.line for each in lint(profile)] == [1]
    write(tmp_path, "# longer\n" + CLEAN)
    assert [each.line for each in lint(profile)] == [None]
    Path(profile.source).unlink()
    assert [each.line for each in lint(profile)] == [None]


def test_a_file_that_does_not_load(tmp_path: Path) -> None:
    """What refuses to load is a finding of level error with its line."""
    path = write(tmp_path, CLEAN.replace("kind: trigger", "kind: triger"))
    assert lint_file(path) == [
        Finding(
            "error",
            24,
            "column 11",
            "'kind' must be one of query, absolute, save, relative, toggle, trigger, reset, consuming, link, "
            "not 'triger'. Did you mean 'trigger'?",
        )
    ]


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_profiles_are_clean(path: Path) -> None:
    """No shipped profile has a finding."""
    assert lint_file(path) == []
