"""Is a device that is met under two names one device? What is in doubt, under way or done holds for both.

CATALOG.md 2, device key: model and serial where known, whatever the address.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from agent.operation import Cause, Outcome, Result
from simulator.loop import run
from tests.agent.desk import Desk, Network, machine
from tests.agent.store_desk import OTHER_URL, URL, case, desk, virtual, wall

ONE, OTHER = "tcp://device:1", "tcp://device:2"
ADJUST = "ADJUST offset +5"


def test_a_doubt_follows_the_serial(tmp_path: Path) -> None:
    """Nothing is sent to a device at its other address while a command is in doubt there."""

    async def main() -> None:
        device = machine("cmd 1: reboot_after")
        service = Desk(tmp_path, Network({ONE: device, OTHER: device}, []))
        doubt = await service.send(ADJUST, url=ONE)
        assert doubt.result.outcome is Outcome.IN_DOUBT
        held = await service.send(ADJUST, url=OTHER)
        service.service.close()
        assert (held.result.outcome, held.result.cause) == (Outcome.NOT_SENT, Cause.DOUBT)
        assert held.held_by == doubt.operation.op
        assert device.ledger.count(ADJUST) == 1

    run(main)


LATER, EARLIER, NEVER = 4.0, 1.0, None


@pytest.mark.parametrize(
    ("here", "there", "until"),
    [(LATER, EARLIER, LATER), (EARLIER, LATER, LATER), (LATER, NEVER, LATER), (NEVER, LATER, LATER)],
)
def test_what_may_arrive_at_either_name_is_waited_for(
    tmp_path: Path, here: float | None, there: float | None, until: float
) -> None:
    """An old copy that was sent to one name must not land after a newer one that is sent to the other."""

    async def scenario() -> None:
        one = desk(tmp_path)
        now = wall()
        lease = one.claim()
        one.registry.meet(lease, URL, 1, "acme", "SN-1", named=False)
        lease.quiet_from = now + timedelta(seconds=there) if there is not None else None
        one.leases.release(lease)
        elsewhere = one.claim(OTHER_URL)
        elsewhere.quiet_from = now + timedelta(seconds=here) if here is not None else None
        one.registry.meet(elsewhere, OTHER_URL, 1, "acme", "SN-1", named=False)
        assert elsewhere.device == lease.device
        assert elsewhere.quiet_from == now + timedelta(seconds=until)

    virtual(scenario)


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ((Outcome.APPLIED, Outcome.NOT_SENT), Outcome.APPLIED),
        ((Outcome.UNCHANGED, Outcome.IN_DOUBT), Outcome.UNCHANGED),
        ((Outcome.IN_DOUBT, Outcome.NOT_APPLIED), Outcome.IN_DOUBT),
        ((Outcome.REFUSED, Outcome.NOT_SENT), Outcome.NOT_SENT),
        ((None, Outcome.NOT_SENT), None),
        ((None, Outcome.APPLIED), Outcome.APPLIED),
    ],
)
def test_a_key_that_was_used_under_both_names(
    tmp_path: Path, words: Sequence[Outcome | None], counts: Outcome | None
) -> None:
    """What was done, or is open, under one name counts though the other name, asked later, could not be reached."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        one.registry.meet(lease, URL, 1, "acme", "SN-1", named=False)
        for number, (url, outcome) in enumerate(zip((URL, OTHER_URL), words, strict=True)):
            if url is OTHER_URL:
                one.leases.release(lease)
                lease = one.claim(OTHER_URL)
            asked = case(f"01JOP{number}", "summer")
            if outcome is None:
                await one.journal.keep(asked, lease)
            else:
                await one.journal.close(asked, lease, Result(outcome, None, ""))
        one.registry.meet(lease, OTHER_URL, 1, "acme", "SN-1", named=False)
        found = one.journal.under_key("summer", lease.device)
        assert found is not None
        assert (found.result.outcome if found.result is not None else None) is counts

    virtual(scenario)
