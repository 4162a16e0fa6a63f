"""One device under two names, or two devices with one serial: what is done under one is not said of the other."""

from pathlib import Path

import pytest

from agent.operation import Cause, Outcome
from tests.agent.desk import Desk
from tests.plans.desk import RUN, Site, another_process, at_a_site, carry, lay_out, plan


def test_two_devices_with_one_serial(tmp_path: Path) -> None:
    """Nothing is sent to the second one, it is never called done, and the repeat of the run says the same."""

    async def play(desk: Desk, site: Site) -> None:
        first, second = site.lsq("d1", serial="SN-0"), site.lsq("d2", serial="SN-0")
        for again in (False, True):
            reports = await carry(desk.service, lay_out(site, plan(("SET interval 30", "BEEP"), parallel=1)))
            done = [reports["d1", name] for name in ("SET interval 30", "BEEP")]
            left = [reports["d2", name] for name in ("SET interval 30", "BEEP")]
            assert [(r.result.outcome, r.skipped) for r in done if r.result] == [(Outcome.APPLIED, again)] * 2
            assert [(r.result.outcome, r.result.cause) for r in left if r.result] == [
                (Outcome.NOT_SENT, Cause.WRONG_DEVICE)
            ] * 2
            assert "answered as d1 already" in (left[0].result.message if left[0].result else "")
        assert (len(first.ledger), len(second.ledger)) == (2, 0)

    at_a_site(tmp_path, play)


def test_a_device_that_was_renamed(tmp_path: Path) -> None:
    """Under its new name alone a device keeps what was done under the old one."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("old", serial="SN-0")
        await carry(desk.service, lay_out(site, plan(("ADJUST offset +5",))))
        desk.service.end_run(RUN)
        site.chosen.clear()
        renamed = site.lsq("new", serial="SN-0")
        reports = await carry(desk.service, lay_out(site, plan(("ADJUST offset +5",))))
        assert reports["new", "ADJUST offset +5"].skipped
        assert len(renamed.ledger) == 0

    at_a_site(tmp_path, play)


@pytest.mark.parametrize("parallel", [1, 8])
def test_one_device_at_two_addresses(tmp_path: Path, parallel: int) -> None:
    """However often the run is applied, under both names or one, each step takes effect once."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1", "cmd 2: busy 2; hello 2-3: delay 0.2", serial="SN-0")
        site.also("d2", device)
        service = another_process(desk)
        await carry(service, lay_out(site, plan(("SET interval 5",)), run="OTHER", only=("d1",)))
        said = []
        for only in ((), (), (), ("d2",), ("d1",)):
            reports = await carry(service, lay_out(site, plan(("BEEP",), parallel=parallel), only=only))
            said += [report.result.message for report in reports.values() if report.result]
            service.end_run(RUN)
        service.close()
        assert device.ledger.count("BEEP") == 1
        assert not any("held by" in each for each in said), "nobody else is there"

    at_a_site(tmp_path, play)
