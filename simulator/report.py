"""What does `ackonce simulate device` print, and in which form?

Where the device listens, what could not be done, and at the end the device's own counts: how many copies of
each command reached it and how often each took effect, its values, messages and faults. On a terminal a
table, else tab-separated lines, or JSON Lines. Where several units share a line, each has its own.
"""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from simulator.device import SimulatedDevice
from simulator.makers import SERIAL, Device
from simulator.modbus_device import ModbusDevice
from simulator.setup import Setup, SimulateError

Row = tuple[str, str, str]


def plain(text: str) -> str:
    """Text from the wire for a terminal: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_bytes(data: bytes) -> str:
    """One message for a terminal, a character for each byte; a backslash stands twice, an escape has one."""
    return plain(data.decode("latin-1").replace("\\", "\\\\"))


def announce(setup: Setup, devices: Sequence[Device], url: str, *, as_json: bool) -> None:
    """Say at once where the devices listen and what can be typed next."""
    facts = [_facts(setup, device) for device in devices]
    if as_json:
        who = facts[0] if len(facts) == 1 else {"units": facts}
        _print(json.dumps({"listening": url, **who, "profile": setup.profile}))
        return
    names = _SHOWN_OF_MODBUS if isinstance(devices[0], ModbusDevice) else _SHOWN
    shown = [
        f"{name} {plain(', '.join(dict.fromkeys(str(each[name]) for each in facts)))}"
        for name in names
        if name in facts[0]
    ]
    _print("  ".join([f"listening on {plain(url)}", *shown, setup.profile]))
    if isinstance(devices[0], ModbusDevice):
        _print(f"try: ackonce profile show {setup.profile}")
    elif facts[0].get("unit", 1) == 1:
        _print(f"try: ackonce send {shlex.quote(url)} --profile {setup.profile} ADJUST offset +5")


_SHOWN, _SHOWN_OF_MODBUS = ("serial", "tier"), ("unit", "framing", "serial")


def _facts(setup: Setup, device: Device) -> dict[str, str | int]:
    """What a device is known by."""
    if isinstance(device, ModbusDevice):
        serial = {} if device.serial is None else {"serial": device.serial}
        return {"unit": device.unit, "framing": device.framing, **serial}
    facts: dict[str, str | int] = {"serial": SERIAL if setup.serial is None else setup.serial}
    if isinstance(device, SimulatedDevice):
        facts |= {"model": device.model, "tier": device.memory.tier, "unit": device.unit}
    return facts


def complain(problem: SimulateError, *, as_json: bool) -> None:
    """Say why nothing is served, or no longer."""
    if as_json:
        _print(json.dumps({"message": str(problem)}))
    else:
        print(f"ackonce: {plain(str(problem))}", file=sys.stderr)


def show(devices: Sequence[Device], *, as_json: bool) -> None:
    """Print the devices' own counts."""
    if as_json:
        summaries = [summary(device) for device in devices]
        _print(json.dumps(summaries[0] if len(devices) == 1 else {"units": summaries}))
    elif len(devices) == 1:
        show_rows("the device's own counts", rows(devices[0]))
    else:
        title = "the devices' own counts"
        shown = [
            (what, f"unit {unit}: {name}", number)
            for device in devices
            for unit in _unit(device).values()
            for what, name, number in rows(device)
        ]
        show_rows(title, shown)


def _unit(device: Device) -> dict[str, int]:
    """What tells the units of one line apart; nothing of devices that have a line for themselves."""
    return {"unit": device.unit} if isinstance(device, ModbusDevice) else {}


def show_rows(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table on a terminal, else separated by tabs."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table("", "name", "number", title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        Console(markup=False, highlight=False).print(table)
    else:
        for row in rows:
            _print("\t".join(row))


def summary(device: Device) -> dict[str, object]:
    """`counts` and `executed` as numbers by name, `values` as strings by name, `copies` and a `unit` as numbers."""
    return {
        **_unit(device),
        "counts": dict(sorted(device.counts.items())),
        "executed": dict(sorted(_executed(device).items())),
        "values": {name: str(value) for name, value in device.values().items()},
        "copies": len(device.copies),
    }


def rows(device: Device) -> list[Row]:
    """Every fact as what it is, its name, its number."""
    return [
        *rows_of("copies", Counter(copy.text for copy in device.copies).items()),
        *rows_of("executed", _executed(device).items()),
        *rows_of("value", device.values().items()),
        *rows_of("count", device.counts.items()),
    ]


def _executed(device: Device) -> Counter[str]:
    return Counter(entry.text for entry in device.ledger.entries)


def rows_of(what: str, facts: Iterable[tuple[str, int]]) -> list[Row]:
    """One row per fact, in the order of the names."""
    return [(what, plain(name), str(number)) for name, number in sorted(facts)]


def _print(line: str) -> None:
    print(line, flush=True)
