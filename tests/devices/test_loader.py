"""Loading profiles: every key arrives, every contradiction is refused at its line and column."""

import contextlib
import itertools
import json
import random
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import source
from devices.kinds import EffectClass, Kind, Policy
from devices.loader import SHIPPED, available, find, load
from devices.problems import FileProblems, UnknownProfile
from devices.profile import (
    AbsoluteForm,
    Argument,
    Identity,
    Line,
    Modbus,
    Mode,
    Sequence,
    Timing,
    Verify,
)
from tests.devices.files import BEEP, HEAD, complaints, loaded, write

LOGGER = r"""
profile: acme/logger
title: ACME data logger
sources: ["ACME LX manual rev C, section 4"]
verified_on_hardware: true
dialect: line
line:
  eol: "\r\n"
  ack: '^OK(?: (?P<value>.*))?$'
  nak: '^ERR (?P<reason>.*)$'
  busy: '^BUSY'
  notice: ['^# ']
  boot: '^READY'
  prompt: null
  echo: true
sequence:
  wrap: "{seq} {command}*{check}"
  checksum: xor
  reply: '^(?P<seq>\d+) (?P<rest>.*)$'
  first: 0
  on_duplicate: reject_with_last_seq
  last_seq: '^Resend: ?(?P<next>\d+)'
  memory: durable
  reads_numbered: true
boot_read: "GET boots"
timing: {reply_s: 2, settle_s: 0.2, gap_s: 0.01, connect_settle_s: 1, busy_max_s: 30, late_max_s: 7.5}
model: LX
firmware: ">=1.2,<2"
opening_resets: true
isolation: pool
breaker_key: site-4
identity: {read: "GET serial", expect: "{serial}"}
settings:
  offset:
    {type: int, unit: "0.1 K", min: -100, max: 100, step: 1, read: "GET offset", reply: '^offset=(?P<value>.*)$',
     durable: true, clamps: true, other_writers: true}
  mode: {type: "enum(AUTO, MAN)", read: "GET mode"}
commands:
  - name: SET offset
    kind: absolute
    args: [{name: value, type: decimal, min: 0.5, max: 100, unit: K, step: 0.5}]
    send: "SET offset {value}"
    setting: offset
  - name: ADJUST offset
    kind: relative
    class: cumulative
    args: [{name: delta, type: int}]
    send: "ADJUST offset {delta:+d}"
    absolute_form: {command: SET offset, value: before + delta, equivalent: true}
    verify: {setting: offset, expect: before + delta, tolerance: 0.5}
    policy: no-retry
    mode: {setting: mode, value: AUTO}
    ack_means: queued
    nak_may_follow_effect: true
    execution_s: 4
    danger: moves the arm
  - name: SET baud
    kind: link
    args: [{name: baud, type: int}]
    send: "BAUD {baud}"
    confirm: {at: "?baud={baud}", read: "GET serial", expect: ok}
"""


METER = """
profile: a/meter
dialect: modbus
modbus: {framing: rtu, word_order: little}
settings:
  demand: {type: u16, table: holding, address: 2, scale: 0.1}
  name: {type: text(8), table: input, address: 0x10}
commands:
  - name: SET demand
    kind: absolute
    args: [{name: v, type: decimal}]
    setting: demand
    write: {function: 16, address: 2 + 1, type: f32, value: "{v}"}
  - name: FLIP
    kind: toggle
    args: [{name: ch, type: int, min: 1, max: 8}]
    write: {function: 5, address: ch - 1, raw: "0x5500"}
"""
SCRIPT = """
profile: a/script
dialect: exec
run: [./push.sh, "{device}", "{url}", "{command}"]
settings: {level: {type: int, read: get level, reply: '^level=(?P<value>.*)$'}}
commands: [{name: PUSH, kind: trigger}]
"""


