"""What goes wrong with a Modbus device: what a client sees, byte for byte, and what the ledger says happened."""

import asyncio

import pytest

from simulator.equipment import EnergyMeter
from simulator.modbus_frames import Framing
from tests.simulator.modbus_bench import ADD_5, ADDED, TOTAL, ModbusClient, modbus_bench, now_s, rtu, tcp

ACK = rtu(ADD_5)


@pytest.mark.parametrize(
    ("fault", "effects"),
    [
        ("drop_request", 0),
        ("drop_ack", 1),
        ("cut_before", 0),
        ("cut", 1),
        ("reboot_before", 0),
        ("reboot_inside", 1),
        ("reboot_after", 1),
    ],
)
@pytest.mark.parametrize("surviving", [False, True], ids=["tcp", "line"])
def test_silence_tells_nothing_about_the_effect(fault: str, effects: int, surviving: bool) -> None:
    """Lost request, lost ack, boot and cut look alike; only the ledger knows."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == b""
        assert client.ends == (fault.startswith("cut") or (fault.startswith("reboot") and not surviving))

    device = modbus_bench(scenario, f"cmd 1: {fault}", surviving=surviving)
    assert (device.ledger.count(ADDED), device.values()["total"]) == (effects, 5 * effects)
    assert device.counts["boots"] == fault.startswith("reboot")


@pytest.mark.parametrize("fault", ["reboot_before", "reboot_after", "cut", "drop_ack"])
def test_a_read_that_meets_a_boot_or_an_end_is_not_answered(fault: str) -> None:
    """The next one is, where the line is still there."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(TOTAL)) == b""
        assert await client.ask(rtu(TOTAL)) == (b"" if fault == "cut" else rtu("03 02 0000"))

    modbus_bench(scenario, f"read 1: {fault}")


@pytest.mark.parametrize("fault", ["reboot_after", "cut"])
def test_a_broadcast_suffers_what_needs_no_answer(fault: str) -> None:
    """It boots or ends the line behind its effect, without a word."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5, unit=0)) == b""
        assert client.ends == (fault == "cut")

    device = modbus_bench(scenario, f"cmd 1: {fault}, junk, bit_flip")
    assert (device.ledger.count(ADDED), device.counts["boots"]) == (1, fault == "reboot_after")


@pytest.mark.parametrize(
    ("plan", "answer", "effects"),
    [
        ("exception 4", "86 04", 0),
        ("exception 6", "86 06", 0),
        ("exception 10", "86 0A", 0),
        ("exception 255", "86 FF", 0),
        ("exception_after 4", "86 04", 1),
        ("refuse", "86 03", 0),
        ("nak_after_effect", "86 03", 1),
        ("ignore", ADD_5, 0),
        ("exception 4, exception_after 11", "86 04", 0),
        ("refuse, exception_after 11", "86 03", 0),
    ],
)
@pytest.mark.parametrize("framing", ["tcp", "rtu"])
def test_an_answer_and_an_effect_are_two_things(
    framing: Framing, plan: str, answer: str, effects: int
) -> None:
    """An exception before any effect or behind it, a refusal that is true or not, an ack that is a lie."""
    frame = tcp if framing == "tcp" else rtu

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(frame(ADD_5)) == frame(answer)

    device = modbus_bench(scenario, f"cmd 1: {plan}", framing=framing)
    assert (device.ledger.count(ADDED), device.values()["total"]) == (effects, 5 * effects)


def test_bytes_of_a_published_exception() -> None:
    """Exception 5 to function 6, as others computed it."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == bytes.fromhex("01 86 05 82 63")

    modbus_bench(scenario, "cmd 1: exception 5")


