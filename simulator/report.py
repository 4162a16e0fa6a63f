"""What does `ackonce simulate device` print?

Where the device listens, what could not be done, and at the end the device's own counts: how many copies of
each command reached it and how often each took effect, its values, messages and faults. On a terminal a
table, else tab-separated lines, or JSON Lines.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable

from simulator.device import SimulatedDevice
from simulator.host import Setup, SimulateError

Row = tuple[str, str, str]


def plain(text: str) -> str:
    """Text from the wire for a terminal: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def announce(setup: Setup, url: str, *, as_json: bool) -> None:
    """Say at once where the device listens and what can be typed next."""
    if as_json:
        facts = {"serial": setup.serial, "model": setup.model, "tier": setup.tier, "unit": setup.unit}
        _print(json.dumps({"listening": url, **facts, "profile": setup.profile}))
        return
    _print(f"listening on {url}  serial {plain(setup.serial)}  tier {setup.tier}  {setup.profile}")
    if setup.unit == 1:
        _print(f"try: ackonce send {url} --profile {setup.profile} ADJUST offset +5")


def complain(problem: SimulateError, *, as_json: bool) -> None:
    """Say why the device is not, or no longer, served."""
    if as_json:
        _print(json.dumps({"message": str(problem)}))
    else:
        print(f"ackonce: {plain(str(problem))}", file=sys.stderr)


def show(device: SimulatedDevice, *, as_json: bool) -> None:
    """Print the device's own counts."""
    if as_json:
        _print(json.dumps(summary(device)))
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table("", "name", "number", title="the device's own counts", title_justify="left")
        for row in rows(device):
            table.add_row(*row)
        Console(markup=False, highlight=False).print(table)
    else:
        for row in rows(device):
            _print("\t".join(row))


def summary(device: SimulatedDevice) -> dict[str, object]:
    """`counts` and `executed` as numbers by name, `values` as strings by name, `copies` as a number."""
    return {
        "counts": dict(sorted(device.counts.items())),
        "executed": dict(sorted(_executed(device).items())),
        "values": {name: str(value) for name, value in device.values().items()},
        "copies": len(device.copies),
    }


def rows(device: SimulatedDevice) -> list[Row]:
    """Every fact as what it is, its name, its number."""
    return [
        *_rows("copies", Counter(copy.text for copy in device.copies).items()),
        *_rows("executed", _executed(device).items()),
        *_rows("value", device.values().items()),
        *_rows("count", device.counts.items()),
    ]


def _executed(device: SimulatedDevice) -> Counter[str]:
    return Counter(entry.text for entry in device.ledger.entries)


def _rows(what: str, facts: Iterable[tuple[str, int]]) -> list[Row]:
    return [(what, plain(name), str(number)) for name, number in sorted(facts)]


def _print(line: str) -> None:
    print(line, flush=True)
