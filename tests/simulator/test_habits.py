"""How devices of both tongues treat their connections: slots, idle ends, deafness, greeting, boots, echo."""

import asyncio
from functools import partial
from typing import Any

import pytest

from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.faults import parse
from simulator.habits import Habits
from simulator.loop import run
from tests.simulator.bench import Client
from tests.simulator.line_bench import LineClient, line_bench


def test_one_connection_more_than_slots_is_ended() -> None:
    """The one that is served goes on; a slot is free again once its client has gone."""

    async def scenario(client: LineClient) -> None:
        second = LineClient(client.device)
        assert await second.ask("BEEP") == b""
        assert (second.cut, client.cut, client.device.connected) == (True, False, 1)
        assert await client.ask("GET offset") == b"OK 10\n"
        second.conn.closed()
        client.conn.closed()
        assert await LineClient(client.device).ask("GET offset") == b"OK 10\n"

    device = line_bench(scenario, habits=Habits(slots=1))
    assert (device.ledger.entries, device.counts["refused"], device.counts["connections"]) == ((), 1, 3)


def test_silent_connection_is_ended() -> None:
    """Each byte from the client begins the time anew; answers do not."""

    async def scenario(client: LineClient) -> None:
        await asyncio.sleep(9)
        await client.ask("GET offset", 9)
        assert not client.cut
        await asyncio.sleep(1.5)
        assert client.cut

    assert line_bench(scenario, habits=Habits(idle_close_s=10)).connected == 0


def test_closed_connection_is_not_ended_again() -> None:
    """Its time stops with it."""

    async def scenario(client: LineClient) -> None:
        client.conn.feed(b"BEEP\n")
        client.conn.closed()
        await asyncio.sleep(60)
        assert not client.cut

    line_bench(scenario, habits=Habits(idle_close_s=10))


def test_deaf_device_loses_what_comes_too_soon() -> None:
    """Bytes in the first seconds are gone, also half a line; later ones count."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("BEEP", 1.5) == b""
        client.conn.feed(b"GET off")
        await asyncio.sleep(1)
        assert await client.ask("BEEP") == b"OK\n"

    assert len(line_bench(scenario, habits=Habits(deaf_s=2)).copies) == 1


def test_greets_everybody_who_opens() -> None:
    """The greeting is there before anything was asked."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("") == b"Welcome\r\n"
        assert await LineClient(client.device).ask("") == b"Welcome\r\n"

    line_bench(scenario, habits=Habits(greeting=b"Welcome\r\n"))


def test_opening_boots_the_board_and_the_connection_survives() -> None:
    """Volatile values are gone; deaf at first, then banner and greeting, then it answers."""
    habits = Habits(opening_boots=True, deaf_s=2, greeting=b"hi\n")

    async def scenario(client: LineClient) -> None:
        assert await client.ask("TOGGLE relay", 1.5) == b""
        await asyncio.sleep(1)
        assert (client.heard, client.times) == (b"READY demo controller\nhi\n", [2.0])
        assert await client.ask("TOGGLE relay") == b"OK 1\n"
        again = LineClient(client.device)
        await asyncio.sleep(3)
        assert await again.ask("GET relay") == b"OK 0\n"

    assert line_bench(scenario, habits=habits).counts["boots"] == 2


def test_line_that_lies_there_is_not_open_before_somebody_opens_it() -> None:
    """Every opening boots the board, the connection itself does not."""

    async def scenario(client: LineClient) -> None:
        assert client.device.boot == 1
        client.device.opened(client.conn)
        client.device.opened(client.conn)
        assert client.device.boot == 3

    line_bench(scenario, opened=False, surviving=True, habits=Habits(opening_boots=True))


def test_echo_comes_first_and_also_without_an_answer() -> None:
    """Whatever goes in comes back at once, even where the request is lost."""

    async def scenario(client: LineClient) -> None:
        assert await client.ask("BEEP") == b"BEEP\nOK\n"
        assert await client.ask("BEEP") == b"BEEP\n"
        client.conn.feed(b"BE")
        assert client.heard.endswith(b"BEEP\nBE")

    line_bench(scenario, "cmd 2: drop_request", echo=True)


def lsq(**settings: Any) -> SimulatedDevice:
    """An LSQ1 device on a line that outlives boots."""
    return SimulatedDevice(Controller(), hangs_up_on_boot=False, **settings)


def test_lsq1_on_a_line_that_outlives_boots() -> None:
    """After the boot the same connection meets a device without the session, under a new boot_id."""

    async def main() -> None:
        device = lsq()
        client = Client(device)
        session, boot_id = await client.open(), device.boot_id
        device.reboot()
        assert not client.cut
        reply = await client.command(session, 1)
        assert reply is not None
        assert reply.boot_id == device.boot_id != boot_id
        assert device.ledger.entries == ()

    run(main)


def test_boot_of_a_frozen_device_lets_the_surviving_line_speak() -> None:
    """The freeze is over with the boot, for what leaves as well."""

    async def main() -> None:
        device = lsq()
        client = Client(device)
        device.suffer(parse("hello 1: freeze 50"))
        assert await client.hello() is None
        device.reboot()
        assert await client.hello() is not None

    run(main)


def test_lsq1_echo_is_ignored_by_a_client_that_knows_directions() -> None:
    """The request comes back whole before the answer."""

    async def main() -> None:
        client = Client(lsq(echo=True))
        assert await client.read() == "10"
        assert client.ignored() == ["echo"]

    run(main)


@pytest.mark.parametrize("slots", [1, 3])
def test_slots_hold_for_lsq1_too(slots: int) -> None:
    """The connection beyond them is ended."""

    async def main() -> None:
        device = lsq(habits=Habits(slots=slots))
        ended: list[int] = []
        for number in range(slots + 1):
            device.connect(lambda _: None, partial(ended.append, number))
        await asyncio.sleep(0)
        assert ended == [slots]

    run(main)
