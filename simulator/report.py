"""What does `ackonce simulate device` print, and in which form?

Where the device listens, what could not be done, and at the end the device's own counts: how many copies of
each command reached it and how often each took effect, its values, messages and faults. On a terminal a
table, else tab-separated lines, or JSON Lines.
"""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from simulator.device import SimulatedDevice
from simulator.setup import Device, Setup, SimulateError

Row = tuple[str, str, str]


def plain(text: str) -> str:
    """Text from the wire for a terminal: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def announce(setup: Setup, device: Device, url: str, *, as_json: bool) -> None:
    """Say at once where the device listens and what can be typed next."""
    facts: dict[str, str | int] = {"serial": setup.serial}
    if isinstance(device, SimulatedDevice):
        facts |= {"model": device.model, "tier": device.memory.tier, "unit": device.unit}
    if as_json:
        _print(json.dumps({"listening": url, **facts, "profile": setup.profile}))
        return
    tier = f"  tier {facts['tier']}" if "tier" in facts else ""
    _print(f"listening on {plain(url)}  serial {plain(setup.serial)}{tier}  {setup.profile}")
    if facts.get("unit", 1) == 1:
        _print(f"try: ackonce send {shlex.quote(url)} --profile {setup.profile} ADJUST offset +5")


def complain(problem: SimulateError, *, as_json: bool) -> None:
    """Say why nothing is served, or no longer."""
    if as_json:
        _print(json.dumps({"message": str(problem)}))
    else:
        print(f"ackonce: {plain(str(problem))}", file=sys.stderr)


def show(device: Device, *, as_json: bool) -> None:
    """Print the device's own counts."""
    if as_json:
        _print(json.dumps(summary(device)))
    else:
        show_rows("the device's own counts", rows(device))


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
    """`counts` and `executed` as numbers by name, `values` as strings by name, `copies` as a number."""
    return {
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
