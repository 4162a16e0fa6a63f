"""From registers and writes of a Modbus profile to request texts: what a file leaves unsaid, and what becomes of it."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.calls import resolve
from devices.lint import lint
from devices.problems import UsageProblem
from devices.profile import Profile
from protocol.modbus.requests import request_of
from tests.devices.files import loaded
from tests.devices.test_lint import assert_found

HEAD = "profile: acme/meter\ndialect: modbus\n"
NOTHING = "commands: [{name: A, kind: trigger, write: {function: 5, address: 0, value: true}}]\n"


def read_by(folder: Path, setting: str, order: str = "") -> str:
    """The text that reads a setting, given as the inside of its braces."""
    modbus = f"modbus: {{{order}}}\n" if order else ""
    profile = loaded(folder, f"{HEAD}{modbus}settings: {{x: {{{setting}}}}}\n{NOTHING}")
    return profile.setting("x").read or ""


def with_command(folder: Path, write: str, setting: str = "", args: str = "", order: str = "") -> Profile:
    """A profile with one setting, unless it is empty, and one command SET that writes."""
    text = HEAD + (f"modbus: {{{order}}}\n" if order else "")
    if setting:
        text += f"settings: {{x: {{{setting}}}}}\n"
    named = "setting: x, " if setting else ""
    text += f"commands: [{{name: SET, kind: absolute, args: [{args}], {named}write: {{{write}}}}}]\n"
    return loaded(folder, text)


@pytest.mark.parametrize(
    ("setting", "order", "text"),
    [
        ("type: u16, table: holding, address: 2", "", "fc03 0x0002 u16"),
        ("type: f32, table: input, address: 0x0034", "", "fc04 0x0034 f32"),
        ("type: bool, table: coil, address: 7", "", "fc01 0x0007 bool"),
        ("type: bits(8), table: discrete, address: 16", "", "fc02 0x0010 bits(8)"),
        ("type: bool, bit: 15, table: holding, address: 5", "", "fc03 0x0005 bit15"),
        ("type: text(8), table: holding, address: 256", "", "fc03 0x0100 text(8)"),
        ("type: text, table: identification, address: 1", "", "fc43 0x01 text"),
        ("type: s16, scale: 0.1, table: input, address: 0", "", "fc04 0x0000 s16*0.1"),
        (
            'type: u16, sentinels: ["0xFFFF", "8000"], table: input, address: 0',
            "",
            "fc04 0x0000 u16!FFFF,8000",
        ),
        ('type: f32, sentinels: ["0x7fc00000"], table: input, address: 0', "", "fc04 0x0000 f32!7FC00000"),
        ("type: u32, table: input, address: 0", "word_order: little", "fc04 0x0000 u32/lw"),
        ("type: u16, table: input, address: 0", "word_order: little", "fc04 0x0000 u16"),
        ("type: text(4), table: input, address: 0", "word_order: little", "fc04 0x0000 text(4)"),
        (
            "type: f64, table: input, address: 0",
            "word_order: little, byte_order: little",
            "fc04 0x0000 f64/lw/lb",
        ),
        ("type: text(4), table: input, address: 0", "byte_order: little", "fc04 0x0000 text(4)/lb"),
        ("type: bool, table: coil, address: 0", "byte_order: little", "fc01 0x0000 bool"),
        (
            "type: bits(4), table: coil, address: 0",
            "byte_order: little, word_order: little",
            "fc01 0x0000 bits(4)",
        ),
        ("type: text, table: identification, address: 0", "byte_order: little", "fc43 0x00 text"),
    ],
)
def test_how_a_setting_is_read(tmp_path: Path, setting: str, order: str, text: str) -> None:
    """Table, address, type, scale, bit, sentinels and the order of words and bytes stand in one request text."""
    assert read_by(tmp_path, setting, order) == text


@pytest.mark.parametrize(
    ("write", "setting", "args", "text"),
    [
        ('function: 6, address: 2, value: "{v}"', "type: s16, scale: 0.1, table: holding, address: 2",
         "{name: v, type: decimal}", "fc06 0x0002 s16*0.1 {v}"),
        ('function: 23, address: 2, value: "{v}"', 'type: u16, sentinels: ["0xFFFF"], table: holding, address: 2',
         "{name: v, type: int}", "fc23 0x0002 u16!FFFF {v}"),
        ('function: 22, address: 2, value: "{v}"', "type: bool, bit: 3, table: holding, address: 2",
         "{name: v, type: bool}", "fc22 0x0002 bit3 {v}"),
        ('function: 16, address: 2, type: f32, value: "{v}"', "type: u16, table: holding, address: 2",
         "{name: v, type: int}", "fc16 0x0002 f32 {v}"),
        ('function: 22, address: 2, bit: 0, value: "{v}"', "", "{name: v, type: bool}", "fc22 0x0002 bit0 {v}"),
        ("function: 5, address: 4, value: true", "", "", "fc05 0x0004 bool true"),
        ("function: 15, address: 0, type: bits(4), value: 5", "", "", "fc15 0x0000 bits(4) 5"),
        ("function: 6, address: 2 * 8 + 1, type: u16, value: 5", "", "", "fc06 0x0011 u16 5"),
        ('function: 5, address: 511 + ch, raw: "0x00{v:02x}"', "",
         "{name: ch, type: int, min: 1, max: 8}, {name: v, type: int, min: 0, max: 255}",
         "fc05 0x{511 + ch:04X} raw 00{v:02x}"),
        ('function: 16, address: 0, raw: "0xab00"', "", "", "fc16 0x0000 raw AB00"),
        ('function: 16, address: 0, type: text(4), value: "a {v}"', "", "{name: v, type: text}",
         "fc16 0x0000 text(4) a {v}"),
    ],
)  # fmt: skip
def test_how_a_command_is_written(tmp_path: Path, write: str, setting: str, args: str, text: str) -> None:
    """A write without a type has that of the command's setting; addresses and values may go by arguments."""
    assert with_command(tmp_path, write, setting, args).command("SET").send == text


