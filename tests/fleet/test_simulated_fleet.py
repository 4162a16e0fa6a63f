"""`ackonce simulate fleet`: who is in a world, what a script may say, and what a relay lets through."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from agent.cli.main import run
from devices.problems import FileProblems, UsageProblem
from worlds.fleet.cast import cast_of
from worlds.fleet.relays import ASKED_MAX, Relays, asker_in
from worlds.fleet.script import STORY, Step, read

CAST = cast_of([2, 1], 3)


# --- who is there -----------------------------------------------------------------------------------------------------


def test_agents_of_one_site_share_its_vantage_and_no_uplink() -> None:
    """Each agent has a name, an address and a way out of its own."""
    assert [agent.name for agent in CAST.agents] == ["porto-1", "porto-2", "lisbon-1"]
    assert [agent.site for agent in CAST.agents] == ["porto", "porto", "lisbon"]
    assert len({agent.uplink for agent in CAST.agents}) == 3
    assert len({agent.address for agent in CAST.agents}) == 3


@pytest.mark.parametrize(
    ("who", "whom", "ways"),
    [
        ("porto-1", "device-3", {("porto-1", "device-3")}),
        ("porto", "device-3", {("porto-1", "device-3"), ("porto-2", "device-3")}),
        ("porto-1", "lisbon-1", {("porto-1", "lisbon-1"), ("lisbon-1", "porto-1")}),
        ("porto-1", "porto", {("porto-1", "porto-2"), ("porto-2", "porto-1")}),
    ],
)
def test_ways_between_two(who: str, whom: str, ways: set[tuple[str, str]]) -> None:
    """A site means its agents; agents ask each other, and devices nobody."""
    assert CAST.ways(who, whom) == ways


@pytest.mark.parametrize(
    ("who", "whom", "told"),
    [
        ("device-1", "porto-1", "there is no site or agent 'device-1'"),
        ("porto", "device-9", "there is no device, site or agent 'device-9'. Did you mean"),
        ("lisbon", "lisbon-1", "no way leads from lisbon to lisbon-1"),
    ],
)
def test_there_is_no_such_way(who: str, whom: str, told: str) -> None:
    """What is not there is named, with what may have been meant."""
    with pytest.raises(UsageProblem, match=told):
        CAST.ways(who, whom)


# --- scripts ----------------------------------------------------------------------------------------------------------


def test_the_built_in_story_is_a_script() -> None:
    """It fits the cast that it is played with, and shows what it says it does."""
    verbs = [step.verb for step in read(STORY, cast_of([2, 1, 1], 6))]
    assert verbs.count("cut") == 2
    assert {"heal", "kill", "until", "status", "explain"} <= {*verbs}


def test_a_script_is_read_step_by_step(tmp_path: Path) -> None:
    """Empty lines and comments are nothing; what is said stays as it is typed."""
    text = "# nothing\n\n  cut porto device-1\nsay Now, this.\nheal everything\nuntil everything healthy\nwait 2s\n"
    script = tmp_path / "s.txt"
    script.write_text(text)
    assert read(script, CAST) == (
        Step("cut", ("porto", "device-1")),
        Step("say", ("Now, this.",)),
        Step("heal", ("everything",)),
        Step("until", ("everything", "healthy")),
        Step("wait", ("2s",)),
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cit porto device-1", "unknown step 'cit'. Did you mean 'cut'"),
        ("cut porto", "a step of this kind reads: cut WHO WHOM"),
        ("cut everything", "a step of this kind reads: cut WHO WHOM"),
        ("status now", "a step of this kind reads: status"),
        ("kill porto", "there is no agent 'porto'. Did you mean 'porto-"),
        ("until device-1 fine", "unknown status 'fine'"),
        ("until device-7 healthy", "there is no device or agent 'device-7'"),
        ("show everything", "there is no device or agent 'everything'"),
        ("wait long", "'long' is not a duration"),
    ],
)
def test_what_is_wrong_in_a_script_has_its_line(tmp_path: Path, line: str, told: str) -> None:
    """Nothing is started for a script that cannot be played."""
    script = tmp_path / "s.txt"
    script.write_text(f"status\n{line}\n")
    with pytest.raises(FileProblems) as caught:
        read(script, CAST)
    assert f"{script}:2: {told}" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--agents-per-site", "2,x"], 2, "'2,x' is no number, nor several such as 2,1"),
        (["--agents-per-site", "1,1,1,1"], 2, "is for 4 sites, and there are 3"),
        (["--agents-per-site", "9"], 2, "27 agents are more than 20"),
        (["--agents-per-site", "1"], 2, "the built-in story needs two agents at the first site"),
        (["--cut", "porto"], 2, "'porto' is not WHO:WHOM"),
        (["--cut", "porto:device-9"], 2, "there is no device, site or agent 'device-9'"),
        (["--for", "0s"], 2, "--for: '0s' must be more than 0"),
        (["--probe", "10ms"], 2, "--probe: '10ms' must be at least"),
        (["--script", "/nowhere/s.txt"], 3, "/nowhere/s.txt: cannot be read"),
    ],
)
def test_what_is_typed_wrongly(
    words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with its exit code and a sentence, and nothing is started."""
    assert run(["simulate", "fleet", *words]) == code
    assert told in capsys.readouterr().err


