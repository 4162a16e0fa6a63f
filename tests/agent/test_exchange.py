"""What ends the wait for an answer, when exactly, and what never does?

The codec of these tests reads lines: `= TEXT` answers, `~ HOW` says that the device is alive, all else is noise.
"""

import asyncio
from typing import Any

import pytest

from agent.deadlines import Deadlines
from agent.exchange import (
    POLL_S,
    READ_ONLY,
    Answer,
    Durable,
    Exchange,
    Held,
    Lost,
    Outcome,
    Silence,
    Warrant,
)
from tests.agent.memory_link import FarEnd, memory_pair
from tests.agent.store_desk import virtual

SILENCE_S = 2.0
BUSY_MAX_S = 60.0


class Lines:
    """A codec that knows whether anything is outstanding."""

    def __init__(self) -> None:
        self.abandoned = 0
        self._rest = b""

    def receive(self, data: bytes) -> list[Any]:
        """Whole lines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode() for line in lines]

    def abandon(self) -> None:
        """Nothing is outstanding any more."""
        self.abandoned += 1


def classify(line: str) -> Answer | Held | None:
    """What a line means."""
    match line[:1]:
        case "=":
            return Answer(line[2:])
        case "~":
            return Held(line[2:], 0.0)
    return None


class Line:
    """An exchange with its far end."""

    def __init__(self, deadlines: Deadlines | None = None) -> None:
        link, self.far = memory_pair()
        self.codec = Lines()
        self.ignored: list[str] = []
        self.bytes: list[tuple[str, bytes]] = []
        self.exchange = Exchange(
            link,
            self.codec,
            deadlines or Deadlines(),
            classify,
            self.ignored.append,
            lambda way, data: self.bytes.append((way, data)),
            busy_max_s=BUSY_MAX_S,
        )

    async def ask(self, warrant: Warrant = READ_ONLY) -> tuple[Outcome, float]:
        """Ask once; the outcome and how long it took."""
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        outcome = await self.exchange.ask(b"?\n", warrant, SILENCE_S)
        return outcome, round(loop.time() - started_s, 4)


def say(far: FarEnd, *script: tuple[float, str]) -> None:
    """Feed lines at moments from now, in seconds."""
    loop = asyncio.get_running_loop()
    for after_s, line in script:
        loop.call_later(after_s, far.feed, line.encode())


def test_an_answer_ends_the_wait_at_once() -> None:
    """One request, one answer; the bytes of both ways are shown, and nothing is abandoned."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (0.25, "= 1"), (0.5, "5\n"))
        assert await line.ask(Durable("number 1")) == (Answer("15"), 0.5)
        assert line.far.frames == [b"?\n"]
        assert line.bytes == [(">", b"?\n"), ("<", b"= 1"), ("<", b"5\n")]
        assert (line.ignored, line.codec.abandoned) == ([], 0)
        say(line.far, (0.1, "= 20\n"))
        assert await line.ask() == (Answer("20"), 0.1)

    virtual(scenario)


def test_silence_is_exact() -> None:
    """Without a word the wait ends at its deadline, to the tick, and the request is abandoned."""

    async def scenario() -> None:
        line = Line()
        assert await line.ask() == (Silence(), SILENCE_S)
        assert line.codec.abandoned == 1

    virtual(scenario)


def test_an_answer_after_the_deadline_is_late() -> None:
    """An answer that comes after the silence answers nothing; it is reported."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (SILENCE_S + 0.01, "= late\n"))
        assert await line.ask() == (Silence(), SILENCE_S)
        await asyncio.sleep(1)
        assert line.ignored == ["= late"]

    virtual(scenario)


def test_junk_neither_ends_nor_extends_the_wait() -> None:
    """What does not concern the request is reported one by one; a trickle of it buys no time."""

    async def scenario() -> None:
        line = Line()
        say(line.far, *((n / 8, f"noise {n}\n" if n % 2 else "no line") for n in range(1, 40)))
        assert await line.ask() == (Silence(), SILENCE_S)
        assert len(line.ignored) == 8
        assert line.exchange.broken is None

    virtual(scenario)


def test_a_connection_is_clean_while_nothing_is_owed() -> None:
    """A new connection and an answered request are clean; a request under way or ended in silence is not."""

    async def scenario() -> None:
        line = Line()
        states = [line.exchange.clean]
        say(line.far, (0.5, "= 15\n"))
        asked = asyncio.ensure_future(line.ask())
        await asyncio.sleep(0.1)
        states.append(line.exchange.clean)
        await asked
        states.append(line.exchange.clean)
        await line.ask()
        states.append(line.exchange.clean)
        assert states == [True, False, True, False]

    virtual(scenario)


def test_only_the_first_answer_counts() -> None:
    """A second answer in the same piece is reported, after whoever waits has taken the first."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (0.1, "noise\n= 15\n= 20\n~ busy\n"))
        outcome, _ = await line.ask()
        assert (outcome, line.ignored) == (Answer("15"), ["noise"])
        await asyncio.sleep(0)
        assert line.ignored == ["noise", "= 20", "~ busy"]

    virtual(scenario)