def test_a_read_can_meet_an_exception() -> None:
    """And drift, which is another value."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(TOTAL)) == rtu("83 0B")
        assert await client.ask(rtu("03 0000 0003")) == rtu("03 06 000100000001")

    assert modbus_bench(scenario, "read 1: exception 11; read 2: drift").ledger.entries == ()


def test_accepted_and_done_later() -> None:
    """Exception 5 comes at once; the effect, with its true time, after a reading that does not show it."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == rtu("86 05")
        assert await client.ask(rtu(TOTAL)) == rtu("03 02 0000")
        assert await client.ask(rtu(TOTAL)) == rtu("03 02 0005")

    device = modbus_bench(scenario, "cmd 1: apply_late 1.5, exception_after 5")
    assert (len(device.ledger), device.ledger.count(ADDED)) == (1, 1)
    assert device.ledger.entries[0].at_s == pytest.approx(1.5)


def test_a_late_effect_is_not_there_when_it_is_acked() -> None:
    """And a boot in between prevents it."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5), 0.5) == ACK
        assert await client.ask(rtu("06 0001 0007"), 0.5) == b""
        await asyncio.sleep(5)

    device = modbus_bench(scenario, "cmd 1: apply_late 1.5; cmd 2: reboot_before")
    assert device.ledger.entries == ()


def test_delayed_ack_comes_after_the_next_answer() -> None:
    """On RTU nothing but its function says which request it belongs to."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5), 0.5) == b""
        assert await client.ask(rtu(TOTAL), 0.2) == rtu("03 02 0005")
        await asyncio.sleep(1)
        assert client.heard == rtu("03 02 0005") + ACK
        assert client.times[-1] == pytest.approx(0.8)

    modbus_bench(scenario, "cmd 1: delay 0.8")


def test_held_ack_is_glued_in_front_of_the_next_one() -> None:
    """In one piece with the answer to the next command."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == b""
        assert await client.ask(rtu(TOTAL)) == rtu("03 02 0005")
        assert await client.ask(rtu("06 0002 0007")) == ACK + rtu("06 0002 0007")
        assert client.pieces[-1][1] == ACK + rtu("06 0002 0007")

    modbus_bench(scenario, "cmd 1: hold 5")


def test_frozen_device_works_off_what_has_piled_up() -> None:
    """Copies sent to a hanging device are all executed."""

    async def scenario(client: ModbusClient) -> None:
        client.plug.feed(rtu(ADD_5))
        assert await client.ask(rtu(ADD_5)) == b""
        await asyncio.sleep(2)
        assert client.heard == ACK * 2

    assert modbus_bench(scenario, "cmd 1: freeze 2").ledger.count(ADDED) == 2


def test_busy_device_answers_at_the_end_and_lets_the_rest_wait() -> None:
    """The effect is there with the ack; what came meanwhile is done behind it."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5), 0.4) == b""
        client.plug.feed(rtu(TOTAL))
        await asyncio.sleep(1)
        assert client.heard == ACK + rtu("03 02 0005")
        assert client.times[0] == pytest.approx(0.5)

    device = modbus_bench(scenario, "cmd 1: busy 0.5")
    assert [entry.at_s for entry in device.ledger.entries] == pytest.approx([0.5])


def test_late_copy_lands_after_a_newer_command() -> None:
    """An old setpoint overwrites a newer one."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu("06 0002 001E"), 0.5) == b""
        assert await client.ask(rtu("06 0002 003C"), 0.5) == rtu("06 0002 003C")
        await asyncio.sleep(1)

    device = modbus_bench(scenario, "cmd 1: late_request 1.5")
    assert [entry.value_after for entry in device.ledger.entries] == ["60", "30"]


def test_doubled_request_is_two_effects_of_one_copy() -> None:
    """Both are answered in the same bytes."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == ACK * 2

    device = modbus_bench(scenario, "cmd 1: duplicate_request")
    assert (device.ledger.count(ADDED), len(device.copies)) == (2, 1)


def test_reverted_effect_is_seen_and_then_gone() -> None:
    """The ledger keeps the execution; what else has changed meanwhile stays."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu(ADD_5))
        assert await client.ask(rtu("03 0000 0005")) == rtu("03 0A 000500000000 0000 FFFC")
        assert await client.ask(rtu("03 0000 0005")) == rtu("03 0A 000000000000 0000 FFFD")

    assert modbus_bench(scenario, "cmd 1: revert 1.5").ledger.count(ADDED) == 1


def test_another_writer_moves_what_was_just_written() -> None:
    """And nothing but that; our own effect is the only entry."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu(ADD_5))

    device = modbus_bench(scenario, "cmd 1: other_writer")
    assert device.values() == {"relay": 0, "total": 6, "setpoint": 0, "counter": 65531, "boots": 1}
    assert len(device.ledger) == 1