def test_both_directions_have_the_same_order(tmp_path: Path) -> None:
    """What is written lies in the registers as it is read."""
    profile = with_command(
        tmp_path,
        'function: 16, address: 2, value: "{v}"',
        "type: u32, table: holding, address: 2",
        "{name: v, type: int}",
        "word_order: little, byte_order: little",
    )
    assert profile.setting("x").read == "fc03 0x0002 u32/lw/lb"
    assert request_of(resolve(profile, ["SET", "1"]).text).data.hex() == "01000000"


def test_questions_by_name(tmp_path: Path) -> None:
    """Identity, restart and confirmation ask with the text of the setting that they name."""
    profile = loaded(
        tmp_path,
        HEAD + "identity: {read: serial, expect: '{serial}'}\nboot_read: boots\nsettings:\n"
        "  serial: {type: u32, table: holding, address: 0}\n  boots: {type: u16, table: input, address: 1}\n"
        "  unit: {type: u16, table: holding, address: 2}\ncommands:\n"
        "  - {name: SET unit, kind: link, args: [{name: n, type: int}],\n"
        "     write: {function: 6, address: 2, type: u16, value: '{n}'},\n"
        "     confirm: {at: 'unit {n}', read: unit, expect: '{n}'}}\n",
    )
    assert profile.identity is not None
    assert (profile.identity.read, profile.boot_read) == ("fc03 0x0000 u32", "fc04 0x0001 u16")
    confirm = profile.command("SET unit").confirm
    assert confirm is not None
    assert (confirm.at, confirm.read, confirm.expect) == ("unit {n}", "fc03 0x0002 u16", "{n}")


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("u16", 0, 65535),
        ("s16, scale: 0.1", Decimal("-3276.8"), Decimal("3276.7")),
        ("bits(4)", 0, 15),
        ("f32", None, None),
    ],
)
def test_an_argument_ends_where_its_register_does(
    tmp_path: Path, written: str, low: Decimal | None, high: Decimal | None
) -> None:
    """What people and absolute forms may ask for is known without saying it; of floats it would say nothing."""
    function = 15 if written.startswith("bits") else 16
    kind = "decimal" if "scale" in written or written == "f32" else "int"
    write = f'function: {function}, address: 0, type: {written}, value: "{{v}}"'
    [argument] = with_command(tmp_path, write, "", f"{{name: v, type: {kind}}}").command("SET").args
    assert (argument.min, argument.max) == (low, high)
    [own] = (
        with_command(tmp_path, write, "", f"{{name: v, type: {kind}, min: 1, max: 2}}").command("SET").args
    )
    assert (own.min, own.max) == (Decimal(1), Decimal(2))


