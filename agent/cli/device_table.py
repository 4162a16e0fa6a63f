"""Which devices does the inventory have, and can each of them be worked with as it is written down?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.cli import output
from agent.cli.options import Common
from agent.patience import silence_s
from agent.profile_folders import load_profile

if TYPE_CHECKING:
    from agent.inventory import Device, Inventory
    from agent.settings import Settings
    from devices.profile import Profile

COLUMNS = ("device", "profile", "url", "unit", "serial", "group", "tags", "timeout", "note")


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device; `timeout_s` is the silence time as resolved, `note` what stands in the way of working with it."""

    device: "Device"
    timeout_s: float
    note: str | None

    def cells(self) -> tuple[object, ...]:
        """The row as a table shows it, one cell per column of `COLUMNS`."""
        d = self.device
        tags = " ".join(sorted(d.tags)) or None
        return (d.name, d.profile, d.url, d.unit, d.serial, d.group, tags, f"{self.timeout_s:g} s", self.note)

    def to_json(self) -> dict[str, Any]:
        """The row as one JSON object; unknown is None."""
        d = self.device
        return {
            "device": d.name,
            "profile": d.profile,
            "url": d.url,
            "unit": d.unit,
            "serial": d.serial,
            "group": d.group,
            "line": d.line,
            "tags": sorted(d.tags),
            "timeout_s": self.timeout_s,
            "note": self.note,
        }


def show_devices(common: Common, settings: "Settings", inventory: "Inventory") -> None:
    """Print the inventory in its order, as a table or as JSON Lines."""
    rows = list(device_rows(settings, inventory))
    if common.json:
        for row in rows:
            output.put_json(row.to_json())
    else:
        output.put_table(COLUMNS, [row.cells() for row in rows])


def device_rows(settings: "Settings", inventory: "Inventory") -> Iterator[DeviceRow]:
    """Yield a row for each device; a profile that cannot be used becomes a note, never an error."""
    known: dict[str | None, tuple[Profile | None, str | None]] = {None: (None, "no profile is named")}
    for device in inventory.devices.values():
        if device.profile not in known:
            known[device.profile] = _profile_or_note(settings, device.profile or "")
        profile, note = known[device.profile]
        yield DeviceRow(device, silence_s(settings, device, inventory.defaults, profile), note)


def _profile_or_note(settings: "Settings", name: str) -> "tuple[Profile | None, str | None]":
    from devices.problems import FileProblems, UnknownProfile

    try:
        return load_profile(settings, name), None
    except UnknownProfile as unknown:
        return None, f"no profile of that name. {unknown.problems[0].hint}"
    except FileProblems as problems:
        return None, f"the profile does not load: {problems.problems[0]}"
