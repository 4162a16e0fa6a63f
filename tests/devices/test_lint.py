"""Lint: what loads but is unwise, each with the line and what could go wrong."""

from pathlib import Path

import pytest

from devices.lint import Finding, lint, lint_file
from devices.loader import SHIPPED
from tests.devices.files import loaded, write
from tests.devices.lint_cases import BOOTS, CASES, CLEAN, CONFIRM, IDENTITY, O_REPLY, SOURCES, T_REPLY, Case


def test_nothing_to_say_about_a_good_profile(tmp_path: Path) -> None:
    """A careful profile has no finding."""
    assert lint(loaded(tmp_path, CLEAN)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} -> {case[1]}")
def test_findings(tmp_path: Path, case: Case) -> None:
    """Each unwise change has its findings, with level, place and consequence; harmless ones have none."""
    old, new, *expected = case
    assert CLEAN.count(old) == 1
    assert_found(lint(loaded(tmp_path, CLEAN.replace(old, new))), *filter(None, expected))


def assert_found(findings: list[Finding], *expected: str) -> None:
    """Compare findings with `level where: a part of the message`, in their order."""
    said = [f"{each.level} {each.where}: {each.message}" for each in findings]
    assert len(said) == len(expected), said
    for text, want in zip(said, expected, strict=True):
        place, _, part = want.partition(": ")
        assert text.startswith(f"{place}: "), said
        assert part in text, said


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (IDENTITY, "", 1),
        ("late_max_s: 5", "late_max_s: 0.9", 5),
        ("'^BUSY'", "'BUSY'", 4),
        (T_REPLY, O_REPLY, 10),
        (", equivalent: true", "", 22),
        ("tolerance: 0.05", "tolerance: 0.04", 23),
        ("expect: before + 1", "expect: before", 28),
        (CONFIRM, "", 30),
    ],
)
def test_findings_know_their_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    """A finding stands at the line of what it is about, the lines above it counted."""
    assert lint(loaded(tmp_path, CLEAN.replace(old, new)))[0].line == line


def test_an_expectation_that_clamps_states_the_stop(tmp_path: Path) -> None:
    """A stop that `expect` itself computes needs no `min`, `max` or `clamps` beside it, and agrees with the form."""
    text = CLEAN.replace("clamps: false, ", "").replace("before + 1}", "'clamp(before + 1, 0, 9)'}")
    assert lint(loaded(tmp_path, text)) == []
    text = CLEAN.replace("max: 9, step", "max: 9, clamps: true, step")
    text = text.replace("expect: before + n,", "expect: 'clamp(before + n, 0, 9)',")
    assert lint(loaded(tmp_path, text)) == []


def test_the_default_reply_time_is_named(tmp_path: Path) -> None:
    """A slow command under an unstated reply time is told apart from one under a stated one."""
    text = CLEAN.replace("reply_s: 1, ", "").replace("execution_s: 1", "execution_s: 2")
    assert_found(lint(loaded(tmp_path, text)), "warning COUNT: the default reply_s is 1 s")


def test_a_form_needs_limits_somewhere(tmp_path: Path) -> None:
    """A form whose target is limited neither by the setting nor by the argument would send what cannot be."""
    free = CLEAN.replace("min: 0, max: 9, step", "clamps: false, step")
    assert lint(loaded(tmp_path, free)) == []
    freer = free.replace("type: decimal, min: 0, max: 9}", "type: decimal}")
    assert_found(
        lint(loaded(tmp_path, freer)), "warning ADD: neither 'offset' nor the argument of 'SET offset'"
    )


def test_a_setting_that_looks_like_its_request(tmp_path: Path) -> None:
    """An echo that would pass for a reading is an error; one that is no value of the setting is not."""
    reply = "reply: '^(?:GET )?(?P<value>.*)$'"
    text = CLEAN.replace("read: GET offset", "read: GET 7").replace(f"reply: {O_REPLY}", reply)
    alike = "warning settings: answers to the reading of offset look like an ack"
    assert_found(lint(loaded(tmp_path, text)), "error offset: would pass for a reading", alike)
    assert_found(lint(loaded(tmp_path, text.replace("GET 7", "GET seven"))), alike)


