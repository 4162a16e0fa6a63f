"""Register maps as people have them in spreadsheets: read in all usual spellings, refused with line and column."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.loader import load
from devices.map_profile import Origin, check, profile_text
from devices.problems import FileProblems
from devices.profile import Profile
from devices.register_map import RegisterMap, register_map
from tests.devices.files import write

HEADER = "name;table;address;type;unit;scale;min;max;step;access;bit;description\n"
ORIGIN = Origin("map.csv", "", "acme/meter", "tcp", "big")


def read(text: str) -> RegisterMap:
    """The registers of a map that will make a profile."""
    found = register_map("map.csv", text)
    check(found, ORIGIN)
    return found


def row(text: str) -> dict[str, object]:
    """The keys of the one register of a map with one row below the usual header."""
    [register] = register_map("map.csv", HEADER + text).registers
    return register.keys


def imported(folder: Path, text: str, origin: Origin = ORIGIN) -> Profile:
    """The profile of a map, by way of its file."""
    found = register_map("map.csv", text)
    check(found, origin)
    return load(write(folder, profile_text(found, origin, "map.csv")))


def complaints(text: str) -> list[str]:
    """What is wrong with a map, as `line:column: message. Hint`."""
    with pytest.raises(FileProblems) as caught:
        read(text)
    return [line.removeprefix("map.csv:") for line in str(caught.value).splitlines()]


# --- what is understood ---------------------------------------------------------------------------------------------


def test_every_column_arrives() -> None:
    """Each column becomes the key of a setting, numbers exactly."""
    [register] = read(HEADER + "Set Point;holding;2;int16;°C;0.1;-20;80.5;0.5;rw;;the wish\n").registers
    assert register.keys == {
        "type": "s16",
        "unit": "°C",
        "scale": Decimal("0.1"),
        "min": -20,
        "max": Decimal("80.5"),
        "step": Decimal("0.5"),
        "table": "holding",
        "address": 2,
    }
    assert (register.name, register.access, register.line) == ("set_point", "rw", 2)
    assert (register.written, register.description) == ("Set Point", "the wish")


@pytest.mark.parametrize(
    "header",
    [
        "Name;Table;Address;Type;Unit;Scale;Access",
        "PARAMETER;Register Type;Register;Data Type;Units;Factor;R/W",
        "Register_Name;Area;Start Address;datatype;UOM;Scale Factor;Read/Write",
        "Signal;Object Type;Addr.;Format;Unit [SI];Multiplier;Mode",
        '"Tag";"table";"Modbus address (dec)";"Data format";"unit";"Scaling";"Permission"',
    ],
)
def test_headings(header: str) -> None:
    """Makers call the columns this and that, in any case."""
    [register] = read(f"{header}\nlevel;holding;7;uint16;mm;0.5;rw\n").registers
    assert register.keys == {
        "type": "u16",
        "unit": "mm",
        "scale": Decimal("0.5"),
        "table": "holding",
        "address": 7,
    }
    assert register.access == "rw"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_forms_of_csv(tmp_path: Path, separator: str, end: str, mark: str) -> None:
    """Commas, semicolons, tabs, line ends of any system and a byte order mark make no difference."""
    from devices.source import read_text

    rows = ["type,name,access,address,table,description", 'u16,level,rw,2,holding,"a ""b"""', "", ",,,,,"]
    text = mark + end.join(line.replace(",", separator) for line in rows) + end
    [register] = read(read_text(write(tmp_path, text, "map.csv"))[0]).registers
    assert (register.name, register.keys["address"], register.description) == ("level", 2, 'a "b"')


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("UINT16", "u16"), ("uint16_t", "u16"), ("U16", "u16"), ("WORD", "u16"), ("unsigned int16", "u16"),
        ("Unsigned 16", "u16"), ("INT16", "s16"), ("int", "s16"), ("SINT16", "s16"), ("short", "s16"),
        ("DWORD", "u32"), ("UDINT", "u32"), ("uint-32", "u32"), ("DINT", "s32"), ("int32_t", "s32"),
        ("QWORD", "u64"), ("LINT", "s64"), ("Float", "f32"), ("FLOAT 32", "f32"), ("REAL", "f32"),
        ("double", "f64"), ("LREAL", "f64"), ("String[8]", "text(8)"), ("ASCII(10)", "text(10)"), ("char 4", "text(4)"),
    ],
)  # fmt: skip
def test_types(cell: str, kind: str) -> None:
    """Types are known by the names of C, of PLCs and of data sheets."""
    assert row(f"x;holding;0;{cell};;;;;;;;\n")["type"] == kind