def test_every_key_arrives(tmp_path: Path) -> None:
    """Each key of the catalog paper is kept, numbers as exact decimals and times as seconds."""
    profile = loaded(tmp_path, LOGGER)
    assert (profile.name, profile.title, profile.dialect) == ("acme/logger", "ACME data logger", "line")
    assert (profile.sources, profile.verified_on_hardware) == (("ACME LX manual rev C, section 4",), True)
    assert profile.line == Line(
        eol="\r\n", nak="^ERR (?P<reason>.*)$", busy="^BUSY", notice=("^# ",), boot="^READY", echo=True
    )
    assert profile.sequence == Sequence(
        wrap="{seq} {command}*{check}",
        reply=r"^(?P<seq>\d+) (?P<rest>.*)$",
        checksum="xor",
        first=0,
        on_duplicate="reject_with_last_seq",
        last_seq=r"^Resend: ?(?P<next>\d+)",
        memory="durable",
        reads_numbered=True,
    )
    assert profile.timing == Timing(2.0, True, 0.2, 0.01, 1.0, 30.0, 7.5)
    assert profile.identity == Identity("GET serial", "{serial}")
    assert (profile.boot_read, profile.model, profile.firmware) == ("GET boots", "LX", ">=1.2,<2")
    assert (profile.opening_resets, profile.isolation, profile.breaker_key) == (True, "pool", "site-4")
    offset = profile.setting("offset")
    assert (offset.type, offset.unit, offset.min, offset.max) == ("int", "0.1 K", Decimal(-100), Decimal(100))
    assert (offset.step, offset.read, offset.reply) == ("1", "GET offset", "^offset=(?P<value>.*)$")
    assert (offset.durable, offset.clamps, offset.other_writers) == (True, True, True)
    value = profile.command("SET offset").args[0]
    assert value == Argument("value", "decimal", Decimal("0.5"), Decimal(100), "K", "0.5")
    adjust = profile.command("ADJUST offset")
    assert (adjust.kind, adjust.effect_class, adjust.policy) == (
        Kind.RELATIVE,
        EffectClass.CUMULATIVE,
        Policy.NO_RETRY,
    )
    assert adjust.absolute_form == AbsoluteForm("SET offset", "before + delta", equivalent=True)
    assert adjust.verify == Verify("offset", "before + delta", "0.5")
    assert adjust.mode == Mode("mode", "AUTO")
    assert (adjust.ack_means, adjust.nak_may_follow_effect, adjust.execution_s) == ("queued", True, 4.0)
    assert adjust.danger == "moves the arm"
    confirm = profile.command("SET baud").confirm
    assert confirm is not None
    assert (confirm.at, confirm.read, confirm.expect) == ("?baud={baud}", "GET serial", "ok")
    assert profile.source.endswith("p.yaml")
    assert len(profile.digest) == 64


def test_defaults(tmp_path: Path) -> None:
    """Only profile, dialect and commands are required; the rest has the papers' defaults."""
    profile = loaded(tmp_path, HEAD + BEEP)
    assert profile.timing == Timing(1.0, False, 0.0, 0.0, 0.0, 60.0, None)
    assert profile.line == Line()
    assert loaded(tmp_path, HEAD + "line: {eol: null, ack: null, nak: null}\n" + BEEP).line == Line(nak=None)
    assert (profile.sequence, profile.identity, profile.boot_read, dict(profile.settings)) == (
        None,
        None,
        None,
        {},
    )
    with pytest.raises(KeyError):
        profile.command("beep")
    with pytest.raises(KeyError):
        profile.setting("offset")


@pytest.mark.parametrize(
    ("reply_s", "late_max_s", "late_s"), [(0.1, None, 5.0), (2.0, None, 20.0), (2.0, 3.0, 3.0)]
)
def test_how_long_answers_may_be_late(reply_s: float, late_max_s: float | None, late_s: float) -> None:
    """Late answers are awaited for ten reply times, at least 5 s, or as stated."""
    assert Timing(reply_s=reply_s, late_max_s=late_max_s).late_s == late_s


