"""Which users' profiles are played here?

One with many gaps, one with every oddity that a line profile may have, and one in which values cause doubts that are
there for a reason or for none.
"""

from pathlib import Path

from agent.stations import Target
from devices.loader import load
from devices.profile import Profile

PUMP = r"""
profile: acme/pump
dialect: line
line: {eol: "\r\n", ack: '^(?:OK|=)(?: ?(?P<value>[-+]?\d+(?:\.\d+)?))?$', nak: '^E\d\d', boot: '^PUMP v\d+'}
settings:
  speed: {type: int, read: "SP?"}
  flow: {type: decimal, step: 0.1, min: 0, max: 20, read: "FL?", reply: '^FL (?P<value>\d+\.\d\d)$'}
  runs: {type: int, read: "RUNS?"}
commands:
  - name: speed
    kind: absolute
    args: [{name: rpm, type: int, min: 0, max: 3000}]
    send: "SP {rpm:04d}"
    setting: speed
  - {name: faster, kind: relative, args: [{name: by, type: int, min: 1, max: 100}], send: "SP+{by}", setting: speed}
  - name: trim
    kind: relative
    args: [{name: by, type: decimal, min: -1, max: 1}]
    send: "TR {by:+.2f}"
    verify: {setting: flow, expect: "before + by"}
  - {name: dose, kind: trigger, send: "DOSE", verify: {setting: runs, expect: "before + 1"}}
  - {name: beep, kind: trigger, send: "BEEP"}
"""

SCOPE = r"""
profile: odd/scope
dialect: line
line: {eol: "\r", ack: '^:(?P<value>.*)$', nak: '^!', notice: ['^#'], echo: true, prompt: '^> ?$', boot: '^UP'}
boot_read: "B?"
identity: {read: "ID?", expect: "scope {serial}"}
opening_resets: true
timing: {reply_s: 0.5, connect_settle_s: 0.1, gap_s: 0.05}
settings:
  mode: {type: "enum(rel, abs)", read: "M?"}
  gain: {type: decimal, min: -1, max: 1, read: "G?", durable: true}
  name: {type: text, read: "N?", durable: true}
  lamp: {type: bool, read: "L?", durable: true}
  addr: {type: int, min: 0, max: 255, read: "A?", durable: true}
  low: {type: int, max: 5, read: "X?", durable: true}
commands:
  - {name: set mode, kind: absolute, args: [{name: m, type: "enum(rel, abs)"}], send: "M {m}", setting: mode}
  - name: set gain
    kind: absolute
    args: [{name: g, type: decimal, min: -1, max: 1}]
    send: "G {g:.3f}"
    setting: gain
  - name: nudge
    kind: relative
    args: [{name: by, type: decimal, min: -0.5, max: 0.5}]
    send: "G+ {by:+.2f}"
    mode: {setting: mode, value: rel}
    absolute_form: {command: set gain, value: "before + by"}
    policy: no-retry
  - {name: name, kind: absolute, args: [{name: t, type: text}], send: "N {t}", setting: name}
  - {name: flip, kind: toggle, send: "LF", verify: {setting: lamp, expect: "not before"}}
  - {name: addr, kind: absolute, args: [{name: a, type: int, min: 0, max: 255}], send: "A {a:02X}", setting: addr}
  - name: less
    kind: relative
    args: [{name: a, type: int, min: 1, max: 3}]
    send: "X {a}"
    verify: {setting: low, expect: "before - a"}
  - {name: pop, kind: consuming, send: "POP"}
  - {name: info, kind: query, send: "INFO"}
  - {name: save, kind: save, send: "SAVE"}
  - {name: restart, kind: link, send: "RST"}
"""

GAUGE = r"""
profile: acme/gauge
dialect: line
timing: {reply_s: 0.5, settle_s: 0.1, late_max_s: 2}
settings:
  level: {type: int, min: 0, max: 100, read: "L?", durable: true, reply: '^L (?P<value>.*)$'}
  count: {type: int, read: "C?", durable: true, clamps: false, reply: '^C (?P<value>.*)$'}
  common: {type: int, read: "K?", durable: true, clamps: false, other_writers: true, reply: '^K (?P<value>.*)$'}
commands:
  - {name: set, kind: absolute, args: [{name: v, type: int, min: 0, max: 100}], send: "L {v}", setting: level}
  - {name: step, kind: trigger, send: "STEP", verify: {setting: count, expect: "before + 1"}}
  - {name: shared, kind: trigger, send: "SHARED", verify: {setting: common, expect: "before + 1"}}
  - {name: later, kind: trigger, send: "LATER", ack_means: queued, verify: {setting: count, expect: "before + 1"}}
  - {name: never, kind: trigger, send: "NEVER", policy: no-retry, verify: {setting: count, expect: "before + 1"}}
"""


def profile_of(folder: Path, text: str) -> Profile:
    """A profile from its text, in a new file of the folder."""
    path = folder / "profile.yaml"
    path.write_text(text)
    return load(path)


def target_of(profile: Profile, *, stays: bool = False) -> Target:
    """A device of that profile; `stays`: opening its link anew does not cut it."""
    return Target("d", "tcp://10.0.0.1:1", 1, "77", profile, 0.5, 3, 60.0, 0.0, stays)
