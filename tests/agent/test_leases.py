"""Who may write to a device? Leases, and the one counter."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent import leases as rules
from agent.evidence import Record, Sent
from agent.leases import LEASE_S, RENEW_S, SKEW_S, Held, Lease, LeaseLost, Session
from agent.operation import Outcome, Result
from agent.processes import Holder, is_gone, this_process
from agent.steps import Send
from agent.store.database import Refused
from tests.agent.store_desk import ADJUST, StoreDesk, case, desk, other_process, rows, session, virtual

ELSEWHERE = replace(this_process("gateway"), host="elsewhere", pid=1, boot="another", instance="far")


# --- leases -----------------------------------------------------------------------------------------------------


def test_a_device_has_one_holder_at_a_time(tmp_path: Path) -> None:
    """A second process is refused and told who holds the device; after a release it gets it."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process("gateway"))
        lease = one.claim()
        with pytest.raises(Held, match=f"agent laptop, process {os.getpid()} on .* since 2026-11-29") as held:
            two.claim()
        assert held.value.holder == one.holder == two.leases.holder_of(lease.device)
        one.leases.release(lease)
        assert two.leases.holder_of(lease.device) is None
        assert two.claim().device == lease.device

    virtual(scenario)


def test_two_tasks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    """A process that holds a device is refused it a second time: both tasks would draw the same numbers."""

    async def scenario() -> None:
        one = desk(tmp_path)
        one.leases.release(one.claim())
        one.claim()
        with pytest.raises(Held):
            one.claim()

    virtual(scenario)


def test_a_lease_lapses_when_it_is_not_renewed(tmp_path: Path) -> None:
    """At the end of its time a lease is taken, not before; the counter grows and the session is dropped."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        lease.session = session()
        await one.leases.spend(lease)
        await asyncio.sleep(LEASE_S - 0.1)
        with pytest.raises(Held):
            two.claim()
        await asyncio.sleep(0.1)
        assert two.leases.holder_of(lease.device) is None
        taken = two.claim()
        assert (taken.token, taken.session) == (lease.token + 1, None)
        assert two.device(taken)["session"] is None

    virtual(scenario)


def test_renewing_keeps_a_lease(tmp_path: Path) -> None:
    """A lease that is renewed in time is never free; renewing writes only when a third of the time is over."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        await one.leases.renew(lease)
        assert one.database.flushes == 1
        for _ in range(6):
            await asyncio.sleep(RENEW_S)
            await one.leases.renew(lease)
            with pytest.raises(Held):
                two.claim()
        assert one.database.flushes == 7

    virtual(scenario)


def test_every_write_renews_the_lease(tmp_path: Path) -> None:
    """Whoever writes about a device shows the lease and so keeps it."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        await asyncio.sleep(LEASE_S - 1)
        await one.journal.keep(case(), lease)
        await asyncio.sleep(LEASE_S - 1)
        with pytest.raises(Held):
            two.claim()

    virtual(scenario)


def test_other_machines_wait_longer(tmp_path: Path) -> None:
    """The lease of another machine, whose clock may differ, is respected for a few seconds more."""

    async def scenario() -> None:
        far, near = desk(tmp_path, ELSEWHERE), desk(tmp_path)
        far.claim()
        await asyncio.sleep(LEASE_S + SKEW_S - 0.1)
        with pytest.raises(Held, match="on elsewhere"):
            near.claim()
        await asyncio.sleep(0.1)
        near.claim()

    virtual(scenario)


def test_the_next_process_goes_on_with_the_session(tmp_path: Path) -> None:
    """After a release the same agent's next process gets the session, its number and record, and not as its own."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        record = Record(1, 2, 3, 0)
        lease.session, lease.number = Session(0x20001, 7, 4, record, ours=True), 9
        await one.leases.spend(lease)
        one.leases.release(lease)
        again = one.claim()
        assert again.session == Session(0x20001, 7, 4, record, ours=True)
        one.leases.release(again)
        next_process = desk(tmp_path, other_process())
        kept = next_process.claim()
        assert kept.session == Session(0x20001, 7, 4, record, ours=False)
        assert (kept.token, kept.number) == (lease.token, 9)

    virtual(scenario)


def test_another_agent_opens_anew(tmp_path: Path) -> None:
    """When the holder before was another agent the counter grows and its session is not used."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process("gateway"))
        lease = one.claim()
        lease.session = session()
        await one.leases.spend(lease)
        one.leases.release(lease)
        taken = two.claim()
        assert (taken.token, taken.session) == (lease.token + 1, None)

    virtual(scenario)


Write = Callable[[StoreDesk, Lease], Awaitable[object]]
WRITES: dict[str, Write] = {
    "intend": lambda one, lease: one.journal.intend(case(), lease, Send(ADJUST, 1), Sent(1, 1, ADJUST, 1)),
    "keep": lambda one, lease: one.journal.keep(case(), lease),
    "close": lambda one, lease: one.journal.close(case(), lease, Result(Outcome.APPLIED, None, "")),
    "draw_epoch": lambda one, lease: one.leases.draw_epoch(lease),
    "spend": lambda one, lease: one.leases.spend(lease),
    "renew": lambda one, lease: one.leases.renew(lease),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("how", ["lapsed", "released", "merged"])
def test_a_former_holder_writes_nothing(write: Write, how: str, tmp_path: Path) -> None:
    """Under a lease that is not held any more every write is refused and changes nothing."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        lease.session = session(last_seq=3)
        await one.leases.spend(lease)
        if how == "released":
            one.leases.release(lease)
        elif how == "merged":
            lease = replace(lease, device=lease.device + 1)
        await asyncio.sleep(LEASE_S)
        if how == "lapsed":
            two.claim()
        before = [rows(table, two) for table in ("device", "operation", "evidence")]
        lease.session = session(last_seq=4)
        with pytest.raises(LeaseLost):
            await write(one, lease)
        assert [rows(table, two) for table in ("device", "operation", "evidence")] == before

    virtual(scenario)