def test_an_ack_that_takes_anything(tmp_path: Path) -> None:
    """An ack that every line matches is one error, not one for each command besides."""
    text = CLEAN.replace("'^OK(?: (?P<value>.*))?$'", "'^(?P<value>.*)$'")
    anything = "error line.ack: noise or a late answer would pass for an ack"
    alike = "warning settings: answers to the reading of offset, total, mode look like an ack"
    assert_found(lint(loaded(tmp_path, text)), anything, alike)


def test_numbers_make_up_for_much(tmp_path: Path) -> None:
    """Where the equipment numbers its commands, answers that look alike and commands without a reading are fine."""
    sequence = r"sequence: {wrap: '{seq} {command}', reply: '^(?P<seq>\d+) (?P<rest>.*)$'}" + "\n"
    text = CLEAN.replace(f", reply: {O_REPLY}", "").replace("settle_s: 0.2, ", "")
    text = text.replace("kind: trigger, send: BEEP", "kind: toggle, send: BEEP").replace(
        "timing:", sequence + "timing:"
    )
    assert lint(loaded(tmp_path, text)) == []
    forgetful = text.replace(BOOTS, "").replace("    mode: {setting: mode, value: AUTO}\n", "")
    boots = "warning boot_read: readings of offset, mode prove nothing"
    assert_found(lint(loaded(tmp_path, forgetful)), boots, "warning sequence: not trusted to be dropped")
    lasting = forgetful.replace("sequence: {", "sequence: {memory: durable, ")
    assert_found(lint(loaded(tmp_path, lasting)), boots)


def test_a_board_that_boots_when_it_is_opened(tmp_path: Path) -> None:
    """How long the board takes has to be stated or recognised; volatile values prove nothing after a reconnect."""
    text = CLEAN.replace(", boot: '^READY'", "").replace(BOOTS, BOOTS + "opening_resets: true\n")
    volatile = "warning opening_resets: ADD would end in doubt after silence"
    unready = "warning opening_resets: the first request could come before it listens"
    assert_found(lint(loaded(tmp_path, text)), volatile, unready)
    waiting = text.replace("timing: {", "timing: {connect_settle_s: 2, ")
    assert_found(lint(loaded(tmp_path, waiting)), volatile)
    lasting = waiting.replace(f"reply: {O_REPLY}", f"reply: {O_REPLY}, durable: true")
    assert lint(loaded(tmp_path, lasting)) == []


def test_a_mode_that_a_restart_leaves_alone(tmp_path: Path) -> None:
    """A durable mode needs no `boot_read`."""
    text = CLEAN.replace(BOOTS, "").replace('(AUTO, MAN)"', '(AUTO, MAN)", durable: true')
    assert_found(lint(loaded(tmp_path, text)), "warning boot_read: readings of offset prove nothing")


