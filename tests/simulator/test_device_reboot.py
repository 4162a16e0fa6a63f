"""Boots: what is lost, what stays, in each phase of a command, tier by tier."""

import asyncio

import pytest

from protocol.native.codes import Status
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.loop import run
from tests.simulator.bench import ADJUST, Client, bench

OK, INDETERMINATE = Status.OK, Status.INDETERMINATE


@pytest.mark.parametrize("busy", ["", ", busy 0.5"], ids=["at once", "slow"])
@pytest.mark.parametrize(
    ("phase", "tier", "atomic", "effects", "record"),
    [
        ("before", 0, True, 0, None),
        ("inside", 0, True, 1, None),
        ("after", 0, True, 1, None),
        ("before", 1, True, 0, None),
        ("inside", 1, True, 1, None),
        ("after", 1, True, 1, None),
        ("before", 2, True, 0, None),
        ("inside", 2, True, 0, None),
        ("after", 2, True, 1, OK),
        ("before", 2, False, 0, INDETERMINATE),
        ("inside", 2, False, 1, INDETERMINATE),
        ("after", 2, False, 1, OK),
    ],
)
def test_boot_in_each_phase(
    phase: str, tier: int, atomic: bool, effects: int, record: Status | None, busy: str
) -> None:
    """The ledger tells whether it ran, the record what the device still knows, and no ack comes."""

    async def scenario(client: Client) -> None:
        session, boot_id = await client.open(), client.device.boot_id
        assert await client.command(session, 1) is None
        assert client.cut
        assert client.device.ledger.count(ADJUST) == effects
        assert client.device.values()["offset"] == 10 + 5 * effects
        client.connect()
        hello = await client.hello()
        assert hello is not None
        assert hello.boot_id == client.device.boot_id != boot_id
        assert (None if hello.record is None else hello.record.status) is record
        again = await client.command(session, 1, attempt=2)
        assert again is not None
        if tier < 2:
            assert again.status is Status.BAD_SESSION
        elif record is None:  # the record was never written: the number is free, the command runs now
            assert (again.status, again.replayed) == (OK, False)
        else:
            assert (again.status, again.replayed) == (record, True)

    device = bench(scenario, f"cmd 1: reboot_{phase}{busy}", tier=tier, atomic=atomic)
    assert device.counts["boots"] == 1
    assert device.ledger.count(ADJUST) <= 1


@pytest.mark.parametrize("phase", ["before", "inside", "after"])
def test_boot_at_open_keeps_the_rule_of_epochs(phase: str) -> None:
    """An epoch whose OPENED was lost in a boot is spent if it was stored, and free if not."""

    async def scenario(client: Client) -> None:
        assert await client.open_once() is None
        assert client.device.memory.epoch == (0 if phase == "before" else 1)
        client.connect()
        assert await client.open()

    bench(scenario, f"open 1: reboot_{phase}")


@pytest.mark.parametrize("phase", ["before", "inside", "after"])
def test_boot_at_a_repeat_executes_nothing(phase: str) -> None:
    """A repeat has no effect to be inside of: the device boots instead of answering."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1) is not None
        assert await client.command(session, 1, attempt=2) is None
        assert client.cut

    device = bench(scenario, f"cmd 2: reboot_{phase}")
    assert (device.counts["boots"], device.ledger.count(ADJUST)) == (1, 1)


def test_boot_after_the_effect_although_the_sender_has_gone() -> None:
    """The planned boot does not depend on somebody listening."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        client.conn.feed(client.requester.command(session, 1, 1, ADJUST))
        client.conn.closed()
        await asyncio.sleep(1)

    device = bench(scenario, "cmd 1: busy 0.5, reboot_after")
    assert (device.counts["boots"], device.ledger.count(ADJUST)) == (1, 1)


def test_boot_loses_the_running_command() -> None:
    """A command interrupted from outside neither takes effect nor is answered later."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        client.device.reboot()
        await asyncio.sleep(5)
        assert len(client.pieces) == 1

    assert bench(scenario, "cmd 1: busy 2").ledger.entries == ()


def test_boot_ends_a_freeze_and_loses_what_had_piled_up() -> None:
    """After the boot the device answers at once, and old requests are gone."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.1) is None
        client.device.reboot()
        client.connect()
        assert await client.read() == "10"
        await asyncio.sleep(60)

    assert bench(scenario, "cmd 1: freeze 50").ledger.entries == ()


def test_boot_loses_copies_that_were_still_under_way() -> None:
    """A late copy dies with the connection that the boot ended, although the session lives on."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        assert await client.command(session, 1, timeout_s=0.5) is None
        client.device.reboot()
        await asyncio.sleep(5)

    assert bench(scenario, "cmd 1: late_request 1.5", tier=2).ledger.entries == ()


def test_boot_falls_back_to_durable_values() -> None:
    """The counter starts again, boots counts, the offset stays."""

    async def scenario(client: Client) -> None:
        session = await client.open()
        for seq, text in enumerate((ADJUST, "RESET counter"), start=1):
            await client.command(session, seq, text)
        client.device.reboot()
        client.connect()
        assert [await client.read(f"GET {name}") for name in ("offset", "counter", "boots")] == [
            "15", "42", "2",
        ]  # fmt: skip

    bench(scenario)


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_boot_ids_never_repeat(tier: int) -> None:
    """Every boot of one device has its own boot_id."""

    async def scenario(client: Client) -> None:
        seen = {client.device.boot_id}
        for _ in range(50):
            client.device.reboot()
            seen.add(client.device.boot_id)
        assert len(seen) == 51

    bench(scenario, tier=tier)


def test_boot_ends_every_connection() -> None:
    """Both clients are cut, and what they still send is not heard."""

    async def scenario(client: Client) -> None:
        other = Client(client.device)
        client.device.reboot()
        assert client.cut
        assert other.cut
        client.conn.feed(client.requester.hello(1))
        assert client.pieces == []

    bench(scenario)


def test_memory_moves_to_another_device() -> None:
    """A device made over the memory of another one goes on with its session."""

    async def main() -> None:
        one = SimulatedDevice(Controller(), tier=2)
        client = Client(one)
        session = await client.open()
        assert await client.command(session, 1) is not None
        other = Client(SimulatedDevice(Controller(), tier=2, memory=one.memory))
        reply = await other.command(session, 1, attempt=2)
        assert reply is not None
        assert (reply.text, reply.replayed) == ("15", True)

    run(main)


def test_observer_hears_of_faults_effects_and_boots_in_order() -> None:
    """One word and one line per event."""
    heard: list[str] = []

    async def main() -> None:
        device = SimulatedDevice(
            Controller(),
            plan=parse("cmd 1: reboot_after, busy 0.5"),
            observe=lambda word, line: heard.append(f"{word} {line}"),
        )
        client = Client(device)
        await client.command(await client.open(), 1)

    run(main)
    assert heard[:3] == [
        "fault reboot_after at cmd 1",
        "fault busy at cmd 1",
        f"command {ADJUST}: OK 15",
    ]
    assert heard[3].startswith("boot boot_id ")
    assert len(heard) == 4