def test_other_dialects_load(tmp_path: Path) -> None:
    """Modbus registers and scripts are described completely."""
    modbus = loaded(tmp_path, METER)
    assert modbus.modbus == Modbus("rtu", "little", "big")
    demand, name = modbus.setting("demand"), modbus.setting("name")
    assert (demand.type, demand.read, demand.step) == ("decimal", "fc03 0x0002 u16*0.1", "0.1")
    assert (name.type, name.read) == ("text", "fc04 0x0010 text(8)")
    assert modbus.command("SET demand").send == "fc16 0x0003 f32/lw {v}"
    assert modbus.command("FLIP").send == "fc05 0x{ch - 1:04X} raw 5500"
    script = loaded(tmp_path, SCRIPT)
    assert script.run == (str(tmp_path / "push.sh"), "{device}", "{url}", "{command}")
    assert script.setting("level").reply == "^level=(?P<value>.*)$"


@pytest.mark.parametrize(
    ("program", "run"),
    [
        ("./push.sh", "{there}/push.sh"),
        ("../push.sh", "{there}/../push.sh"),
        ("push", "push"),
        ("/bin/sh", "/bin/sh"),
    ],
)
def test_a_program_stands_beside_its_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, run: str
) -> None:
    """A program named with ./ or ../ is looked for beside the profile, however the profile's own path was written."""
    there = tmp_path / "profiles"
    there.mkdir()
    write(there, SCRIPT.replace("./push.sh", program))
    monkeypatch.chdir(tmp_path)
    assert load(Path("profiles/p.yaml")).run[0] == run.format(there=there)


