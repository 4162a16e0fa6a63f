"""Inventories: what a device inherits, every error at its place, and what a TARGET means."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.inventory import Defaults, Device, Inventory, load
from agent.selection import select
from devices.problems import FileProblems, UsageProblem

FIELD = """
defaults: {timeout: 2s, attempts: 4}
lines:
  bus: {url: "serial:/dev/ttyUSB0?parity=E&baud=9600", gap_s: 0.02, timeout: 3s, attempts: 5, survives_reopen: true}
groups:
  meters: {profile: eastron/sdm630, tags: [north], timeout: 1500ms, line: bus}
  empty:
devices:
  meter-02: {group: meters, unit: 11, serial: "2210417", tags: [old]}
  meter-01: {group: meters, timeout: 0.5, attempts: 2, gap_s: 0.5, url: "tcp://Gw:1"}
  pump-7: {profile: demo/controller, url: "tcp://10.3.0.31:7000", survives_reopen: true}
  relay: {line: bus, profile: a/relay, unit: 3}
"""


def written(folder: Path, text: str | bytes, name: str = "inventory.yaml") -> Path:
    """Write an inventory and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def field(folder: Path) -> Inventory:
    """Load the example."""
    return load(written(folder, FIELD))


def complaints(path: Path) -> list[str]:
    """Load an inventory that must not load; return each problem without its path."""
    with pytest.raises(FileProblems) as caught:
        load(path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def test_what_devices_inherit(tmp_path: Path) -> None:
    """A device takes what it leaves out from its group, then its line; defaults stay apart for profiles."""
    inventory = field(tmp_path)
    bus = "serial:/dev/ttyUSB0?baud=9600&parity=E"
    assert list(inventory.devices) == ["meter-02", "meter-01", "pump-7", "relay"]
    assert inventory.devices["meter-02"] == Device(
        name="meter-02",
        url=bus,
        profile="eastron/sdm630",
        unit=11,
        serial="2210417",
        group="meters",
        tags=frozenset({"north", "old"}),
        line="bus",
        timeout_s=1.5,
        attempts=5,
        gap_s=0.02,
        survives_reopen=True,
    )
    assert inventory.devices["meter-01"] == Device(
        name="meter-01",
        url="tcp://gw:1",
        profile="eastron/sdm630",
        group="meters",
        tags=frozenset({"north"}),
        timeout_s=0.5,
        attempts=2,
        gap_s=0.5,
    )
    assert inventory.devices["pump-7"] == Device(
        name="pump-7", url="tcp://10.3.0.31:7000", profile="demo/controller", survives_reopen=True
    )
    assert inventory.devices["relay"].timeout_s == 3.0
    assert inventory.defaults == Defaults(2.0, 4)


def test_defaults_of_an_inventory(tmp_path: Path) -> None:
    """Without defaults three attempts hold and no timeout is stated."""
    inventory = load(written(tmp_path, "devices: {a: {url: 'tcp://h:1'}}\n"))
    assert inventory.defaults == Defaults(None, 3)
    assert inventory.devices["a"] == Device("a", "tcp://h:1")


ONE = "devices: {a: {url: 'tcp://h:1'}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [" the file is empty."]),
        ("lines: {}\n", ["1:1: 'devices' is missing."]),
        ("devices: {}\n", ["1:10: 'devices' must not be empty."]),
        ("device: {}\n" + ONE, ["1:1: unknown key 'device'. Did you mean 'devices'?"]),
        ("defaults: {timeout: 2m}\n" + ONE, ["1:21: '2m' is not a duration: such as 2s, 500ms or 1.5."]),
        (
            "defaults: {timeout: [2]}\n" + ONE,
            ["1:21: 'timeout' must be a duration such as 2s, 500ms or 1.5."],
        ),
        ("defaults: {attempts: 0}\n" + ONE, ["1:22: 'attempts' must be at least 1, not '0'."]),
        ("defaults: {attempts: 101}\n" + ONE, ["1:22: 'attempts' must be at most 100, not '101'."]),
        ("lines: {b: {gap_s: 1}}\n" + ONE, ["1:12: 'url' is missing."]),
        (
            "lines: {b: {url: '/dev/x'}}\n" + ONE,
            ["1:18: '/dev/x' has no scheme; did you mean serial:/dev/x?."],
        ),
        (
            "lines: {b: {url: 5}}\n" + ONE,
            ["1:18: 'url' must be an address such as tcp://10.3.0.12:7001, not '5'."],
        ),
        ("groups: {g: {profle: x}}\n" + ONE, ["1:14: unknown key 'profle'. Did you mean 'profile'?"]),
        ("groups: {g: {line: b}}\n" + ONE, ["1:20: unknown line 'b'. The file has no 'lines' section"]),
        (
            "devices:\n  a: {url: 'tcp://h:1'}\n  a: {url: 'tcp://h:2'}\n",
            ["3:3: 'a' is given twice, first in line 2."],
        ),
        (
            "devices: {a: {url: 'tcp://h:1', group: meter}}\ngroups: {meters: }\n",
            ["1:40: unknown group 'meter'. Did you mean 'meters'?"],
        ),
        (
            "devices: {a: {line: bus}}\nlines: {bus1: {url: 'tcp://h:1'}}\n",
            ["1:21: unknown line 'bus'. Did you mean 'bus1'?"],
        ),
        (
            "devices: {a: {line: b, url: 'tcp://h:1'}}\nlines: {b: {url: 'tcp://h:1'}}\n",
            ["1:24: 'a' has 'url' and 'line': give one."],
        ),
        ("devices: {a: {unit: 1}}\n", ["1:11: 'a' has neither 'url' nor 'line'."]),
        ("devices: {a: {url: 'tcp://h:1', unit: 256}}\n", ["1:39: 'unit' must be at most 255, not '256'."]),
        ("devices: {a: {url: 'tcp://h:1', unit: '1'}}\n", ["1:39: 'unit' must be a whole number, not '1'."]),
        (
            "devices: {a: {url: 'tcp://h:1', serial: 0417}}\n",
            ["1:41: 'serial' must be text, not '0417'. Put it in quotes"],
        ),
        (
            "devices: {a: {url: 'tcp://h:1', tags: north}}\n",
            ["1:39: 'tags' must be a list, not 'north'. Put it in brackets: [north]"],
        ),
        (
            "devices: {a b: {url: 'tcp://h:1'}}\n",
            [
                (
                    "1:11: 'a b' cannot be a device's name. "
                    "A name has no blanks, none of *?[]:,= and does not begin with @ or -"
                )
            ],
        ),
        (
            "devices: {a: {url: 'tcp://h', group: meter}}\ngroups: {meters: {line: bus}}\nlines: {bas: {urll: x}}\n",
            [
                "1:20: 'tcp://h' names no port: tcp://HOST:PORT.",
                "1:38: unknown group 'meter'. Did you mean 'meters'?",
                "2:25: unknown line 'bus'. Did you mean 'bas'?",
                "3:14: 'url' is missing.",
                "3:15: unknown key 'urll'. Did you mean 'url'?",
            ],
        ),
        (
            "devices: {a: {line: bus}}\nlines: [bus]\n",
            ["2:8: 'lines' must be a mapping (key: value)."],
        ),
        ("devices: {a: }\n", ["1:13: 'a' must be a mapping (key: value), not empty."]),
    ],
)
def test_refused_with_line_and_column(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Each error of an inventory is said at its line and column."""
    assert complaints(written(tmp_path, text)) == expected


@pytest.mark.parametrize("name", ["@a", "-a", "a*", "a?", "[a]", "group:a", "a,b", "a=b"])
def test_names_that_a_target_could_not_mean(tmp_path: Path, name: str) -> None:
    """A name that the command line would read as something else is refused."""
    assert (
        "cannot be a device's name"
        in complaints(written(tmp_path, f"devices: {{'{name}': {{url: 'tcp://h:1'}}}}"))[0]
    )


@pytest.mark.parametrize(
    "text",
    [
        "name,profile,url,line,unit,group,tags,serial\nm1,a/b,,bus,11,meters,north old,0417\n\nm2,,serial:/dev/x,bus,2\n,,,,\np,a/b,tcp://h:1\n",
        '\ufeffSerial;Name;URL;Line;Unit;Group;Tags;Profile\r\n0417;m1;;bus;11;meters;"north;old";a/b\r\n;m2;serial:/dev/x;bus;2\r\n;p;tcp://h:1;;;;;a/b\r\n',
        "name\tprofile\turl\tline\tunit\tgroup\ttags\tserial\nm1\ta/b\tserial:/dev/x\tbus\t11\tmeters\tnorth,old\t0417\nm2\t\t\tbus\t2\np\ta/b\ttcp://h:1",
    ],
    ids=["commas", "spreadsheet", "tabs"],
)  # fmt: skip
def test_csv(tmp_path: Path, text: str) -> None:
    """A field list in CSV means the same devices, with any separator, order of columns, blank and short rows."""
    inventory = load(written(tmp_path, text, "field.CSV"))
    assert list(inventory.devices.values()) == [
        Device("m1", "serial:/dev/x", "a/b", 11, "0417", "meters", frozenset({"north", "old"}), "bus"),
        Device("m2", "serial:/dev/x", None, 2, None, None, frozenset(), "bus"),
        Device("p", "tcp://h:1", "a/b"),
    ]
    assert list(inventory.groups) == ["meters"]
    assert [line.url for line in inventory.lines.values()] == ["serial:/dev/x"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "",
            [
                "1:1: the column 'name' is missing. Known columns: name, profile, url, line, unit, group, tags, serial"
            ],
        ),
        ("name,ulr\na,b\n", ["1:6: unknown column 'ulr'. Did you mean 'url'?"]),
        (
            "name,url,name\n",
            ["1:1: the column 'name' is given twice.", "1:10: the column 'name' is given twice."],
        ),
        ("name,url\n", ["1:1: no row names a device."]),
        ("name,url\na,tcp://h:1\n\na,tcp://h:2\n", ["4:1: the device 'a' is given twice, first in line 2."]),
        ("url,name\ntcp://h:1,\n", ["2:1: a device without a name."]),
        ("name,url\na,tcp://h:1,x\n", ["2:13: 'x' has no column: the first row names 2."]),
        ("name,url\na,tcp://h\n", ["2:3: 'tcp://h' names no port: tcp://HOST:PORT."]),
        ('name,tags,url\n"a","x,y",tcp://h\n', ["2:11: 'tcp://h' names no port: tcp://HOST:PORT."]),
        ("name,url,unit\na,tcp://h:1,x\n", ["2:13: 'unit' must be a whole number, not 'x'."]),
        ("name,url,unit\na,tcp://h:1,300\n", ["2:13: 'unit' must be at most 255, not '300'."]),
        ("name,url\na\n", ["2:1: 'a' has neither 'url' nor 'line'."]),
        ("name,line\na,bus\n", ["2:3: no row of the line 'bus' has a url."]),
        (
            "name,line,url\na,bus,tcp://h:1\nb,bus,tcp://h:2\n",
            ["3:7: the line 'bus' has another url further up: tcp://h:1."],
        ),
        ("name,line,url\na,bus,tcp://h\n", ["2:7: 'tcp://h' names no port: tcp://HOST:PORT."]),
        ('name,url\na,"tcp\n', ["2:1: not CSV: unexpected end of data."]),
    ],
)
def test_csv_refused_with_line_and_column(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Each error of a field list is said at its row and the column where the cell begins."""
    assert complaints(written(tmp_path, text, "field.csv")) == expected


def test_a_field_list_in_another_encoding(tmp_path: Path) -> None:
    """A CSV that is not UTF-8 is said as such."""
    assert complaints(written(tmp_path, b"name,url\nca\xf1on,tcp://h:1\n", "field.csv")) == [
        "2:3: not UTF-8. Save the file as UTF-8"
    ]


@given(text=st.text(alphabet='name,url;\n"a\tb\r 1:/tcp-', max_size=60))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_any_csv_is_an_inventory_or_problems(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Nothing but file problems is ever raised."""
    try:
        inventory = load(written(tmp_path_factory.getbasetemp(), "name,url\n" + text, "any.csv"))
    except FileProblems:
        return
    assert inventory.devices


@pytest.mark.parametrize(
    ("targets", "names"),
    [
        (["pump-7"], ["pump-7"]),
        (["pump-7", "meter-*"], ["meter-02", "meter-01", "pump-7"]),
        (["meter-0[1-9]", "meter-01"], ["meter-02", "meter-01"]),
        (["group:meters"], ["meter-02", "meter-01"]),
        (["tag:old", "relay"], ["meter-02", "relay"]),
        (["@list.txt"], ["meter-01", "relay"]),
        (["*"], ["meter-02", "meter-01", "pump-7", "relay"]),
    ],
)
def test_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[str], names: list[str]
) -> None:
    """Targets mean devices in the order of the inventory, nobody twice."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, b"\xef\xbb\xbfrelay  # the old one\r\n\r\n# none\r\nmeter-01\r\n", "list.txt")
    assert [device.name for device in select(field(tmp_path), targets)] == names


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([], "no target given."),
        (["pump7"], "unknown device 'pump7'. Did you mean 'pump-7'?"),
        (["pump-7", "x"], "unknown device 'x'. inventory.yaml has 4 devices"),
        (["PUMP*"], "no device matches 'PUMP*'."),
        (["group:meter"], "unknown group 'meter'. Did you mean 'meters'?"),
        (["group:empty"], "the group 'empty' has no device"),
        (["tag:nort"], "unknown tag 'nort'. Did you mean 'north'?"),
        (["@none.txt"], "the list 'none.txt' cannot be read: No such file or directory"),
        (["@bad.txt"], "bad.txt:2: unknown device 'reley'. Did you mean 'relay'?"),
        (["@blank.txt"], "the list 'blank.txt' names no device"),
        (["@latin.txt"], "the list 'latin.txt' cannot be read: not a UTF-8 text"),
    ],
)
def test_targets_that_mean_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[str], message: str
) -> None:
    """A target that means no device is an error with the nearest name, never an empty success."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "relay\nreley\n", "bad.txt")
    written(tmp_path, "# nobody\n", "blank.txt")
    written(tmp_path, b"caf\xe9\n", "latin.txt")
    written(tmp_path, FIELD)
    with pytest.raises(UsageProblem) as caught:
        select(load(Path("inventory.yaml")), targets)
    assert str(caught.value).startswith(message)


def test_addresses_and_targets_are_cheap_to_import() -> None:
    """What does not read an inventory does not pay for pydantic and ruamel.yaml."""
    script = (
        "import sys, agent.address, agent.duration, agent.selection; "
        "print([name for name in ('pydantic', 'ruamel') if any(m.split('.')[0] == name for m in sys.modules)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
