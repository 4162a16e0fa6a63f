"""What goes wrong with a text device: what a client sees, and what the ledger says happened."""

import asyncio

import pytest

from simulator.text_device import BUSY_EVERY_S
from tests.simulator.line_bench import ADJUST, LineClient, line_bench

BANNER = b"READY demo controller\n"


@pytest.mark.parametrize(
    ("fault", "effects"),
    [
        ("drop_request", 0),
        ("drop_ack", 1),
        ("cut_before", 0),
        ("cut", 1),
        ("reboot_before", 0),
        ("reboot_after", 1),
    ],
)
@pytest.mark.parametrize("surviving", [False, True], ids=["tcp", "line"])
def test_silence_tells_nothing_about_the_effect(fault: str, effects: int, surviving: bool) -> None:
    """Lost request and lost ack look alike; only the ledger knows. A boot speaks on a line that outlives it."""

    async def scenario(client: LineClient) -> None:
        answer = await client.ask(ADJUST)
        boots = fault.startswith("reboot")
        assert answer == (BANNER if boots and surviving else b"")
        assert client.cut is (fault.startswith("cut") or (boots and not surviving))

    device = line_bench(scenario, f"cmd 1: {fault}", surviving=surviving)
    assert device.ledger.count(ADJUST) == effects
    assert device.values()["offset"] == 10 + 5 * effects
    assert device.counts["boots"] == fault.startswith("reboot")


def test_a_banner_can_be_lost_with_the_ack() -> None:
    """The boot happens and the line says nothing of it."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == b""
        assert await client.ask("GET boots") == b"OK 2\n"

    line_bench(scenario, "cmd 1: reboot_after, drop_ack", surviving=True)


@pytest.mark.parametrize("phase", ["before", "inside", "after"])
def test_boot_at_a_query(phase: str) -> None:
    """A query that meets a boot is not answered."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("GET offset") == BANNER

    assert line_bench(scenario, f"read 1: reboot_{phase}", surviving=True).counts["boots"] == 1


def test_delayed_ack_comes_after_the_next_answer() -> None:
    """Nothing in it says which command it belongs to."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST, 0.5) == b""
        assert await client.ask("SET interval 30", 0.2) == b"OK 30\n"
        await asyncio.sleep(1)
        assert client.heard == b"OK 30\nOK 15\n"
        assert client.times[-1] == pytest.approx(0.8)

    line_bench(scenario, "cmd 1: delay 0.8")


def test_held_ack_is_glued_in_front_of_the_next_one() -> None:
    """Both come in one piece with the answer to the next command; a query between is answered by itself."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == b""
        assert await client.ask("GET offset") == b"OK 15\n"
        assert await client.ask("SET interval 30") == b"OK 15\nOK 30\n"
        assert client.pieces[-1][1] == b"OK 15\nOK 30\n"
        await asyncio.sleep(10)
        assert len(client.pieces) == 2

    line_bench(scenario, "cmd 1: hold 5")


def test_held_ack_comes_by_itself_in_the_end() -> None:
    """Where no command follows, it comes when its time is over."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST, 6) == b"OK 15\n"
        assert client.times == pytest.approx([5])

    line_bench(scenario, "cmd 1: hold 5")


def test_frozen_device_works_off_what_has_piled_up() -> None:
    """Copies sent to a hanging device are all executed, also those of a client that has gone."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"ADJUST offset +5\n")
        client.conn.closed()
        other = LineClient(client.device)
        assert await other.ask(ADJUST) == b""
        await asyncio.sleep(2)
        assert (client.heard, other.heard) == (b"", b"OK 20\n")

    assert line_bench(scenario, "cmd 1: freeze 2").ledger.count(ADJUST) == 2


def test_late_copy_lands_after_a_newer_command() -> None:
    """An old SET overwrites a newer one, although its connection has gone."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("SET offset 30", 0.5) == b""
        client.conn.closed()
        assert await LineClient(client.device).ask("SET offset 60", 0.5) == b"OK 60\n"
        await asyncio.sleep(1)

    device = line_bench(scenario, "cmd 1: late_request 1.5")
    assert [entry.value_after for entry in device.ledger.entries] == ["60", "30"]


def test_doubled_request_is_two_effects_of_one_copy() -> None:
    """The network's own copy is executed and answered too."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == b"OK 15\nOK 20\n"

    device = line_bench(scenario, "cmd 1: duplicate_request")
    assert (device.ledger.count(ADJUST), len(device.copies)) == (2, 1)


def test_doubled_request_of_a_busy_device_runs_second() -> None:
    """The second copy waits for the first, and comes before what was sent behind it."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"ADJUST offset +5\nGET offset\n")
        await asyncio.sleep(2)
        assert client.heard.replace(b"BUSY\n", b"") == b"OK 15\nOK 20\nOK 20\n"

    line_bench(scenario, "cmd 1: duplicate_request, busy 1")


def test_doubled_request_comes_twice_in_a_row() -> None:
    """What had piled up behind it waits for both."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"BEEP\nADJUST offset +5\nGET offset\n")
        await asyncio.sleep(2)
        assert client.heard == b"OK\nOK 15\nOK 20\nOK 20\n"

    line_bench(scenario, "cmd 1: freeze 1; cmd 2: duplicate_request")


