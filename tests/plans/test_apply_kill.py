"""Is every device right after a run that was killed again and again, and gone on with under the same key?"""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.operation import Outcome
from agent.plans.course import StepReport
from agent.plans.runs import Runs, RunState
from tests.agent.desk import Desk
from tests.plans.desk import Killer, Site, at_a_site, killed, lay_out, plan, run_plan, step

DEVICES = 200
KILLS = 3
KILL_BEFORE = 1500
"""Each process ends before so many writes; four of them would not do for all devices."""
TRIES_MAX = 6
"""A step that ends `not_applied` is due again; so often, no step of any seed is."""
STEPS = ("SET interval 30", "ADJUST offset +5", "ROTATE log", step("BEEP", "horn"))
RIGHT = {"interval": 30, "offset": 15, "log_files": 4}


def fill(site: Site, rng: random.Random) -> None:
    """Devices of two tongues in turn; a fifth of the acks and a twentieth of the commands are lost."""
    for n in range(DEVICES):
        faults = f"seed {rng.randrange(10**6)}: cmd drop_ack 0.2, cmd drop_request 0.05"
        (site.lsq if n % 2 else site.text)(f"d{n}", faults)


def judge(site: Site, reports: Sequence[StepReport]) -> None:
    """Hold every word against the ledger of its device."""
    for report in reports:
        device = site.devices[report.device]
        count, values = device.ledger.count("BEEP"), device.values()
        assert count <= 1, f"{report.device} did BEEP {count} times"
        assert values["offset"] in (10, 15), f"{report.device}: offset {values['offset']}"
        assert values["log_files"] in (3, 4), f"{report.device}: {values['log_files']} log files"
        happened = {
            "SET interval 30": values["interval"] == 30,
            "ADJUST offset +5": values["offset"] == 15,
            "ROTATE log": values["log_files"] == 4,
            "horn": count == 1,
        }[report.step]
        outcome = report.result.outcome if report.result is not None else None
        if outcome in (Outcome.APPLIED, Outcome.UNCHANGED):
            assert happened, f"{report.device}: {report.step} is said to be {outcome}"
        elif outcome is Outcome.IN_DOUBT:
            assert report.step == "horn", f"{report.device}: {report.step} could have been told"
            assert int(report.device[1:]) % 2 == 0, f"{report.device} numbers its commands"
        else:
            assert not happened, f"{report.device}: {report.step} is said to be {outcome}"


@pytest.mark.parametrize("seed", range(1, 21) if os.environ.get("ACKONCE_FUZZ") == "long" else [1])
def test_two_hundred_devices_are_right_after_three_kills(tmp_path: Path, seed: int) -> None:
    """Whatever was lost, and wherever the process was killed: each step took effect once, or is said not to have."""
    print(f"seed {seed}")
    rng = random.Random(seed)

    async def play(desk: Desk, site: Site) -> None:
        fill(site, rng)
        night = plan(STEPS, parallel=40)
        kills = 0
        for _ in range(KILLS):
            killer = Killer(desk.service, rng.randrange(1, KILL_BEFORE), after=rng.random() < 0.5)
            kills += await killed(run_plan(desk.service, lay_out(site, night)))
            assert killer.dead
            desk.restart()
            row = Runs(desk.service).unfinished()
            assert row is not None
            assert row.summary is None
        assert kills == KILLS
        for _ in range(TRIES_MAX):
            reports = await run_plan(desk.service, lay_out(site, night))
            judge(site, reports)
            if all(report.done or report.step == "horn" for report in reports):
                break
        for name, device in site.devices.items():
            assert {key: device.values()[key] for key in RIGHT} == RIGHT, name
        [row] = Runs(desk.service).newest(5)
        doubts = {r.device for r in reports if not r.done}
        assert row.state is (RunState.UNFINISHED if doubts else RunState.DONE)
        effects = sum(len(device.ledger) for device in site.devices.values())
        again = await run_plan(desk.service, lay_out(site, night))
        assert all(report.skipped for report in again)
        assert sum(len(device.ledger) for device in site.devices.values()) == effects

    at_a_site(tmp_path, play)
