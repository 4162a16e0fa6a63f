"""A plain text device: what it answers, what it executes, and that it never recognises a repeat."""

import asyncio
from pathlib import Path

import pytest

from simulator.equipment import Controller
from simulator.faults import parse
from simulator.ledger import Ledger
from simulator.loop import run
from simulator.state import StateError, StateFile
from simulator.text_device import TextDevice
from tests.simulator.line_bench import ADJUST, LineClient, line_bench


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("SET offset 15", b"OK 15\n"),
        ("BEEP", b"OK\n"),
        ("GET offset", b"OK 10\n"),
        ("GET serial", b"OK SIM-1\n"),
        ("SET offset 999", b"ERR -100 to 100\n"),
        ("GET tea", b"ERR no such value\n"),
        ("GET", b"ERR unknown command\n"),
        ("DANCE", b"ERR unknown command\n"),
        ("set offset 1", b"ERR unknown command\n"),
        (" BEEP", b"ERR unknown command\n"),
        ("", b""),
    ],
)
def test_answers_each_line_with_one_line(text: str, answer: bytes) -> None:
    """OK with the value where there is one, ERR with the reason, nothing to an empty line."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask(text) == answer

    line_bench(scenario)


def test_every_copy_is_executed() -> None:
    """Three copies of one command are three effects, each in the ledger, without numbers."""

    async def scenario(client: LineClient) -> None:
        assert [await client.ask(ADJUST) for _ in range(3)] == [b"OK 15\n", b"OK 20\n", b"OK 25\n"]

    device = line_bench(scenario)
    assert [(entry.n, entry.text, entry.value_after) for entry in device.ledger.entries] == [
        (1, ADJUST, "15"), (2, ADJUST, "20"), (3, ADJUST, "25"),
    ]  # fmt: skip
    assert {(entry.boot, entry.session, entry.seq) for entry in device.ledger.entries} == {(1, None, None)}


def test_refused_commands_are_not_in_the_ledger() -> None:
    """What has no effect has no entry, but it is a copy that was seen."""

    async def scenario(client: LineClient) -> None:
        for text in ("SET offset 999", "DANCE"):
            await client.ask(text)

    device = line_bench(scenario)
    assert (device.ledger.entries, len(device.copies)) == ((), 2)


def test_notes_commands_and_queries_apart() -> None:
    """Copies and reads carry connection, text and time, also where they are lost."""

    async def scenario(client: LineClient) -> None:
        await client.ask(ADJUST)
        await client.ask("GET offset")
        await LineClient(client.device).ask("BEEP")

    device = line_bench(scenario, "cmd 1: drop_request; read 1: drop_request")
    assert [(copy.conn, copy.text, copy.at_s) for copy in device.copies] == [(1, ADJUST, 0), (2, "BEEP", 2)]
    assert [(read.conn, read.text, read.at_s) for read in device.reads] == [(1, "GET offset", 1)]
    assert device.counts == {"connections": 2, "cmd": 2, "read": 1, "drop_request": 2}


@pytest.mark.parametrize("ends", [b"\n", b"\r", b"\r\n", b"\n\n\r"])
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_lines_may_end_in_any_way_and_arrive_in_pieces(ends: bytes, size: int) -> None:
    """CR, LF or both end a request, wherever the bytes are cut."""

    async def scenario(client: LineClient) -> None:
        data = b"BEEP" + ends + b"GET offset" + ends
        for at in range(0, len(data), size):
            client.conn.feed(data[at : at + size])
        assert client.heard == b"OK\nOK 10\n"

    line_bench(scenario)


def test_ends_its_own_lines_as_it_was_told() -> None:
    """With CR and LF also where the request ended in LF, banner and notices included."""

    async def scenario(client: LineClient) -> None:
        await client.ask("GET offset")
        client.device.reboot()
        assert client.heard == b"# door open [seq=99] [red]\r\nOK 10\r\nREADY demo controller\r\n"

    line_bench(scenario, "read 1: notice", eol=b"\r\n", surviving=True)


def test_a_line_too_long_is_lost_as_a_whole() -> None:
    """Neither its beginning nor its end is taken for a command; the next line is."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"x" * 3000)
        client.conn.feed(b"BEEP\nGET offset\n")
        assert client.heard == b"OK 10\n"

    device = line_bench(scenario)
    assert (device.ledger.entries, device.counts["too_long"]) == ((), 1)


