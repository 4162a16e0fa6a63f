"""Does the truth about plain equipment survive `kill -9` of the real process at any moment?

As in `test_kill.py`, but the device numbers nothing and remembers nothing: over a connection that reopening cuts, and
on a serial port whose late answers reach whoever opens it next.
"""

import json
import os
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.agent.line_desk import CARRIERS
from tests.agent.replay import assert_replays
from tests.cli.process_rig import DeviceProcess, ProcessRig, make_shell
from tests.crash.kill_round import Round, successor

SEED = os.environ.get("ACKONCE_SEED", "1")
LANES = 2 * CARRIERS
"""How the device of each lane is reached; lanes run side by side."""
SILENCE = "0.15s"
PROFILE = Path(__file__).parents[2] / "devices/profiles/demo/controller-line.yaml"
QUICK = "timing: {reply_s: 0.15, settle_s: 0.02, late_max_s: 0.7}"
WEATHER = "cmd drop_ack 0.2, cmd drop_request 0.15, cmd late_request 0.1 0.25, delay 0.1 0.25, cut 0.03"


@dataclass(frozen=True, slots=True)
class Kind:
    """A command of each kind: what is typed (`{n}`: the round), and how the texts begin that the device is told."""

    words: str
    effect: str
    cumulative: bool = True
    blind: bool = False
    volatile: bool = False


KINDS = (
    Kind("SET interval 3{n}", "SET interval 3{n}", cumulative=False),
    Kind("ADJUST offset +5", "SET offset"),
    Kind("ADJUST level +1", "ADJUST level", volatile=True),
    Kind("ROTATE log", "ROTATE log"),
    Kind("BEEP", "BEEP", blind=True),
)


def test_killed_at_any_moment(tmp_path: Path, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck, nothing arrives later; doubt only without evidence."""
    print(f"ACKONCE_SEED={SEED}, {len(LANES) * len(KINDS)} rounds")
    with ThreadPoolExecutor(len(LANES)) as lanes:
        ends = [
            lanes.submit(play_lane, lane, over, tmp_path / f"{lane}", quick_home / f"{lane}")
            for lane, over in enumerate(LANES)
        ]
        for end in as_completed(ends):
            end.result()


def play_lane(lane: int, over: str, folder: Path, home: Path) -> None:
    """All rounds of one device and one store: a command of each kind once, in any order."""
    dice = random.Random(f"{SEED} line {lane}")
    rig = plain_rig(folder, home, over, f"seed {dice.randrange(10**6)}: {WEATHER}")
    try:
        started_s = time.monotonic()
        rig.run("send", "d1", "SET", "interval", "29")
        usual_s = time.monotonic() - started_s
        rounds: list[Round] = []
        for number, kind in enumerate(dice.sample(KINDS, len(KINDS))):
            where = f"ACKONCE_SEED={SEED}, lane {lane}, {over}, round {number}"
            words, effect = kind.words.format(n=number), kind.effect.format(n=number)
            this = Round(
                rig, dice, words, effect, f"round-{number}", usual_s, where,
                cumulative=kind.cumulative, blind=kind.blind, forgetful=kind.volatile,
            )  # fmt: skip
            this.play()
            rounds.append(this)
        with successor(rig) as (_, service):
            assert service.doubts() == []
        assert assert_replays(rig.home) > len(KINDS)
        for each in rounds:
            each.judge_again()
        newest = next(each.words for each in rounds if not each.cumulative)
        interval = json.loads((folder / "state.json").read_text())["values"]["interval"]
        assert newest == f"SET interval {interval}", (
            f"ACKONCE_SEED={SEED}, lane {lane}: the newer one was undone"
        )
    finally:
        rig.close()


def plain_rig(folder: Path, home: Path, over: str, faults: str) -> ProcessRig:
    """A project with one plain device d1; its late answers come within less than a second."""
    shell = make_shell(folder, home)
    port = folder / "port" if over == "pty" else None
    device = DeviceProcess(folder, faults, profile="demo/controller-line", port=port)
    profile, count = re.subn("^timing: .*$", QUICK, PROFILE.read_text(), flags=re.MULTILINE)
    assert count == 1
    (folder / "profiles").mkdir()
    (folder / "profiles/quick.yaml").write_text(profile)
    entry = f'{{profile: demo/controller-line, url: "{device.url}", timeout: {SILENCE}}}'
    (folder / "inventory.yaml").write_text(f"devices:\n  d1: {entry}\n")
    return ProcessRig(shell.folder, shell.home, shell.environ, device=device)
