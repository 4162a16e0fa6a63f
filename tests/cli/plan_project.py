"""A plan in a project with live devices, and what is printed about it, the same at every run."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.cli.bench import Bench
from tests.cli.live_device import LiveDevice
from tests.cli.project import Ended

STEPS = """\
steps:
  - send: SET interval 30
  - send: ADJUST offset +5
    id: summer
  - send: BEEP
"""
QUIET_STEPS = "steps:\n  - send: SET interval 30\n"
BOOTS_AFTER = "cmd 2: reboot_after"
"""The second command takes effect, then a boot takes the memory of it: in doubt."""


def put_plan(bench: Bench, steps: str = STEPS, *, more: str = "", targets: str = "['d*']") -> None:
    """Write the plan `night` as p.yaml."""
    bench.project.put("p.yaml", f"plan: night\ntargets: {targets}\n{more}{steps}")


def apply(bench: Bench, *words: str) -> Ended:
    """`ackonce apply p.yaml --yes WORDS`."""
    return bench.type("apply", "p.yaml", "--yes", *words)


def objects(ended: Ended) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The objects of a run with --json: those of the steps, and what stands under `summary`."""
    *steps, last = ended.records
    assert list(last) == ["summary"]
    return steps, last["summary"]


def words(steps: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Device, step and outcome of each object."""
    return [(step["device"], step["step"], step["outcome"]) for step in steps]


def unreachable(bench: Bench) -> LiveDevice:
    """A further device, switched off."""
    device = bench.device(timeout="5s")
    device.unplug()
    return device


def window(hours: int) -> str:
    """A window of one hour that opens so many hours from now."""
    start = datetime.now(UTC) + timedelta(hours=hours)
    end = start + timedelta(hours=1)
    return f'window: {{from: "{start:%H:%M}", to: "{end:%H:%M}", tz: UTC}}\n'


def still(bench: Bench, text: str) -> str:
    """A text in which folder, ports, ids and times are always the same; ids are numbered as they come."""
    text = text.replace(str(bench.project.folder), "DIR")
    for number, device in enumerate(bench.devices, 1):
        text = text.replace(device.url.rpartition(":")[2], f"PORT{number}")
    for number, each in enumerate(dict.fromkeys(re.findall(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", text)), 1):
        text = text.replace(each, f"ID{number}")
    text = re.sub(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "WHEN", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
    return re.sub(r"\b\d+\.\d+ s\b", "T s", text)
