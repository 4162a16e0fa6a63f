"""Which files does each agent of a world have? A folder of its own with settings, inventory and profiles.

They are files as a person would write them: an agent of a world is told nothing in any other way. All share one store,
and the folder above them has settings too, so that `ackonce fleet status -C FOLDER` shows the whole fleet.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from agent.fleet.fleet_settings import PROBE_MIN_S
from agent.profile_folders import FOLDER
from agent.settings import INVENTORY_FILE, PROJECT_FILE, Settings
from worlds.fleet.cast import Agent, Cast

HOME = "home"
SILENCE_S = 0.4
"""How long an answer is awaited. All are on one machine; a busy one takes its time."""
PROBE_S = PROBE_MIN_S
"""As often as agents allow: the sooner something is known, the shorter the story."""
_PROFILE = Path(__file__).parents[1] / "adder.yaml"
"""The one profile of the cast that is not shipped."""


def write_shared(folder: Path) -> None:
    """Write what is for the whole fleet."""
    (folder / PROJECT_FILE).write_text(f'home = "{HOME}"\n', encoding="utf-8")


def write_agent(
    folder: Path,
    cast: Cast,
    agent: Agent,
    probe_s: float,
    ways: Mapping[str, int],
    listens: int,
    found_at: int,
) -> Path:
    """Write what is for one agent.

    Args:
        folder: of the world.
        cast: everybody.
        agent: whom it is for.
        probe_s: how often it probes.
        ways: the port at its own address that leads to each device.
        listens: the port at its own address where it answers.
        found_at: the port there that others dial.

    Returns:
        The agent's folder.
    """
    own = folder / agent.name
    (own / FOLDER).mkdir(parents=True)
    (own / FOLDER / _PROFILE.name).write_bytes(_PROFILE.read_bytes())
    (own / INVENTORY_FILE).write_text(_inventory(cast, agent, ways), encoding="utf-8")
    (own / PROJECT_FILE).write_text(
        f"""\
home = "../{HOME}"
agent = "{agent.name}"

[fleet]
site = "{agent.site}"
vantage = "{agent.site}"
uplink = "{agent.uplink}"
listen = "tcp://{agent.address}:{listens}"
advertise = "tcp://{agent.address}:{found_at}"
probe = "{probe_s:g}s"
""",
        encoding="utf-8",
    )
    return own


def _inventory(cast: Cast, agent: Agent, ways: Mapping[str, int]) -> str:
    lines = [
        f'  {each.name}: {{profile: {each.profile}, url: "tcp://{agent.address}:{ways[each.name]}", '
        f"serial: {each.serial}, timeout: {SILENCE_S:g}s}}"
        for each in cast.devices
    ]
    return "\n".join(["devices:", *lines, ""])


def settings(folder: Path) -> Settings:
    """The settings of whoever looks at the fleet from the folder of a world."""
    return Settings(
        home=folder / HOME, project=folder, inventory=None, timeout_s=None, agent=None, actor="world"
    )


def environment(folder: Path) -> dict[str, str]:
    """The environment of commands in a world: nothing that this machine's user has configured reaches into it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACKONCE_")}
    return kept | {"XDG_CONFIG_HOME": str(folder / "config")}