@pytest.mark.parametrize(
    ("cell", "table"),
    [
        ("Holding Register", "holding"), ("HR", "holding"), ("4x", "holding"), ("INPUT", "input"), ("3X", "input"),
        ("Coil", "coil"), ("Discrete Output", "coil"), ("0x", "coil"), ("Discrete Input", "discrete"),
        ("DI", "discrete"),
    ],
)  # fmt: skip
def test_tables(cell: str, table: str) -> None:
    """Tables are known by their names and by their Modicon digits."""
    kind = "bool" if table in ("coil", "discrete") else "u16"
    assert row(f"x;{cell};0;{kind};;;;;;;;\n")["table"] == table


@pytest.mark.parametrize(
    ("cell", "table"), [("3", "holding"), ("FC04", "input"), ("0x03", "holding"), ("04", "input")]
)
def test_the_function_that_reads_tells_the_table(cell: str, table: str) -> None:
    """A column of function codes says as much as a column of tables."""
    [register] = register_map("map.csv", f"name,function code,address,type\nx,{cell},0,u16\n").registers
    assert register.keys["table"] == table


@pytest.mark.parametrize(
    ("cell", "access"),
    [("RO", "r"), ("Read only", "r"), ("r", "r"), ("", "r"), ("R/W", "rw"), ("RW", "rw"), ("Read/Write", "rw"),
     ("read-write", "rw"), ("W", "w"), ("WO", "w"), ("Write only", "w")],
)  # fmt: skip
def test_access(cell: str, access: str) -> None:
    """Without a word on access a register is only read."""
    [register] = register_map("map.csv", HEADER + f"x;holding;0;u16;;;;;;{cell};;\n").registers
    assert register.access == access


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("0,1", Decimal("0.1")),
        ("0.1", Decimal("0.1")),
        ("10", 10),
        ("1", None),
        ("1,0", None),
        ("-", None),
        ("n/a", None),
    ],
)
def test_numbers_where_semicolons_separate(text: str, scale: Decimal | None) -> None:
    """A comma is a decimal comma there; a scale of one, or a dash, is none."""
    assert row(f"x;holding;0;u16;;{text};;;;;;\n").get("scale") == scale


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Active Power L1 (W)", "active_power_l1_w"),
        ("Réglage", "reglage"),
        ("3rd harmonic", "r_3rd_harmonic"),
        ("T-max", "t_max"),
    ],
)
def test_names_are_made_to_fit(name: str, slug: str) -> None:
    """What people call a register becomes a name that can be typed and computed with."""
    [register] = register_map("map.csv", HEADER + f"{name};holding;0;u16;;;;;;;;\n").registers
    assert (register.name, register.written) == (slug, name)


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "table", "address"),
    [("2", "holding", 2), ("0x0010", "holding", 16), ("0X1f", "input", 31), ("10h", "holding", 16),
     ("0FH", "holding", 15), ("65535", "holding", 65535), ("0002", "holding", 2), ("30000", "holding", 30000),
     ("30001", "holding", 30001), ("40000", "holding", 40000)],
)  # fmt: skip
def test_addresses_of_the_wire(written: str, table: str, address: int) -> None:
    """Decimal and hex numbers are addresses as on the wire; so are 30001 in table holding, and 40000."""
    [register] = register_map("map.csv", HEADER + f"x;{table};{written};u16;;;;;;;;\n").registers
    assert (register.keys["address"], register.keys["table"], register.modicon) == (address, table, None)


@pytest.mark.parametrize(
    ("written", "kind", "table", "address"),
    [("40003", "u16", "holding", 2), ("400003", "u16", "holding", 2), ("465536", "u16", "holding", 65535),
     ("30001", "u16", "input", 0), ("300124", "u16", "input", 123), ("10001", "bool", "discrete", 0),
     ("00001", "bool", "coil", 0), ("000017", "bool", "coil", 16)],
)  # fmt: skip
def test_modicon_numbers(written: str, kind: str, table: str, address: int) -> None:
    """A number of five or six digits names its table with the first, and counts from one; it is kept beside."""
    for said in ("", table):
        [register] = register_map("map.csv", HEADER + f"x;{said};{written};{kind};;;;;;;;\n").registers
        assert (register.keys["table"], register.keys["address"], register.modicon) == (
            table,
            address,
            written,
        )