def refused() -> list[tuple[str, list[str]]]:
    """Return (file, problems) of each case in refused.txt and refused_modbus.txt."""
    cases = []
    files = [Path(__file__).parent / name for name in ("refused.txt", "refused_modbus.txt")]
    texts = [re.split(r"^----.*\n", path.read_text(), flags=re.MULTILINE)[1:] for path in files]
    for block in itertools.chain(*texts):
        lines = block.splitlines(keepends=True)
        problems = [line.removeprefix("=> ").rstrip() for line in lines if line.startswith("=> ")]
        cases.append(("".join(line for line in lines if not line.startswith("=> ")), problems))
    return cases


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=case[1][0]) for case in refused()])
def test_refused_with_line_and_column(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Each contradiction refuses to load and is said at its line and column, with the likely word."""
    assert complaints(tmp_path, text) == expected


def test_all_problems_at_once(tmp_path: Path) -> None:
    """One look shows everything that is wrong, in the order of the lines."""
    text = (
        HEAD
        + "colour: red\nsettings:\n  x: {type: int}\ncommands:\n  - {name: A, kind: bad}\n  - {nam: B, kind: reset}\n"
    )
    places = [line.split(": ")[0] for line in complaints(tmp_path, text)]
    assert places == ["3:1", "7:21", "8:5", "8:6"]


def test_limits_beyond_all_values(tmp_path: Path) -> None:
    """A limit that no value could be written with is no reason to fail."""
    setting = "settings: {x: {type: decimal, min: 1e-99, max: 1e30, read: R}}\n"
    verified = "commands: [{name: A, kind: trigger, send: A, verify: {setting: x, expect: before + 1}}]\n"
    assert loaded(tmp_path, HEAD + setting + verified).setting("x").min == Decimal("1e-99")


def test_reading_back_with_a_plain_query_is_fine(tmp_path: Path) -> None:
    """A query command may share its text with a setting, and a command that changes may be the beginning of it."""
    query, pop = "{name: GET x, kind: query, send: GET x}", "{name: GET, kind: consuming, send: GET}"
    text = HEAD + f"settings: {{x: {{type: int, read: GET x}}}}\ncommands: [{query}, {pop}]\n"
    assert loaded(tmp_path, text).setting("x").read == "GET x"


def test_the_nearest_folder_wins(tmp_path: Path) -> None:
    """Beside the inventory comes before the home, that before the shipped ones; file names are free."""
    near, home = tmp_path / "near", tmp_path / "home"
    (near / "deep").mkdir(parents=True)
    home.mkdir()
    write(near / "deep", HEAD.replace("acme/logger", "demo/controller") + BEEP, "whatever.yaml")
    write(home, HEAD + "title: home\n" + BEEP)
    assert find("demo/controller", [near, home]).source == str(near / "deep" / "whatever.yaml")
    assert find("demo/controller", [home]).source == str(SHIPPED / "demo" / "controller.yaml")
    assert find("acme/logger", [tmp_path / "missing", near, home]).title == "home"
    listed = {name: path for name, path, _ in available([near, home])}
    assert listed["demo/controller"] == near / "deep" / "whatever.yaml"
    assert list(listed) == sorted(listed)


def test_a_name_given_twice_in_one_folder(tmp_path: Path) -> None:
    """Two files with one name are an error, since either could be meant."""
    write(tmp_path, HEAD + BEEP, "a.yaml")
    write(tmp_path, HEAD + BEEP, "b.yaml")
    with pytest.raises(FileProblems, match=r"b\.yaml:1:1: the profile 'acme/logger' is also in .*a\.yaml"):
        find("acme/logger", [tmp_path])


def test_an_unknown_name(tmp_path: Path) -> None:
    """An unknown profile is said with the nearest known one, and with the files that could not be read."""
    write(tmp_path, HEAD + BEEP)
    write(tmp_path, "a: [", "broken.yaml")
    with pytest.raises(
        UnknownProfile, match=r"no profile 'acme/loger' here\. Did you mean 'acme/logger'\?"
    ) as caught:
        find("acme/loger", [tmp_path])
    assert "broken.yaml:1:5: not YAML" in str(caught.value)
    assert find("acme/logger", [tmp_path]).name == "acme/logger"


def test_finding_reads_no_other_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the file that is wanted is parsed as a whole."""
    write(tmp_path, HEAD + BEEP, "wanted.yaml")
    write(tmp_path, "profile: b/other\n" + "x: [", "other.yaml")
    whole: list[str] = []

    def noting(path: Path) -> source.Document:
        whole.append(path.name)
        return source.read(path)

    monkeypatch.setattr("devices.loader.read", noting)
    find("acme/logger", [tmp_path])
    assert whole == ["wanted.yaml"]


@given(seed=st.integers(0, 10**6))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_mutilated_profiles_are_profiles_or_problems(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Whatever happens to a file, the loader answers with a profile or with file problems."""
    dice = random.Random(seed)
    text = LOGGER
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(text))
        end = min(len(text), at + dice.choice([0, 1, 1, 5, 40]))
        junk = dice.choice(
            [
                "",
                "",
                "{",
                "]",
                ": ",
                "\n",
                "\t",
                "&a ",
                "*a",
                "!x ",
                "'",
                "- ",
                "null",
                "-1",
                "1e9",
                "é",
                "%",
                "{n!r}",
                "(?P<",
            ]
        )
        text = text[:at] + junk + text[end:]
    path = tmp_path_factory.getbasetemp() / "mutilated.yaml"
    path.write_text(text, encoding="utf-8")
    with contextlib.suppress(FileProblems):
        load(path)


scalars = st.sampled_from(
    [
        "x",
        "SET offset",
        "before",
        "{n}",
        "",
        None,
        True,
        0,
        -1,
        3.5,
        "int",
        "enum(a, b)",
        "trigger",
        "lsq",
        "5",
    ]
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "type", "read", "send", "kind", "x"]), inner)
    ),
    max_leaves=5,
)
KEYS = [
    "title",
    "sources",
    "line",
    "sequence",
    "timing",
    "settings",
    "identity",
    "commands",
    "run",
    "modbus",
    "dialect",
    "boot_read",
    "firmware",
]


@given(extra=st.dictionaries(st.sampled_from(KEYS), trees, max_size=4))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_any_shape_is_a_profile_or_problems(
    tmp_path_factory: pytest.TempPathFactory, extra: dict[str, object]
) -> None:
    """Values of any type under any key never end in a traceback."""
    data = {
        "profile": "a/b",
        "dialect": "line",
        "commands": [{"name": "A", "kind": "trigger", "send": "A"}],
        **extra,
    }
    path = tmp_path_factory.getbasetemp() / "shaped.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    with contextlib.suppress(FileProblems):
        load(path)
