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
commands:
  - name: MOVE
    kind: relative
    args: [{name: by, type: decimal}]
    send: "MOVE {by}"
    mode: {setting: relative, value: "true"}
    verify: {setting: place, expect: "before + by", tolerance: 0.2}
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
