"""Which equipment does a story begin with?

| line | says |
|---|---|
| `device: LSQ1, tier 1` | a controller that numbers its commands; tier 0 to 2 |
| `device: plain lines` | a controller without numbers; also `plain lines, named values` |
| `..., serial port` | on a port that reopening does not cut, instead of a TCP connection |
| `..., echo` | whatever it is sent comes back first |
| `profile: demo/controller-line` | what the agent is told about it |
| `but: timing has settle_s: 1.0` | with a change, in YAML; also `profile`, `line`, a setting or a command by its name |
| `faults: cmd 1: drop_ack` | what goes wrong (`simulator/faults.py`); an answer may take 0.5 s |
| `own store: spare` | the process of that name keeps a store of its own |
| `log: -v` | with what only `ackonce log -v` shows |
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from devices.loader import SHIPPED, load
from devices.profile import Profile
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.fault_kinds import LSQ, TEXT
from simulator.fault_terms import Vocabulary
from simulator.faults import parse
from simulator.text_device import TextDevice
from tests.agent.line_desk import NamingDevice
from tests.scenarios.story import Story, StoryError

Device = SimulatedDevice | TextDevice
_BUT = re.compile(r"(?P<part>.+?) has (?P<key>[a-z_]+): (?P<value>.+)")


@dataclass(slots=True)
class Setup:
    """What a story begins with, as its lines say.

    Attributes:
        name: The story's file, for messages.
        tongue: `LSQ1`, or `plain lines`.
        traits: What else is said of the device.
        profile: What the agent is told.
        faults: The fault plan at the beginning.
        own_stores: Processes with a store of their own.
        verbose: Show what `ackonce log -v` shows.
    """

    name: str
    tongue: str = ""
    traits: set[str] = field(default_factory=set)
    profile: Profile | None = None
    faults: str = ""
    own_stores: set[str] = field(default_factory=set)
    verbose: bool = False

    @property
    def serial_port(self) -> bool:
        """Whether it is on a stream that reopening does not cut."""
        return "serial port" in self.traits

    @property
    def vocabulary(self) -> Vocabulary:
        """Which faults there are."""
        return LSQ if self.tongue == "LSQ1" else TEXT

    def device(self, serial: str = "SIM-1", faults: str = "") -> Device:
        """Switch a device of this sort on."""
        plan = parse(faults, self.vocabulary)
        how: dict[str, Any] = {
            "plan": plan,
            "hangs_up_on_boot": not self.serial_port,
            "echo": "echo" in self.traits,
        }
        if self.tongue == "LSQ1":
            tier = next((int(trait[-1]) for trait in self.traits if trait.startswith("tier ")), 1)
            return SimulatedDevice(Controller(serial), serial=serial, tier=tier, **how)
        made = NamingDevice if "named values" in self.traits else TextDevice
        return made(Controller(serial), **how)


def setup_of(story: Story, folder: Path) -> Setup:
    """Read a story's setup; a changed profile is written into `folder`. Raises StoryError."""
    setup = Setup(story.path.name)
    changes = [value for key, value in story.setup if key == "but"]
    for key, value in story.setup:
        if key == "profile":
            setup.profile = _profile(value, changes, folder)
        elif key in _LINES:
            _LINES[key](setup, value)
        elif key != "but":
            raise StoryError(f"{story.path.name}: no setup '{key}'")
    if not setup.tongue or setup.profile is None:
        raise StoryError(f"{story.path.name}: a story has a device and a profile")
    return setup


def _device(setup: Setup, value: str) -> None:
    setup.tongue, *traits = value.split(", ")
    setup.traits = set(traits)
    known = {"serial port", "echo"} | (
        {"tier 0", "tier 1", "tier 2"} if setup.tongue == "LSQ1" else {"named values"}
    )
    if setup.tongue not in ("LSQ1", "plain lines") or not setup.traits <= known:
        raise StoryError(f"{setup.name}: no such device: {value}")


def _faults(setup: Setup, value: str) -> None:
    setup.faults = value


def _own_store(setup: Setup, value: str) -> None:
    setup.own_stores.add(value)


def _log(setup: Setup, value: str) -> None:
    if value != "-v":
        raise StoryError(f"{setup.name}: log: -v, or no such line")
    setup.verbose = True


_LINES: Mapping[str, Callable[[Setup, str], None]] = {
    "device": _device,
    "faults": _faults,
    "own store": _own_store,
    "log": _log,
}


def _profile(name: str, changes: list[str], folder: Path) -> Profile:
    path = SHIPPED / f"{name}.yaml"
    if not changes:
        return load(path)
    yaml = YAML(typ="safe")
    data = yaml.load(path)
    for change in changes:
        found = _BUT.fullmatch(change)
        if found is None:
            raise StoryError(f"not 'PART has KEY: VALUE': {change}")
        _part(data, found["part"])[found["key"]] = yaml.load(found["value"])
    changed = folder / "profile.yaml"
    yaml.dump(data, changed)
    return load(changed)


def _part(data: dict[str, Any], name: str) -> dict[str, Any]:
    if name == "profile":
        return data
    parts = {each["name"]: each for each in data["commands"]} | data["settings"]
    parts |= {section: data[section] for section in ("timing", "line") if section in data}
    if name not in parts:
        raise StoryError(f"the profile has no '{name}'")
    part: dict[str, Any] = parts[name]
    return part
