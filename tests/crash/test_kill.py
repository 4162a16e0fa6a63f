"""Does the truth survive `kill -9` of the real process at any moment?

Each lane is one device and one store with many rounds after each other. In a round the sender of a keyed command is
killed: when the device acts, at a line of its own output, or after a random part of its usual time. Then the device may
be switched off and on, or its own process killed and started again. Whoever asks again under the same key gets a true
word. The ledger is the judge; the device answers badly all the time.
"""

import os
import random
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agent.replay import assert_replays
from tests.cli.process_rig import ProcessRig, Running, make_rig
from tests.cli.project import Ended

SEED = os.environ.get("ACKONCE_SEED", "1")
TIERS = (0, 1, 2, 2)
"""The tier of the device in each lane; lanes run side by side."""
ROUNDS = 13
ASKED_MAX = 8
"""Asking again this often without a word that stays means that something is stuck."""
SILENCE = "0.25s"
WEATHER = "drop_ack 0.15, drop_request 0.1, cut 0.05, duplicate_request 0.1, delay 0.1 0.4"


def test_killed_at_any_moment(tmp_path: Path, quick_home: Path) -> None:
    """Nothing runs twice, no word is false, nothing is stuck; doubt only where a boot took the evidence."""
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
            Round(
                rig, dice, tier, number, usual_s, f"ACKONCE_SEED={SEED}, lane {lane}, round {number}"
            ).play()
        assert rig.run("doubt", "list", "--json").lines == []
        assert assert_replays(rig.home) > ROUNDS
    finally:
        rig.close()


@dataclass(slots=True)
class Round:
    """One keyed command whose sender is killed, and everybody who asks for it afterwards."""

    rig: ProcessRig
    dice: random.Random
    tier: int
    number: int
    usual_s: float
    where: str
    booted: bool = False

    def play(self) -> None:
        """Kill, disturb, ask again, judge."""
        before = self.rig.device.executed
        command = f"ADJUST offset {'-' if self.number % 2 else '+'}1"

        def effects() -> int:
            return self.rig.device.executed[command] - before[command]

        moment = self.dice.choice([self.when_the_device_acts, self.at_a_line, self.after_a_while])
        self.where += f", {moment.__name__}"
        self.judge(moment(command), effects)
        self.disturb()
        for _ in range(ASKED_MAX):
            record = self.judge(self.ask(command).end(), effects)
            if record is not None and record["outcome"] == "applied":
                return
            if record is not None and record["outcome"] == "in_doubt" and self.booted and self.tier < 2:
                self.resolve(record["op"], applied=effects() == 1)
                return
        raise AssertionError(f"{self.where}: stuck")

    def ask(self, command: str, on_error_line: Callable[[str], None] | None = None) -> Running:
        """Start a sender of the round's command under the round's key."""
        words = ["send", "d1", *command.split(), "--key", f"round-{self.number}", "--yes", "--json", "-vv"]
        return self.rig.start(*words, on_error_line=on_error_line)

    # --- moments ------------------------------------------------------------------------------------------------------

    def when_the_device_acts(self, command: str) -> Ended:
        """Killed as soon as the device tells that the command took effect, or that a fault struck."""
        sign = self.dice.choice([f"command: {command}", "fault:"])
        senders: list[Running] = []

        def kill(line: str) -> None:
            if sign in line and senders:
                senders[0].process.kill()

        stream = self.rig.device.running.err
        assert stream is not None
        stream.on_line = kill
        senders.append(self.ask(command))
        ended = senders[0].end()
        stream.on_line = None
        return ended

    def at_a_line(self, command: str) -> Ended:
        """Killed when it has printed so many lines about its bytes and attempts."""
        left = self.dice.randint(1, 10)
        senders: list[Running] = []

        def kill(_line: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0 and senders:
                senders[0].process.kill()

        senders.append(self.ask(command, kill))
        return senders[0].end()

    def after_a_while(self, command: str) -> Ended:
        """Killed after a part of the time that an undisturbed run takes, or a little later."""
        sender = self.ask(command)
        try:
            sender.process.wait(self.dice.uniform(0.3, 1.2) * self.usual_s)
        except subprocess.TimeoutExpired:
            sender.process.kill()
        return sender.end()

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def disturb(self) -> None:
        """In some rounds the device restarts before anybody asks again."""
        match self.dice.choice(["nothing", "nothing", "reboot", "power cut"]):
            case "reboot":
                self.rig.device.reboot()
                self.booted = True
            case "power cut":
                self.rig.device.die()
                self.rig.device.start()
                self.booted = True

    def judge(self, ended: Ended, effects: Callable[[], int]) -> dict[str, Any] | None:
        """Compare a word, if there is one, with the ledger."""
        assert effects() <= 1, f"{self.where}: it ran twice"
        if not ended.lines or not ended.out.endswith("\n"):
            return None  # killed before it said anything
        [record] = ended.records
        outcome = record["outcome"]
        assert outcome in ("applied", "not_applied", "not_sent", "in_doubt"), f"{self.where}: {record}"
        if outcome != "in_doubt":
            assert effects() == int(outcome == "applied"), f"{self.where}: a false word: {record}"
        return dict(record)

    def resolve(self, op: str, *, applied: bool) -> None:
        """A person looks at the equipment and says what the ledger says."""
        word = "--applied" if applied else "--not-applied"
        assert self.rig.run("doubt", "resolve", op, word, "--reason", "looked").code == 0