def test_what_comes_while_nobody_asks_is_reported() -> None:
    """An answer to nothing is no answer to the next request either."""

    async def scenario() -> None:
        line = Line()
        line.far.feed(b"= early\n")
        await asyncio.sleep(0.1)
        assert line.ignored == ["= early"]
        assert await line.ask() == (Silence(), SILENCE_S)

    virtual(scenario)


def test_a_busy_device_gets_more_time() -> None:
    """Every sign of life starts the silence anew; the answer still counts."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (1.5, "~ busy\n"), (3.0, "~ in_progress\n"), (4.5, "= done\n"))
        assert await line.ask() == (Answer("done"), 4.5)

    virtual(scenario)


def test_a_device_that_stays_busy_is_held() -> None:
    """The last sign of life and the time since the first one are told; the request is abandoned."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (1.0, "~ busy\n"), (2.0, "~ in_progress\n"))
        assert await line.ask() == (Held("in_progress", 1.0 + SILENCE_S), 2.0 + SILENCE_S)
        assert line.codec.abandoned == 1
        assert await line.ask() == (Silence(), SILENCE_S)

    virtual(scenario)


def test_a_device_cannot_be_busy_for_ever() -> None:
    """Signs of life put the end off until the limit and no longer, however close they come."""

    async def scenario() -> None:
        line = Line()
        say(line.far, *((0.25 * n, "~ busy\n") for n in range(4, 400)))
        assert await line.ask() == (Held("busy", BUSY_MAX_S), 1.0 + BUSY_MAX_S)

    virtual(scenario)


def test_a_sign_of_life_buys_at_least_one_poll() -> None:
    """Where the silence is short, a busy device is still not asked again at once."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (0.05, "~ busy\n"))
        outcome = await line.exchange.ask(b"?\n", READ_ONLY, 0.1)
        assert isinstance(outcome, Held)
        assert outcome.waited_s == pytest.approx(POLL_S)

    virtual(scenario)


def test_a_lost_link_ends_the_wait_and_all_that_follow() -> None:
    """The wait ends at once with the reason; nothing more is written on a broken connection."""

    async def scenario() -> None:
        line = Line()
        asyncio.get_running_loop().call_later(0.5, line.far.cut, "cable")
        assert await line.ask() == (Lost("cable"), 0.5)
        assert line.codec.abandoned == 1
        assert await line.ask() == (Lost("cable", left=False), 0.0)
        assert len(line.far.frames) == 1

    virtual(scenario)


def test_a_link_that_breaks_in_the_write() -> None:
    """A write that fails is a lost link, not an exception, and leaves nothing waiting."""

    async def scenario() -> None:
        line = Line()
        line.exchange._link.close()
        assert await line.ask() == (Lost("the connection is closed"), 0.0)
        line.exchange.close()
        assert await line.ask() == (Lost("we closed the connection", left=False), 0.0)
        assert line.far.closed

    virtual(scenario)


def test_cancelling_abandons_the_request() -> None:
    """Who stops waiting leaves no request behind; the late answer is reported and the next ask is a new one."""

    async def scenario() -> None:
        line = Line()
        asked = asyncio.ensure_future(line.ask())
        await asyncio.sleep(0.5)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert line.codec.abandoned == 1
        say(line.far, (0.1, "= late\n"))
        assert await line.ask(READ_ONLY) == (Answer("late"), 0.1)

    virtual(scenario)


@pytest.mark.parametrize("warrant", [None, True, "journaled"])
def test_nothing_is_written_without_a_warrant(warrant: Any) -> None:
    """A request needs the journal's intent, the lease's number, or the mark that it only reads."""

    async def scenario() -> None:
        line = Line()
        with pytest.raises(TypeError):
            await line.ask(warrant)
        assert line.far.frames == []
        say(line.far, (0.1, "= 1\n"))
        assert await line.ask() == (Answer("1"), 0.1)

    virtual(scenario)


def test_one_request_at_a_time() -> None:
    """A second request while one is outstanding is a bug, and does not disturb the first."""

    async def scenario() -> None:
        line = Line()
        say(line.far, (0.5, "= 15\n"))
        first = asyncio.ensure_future(line.ask())
        await asyncio.sleep(0.1)
        with pytest.raises(RuntimeError, match="one request at a time"):
            await line.ask()
        assert await first == (Answer("15"), 0.5)
        assert len(line.far.frames) == 1

    virtual(scenario)


@pytest.mark.parametrize("answered", [True, False])
def test_what_nobody_awaits_any_more_is_taken_back(answered: bool) -> None:
    """Closing with a request unanswered drops what has not left: it must not arrive when the line heals."""

    async def scenario() -> None:
        line = Line()
        if answered:
            say(line.far, (0.1, "= 1\n"))
        await line.ask()
        line.exchange.close()
        assert line.far.aborted is not answered

    virtual(scenario)