def test_both_kinds_of_numbers_in_one_file() -> None:
    """Beside plain addresses 40003 may be one too: it is refused, with both ways to say what is meant."""
    text = (
        HEADER
        + "a;holding;100;u16;;;;;;rw;;\nb;holding;40003;u16;;;;;;rw;;\nc;holding;0x0002;u16;;;;;;rw;;\n"
    )
    [said] = complaints(text)
    assert said.startswith(
        "3:11: 40003 is address 2 if it is a Modicon number, and 100 in this file is none. "
    )
    assert said.endswith("Write 0x0002 for that, or 0x9C43 for address 40003")
    assert [each.keys["address"] for each in read(text.replace("40003", "400003")).registers] == [100, 2, 2]
    assert [each.keys["address"] for each in read(text.replace("40003", "0x9C43")).registers] == [
        100,
        40003,
        2,
    ]
    assert [each.keys["address"] for each in read(text.replace("100", "0x64")).registers] == [100, 2, 2]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("x;holding;two;u16;;;;;;rw;;", ["2:11: 'two' is no address. Such as 2, 0x0002 or 40003"]),
        ("x;;2;u16;;;;;;rw;;", ["2:4: nothing says in which table 2 is. Add a column 'table': holding, input"]),
        ("x;holing;2;u16;;;;;;rw;;", ["2:3: unknown table 'holing'. Did you mean 'holding'?"]),
        ('"x;y";holing;2;u16;;;;;;rw;;', ["2:7: unknown table 'holing'. Did you mean 'holding'?"]),
        ("x;holding;2;uint17;;;;;;rw;;", ["2:13: unknown type 'uint17'. Did you mean 'uint16'?"]),
        ("x;holding;2;string;;;;;;rw;;",
         ["2:13: unknown type 'string'. Known: uint16, int16, uint32, int32, uint64, int64, float32, float64"]),
        ("x;holding;2;u16;;a;;;;rw;;", ["2:18: 'a' is no number."]),
        ("x;holding;2;u16;;1.234,5;;;;rw;;", ["2:18: '1.234,5' is no number. Write a decimal point"]),
        ("x;holding;2;u16;;;;;;maybe;;", ["2:22: unknown access 'maybe'. It is r, rw or w"]),
        ("x;holding;2;u16;;;;;;rw;b3;", ["2:25: 'b3' is no bit of a register: 0 (lowest) to 15."]),
        ("x;input;2;u16;;;;;;rw;;", ["2:20: table input can only be read, not written."]),
        (";holding;2;;;;;;;rw;;", ["2:1: no name and no type in this row."]),
        ("+++;holding;2;u16;;;;;;rw;;", ["2:1: no name can be made of '+++'. Give it a word of letters a to z"]),
        ("max;holding;2;u16;;;;;;rw;;", ["2:1: 'max' has a meaning of its own in expressions, no setting"]),
        ("a b;holding;2;u16;;;;;;rw;;\nA-B;holding;3;u16;;;;;;rw;;",
         ["3:1: the name 'a_b' is given twice, first in line 2."]),
        ("x;holding;2;u16;;;;;;rw;;;;more", ["2:28: 'more' has no column: the first row names 12."]),
        ("x;holding;2;u16;;;-1;70000;;rw;;",
         ["2:19: 'min' -1 is beyond what u16 can hold, 0 to 65535.", "2:22: 'max' 70000 is beyond what u16"]),
        ("x;holding;2;u16;;0.1;;;0.25;rw;;", ["2:24: 'step' 0.25 is no multiple of 0.1, the step of the register."]),
        ("x;holding;2;bool;;;;;;rw;;",
         ["2:13: table holding holds registers, and a bool is one bit of one. Give 'bit', 0 (lowest) to 15"]),
        ("x;coil;2;u16;;;;;;rw;;", ["2:10: table coil holds bits: type bool or bits(n), not u16."]),
        ("x;holding;65535;u32;;;;;;rw;;", ["2:11: u32 at 65535 ends at 65536, the last address is 65535."]),
        ("x;holding;70000;u16;;;;;;rw;;", ["2:11: 'address' must be at most 65535, not '70000'."]),
        ('x;holding;2;u16;;;;;;rw;;"open', ["2:1: not CSV: unexpected end of data."]),
    ],
)  # fmt: skip
def test_refused_with_line_and_column(rows: str, expected: list[str]) -> None:
    """Everything that is wrong with a row is said at its cell."""
    said = complaints(f"{HEADER}{rows}\n")
    assert len(said) == len(expected), said
    for line, want in zip(said, expected, strict=True):
        assert line.startswith(want), said


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("name;address", "1:1: no column for the type. Its heading is one of 'type', 'data type'"),
        (
            "nam;adress;typ",
            "1:5: unknown column 'adress'. Did you mean 'address'? If not, give it another heading",
        ),
        (
            "name;address;type;Register",
            "1:19: 'Register' is a second column for the address. Leave one of them out",
        ),
        ("", "1:1: no column for the name."),
        ("name;address;type", "1:1: no row describes a register."),
    ],
)
def test_headers_that_cannot_be_used(header: str, expected: str) -> None:
    """A missing column is named with its usual headings, a mistyped one with the likely word."""
    assert complaints(header + "\n")[0].startswith(expected)


def test_columns_of_no_use_are_named() -> None:
    """What is not known is left out, and said, unless it looks like a known heading."""
    text = "No.;name;table;address;type;access;Default;Chapter\n1;x;holding;2;u16;rw;0;4.2\n"
    assert read(text).unused == ("No.", "Default", "Chapter")