def test_an_argument_that_is_computed_with_ends_where_it_says(tmp_path: Path) -> None:
    """The register's range is that of the result, not of the argument."""
    write = 'function: 6, address: 0, type: u16, value: "{v * 10}"'
    [argument] = with_command(tmp_path, write, "", "{name: v, type: int}").command("SET").args
    assert (argument.min, argument.max) == (None, None)


@pytest.mark.parametrize(
    ("setting", "step"),
    [
        ("type: u16, scale: 0.1", "0.1"),
        ("type: u16", None),
        ("type: f32", None),
        ("type: u16, scale: 0.5, step: 1", "1"),
    ],
)
def test_a_scaled_register_goes_in_steps(tmp_path: Path, setting: str, step: str | None) -> None:
    """A scaled whole number tells values apart that lie one scale from each other."""
    text = f"{HEAD}settings: {{x: {{{setting}, table: holding, address: 0}}}}\n{NOTHING}"
    assert loaded(tmp_path, text).setting("x").step == step


SCALED = 'function: 6, address: 0, type: s16, scale: 0.1, value: "{v}"'


@pytest.mark.parametrize(
    ("value", "said"),
    [("21.55", "goes in steps of 0.1"), ("3276.8", "v must be -3276.8 to 3276.7, not 3276.8")],
)
def test_values_are_checked_when_they_are_typed(tmp_path: Path, value: str, said: str) -> None:
    """What the register cannot hold is refused before any connection, with what to type."""
    profile = with_command(tmp_path, SCALED, "", "{name: v, type: decimal}")
    assert resolve(profile, ["SET", "21.5"]).text == "fc06 0x0000 s16*0.1 21.5"
    with pytest.raises(UsageProblem, match="SET") as caught:
        resolve(profile, ["SET", value])
    assert said in str(caught.value)


def test_a_computed_value_is_checked_when_it_is_typed(tmp_path: Path) -> None:
    """Also where only the result is too much for the register."""
    profile = with_command(
        tmp_path, 'function: 6, address: 0, type: u16, value: "{v * 10}"', "", "{name: v, type: int}"
    )
    with pytest.raises(UsageProblem) as caught:
        resolve(profile, ["SET", "6554"])
    assert "SET: 65540 does not fit u16, 0 to 65535" in str(caught.value)
    assert "Type: SET <v: int>" in str(caught.value)


def test_a_secret_is_not_looked_at(tmp_path: Path) -> None:
    """Its value is not known yet, and its mark is no number."""
    args = "{name: p, type: text, secret: true}"
    profile = with_command(tmp_path, 'function: 16, address: 0, type: f32, value: "{p}"', "", args)
    assert resolve(profile, ["SET", "env:PASSWORD"]).text == "fc16 0x0000 f32 {env:PASSWORD}"