def test_a_value_that_was_measured_drifts_too() -> None:
    """Asked by its address."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu("04 0056 0002")) == rtu("04 04 45BB8800")
        assert await client.ask(rtu("04 0000 0002")) == rtu("04 04 43668000")

    modbus_bench(scenario, "read *: drift", machine=EnergyMeter(clock=now_s))


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("echo", ACK + ACK),
        ("duplicate", ACK + ACK),
        ("stale_reply", rtu("03 02 0000") + ACK),
        ("truncate", ACK[:4]),
        ("wrong_unit", rtu(ADD_5, unit=2)),
        ("foreign", rtu("03 02 0063", unit=2) + rtu("03 02 0063") + ACK),
        ("foreign, drop_ack", rtu("03 02 0063", unit=2) + rtu("03 02 0063")),
    ],
)
def test_what_comes_instead_of_a_plain_ack(fault: str, seen: bytes) -> None:
    """Byte for byte, and every foreign frame is a good one."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(rtu(TOTAL))
        assert await client.ask(rtu(ADD_5)) == seen

    assert modbus_bench(scenario, f"cmd 1: {fault}").ledger.count(ADDED) == 1


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("wrong_unit", tcp("03 02 0000", unit=2)),
        (
            "foreign",
            tcp("03 02 0063", unit=2) + tcp("03 02 0063", transaction=7 + 0x7FFF) + tcp("03 02 0000"),
        ),
        ("stale_reply", tcp("03 02 0000", transaction=6) + tcp("03 02 0000")),
    ],
)
def test_what_comes_instead_of_a_plain_answer_over_tcp(fault: str, seen: bytes) -> None:
    """Strangers have another transaction, the answer before has its own."""

    async def scenario(client: ModbusClient) -> None:
        await client.ask(tcp(TOTAL, transaction=6))
        assert await client.ask(tcp(TOTAL)) == seen

    modbus_bench(scenario, f"read 2: {fault}", framing="tcp")


def test_a_stranger_on_rtu_never_answers_our_function() -> None:
    """A read of holding registers is accompanied by one of input registers: else nobody could know."""

    async def scenario(client: ModbusClient) -> None:
        strangers = rtu("03 02 0063", unit=2) + rtu("04 02 0063")
        assert await client.ask(rtu(TOTAL)) == strangers + rtu("03 02 0000")

    modbus_bench(scenario, "read 1: foreign")


@pytest.mark.parametrize("framing", ["tcp", "rtu"])
def test_noise_has_a_whole_answer_in_it(framing: Framing) -> None:
    """In front and behind, of any bytes; one wrong bit is one."""
    frame = tcp if framing == "tcp" else rtu

    async def scenario(client: ModbusClient) -> None:
        noisy = await client.ask(frame(TOTAL))
        front, _, back = noisy.partition(frame("03 02 0000"))
        assert (3 <= len(front) <= 24, 3 <= len(back) <= 24) == (True, True)
        flipped = await client.ask(frame(TOTAL))
        wrong = [(a ^ b).bit_count() for a, b in zip(flipped, frame("03 02 0000"), strict=True)]
        assert sum(wrong) == 1

    modbus_bench(scenario, "read 1: junk; read 2: bit_flip", framing=framing, seed=3)


@pytest.mark.parametrize(("fault", "gap_s"), [("split", 0.0), ("trickle 0.05", 0.05)])
def test_bytes_come_one_by_one(fault: str, gap_s: float) -> None:
    """In single bytes at an even pace."""

    async def scenario(client: ModbusClient) -> None:
        assert await client.ask(rtu(ADD_5)) == ACK
        assert client.times == pytest.approx([k * gap_s for k in range(len(ACK))])

    modbus_bench(scenario, f"cmd 1: {fault}")
