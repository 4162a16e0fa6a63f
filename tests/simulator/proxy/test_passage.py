"""What becomes of messages on their way through the proxy: which bytes, when, and how sides end."""

import asyncio
from collections.abc import Callable

import pytest

from simulator.loop import run
from simulator.proxy.passage import FRAME_MAX, WAITING_MAX
from tests.simulator.modbus_bench import rtu, tcp
from tests.simulator.proxy.ends import Ends, passing, traffic


def test_without_faults_everything_passes_as_it_came() -> None:
    """At once, in both directions, and counted."""

    async def scenario(ends: Ends) -> None:
        assert await ends.ask(b"GET a\n", b"OK 1\n") == (b"GET a\n", b"OK 1\n")

    assert passing(scenario).counts == {"connections": 1, "to": 1, "from": 1, "bytes to": 6, "bytes from": 5}


@pytest.mark.parametrize(
    ("plan", "to", "back"),
    [
        ("to 2: drop", b"", b"ba"),
        ("from 2: drop", b"BA", b""),
        ("from 2: dup", b"BA", b"baba"),
        ("to 2: dup", b"BABA", b"ba"),
        ("from 2: stale", b"BA", b"aaba"),
        ("to 2: stale", b"AABA", b"ba"),
        ("from 2: stale, drop", b"BA", b"aa"),
        ("from 2: junk ff00", b"BA", b"\xff\x00ba"),
        ("from 2: flip", b"BA", b"ca"),
        ("to 2: flip", b"CA", b"ba"),
        ("from 2: trunc 1", b"BA", b"b"),
        ("from 2: replace 00", b"BA", b"\x00"),
        ("from 2: echo", b"BA", b"BAba"),
        ("to 2: echo", b"BA", b"BAba"),
        ("to 2: echo, drop", b"", b"BAba"),
        ("any 3: drop", b"", b"ba"),
        ("from 2: split 1 0.2", b"BA", b"ba"),
    ],
)
def test_bytes_of_the_second_message(plan: str, to: bytes, back: bytes) -> None:
    """The message before it is left in peace; what comes is exactly this."""

    async def scenario(ends: Ends) -> None:
        assert await ends.ask(b"AA", b"aa") == (b"AA", b"aa")
        assert await ends.ask(b"BA", b"ba") == (to, back)

    passing(scenario, plan)


def test_counts_go_on_over_connections() -> None:
    """The second message of all is the first of the second connection."""

    async def main() -> None:
        shared = traffic("from 2: drop")
        for seen in (b"a", b""):
            ends = Ends(shared)
            assert await ends.ask(b"A", b"a") == (b"A", seen)
            ends.passage.client_left()
        assert shared.counts["connections"] == 2

    run(main)


def test_delayed_message_delays_what_follows_it() -> None:
    """The order stays: late answer first, then the one that came in time."""

    async def scenario(ends: Ends) -> None:
        await ends.ask(b"A", b"a", 0.1)
        await ends.ask(b"B", b"b", 0.1)
        await asyncio.sleep(2)
        assert [data for _, data in ends.client.pieces] == [b"a", b"b"]
        assert [at_s for at_s, _ in ends.client.pieces] == pytest.approx([0.8, 0.8])

    passing(scenario, "from 1: delay 0.7")


def test_held_message_is_glued_in_front_of_the_next_one() -> None:
    """Both arrive in one piece; a dropped message does not carry it along."""

    async def scenario(ends: Ends) -> None:
        assert (await ends.ask(b"A", b"a"))[1] == b""
        assert (await ends.ask(b"B", b"b"))[1] == b""
        assert (await ends.ask(b"C", b"c"))[1] == b"ac"
        assert len(ends.client.pieces) == 1

    passing(scenario, "from 1: hold; from 2: drop")