def test_releasing_a_lost_lease_is_harmless(tmp_path: Path) -> None:
    """The new holder keeps the device, whatever the former one gives back."""

    async def scenario() -> None:
        one, two = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        await asyncio.sleep(LEASE_S)
        two.claim()
        one.leases.release(lease)
        with pytest.raises(Held):
            one.claim()

    virtual(scenario)


# --- processes ---------------------------------------------------------------------------------------------------

HOLD = """
import asyncio, sys
from pathlib import Path
from agent.clock import Clock
from agent.leases import Leases
from agent.processes import this_process
from agent.registry import Registry
from agent.store.sqlite import open_database

async def hold():
    database = open_database(Path(sys.argv[1]))
    leases = Leases(database, this_process("laptop"), Clock())
    Registry(database, leases).claim("tcp://10.3.0.31:7000", 1, None)
    print("holding", flush=True)
    sys.stdin.readline()

asyncio.run(hold())
"""


def test_a_killed_holder_is_free_at_once(tmp_path: Path) -> None:
    """The lease of a process that was killed is taken without waiting, even before its parent has noticed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    async def while_it_lives() -> None:
        with pytest.raises(Held, match=f"process {child.pid} on"):
            desk(tmp_path).claim()

    async def after_the_kill() -> None:
        assert desk(tmp_path).claim().token == 0

    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"holding\n"
        virtual(while_it_lives)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        virtual(after_the_kill)


def test_what_is_known_of_a_process() -> None:
    """Gone: a pid that is free, taken by a later process, or of an earlier boot; another machine's never for sure."""
    me = this_process()
    assert Holder.from_json(me.to_json()) == me
    assert not is_gone(me, me)
    assert not is_gone(replace(me, instance="other"), me)
    assert is_gone(replace(me, started="1"), me)
    assert is_gone(replace(me, boot="earlier"), me)
    assert is_gone(replace(me, pid=2**22 + 1), me)
    assert not is_gone(replace(me, started=""), me)
    assert not is_gone(replace(me, host="elsewhere", pid=2**22 + 1, boot="b"), me)
    assert this_process().instance != me.instance


# --- the counter --------------------------------------------------------------------------------------------------


def test_epochs_only_grow_and_are_durable_when_drawn(tmp_path: Path) -> None:
    """Every drawn epoch is above all before it, is the token from then on, and another connection can read it."""

    async def scenario() -> None:
        one, other = desk(tmp_path), desk(tmp_path, other_process())
        lease = one.claim()
        lease.session = session()
        await one.leases.spend(lease)
        drawn = [await one.leases.draw_epoch(lease) for _ in range(3)]
        drawn.append(await one.leases.draw_epoch(lease, above=1000))
        drawn.append(await one.leases.draw_epoch(lease, above=5))
        assert drawn == [1, 2, 3, 1001, 1002]
        assert lease.token == other.leases.counter(lease) == 1002
        assert lease == replace(lease, session=None)
        assert other.device(lease)["session"] is None
        await one.leases.spend(lease)

    virtual(scenario)


def test_epochs_run_out_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last epoch, which devices refuse, is never drawn, and nothing changes."""
    monkeypatch.setattr(rules, "EPOCH_LIMIT", 2)

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        assert await one.leases.draw_epoch(lease) == 1
        with pytest.raises(Refused, match="used up"):
            await one.leases.draw_epoch(lease)
        assert one.leases.counter(lease) == lease.token == 1

    virtual(scenario)


def test_a_restored_store_draws_no_higher_epoch_than_the_device_has(tmp_path: Path) -> None:
    """A store put back from a copy is behind the device's epoch, which is how it is noticed."""

    async def scenario() -> None:
        one = desk(tmp_path / "store")
        lease = one.claim()
        await one.leases.draw_epoch(lease)
        one.leases.release(lease)
        shutil.copytree(tmp_path / "store", tmp_path / "copy")
        lease = one.claim()
        device_has = [await one.leases.draw_epoch(lease) for _ in range(3)][-1]
        copy = desk(tmp_path / "copy", other_process())
        copied = copy.claim()
        assert copy.leases.counter(copied) < device_has
        assert await copy.leases.draw_epoch(copied) <= device_has
        assert copy.leases.agent_id == one.leases.agent_id

    virtual(scenario)
