"""Do the terms of an operation carry what its profile says?"""

from pathlib import Path

from agent.operation import Terms
from agent.terms import terms_for
from devices.catalog import choose, resolve
from devices.loader import load

PROFILE = """
profile: acme/mover
dialect: lsq
settings:
  relative: {type: bool, read: GET relative}
  place: {type: decimal, step: 0.1, read: GET place, min: 0, max: 100}
  gain: {type: int, read: GET gain}
  alarm: {type: int, read: GET alarm, other_writers: true}
commands:
  - name: MOVE
    kind: relative
    args: [{name: by, type: decimal}]
    send: "MOVE {by}"
    mode: {setting: relative, value: "true"}
    verify: {setting: place, expect: "before + by", tolerance: 0.2}
  - {name: GAIN, kind: absolute, args: [{name: to, type: int}], send: "GAIN {to}", setting: gain}
  - {name: ALARM, kind: absolute, args: [{name: to, type: int}], send: "ALARM {to}", setting: alarm}
"""


def terms_of(folder: Path, words: str) -> Terms:
    """The terms of a command of the profile."""
    path = folder / "mover.yaml"
    path.write_text(PROFILE)
    profile = load(path)
    call = resolve(profile, words.split())
    policy = choose(profile, call.command).policy
    return terms_for(profile, call, policy, reply_s=1.0, attempts=3, survives_reopen=False)


def test_mode_and_tolerance_reach_the_terms(tmp_path: Path) -> None:
    """The mode is read first, and a reading counts within the stated tolerance; both survive the journal."""
    terms = terms_of(tmp_path, "MOVE 2.5")
    assert terms.mode == ("relative", "true")
    assert terms.readback is not None
    assert (terms.readback.setting, terms.readback.tolerance) == ("place", "0.2")
    assert Terms.from_json(terms.to_json()) == terms


def test_what_others_write_too_is_not_read_back(tmp_path: Path) -> None:
    """Who set it cannot be told from its value: neither after silence nor before a command that may not be needed."""
    alone, shared = terms_of(tmp_path, "GAIN 5"), terms_of(tmp_path, "ALARM 5")
    assert alone.readback is not None
    assert shared.readback is None


def test_a_program_may_send_as_long_as_it_runs(tmp_path: Path) -> None:
    """What it has sent when it is ended is under way from then on; a line has what was written from the beginning."""
    late = {}
    for dialect, more in (("exec", "run: [./push.sh]"), ("line", "line: {ack: '^OK$'}")):
        path = tmp_path / f"{dialect}.yaml"
        path.write_text(
            f"profile: acme/{dialect}\ndialect: {dialect}\n{more}\ntiming: {{reply_s: 4, late_max_s: 5}}\n"
            "commands:\n  - {name: BUMP, kind: trigger, send: BUMP}\n"
        )
        profile = load(path)
        call = resolve(profile, ["BUMP"])
        policy = choose(profile, call.command).policy
        terms = terms_for(profile, call, policy, reply_s=4.0, attempts=3, survives_reopen=False)
        late[dialect] = terms.late_max_s
    assert late == {"exec": 9.0, "line": 5.0}