@pytest.mark.parametrize(
    ("fault", "pieces"),
    [
        ("split 2 0.2", [(0.0, b"ab"), (0.2, b"cde")]),
        ("split 9 0.2", [(0.0, b"abcde")]),
        ("trickle 0.1", [(0.0, b"a"), (0.1, b"b"), (0.2, b"c"), (0.3, b"d"), (0.4, b"e")]),
    ],
)
def test_pieces_come_at_their_pace(fault: str, pieces: list[tuple[float, bytes]]) -> None:
    """And what follows waits for the last of them."""

    async def scenario(ends: Ends) -> None:
        ends.passage.device_said(b"abcde")
        ends.passage.device_said(b"X")
        await asyncio.sleep(2)
        assert [data for _, data in ends.client.pieces] == [*(data for _, data in pieces), b"X"]
        assert [at_s for at_s, _ in ends.client.pieces[:-1]] == pytest.approx([at_s for at_s, _ in pieces])

    passing(scenario, f"from 1: {fault}")


def test_freeze_stops_both_directions_and_loses_nothing() -> None:
    """Commands that a client queued before it left are delivered when the path heals, and only then its end."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"ADJUST")
        ends.passage.device_said(b"late")
        await asyncio.sleep(1)
        ends.passage.client_said(b"ADJUST")
        ends.passage.client_left()
        await asyncio.sleep(1.5)
        assert (ends.device.heard, ends.client.heard, ends.device.ended) == (b"", b"", "")
        await asyncio.sleep(1)
        assert (ends.device.heard, ends.device.ended, ends.over) == (b"ADJUSTADJUST", "ended", 1)

    passing(scenario, "to 1: freeze 3")


def test_client_that_resets_takes_its_queued_bytes_with_it() -> None:
    """Nothing is delivered when the path heals."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"ADJUST")
        ends.passage.client_left(reset=True)
        await asyncio.sleep(5)
        assert (ends.device.heard, ends.device.ended, ends.client.ended) == (b"", "reset", "reset")

    passing(scenario, "to 1: freeze 3")


@pytest.mark.parametrize(("fault", "how"), [("cut", "cut"), ("rst", "reset")])
@pytest.mark.parametrize("way", ["to", "from"])
def test_connection_ends_instead_of_the_message(fault: str, how: str, way: str) -> None:
    """Both sides end, the message and what was still under way are lost, later bytes are not heard."""

    async def scenario(ends: Ends) -> None:
        ends.passage.device_said(b"slow")
        speak = ends.passage.client_said if way == "to" else ends.passage.device_said
        if way == "to":
            speak(b"A")
        speak(b"B")
        await asyncio.sleep(2)
        ends.passage.device_said(b"more")
        ends.passage.client_left()
        assert (ends.client.ended, ends.device.ended, ends.over) == (how, how, 1)
        assert ends.client.heard == b"s"
        assert ends.device.heard == (b"A" if way == "to" else b"")

    passing(scenario, f"from 1: trickle 1; {way} 2: {fault}")


def test_sides_end_after_their_last_bytes() -> None:
    """An answer that is still under way reaches the client before the end does."""

    async def scenario(ends: Ends) -> None:
        ends.passage.device_said(b"answer")
        ends.passage.device_left()
        assert ends.client.ended == ""
        await asyncio.sleep(2)
        assert (ends.client.heard, ends.client.ended, ends.device.ended) == (b"answer", "ended", "ended")

    passing(scenario, "from 1: delay 1")


def test_what_is_said_before_the_device_is_reached_waits() -> None:
    """It is delivered as soon as there is somebody to deliver it to."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"A")
        await asyncio.sleep(1)
        ends.passage.reached(ends.device)
        assert ends.device.heard == b"A"

    passing(scenario, reached=False)


@pytest.mark.parametrize("freeze_s", [0.5, 2])
def test_frozen_bytes_wait_for_the_thaw_and_for_the_device(freeze_s: float) -> None:
    """Whichever comes last lets them go."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"A")
        await asyncio.sleep(1)
        ends.passage.reached(ends.device)
        await asyncio.sleep(1.5)
        assert [data for _, data in ends.device.pieces] == [b"A"]
        assert ends.device.pieces[0][0] == pytest.approx(max(1, freeze_s))

    passing(scenario, f"to 1: freeze {freeze_s}", reached=False)