def test_bytes_that_are_no_text_are_an_unknown_command() -> None:
    """Noise is answered, executes nothing, and is noted with its bytes replaced."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"\xff\x7f\x00\n")
        assert client.heard == b"ERR unknown command\n"

    device = line_bench(scenario)
    assert [copy.text for copy in device.copies] == ["\ufffd\x7f\x00"]


def test_boot_on_tcp_hangs_up_and_says_nothing() -> None:
    """Nobody hears the banner; volatile values fall back."""

    async def scenario(client: LineClient) -> None:
        other = LineClient(client.device)
        await client.ask("TOGGLE relay")
        client.device.reboot()
        assert (client.cut, other.cut, client.device.connected) == (True, True, 0)
        assert client.heard == b"OK 1\n"
        client.conn.feed(b"BEEP\n")

    device = line_bench(scenario)
    assert (device.values()["relay"], device.boot, device.counts["boots"]) == (0, 2, 1)
    assert len(device.ledger) == 1


def test_boot_on_a_surviving_line_prints_the_banner() -> None:
    """The line goes on; half a request from before is forgotten."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"BE")
        client.device.reboot()
        assert (client.cut, client.heard) == (False, b"READY demo controller\n")
        client.conn.feed(b"EP\n")
        assert await client.ask("GET boots") == b"OK 2\n"

    assert line_bench(scenario, surviving=True).ledger.entries == ()


def test_a_device_made_over_its_files_goes_on(tmp_path: Path) -> None:
    """Durable values, ledger and count of boots outlive the process."""

    def device() -> TextDevice:
        return TextDevice(
            Controller(), ledger=Ledger(tmp_path / "ledger"), state=StateFile(tmp_path / "state")
        )

    async def main() -> None:
        await LineClient(device()).ask(ADJUST)
        second = device()
        client = LineClient(second)
        assert await client.ask("GET offset") == b"OK 15\n"
        assert await client.ask(ADJUST) == b"OK 20\n"
        assert [(entry.n, entry.boot) for entry in second.ledger.entries] == [(1, 1), (2, 2)]
        assert device().boot == 3

    run(main)


def test_the_state_of_an_lsq1_device_is_refused(tmp_path: Path) -> None:
    """A file of the other tongue is no state of this device."""
    state = StateFile(tmp_path / "state")
    state.path.write_text(
        '{"memory": {"tier": 1, "boots": 1, "epoch": 0, "session": 0, "last": 0, "slot": null, "record": null},'
        ' "values": {}, "last": null}'
    )
    with pytest.raises(StateError, match="belongs to a device of tier 1"):
        TextDevice(Controller(), state=state)


def test_another_plan_holds_from_the_next_message_on() -> None:
    """Its counting begins anew."""

    async def scenario(client: LineClient) -> None:
        await client.ask("BEEP")
        client.device.suffer(parse("cmd 1: drop_ack"))
        assert await client.ask("BEEP") == b""

    line_bench(scenario)


def test_observer_hears_of_faults_effects_and_boots() -> None:
    """One word and one line per event."""
    heard: list[str] = []

    async def main() -> None:
        device = TextDevice(
            Controller(),
            plan=parse("cmd 1: reboot_after"),
            observe=lambda word, line: heard.append(f"{word} {line}"),
        )
        LineClient(device).conn.feed(b"ADJUST offset +5\n")
        await asyncio.sleep(0)

    run(main)
    assert heard == ["fault reboot_after at cmd 1", f"command {ADJUST}: OK 15", "boot boot 2"]
