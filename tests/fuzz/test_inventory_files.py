"""Is a damaged inventory ever anything but an inventory whose devices can be meant, or problems with their places?"""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from agent.address import parse_url
from agent.inventory import load
from agent.selection import select
from tests.fuzz.damage import HOSTILE, Edit, Turn, damaged, edits, turned, turns
from tests.fuzz.seeded import fuzz
from tests.fuzz.told import loaded_or_told

YAML_FILE = """\
defaults: {timeout: 2s, attempts: 3}
lines:
  rs485-1: {url: "serial:/dev/ttyUSB0?baud=9600&parity=E", gap_s: 0.02, survives_reopen: true}
groups:
  meters: {profile: eastron/sdm630, tags: [north], line: rs485-1, timeout: 500ms}
  empty:
devices:
  meter-01: {group: meters, unit: 11, serial: "2210417"}
  meter-02: {line: rs485-1, unit: 12, group: empty}
  meter-03: {line: rs485-1, unit: 13}
  pump-7: {profile: demo/controller, url: "tcp://10.3.0.31:7000", attempts: 5}
  psu-3: {profile: keysight/e3634a, url: "rfc2217://10.3.0.32:5025", tags: [lab], gap_s: 0.5}
"""
CSV_FILE = """\
name,profile,url,line,unit,group,tags,serial
"meter-01","eastron/sdm630",serial:/dev/ttyUSB0?baud=9600,"rs485-1","11","meters","north;roof","2210417"
"meter-02",eastron/sdm630,"",rs485-1,12,"meters","the ""north"" side",2210418
pump-7,demo/controller,tcp://10.3.0.31:7000,,,,"lab, wet",
"""
NAMES = {"yaml": YAML_FILE, "csv": CSV_FILE}
cells = st.one_of(st.sampled_from([str(value) for value in HOSTILE]), st.text(max_size=8))


def use(path: Path) -> None:
    """Whatever loads has devices that can be meant by their names and reached by their addresses."""
    inventory = loaded_or_told(load, path)
    if inventory is None:
        return
    assert inventory.devices
    for name, device in inventory.devices.items():
        assert select(inventory, [name]) == [device]
        assert parse_url(device.url).url == device.url


@fuzz(150)
@given(how=turns)
def test_an_inventory_that_means_something_else(how: list[Turn], tmp_path: Path) -> None:
    """Parts lost, doubled, exchanged, renamed or senseless."""
    yaml = YAML(typ="safe")
    yaml.width = 10_000
    text = io.StringIO()
    yaml.dump(turned(yaml.load(YAML_FILE), how), text)
    path = tmp_path / "inventory.yaml"
    path.write_text(text.getvalue(), encoding="utf-8")
    use(path)


@fuzz(150)
@given(
    changes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7), cells), min_size=1, max_size=4),
    order=st.permutations(range(8)),
    delimiter=st.sampled_from(",;\t"),
)
def test_a_field_list_with_other_cells(
    changes: list[tuple[int, int, str]], order: list[int], delimiter: str, tmp_path: Path
) -> None:
    """Cells and columns changed, in any order and with any delimiter that a spreadsheet writes."""
    rows = list(csv.reader(io.StringIO(CSV_FILE)))
    for row, column, cell in changes:
        rows[row][column] = cell
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([row[column] for column in order] for row in rows)
    path = tmp_path / "inventory.csv"
    path.write_bytes(text.getvalue().encode(errors="surrogatepass"))
    use(path)


@pytest.mark.parametrize("kind", NAMES)
@fuzz(100)
@given(how=edits)
def test_an_inventory_with_other_bytes(kind: str, how: list[Edit], tmp_path: Path) -> None:
    """Bytes lost, inserted and replaced, also such that are no text."""
    path = tmp_path / f"inventory.{kind}"
    path.write_bytes(damaged(NAMES[kind].encode(), how))
    use(path)
