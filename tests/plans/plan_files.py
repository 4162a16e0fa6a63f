"""Plans, inventories and profiles on the disk, as small as each test needs them."""

from pathlib import Path

from agent.plans.layout import Layout, lay_out
from agent.plans.plan_file import PlanFile, parse_plan
from agent.settings import Settings

INVENTORY = """\
groups:
  meters: {profile: test/meter, tags: [north]}
devices:
  m1: {group: meters, url: "tcp://m1:1"}
  m2: {group: meters, url: "tcp://m2:1"}
  m3: {group: meters, url: "tcp://m3:1", tags: [old]}
  pump: {profile: demo/controller-line, url: "tcp://pump:1"}
"""

METER = """\
profile: test/meter
dialect: line
settings:
  interval: {type: int, min: 1, max: 3600, read: "GET interval", durable: true}
  label: {type: text, read: "GET label"}
  shared: {type: int, read: "GET shared", other_writers: true}
  tariff: {type: int, read: "GET tariff"}
  mode: {type: "enum(on, off)", read: "GET mode"}
  saved: {type: bool, read: "GET saved"}
  gain: {type: decimal, read: "GET gain"}
  level: {type: int, step: 5, read: "GET level"}
  ratio: {type: decimal, read: "GET ratio"}
commands:
  - {name: SET interval, kind: absolute, args: [{name: value, type: int, min: 1, max: 3600}],
     send: "SET interval {value}", setting: interval}
  - {name: STEP interval, kind: relative, args: [{name: value, type: int}], send: "STEP interval {value}",
     setting: interval}
  - {name: SET label, kind: absolute, args: [{name: text, type: text}], send: "SET label {text}", setting: label}
  - {name: SET shared, kind: absolute, args: [{name: value, type: int}], send: "SET shared {value}", setting: shared}
  - {name: DAY, kind: absolute, args: [{name: value, type: int}], send: "DAY {value}", setting: tariff}
  - {name: NIGHT, kind: absolute, args: [{name: value, type: int}], send: "NIGHT {value}", setting: tariff}
  - {name: MODE ON, kind: absolute, send: "MODE ON", setting: mode}
  - {name: SET gain, kind: absolute, args: [{name: value, type: decimal}], send: "SET gain {value}", setting: gain,
     verify: {setting: gain, expect: value, tolerance: 0.5}}
  - {name: SET level, kind: absolute, args: [{name: value, type: int}], send: "SET level {value}", setting: level}
  - {name: SET ratio, kind: absolute, args: [{name: percent, type: int}], send: "SET ratio {percent}", setting: ratio,
     verify: {setting: ratio, expect: percent / 100}}
  - {name: SAVE, kind: save, send: "SAVE", verify: {setting: saved, expect: "true"}}
  - {name: BEEP, kind: trigger, send: "BEEP"}
"""


def project(folder: Path, inventory: str = INVENTORY) -> Settings:
    """A folder with an inventory and the profile `test/meter`."""
    (folder / "inventory.yaml").write_text(inventory, encoding="utf-8")
    profile = folder / "profiles" / "test" / "meter.yaml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text(METER, encoding="utf-8")
    return Settings(folder / "home", folder, folder / "inventory.yaml", None, "desk", "ana")


def plan_of(steps: str, *, targets: str = "[group:meters]", more: str = "", path: str = "p.yaml") -> PlanFile:
    """A plan named `p`; `steps` is a list in YAML flow style, `more` are further lines."""
    return parse_plan(f"plan: p\ntargets: {targets}\n{more}\nsteps: {steps}\n", path)


def laid_out(
    settings: Settings, plan: PlanFile, *, key: str = "night-1", only: tuple[str, ...] = ()
) -> Layout:
    """The plan as operations of run `RUN`."""
    return lay_out(settings, plan, run="RUN", key=key, reason="CHG-1", only=only)