SCRIPT = """profile: acme/script
sources: [ours]
dialect: exec
run: [./push.sh, "{device}", "{command}"]
identity: {read: serial, expect: "{serial}"}
timing: {settle_s: 1}
settings: {count: {type: int, read: get count, clamps: false, durable: true}}
commands:
  - {name: count, kind: trigger, nak_may_follow_effect: true, verify: {setting: count, expect: before + 1}}
"""
ONE = "commands: [{name: beep, kind: trigger, nak_may_follow_effect: true}]\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The program of SCRIPT, beside it."""
    path = write(tmp_path, "#!/bin/sh\n", "push.sh")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("nak_may_follow_effect: true, ", "", ["warning count: would be believed to have refused"]),
        (', "{command}"', "", ["error run: the program cannot tell which of its commands"]),
        ('"{device}", ', "", ["warning run: is not told which device is meant"]),
        ('"{device}"', '"--to={url}"', []),
    ],
)
@pytest.mark.usefixtures("script")
def test_programs(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """A program has to be told what is wanted and of whom, and a failure after sending is no refusal."""
    assert lint(loaded(tmp_path, SCRIPT)) == []
    assert_found(lint(loaded(tmp_path, SCRIPT.replace(old, new))), *expected)


@pytest.mark.usefixtures("script")
def test_a_program_for_one_command_needs_no_words(tmp_path: Path) -> None:
    """A program that can do only one thing need not be told which; a trigger ends in doubt without a further word."""
    head = SCRIPT.partition("settings:")[0].replace(', "{command}"', "")
    assert lint(loaded(tmp_path, head + ONE)) == []


def test_a_program_that_cannot_be_run(tmp_path: Path, script: Path) -> None:
    """A program that is named beside the file must be there, and executable; any other may be on another machine."""
    script.chmod(0o644)
    assert_found(lint(loaded(tmp_path, SCRIPT)), f"warning run: {script} is not executable (chmod +x)")
    script.unlink()
    assert_found(lint(loaded(tmp_path, SCRIPT)), f"warning run: {script} is not there")
    script.mkdir()
    assert_found(lint(loaded(tmp_path, SCRIPT)), f"warning run: {script} is not there")
    for elsewhere in ("push", "/opt/push.sh"):
        assert lint(loaded(tmp_path, SCRIPT.replace("./push.sh", elsewhere))) == []


def test_a_profile_of_readings_only(tmp_path: Path) -> None:
    """That nothing can be sent is told, and is nothing wrong."""
    text = f"{CLEAN.partition('commands:')[0]}commands: []\nboot_reply: '^boots=(?P<value>.*)$'\n"
    found = lint(loaded(tmp_path, text))
    assert_found(found, "note commands: nothing can be sent with this profile, only read")
    assert found[0].line == 12


def test_lines_only_of_the_file_that_was_loaded(tmp_path: Path) -> None:
    """When the file has changed since it was loaded, findings name no line."""
    profile = loaded(tmp_path, CLEAN.replace(SOURCES, ""))
    assert [each.line for each in lint(profile)] == [1]
    write(tmp_path, "# longer\n" + CLEAN)
    assert [each.line for each in lint(profile)] == [None]
    Path(profile.source).unlink()
    assert [each.line for each in lint(profile)] == [None]


def test_a_file_that_does_not_load(tmp_path: Path) -> None:
    """What refuses to load is a finding of level error with its line."""
    path = write(tmp_path, CLEAN.replace("kind: relative", "kind: relativ"))
    assert lint_file(path) == [
        Finding(
            "error",
            19,
            "column 11",
            "'kind' must be one of query, absolute, save, relative, toggle, trigger, reset, consuming, link, "
            "not 'relativ'. Did you mean 'relative'?",
        )
    ]


ALIKE = "warning settings: answers to the reading of interval, offset, counter, resets, log_files, level, relay look"
NO_BOOTS = "warning boot_read: after a reconnect a restart cannot be ruled out"
KNOWN = {
    "demo/controller-line": [ALIKE],
    "waveshare/modbus-rtu-relay": ["warning identity: another device behind the same address"],
    "eastron/sdm630": [
        NO_BOOTS,
        "warning SET system_type: a restart would put the mode back unnoticed",
        "warning RESET max_demand: an unchanged reading could be a stop, so silence ends in doubt",
    ],
}
"""What is unwise about shipped equipment and cannot be helped: it is what the profile tells."""


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_profiles_are_clean(path: Path) -> None:
    """Shipped profiles have no findings but those that their equipment deserves."""
    name = path.relative_to(SHIPPED).with_suffix("").as_posix()
    assert_found(lint_file(path), *KNOWN.get(name, []))