def test_busy_device_says_so_and_lets_others_wait() -> None:
    """BUSY comes at once and at an even pace; effect and ack come at the end, then the next line's turn."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"ADJUST offset +5\nGET offset\n")
        await asyncio.sleep(0.9)
        assert client.device.ledger.entries == ()
        await asyncio.sleep(1)
        assert client.heard == b"BUSY\n" * 4 + b"OK 15\nOK 15\n"
        assert client.times == pytest.approx([k * BUSY_EVERY_S for k in range(4)] + [1, 1])

    line_bench(scenario, "cmd 1: busy 1")


def test_boot_ends_a_busy_command() -> None:
    """It neither takes effect nor is answered, and BUSY stops."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST, 0.1) == b"BUSY\n"
        client.device.reboot()
        await asyncio.sleep(5)
        assert client.heard == b"BUSY\n" + BANNER
        assert await client.ask("GET offset") == b"OK 10\n"

    assert line_bench(scenario, "cmd 1: busy 2", surviving=True).ledger.entries == ()


@pytest.mark.parametrize(("fault", "answer"), [("ignore", b"OK\n"), ("refuse", b"ERR refused\n")])
def test_answer_without_an_effect(fault: str, answer: bytes) -> None:
    """An ack may be a lie; a refusal is true."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == answer

    device = line_bench(scenario, f"cmd 1: {fault}")
    assert (device.ledger.entries, device.values()["offset"]) == ((), 10)


def test_refusal_after_the_effect() -> None:
    """The device says no to what it has done."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == b"ERR refused\n"

    assert line_bench(scenario, "cmd 1: nak_after_effect").ledger.count(ADJUST) == 1


def test_late_effect_is_not_there_when_it_is_acked() -> None:
    """A reading after the ack still shows the old value; the ledger has the true time."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST, 0.5) == b"OK\n"
        assert await client.ask("GET offset", 2) == b"OK 10\n"
        assert await client.ask("GET offset") == b"OK 15\n"

    device = line_bench(scenario, "cmd 1: apply_late 1.5")
    assert [entry.at_s for entry in device.ledger.entries] == pytest.approx([1.5])


def test_boot_prevents_a_late_effect() -> None:
    """What was acked and not yet done is lost with the power."""

    async def scenario(client: LineClient) -> None:
        await client.ask(ADJUST, 0.5)
        client.device.reboot()
        await asyncio.sleep(5)

    assert line_bench(scenario, "cmd 1: apply_late 1.5").ledger.entries == ()


def test_reverted_effect_is_seen_and_then_gone() -> None:
    """The ledger keeps the execution, the value is as before it."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("RESET counter", 0.5) == b"OK 0\n"
        assert client.device.values()["resets"] == 1
        await asyncio.sleep(2)
        assert (client.device.values()["resets"], client.device.values()["counter"]) == (0, 42)

    assert line_bench(scenario, "cmd 1: revert 1.5").ledger.count("RESET counter") == 1


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        (ADJUST, "offset", 16),
        ("SET offset 100", "offset", 99),
        ("TOGGLE relay", "relay", 0),
        ("BEEP", "offset", 10),
    ],
)
def test_another_writer_moves_what_was_just_written(text: str, name: str, after: int) -> None:
    """By one step, up or at the top down; our own effect is the only entry."""

    async def scenario(client: LineClient) -> None:
        await client.ask(text)

    device = line_bench(scenario, "cmd 1: other_writer")
    assert (device.values()[name], len(device.ledger)) == (after, 1)


def test_drifting_value_is_another_at_each_reading() -> None:
    """Two readings never agree, without any command."""

    async def scenario(client: LineClient) -> None:
        assert [await client.ask("GET offset") for _ in range(3)] == [b"OK 11\n", b"OK 12\n", b"OK 13\n"]
        assert await client.ask("GET serial") == b"OK SIM-1\n"

    assert line_bench(scenario, "read *: drift").ledger.entries == ()


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("notice", b"# door open [seq=99] [red]\nOK 15\n"),
        ("foreign", b"OK 777\nOK 15\n"),
        ("echo", b"ADJUST offset +5\nOK 15\n"),
        ("stale_reply", b"OK 10\nOK 15\n"),
        ("duplicate", b"OK 15\nOK 15\n"),
        ("truncate", b"OK "),
        ("notice, drop_ack", b"# door open [seq=99] [red]\n"),
    ],
)
def test_what_comes_instead_of_a_plain_ack(fault: str, seen: bytes) -> None:
    """Byte for byte."""

    async def scenario(client: LineClient) -> None:
        await client.ask("GET offset")
        assert await client.ask(ADJUST) == seen

    assert line_bench(scenario, f"cmd 1: {fault}").ledger.count(ADJUST) == 1


def test_noise_ends_in_a_line_end() -> None:
    """The ack behind the noise stands on a line of its own."""

    async def scenario(client: LineClient) -> None:
        seen = await client.ask(ADJUST)
        assert b"\nOK 15\n" in seen
        assert not seen.startswith(b"OK")
        assert seen.endswith(b"\n")
        assert len(seen) > len(b"\nOK 15\n")

    line_bench(scenario, "cmd 1: junk")


@pytest.mark.parametrize(("fault", "gap_s"), [("split", 0.0), ("trickle 0.05", 0.05)])
def test_bytes_come_one_by_one(fault: str, gap_s: float) -> None:
    """In single bytes at an even pace."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(ADJUST) == b"OK 15\n"
        assert client.times == pytest.approx([k * gap_s for k in range(6)])

    line_bench(scenario, f"cmd 1: {fault}")
