"""Who does a device turn out to be, and what becomes of what was known of its address?"""

from pathlib import Path

import pytest

from agent.leases import Held
from agent.registry import WrongDevice
from tests.agent.store_desk import OTHER_URL, URL, case, desk, other_process, rows, session, virtual


def test_the_first_device_met_is_pinned(tmp_path: Path) -> None:
    """Once a device has told who it is, another one at the same address is refused until the inventory names it."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        assert not one.registry.is_met(lease)
        one.registry.compare(URL, 1, "C1", "SN-1", named=False)
        one.registry.meet(lease, URL, 1, "C1", "SN-1", named=False)
        one.registry.meet(lease, URL, 1, "C1", "SN-1", named=False)
        assert one.registry.is_met(lease)
        before = rows("device", one)
        for model, serial in (("C1", "SN-2"), ("C2", "SN-1")):
            with pytest.raises(WrongDevice, match=f"serial {serial} .* answers at {URL}, but SN-1"):
                one.registry.meet(lease, URL, 1, model, serial, named=False)
            with pytest.raises(WrongDevice):
                one.registry.compare(URL, 1, model, serial, named=False)
        assert rows("device", one) == before
        one.registry.compare(URL, 1, "C1", "SN-2", named=True)

    virtual(scenario)


def test_a_named_replacement_is_a_device_of_its_own(tmp_path: Path) -> None:
    """A replacement that the inventory names gets its own row and lease; what the old one left stays with it."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        one.registry.meet(lease, URL, 1, "C1", "SN-1", named=False)
        await one.journal.keep(case(), lease)
        old = lease.device
        one.registry.meet(lease, URL, 1, "C1", "SN-2", named=True)
        assert lease.device != old
        assert one.registry.lookup(URL, 1, None) == lease.device
        assert one.registry.lookup(URL, 1, "SN-1") == old
        assert [entry.device for entry in one.journal.unsettled(old)] == [old]
        assert one.journal.unsettled(lease.device) == []
        assert one.leases.holder_of(old) is None
        await one.leases.spend(lease)

    virtual(scenario)


def test_a_second_address_leads_to_the_known_device(tmp_path: Path) -> None:
    """A provisional row is merged into the device that answers: operations, address, lease and session."""

    async def scenario() -> None:
        one = desk(tmp_path)
        first = one.claim()
        one.registry.meet(first, URL, 1, "C1", "SN-1", named=False)
        first.session, first.number = session(last_seq=8), 3
        await one.leases.spend(first)
        one.leases.release(first)
        lease = one.claim(OTHER_URL)
        provisional = lease.device
        await one.journal.keep(case(), lease)
        assert provisional != first.device
        one.registry.meet(lease, OTHER_URL, 1, "C1", "SN-1", named=False)
        assert (lease.device, lease.number) == (first.device, 3)
        assert lease.session == session(last_seq=8)
        assert {one.registry.lookup(url, 1, None) for url in (URL, OTHER_URL)} == {first.device}
        assert [entry.operation.op for entry in one.journal.unsettled(first.device)] == ["01JOP1"]
        assert one.database.read("SELECT id FROM device") == [(first.device,)]
        assert one.registry.address_of(first.device) == (URL, 1)
        await one.leases.spend(lease)

    virtual(scenario)


def test_a_device_held_under_another_address_is_held(tmp_path: Path) -> None:
    """Who answers may be in other hands by its other address: refused, and nothing is merged."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        first = one.claim()
        one.registry.meet(first, URL, 1, "C1", "SN-1", named=False)
        lease = two.claim(OTHER_URL)
        device = lease.device
        with pytest.raises(Held):
            two.registry.meet(lease, OTHER_URL, 1, "C1", "SN-1", named=False)
        assert lease.device == device == two.registry.lookup(OTHER_URL, 1, None)
        await two.leases.renew(lease)

    virtual(scenario)


def test_a_device_that_moved_is_found_by_its_serial(tmp_path: Path) -> None:
    """A serial that the inventory names leads to the device's row whatever the address; the address follows."""

    async def scenario() -> None:
        one = desk(tmp_path)
        first = one.claim()
        one.registry.meet(first, URL, 1, "C1", "SN-1", named=False)
        one.leases.release(first)
        lease = one.claim(OTHER_URL, serial="SN-1")
        assert lease.device == first.device
        assert one.registry.lookup(OTHER_URL, 1, None) is None
        one.registry.meet(lease, OTHER_URL, 1, "C1", "SN-1", named=True)
        assert one.registry.lookup(OTHER_URL, 1, None) == first.device

    virtual(scenario)


def test_units_of_one_line_are_different_devices(tmp_path: Path) -> None:
    """The address of a device is its URL and its unit."""

    async def scenario() -> None:
        one = desk(tmp_path)
        assert one.registry.claim(URL, 1, None).device != one.registry.claim(URL, 2, None).device

    virtual(scenario)