@pytest.mark.parametrize(("gain", "refused"), [("1", False), ("10", True), ("0.1", True)])
def test_a_gain_is_not_guessed(gain: str, refused: bool) -> None:
    """Some makers multiply by it and some divide."""
    text = f"name;table;address;type;access;gain\nx;holding;2;u16;rw;{gain}\n"
    if refused:
        [said] = complaints(text)
        assert said.startswith(
            f"2:20: a gain of {gain} may mean times {gain} or divided by {gain}. Call the column"
        )
    else:
        assert "scale" not in read(text).registers[0].keys


def test_table_and_function_must_agree() -> None:
    """Function 4 does not read holding registers."""
    text = "name;table;function;address;type;access\nx;holding;4;2;u16;rw\n"
    assert complaints(text) == ["2:11: the function reads table input, and the table is holding."]


def test_a_decimal_comma_between_commas() -> None:
    """Where commas separate the cells, a comma in a number could mean thousands."""
    text = 'name,table,address,type,access,scale\nx,holding,2,u16,rw,"0,1"\n'
    assert complaints(text) == ["2:20: '0,1' is no number. Write a decimal point"]


# --- what comes out -------------------------------------------------------------------------------------------------


def test_the_profile_of_a_map(tmp_path: Path) -> None:
    """Readable registers are settings, writable ones have one command each, by the function for table and size."""
    profile = imported(
        tmp_path,
        HEADER
        + "Level;holding;2;u16;mm;0.1;0;100;;rw;;how high\nLimit;holding;3;f32;;;;;;rw;;\n"
        + "Pump;coil;0;bool;;;;;;rw;;\nHeat;holding;5;u16;;;;;;rw;3;\nKey;holding;6;s32;;;;;;w;;\n"
        + "Valves;coil;8;bits(4);;;;;;rw;;\nDoor;discrete;1;bool;;;;;;r;;\n",
        Origin("map.csv", "", "acme/meter", "rtu", "little"),
    )
    assert profile.modbus is not None
    assert (profile.name, profile.modbus.framing) == ("acme/meter", "rtu")
    assert {setting.name: setting.read for setting in profile.settings.values()} == {
        "level": "fc03 0x0002 u16*0.1",
        "limit": "fc03 0x0003 f32/lw",
        "pump": "fc01 0x0000 bool",
        "heat": "fc03 0x0005 bit3",
        "valves": "fc01 0x0008 bits(4)",
        "door": "fc02 0x0001 bool",
    }
    assert {command.name: (command.send, command.setting) for command in profile.commands} == {
        "SET level": ("fc06 0x0002 u16*0.1 {value}", "level"),
        "SET limit": ("fc16 0x0003 f32/lw {value}", "limit"),
        "SET pump": ("fc05 0x0000 bool {value}", "pump"),
        "SET heat": ("fc22 0x0005 bit3 {value}", "heat"),
        "SET key": ("fc16 0x0006 s32/lw {value}", None),
        "SET valves": ("fc15 0x0008 bits(4) {value}", "valves"),
    }
    [value] = profile.command("SET level").args
    assert (value.type, value.min, value.max, value.unit) == ("decimal", Decimal(0), Decimal(100), "mm")
    assert all(command.kind == "absolute" for command in profile.commands)


def test_signs_that_end_a_line_do_not(tmp_path: Path) -> None:
    """A remark or a unit with a line end of any system, or a bell, stays on its line."""
    text = HEADER + 'x;holding;2;u16;"a\x85b\x07";;;;;rw;;"kept\nfrom: \u2028here\x85on: \x0bthere"\n'
    profile = imported(tmp_path, text)
    assert profile.setting("x").unit == "a b "
    assert list(profile.settings) == ["x"]
    written = Path(profile.source).read_text(encoding="utf-8")
    assert "# kept from: here on: there" in " ".join(written.split())


HOSTILE = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12
)


@given(unit=HOSTILE, description=HOSTILE, name=HOSTILE)
@settings(derandomize=True, max_examples=80, deadline=None)
def test_whatever_cells_hold_stays_in_its_place(
    tmp_path_factory: pytest.TempPathFactory, unit: str, description: str, name: str
) -> None:
    """Quotes, braces, # and signs of any script in a cell make no other profile, and never a traceback."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, delimiter=";")
    writer.writerow(HEADER.strip().split(";"))
    writer.writerow([f"x {name}", "holding", "2", "u16", unit, "", "", "", "", "rw", "", description])
    try:
        profile = imported(tmp_path_factory.getbasetemp(), text.getvalue())
    except FileProblems:
        return
    [setting] = profile.settings.values()
    [command] = profile.commands
    assert (setting.read, command.send) == ("fc03 0x0002 u16", "fc06 0x0002 u16 {value}")