def test_unreachable_device_ends_the_client() -> None:
    """What waited is lost, and it is counted."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"A")
        ends.passage.unreachable("nobody there")
        assert (ends.client.ended, ends.over) == ("ended", 1)

    assert passing(scenario, reached=False).counts["unreachable"] == 1


def test_device_that_is_reached_too_late_is_let_go() -> None:
    """The client has gone in the meantime."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_left(reset=True)
        ends.passage.reached(ends.device)
        assert (ends.device.ended, ends.over) == ("cut", 1)

    passing(scenario, reached=False)


@pytest.mark.parametrize(("frame", "make"), [("mbap", tcp), ("rtu", rtu)])
def test_modbus_frames_are_messages(frame: str, make: Callable[[str], bytes]) -> None:
    """However they arrive, in either direction; noise is a message of its own and passes at once."""

    async def scenario(ends: Ends) -> None:
        ask, answer = make("03 0000 0001"), make("03 02 0000")
        heard = await ends.ask(b"\xff\xff" + ask[:3], answer[:4])
        assert heard == (b"\xff\xff", b"")
        assert await ends.ask(ask[3:] + ask, answer[4:] + answer) == (ask, answer)

    counts = passing(scenario, "to 2: drop; from 1: drop", frame=frame).counts
    assert (counts["to"], counts["from"]) == (3, 2)


@pytest.mark.parametrize(("frame", "end"), [("line", b"\n"), ("cr", b"\r"), ("zero", b"\0")])
def test_frames_make_messages_of_bytes(frame: str, end: bytes) -> None:
    """However the bytes are cut, a message ends with its byte; an unfinished one passes with its sender's end."""

    async def scenario(ends: Ends) -> None:
        for byte in b"one" + end + b"two" + end + b"rest":
            ends.passage.client_said(bytes((byte,)))
        assert ends.device.heard == b"two" + end
        ends.passage.client_left()
        assert ends.device.heard == b"two" + end + b"rest"

    assert passing(scenario, "to 1: drop", frame=frame).counts["to"] == 3


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        ([b"GET a\r", b"GET a\r", b"GET a\r"], 1),
        ([b"GET a\rGET b\n"], 1),
        ([b"GET a\r"], 1),
        ([b"GET a\r", b"\n", b"GET b\r\r\n", b"GET c\r\n"], 0),
        ([b"GET a\n"], 0),
    ],
)
def test_lines_that_end_in_cr_alone_are_told_once(pieces: list[bytes], told: int) -> None:
    """They wait for an LF, which is said with the way out; half of a CRLF is none, and every byte comes."""
    seen: list[str] = []

    async def main() -> None:
        ends = Ends(traffic(frame="line", seen=seen))
        for piece in pieces:
            ends.passage.client_said(piece)
        ends.passage.client_left()
        await asyncio.sleep(1)
        assert ends.device.heard == b"".join(pieces)

    run(main)
    held = "held to: a line ends in CR alone and waits for an LF; --frame cr cuts at CR"
    assert [line for line in seen if line.startswith("held")] == [held] * told


def test_endless_message_passes_as_far_as_it_is_there() -> None:
    """A client that never ends a line does not fill the memory."""

    async def scenario(ends: Ends) -> None:
        ends.passage.client_said(b"x" * (FRAME_MAX + 1))
        assert len(ends.device.heard) == FRAME_MAX + 1

    passing(scenario, frame="line")


def test_too_much_on_its_way_resets_the_connection() -> None:
    """A frozen path takes a limited number of messages."""

    async def scenario(ends: Ends) -> None:
        for _ in range(WAITING_MAX + 2):
            ends.passage.client_said(b"x")
        assert (ends.client.ended, ends.over) == ("reset", 1)

    assert passing(scenario, "to 1: freeze 50").counts["overrun"] == 1


def test_observer_hears_of_messages_and_faults() -> None:
    """Each message with its number and bytes, each fault with its message."""
    seen: list[str] = []

    async def main() -> None:
        ends = Ends(traffic("from 1: drop", seen=seen))
        await ends.ask(b"GET a", b"OK")
        ends.passage.unreachable("gone")

    run(main)
    assert seen == ["to to 1 GET a", "from from 1 OK", "fault drop at from 1", "unreachable gone"]
