"""Does the truth about numbered commands survive `kill -9` of the real process at any moment?

Each lane is one device and one store with many rounds after each other; the device answers badly all the time.
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.agent.replay import assert_replays
from tests.cli.process_rig import make_rig
from tests.crash.kill_round import Round, successor

SEED = os.environ.get("ACKONCE_SEED", "1")
TIERS = (0, 1, 2, 2)
"""The tier of the device in each lane; lanes run side by side."""
ROUNDS = 4
SILENCE = "0.25s"
WEATHER = "drop_ack 0.15, drop_request 0.1, cut 0.05, duplicate_request 0.1, delay 0.1 0.4"


def test_killed_at_any_moment(tmp_path: Path, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where a boot took the evidence."""
    print(f"ACKONCE_SEED={SEED}, {len(TIERS) * ROUNDS} rounds")
    with ThreadPoolExecutor(len(TIERS)) as lanes:
        ends = [
            lanes.submit(play_lane, lane, tier, tmp_path / f"{lane}", quick_home / f"{lane}")
            for lane, tier in enumerate(TIERS)
        ]
        for end in as_completed(ends):
            end.result()


def play_lane(lane: int, tier: int, folder: Path, home: Path) -> None:
    """All rounds of one device and one store."""
    dice = random.Random(f"{SEED} {lane}")
    rig = make_rig(folder, home, f"seed {dice.randrange(10**6)}: {WEATHER}", tier=tier)
    try:
        rig.set_up(timeout=SILENCE)
        started_s = time.monotonic()
        rig.run("send", "d1", "SET", "interval", "30")
        usual_s = time.monotonic() - started_s
        for number in range(ROUNDS):
            command = f"ADJUST offset {'-' if number % 2 else '+'}1"
            where = f"ACKONCE_SEED={SEED}, lane {lane}, round {number}"
            Round(rig, dice, command, command, f"round-{number}", usual_s, where, forgetful=tier < 2).play()
        with successor(rig) as (_, service):
            assert service.doubts() == []
        assert assert_replays(rig.home) > ROUNDS
    finally:
        rig.close()