@given(value=st.integers(-40000, 40000), tenths=st.booleans())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_whatever_is_typed_is_a_request_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, value: int, tenths: bool
) -> None:
    """No typed number is sent as another one: it is in the register, or it is refused."""
    profile = with_command(tmp_path_factory.getbasetemp(), SCALED, "", "{name: v, type: decimal}")
    typed = f"{value / 10}" if tenths else f"{value}"
    counts = value if tenths else value * 10
    if -32768 <= counts <= 32767:
        data = request_of(resolve(profile, ["SET", typed]).text).data
        assert int.from_bytes(data, "big", signed=True) == counts
    else:
        with pytest.raises(UsageProblem):
            resolve(profile, ["SET", typed])


CLEAN = """profile: acme/meter
sources: [manual]
dialect: modbus
modbus: {framing: rtu}
timing: {settle_s: 0.2}
identity: {read: serial, expect: "{serial}"}
settings:
  serial: {type: u32, table: holding, address: 0, durable: true}
  limit: {type: f32, min: 0, max: 9, table: holding, address: 2, durable: true}
  pump: {type: bool, table: coil, address: 2, durable: true}
  door: {type: bool, table: discrete, address: 7, durable: true}
commands:
  - {name: SET limit, kind: absolute, args: [{name: v, type: decimal, min: 0, max: 9}], setting: limit,
     write: {function: 16, address: 2, value: "{v}"}}
  - {name: SET pump, kind: absolute, args: [{name: v, type: bool}], setting: pump,
     write: {function: 5, address: 2, value: "{v}"}}
  - {name: START, kind: trigger, write: {function: 6, address: 9, type: u16, value: 1}}
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("function: 16, address: 2,", "function: 16, address: 4,",
         ["warning SET limit: it writes address 4, and 'limit' is read from 2 of the same table"]),
        ("function: 5, address: 2,", "function: 5, address: 3,",
         ["warning SET pump: it writes address 3, and 'pump' is read from 2 of the same table"]),
        ("address: 9, type: u16", "address: 3, type: u16",
         ["warning START: it writes a part of 'limit': between this and the command for the rest"]),
        ("address: 9, type: u16", "address: 1, type: u16", ["warning START: it writes a part of 'serial'"]),
        ("function: 6, address: 9, type: u16", "function: 16, address: 1, type: f32",
         ["warning START: it writes a part of 'serial'", "warning START: it writes a part of 'limit'"]),
        ("function: 6, address: 9, type: u16", "function: 16, address: 2, type: u64", []),
        ("function: 6, address: 9, type: u16", "function: 5, address: 3, type: bool", []),
    ],
)  # fmt: skip
def test_lint_of_addresses(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """A command that writes elsewhere than its setting is read, or half of a value, is told; the rest is not."""
    assert lint(loaded(tmp_path, CLEAN)) == []
    assert CLEAN.count(old) == 1
    assert_found(lint(loaded(tmp_path, CLEAN.replace(old, new))), *expected)


def test_lint_of_what_is_read_elsewhere_on_purpose(tmp_path: Path) -> None:
    """An output that is read back as an input stands in another table, which is no mistake."""
    text = CLEAN.replace("setting: pump", "setting: door")
    assert lint(loaded(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("framing", "write", "told"),
    [
        ("rtu", "{function: 6, address: 9, type: u16, value: 1}", True),
        ("rtu", "{function: 16, address: 9, type: u16, value: 1}", False),
        ("tcp", "{function: 6, address: 9, type: u16, value: 1}", False),
    ],
)
def test_lint_of_a_line_that_may_echo(tmp_path: Path, framing: str, write: str, told: bool) -> None:
    """Where nothing can be read on a serial line, an ack that equals its request is never believed."""
    text = f"profile: a/b\nsources: [manual]\ndialect: modbus\nmodbus: {{framing: {framing}}}\n"
    text += f"commands: [{{name: START, kind: trigger, write: {write}}}]\n"
    said = [each.message for each in lint(loaded(tmp_path, text)) if each.where == "settings"]
    assert ["START would end in doubt" in message for message in said] == [True] * told