# --- relays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "asker"),
    [
        (b"ACKONCE? 17 porto-1\n", "porto-1"),
        (b"ACKONCE? 17 gw%201\n", "gw 1"),
        (b"ACKONCE? 17 porto-1", None),
        (b"GET / HTTP/1.1\n", None),
        (b"ACKONCE? 17 \xff\n", None),
    ],
)
def test_an_agent_names_itself_in_its_question(asked: bytes, asker: str | None) -> None:
    """That is how a relay that several share knows whose way it is."""
    assert asker_in(asked) == asker


HOST = "127.0.0.1"
HERE_S = 5.0
SILENCE_S = 0.02
"""Long enough for bytes that come to come: all is on one loop."""


class Answerer(asyncio.Protocol):
    """Gives back whatever it is asked; `heard` is all of it."""

    def __init__(self, heard: bytearray) -> None:
        self._heard = heard

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        self._transport.write(data)


class Client:
    """A connection to a relay."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def ask(self, question: bytes) -> None:
        self._writer.write(question)

    async def answer(self) -> bytes:
        """The next line, empty where the connection was ended instead."""
        async with asyncio.timeout(HERE_S):
            with suppress(ConnectionResetError):
                return await self._reader.readline()
        return b""

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Scene:
    """A relay before an answerer."""

    def __init__(self) -> None:
        self.relays = Relays()
        self.heard = bytearray()
        self._clients: list[Client] = []

    async def open(self, asker: str | None) -> None:
        self._server = await asyncio.get_running_loop().create_server(lambda: Answerer(self.heard), HOST, 0)
        self._port = await self.relays.open(HOST, self._server.sockets[0].getsockname(), "answerer", asker)

    async def asked(self, question: bytes) -> Client:
        """A new connection on which something was asked."""
        client = Client(*await asyncio.open_connection(HOST, self._port))
        self._clients.append(client)
        client.ask(question)
        return client

    def nobody_answers(self) -> None:
        self._server.close()

    async def close(self) -> None:
        self.relays.close()
        self._server.close()
        for client in self._clients:
            await client.close()
        await asyncio.sleep(0)


def _play(asker: str | None, plot: Callable[[Scene], Awaitable[None]]) -> None:
    async def play() -> None:
        scene = Scene()
        await scene.open(asker)
        try:
            await plot(scene)
        finally:
            await scene.close()

    asyncio.run(play())


def test_a_cut_is_silent_and_a_connection_that_met_it_never_speaks_again() -> None:
    """What is asked meanwhile never arrives; healed, new connections pass, and those that met the cut end."""

    async def plot(scene: Scene) -> None:
        before = await scene.asked(b"one\n")
        assert await before.answer() == b"one\n"
        scene.relays.cut([("asker", "answerer")])
        before.ask(b"two\n")
        meanwhile = await scene.asked(b"three\n" * ASKED_MAX)
        waiting = [asyncio.ensure_future(each.answer()) for each in (before, meanwhile)]
        done, _ = await asyncio.wait(waiting, timeout=SILENCE_S)
        assert not done
        scene.relays.heal([("asker", "answerer")])
        assert await asyncio.gather(*waiting) == [b"", b""]
        after = await scene.asked(b"four\n")
        assert await after.answer() == b"four\n"
        assert scene.heard == b"one\nfour\n"

    _play("asker", plot)


def test_a_cut_is_of_one_way_where_several_share_a_relay() -> None:
    """Who asks is known from the question; the other asker is answered meanwhile."""

    async def plot(scene: Scene) -> None:
        scene.relays.cut([("one", "answerer")])
        await scene.asked(b"ACKONCE? 1 one\n")
        other = await scene.asked(b"ACKONCE? 1 other\n")
        assert await other.answer() == b"ACKONCE? 1 other\n"
        assert scene.heard == b"ACKONCE? 1 other\n"

    _play(None, plot)


def test_a_relay_before_nobody_ends_the_connection() -> None:
    """A process that is gone is no silence."""

    async def plot(scene: Scene) -> None:
        scene.nobody_answers()
        assert await (await scene.asked(b"one\n")).answer() == b""

    _play("asker", plot)
