"""Do agents answer each other, and nobody else?"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.fleet import endpoint as endpoint_module
from agent.fleet.endpoint import (
    CLIENTS_MAX,
    LINE_MAX,
    PATIENCE_S,
    Client,
    Endpoint,
    Peer,
    answer_in,
    answer_to,
    ask,
    question,
)
from agent.fleet.looks import Seen
from agent.links.link import Link, LinkLost, Receiver
from agent.links.tcp import open_tcp
from simulator.loop import run
from tests.fleet.watch import refused

BOOT = "3f9ac41b22d07e65"
PEER = Peer("b", BOOT, "b", 1)


def test_the_words() -> None:
    """The lines are the ones that are written down."""
    assert question(17, "gw 2") == b"ACKONCE? 17 gw%202\n"
    assert answer_to(b"ACKONCE? 17 gw%202\n", "gw 1", BOOT) == b"ACKONCE gw%201 3f9ac41b22d07e65 17\n"
    assert answer_in(b"ACKONCE gw%201 3f9ac41b22d07e65 17") == ("gw 1", BOOT, 17)


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    number=st.integers(0, 2**63 - 1),
)
@settings(max_examples=30)
def test_any_name_and_round_come_through(name: str, number: int) -> None:
    """Whatever a name is made of, an answer names it and the round that was asked."""
    line = answer_to(question(number, name), name, BOOT)
    assert line is not None
    assert (line.count(b"\n"), answer_in(line)) == (1, (name, BOOT, number))


@pytest.mark.parametrize(
    "line",
    [
        b"", b"ACKONCE?", b"ACKONCE? 1", b"ACKONCE? x gw1", b"ACKONCE? -1 gw1", b"ACKONCE? 1 gw1 more",
        b"ackonce? 1 gw1", b"GET / HTTP/1.1", b"\xff\xfe", b"ACKONCE? " + b"9" * 400 + b" gw1", b"ACKONCE? 1 ",
        b"ACKONCE gw1 3f9ac41b22d07e65 1",
    ],
)  # fmt: skip
def test_anything_else_is_no_question(line: bytes) -> None:
    """What is not the question word for word gets no answer."""
    assert answer_to(line, "gw1", BOOT) is None


@given(st.binary(max_size=80))
@settings(max_examples=50)
def test_bytes_of_strangers(data: bytes) -> None:
    """No bytes make the codec fail."""
    answer_to(data, "gw1", BOOT)
    answer_in(data)


# --- asking -----------------------------------------------------------------------------------------------------------


class Script(Link):
    """A link on which these answers come, each some seconds after the question; None ends the stream."""

    def __init__(self, *answers: tuple[float, bytes | None], broken: bool = False) -> None:
        self._answers, self._broken = answers, broken
        self._receiver: Receiver | None = None
        self.written = b""
        self.closed = False

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def write(self, data: bytes) -> None:
        if self._broken:
            raise LinkLost("gone")
        self.written += data
        for after_s, answer in self._answers:
            asyncio.get_running_loop().call_later(after_s, self._arrive, answer)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - there is no driver
        self._receiver, self.closed = None, True

    def _arrive(self, answer: bytes | None) -> None:
        if self._receiver is None:
            return
        if answer is None:
            self._receiver.lost("closed")
        else:
            self._receiver.heard(answer)


def asked(link: Script, round_: int = 8) -> tuple[Seen, float]:
    """What a question came to, and after how many seconds."""

    async def play() -> tuple[Seen, float]:
        loop = asyncio.get_running_loop()

        async def reach(*_: object) -> Link:
            return link

        seen = await ask(PEER, "a", round_, loop.time, reach)
        assert link.closed
        return seen, loop.time()

    return run(play)


def said(name: str = "b", boot: str = BOOT, round_: int = 8) -> bytes:
    """An answer."""
    return f"ACKONCE {name} {boot} {round_}\n".encode()


@pytest.mark.parametrize(
    ("answers", "seen", "took_s"),
    [
        ([(0.2, said())], Seen(True, rtt_s=0.2), 0.2),
        ([(0.1, said()[:9]), (0.3, said()[9:])], Seen(True, rtt_s=0.3), 0.3),
        ([], Seen(False, "no_reply"), PATIENCE_S),  # H9: it accepts connections and hangs
        ([(0.1, None)], Seen(False, "no_reply"), 0.1),
        ([(0.1, said(round_=7))], Seen(False, "no_reply"), PATIENCE_S),  # H3
        ([(0.1, said(round_=7)), (0.5, said())], Seen(True, rtt_s=0.5), 0.5),
        ([(0.1, b"SSH-2.0-x\r\n")], Seen(False, "bad_frame"), 0.1),
        ([(0.1, b"x" * (LINE_MAX + 1))], Seen(False, "bad_frame"), 0.1),
        ([(0.1, said(name="c"))], Seen(False, "wrong_device"), 0.1),
        ([(0.1, said(boot="00aa"))], Seen(True, rtt_s=0.1), 0.1),
    ],
)
def test_h3_an_answer_closes_its_round_only(
    answers: Sequence[tuple[float, bytes | None]], seen: Seen, took_s: float
) -> None:
    """H3: only the answer of this agent, of this life of it, to this round, is a success; an older one ends no wait."""
    link = Script(*answers)
    found, after_s = asked(link)
    assert (found.ok, found.reason) == (seen.ok, seen.reason)
    assert found.rtt_s == pytest.approx(seen.rtt_s)
    assert after_s == pytest.approx(took_s)
    assert link.written == question(8, "a")


def test_no_way_to_an_agent() -> None:
    """A closed port is refused; a stream that breaks before the question is no reply."""

    async def play() -> Seen:
        async def reach(*_: object) -> Link:
            raise refused("b")

        return await ask(PEER, "a", 1, asyncio.get_running_loop().time, reach)

    assert run(play) == Seen(False, "refused")
    assert asked(Script(broken=True))[0] == Seen(False, "no_reply")


# --- answering --------------------------------------------------------------------------------------------------------


class Wire(asyncio.Transport):
    """The other end of a client's connection."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.ended: str | None = None
        self.client: Client | None = None

    def write(self, data: Any) -> None:
        self.said += bytes(data)

    def close(self) -> None:
        self._end("closed")

    def abort(self) -> None:
        self._end("aborted")

    def _end(self, how: str) -> None:
        self.ended = self.ended or how
        if self.client is not None:
            self.client.connection_lost(None)


def connect(endpoint: Endpoint) -> Wire:
    """Somebody connects."""
    wire = Wire()
    wire.client = endpoint.client()
    wire.client.connection_made(wire)
    return wire


def hear(wire: Wire, data: bytes) -> Wire:
    """Bytes arrive."""
    assert wire.client is not None
    wire.client.data_received(data)
    return wire


def ended(wire: Wire) -> str | None:
    """How a connection ended, None while it stands."""
    return wire.ended


def test_strangers() -> None:
    """Whoever asks something else, or too much, is sent away without a word; one that says nothing, after a while."""

    async def play() -> None:
        endpoint = Endpoint("b", BOOT)
        for data in (b"GET / HTTP/1.1\r\n", b"x" * (LINE_MAX + 1), b"x" * LINE_MAX + b"xx\n", b"\n"):
            wire = hear(connect(endpoint), data)
            assert (wire.said, wire.ended) == (b"", "aborted")
        silent = connect(endpoint)
        hear(silent, b"ACKONCE? 1")
        await asyncio.sleep(PATIENCE_S - 0.1)
        assert ended(silent) is None
        await asyncio.sleep(0.2)
        assert (silent.said, ended(silent)) == (b"", "aborted")

    run(play)


def test_a_question_in_pieces_and_one_too_many() -> None:
    """A question may come in pieces; what follows it on the connection is not heard."""

    async def play() -> None:
        wire = connect(Endpoint("b", BOOT))
        hear(wire, b"ACKONCE? 1")
        hear(wire, b"7 a\nACKONCE? 18 a\n")
        assert (wire.said, wire.ended) == (said(round_=17), "closed")

    run(play)


def test_too_many_clients() -> None:
    """Of those that stay and say nothing only so many are served; who leaves makes room."""

    async def play() -> None:
        endpoint = Endpoint("b", BOOT)
        wires = [connect(endpoint) for _ in range(CLIENTS_MAX)]
        assert connect(endpoint).ended == "aborted"
        assert all(wire.ended is None for wire in wires)
        wires[0].close()
        assert hear(connect(endpoint), question(1, "a")).said == said(round_=1)
        endpoint.close()
        assert all(wire.ended is not None for wire in wires)

    run(play)


def test_on_a_real_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over TCP many are answered beside one that hangs, and nobody after it was closed."""
    monkeypatch.setattr(endpoint_module, "PATIENCE_S", 5.0)

    async def play() -> tuple[list[Seen], Seen]:
        loop = asyncio.get_running_loop()
        endpoint = Endpoint("b", BOOT)
        port = await endpoint.open("127.0.0.1", 0)
        peer = Peer("b", BOOT, "127.0.0.1", port)
        hanging = await open_tcp("127.0.0.1", port, 1.0)
        hanging.write(b"ACKONCE? ")
        seen = await asyncio.gather(*(ask(peer, f"a{n}", n, loop.time, open_tcp) for n in range(20)))
        endpoint.close()
        hanging.close()
        return [*seen], await ask(peer, "a", 1, loop.time, open_tcp)

    seen, after = asyncio.run(play())
    assert all(each.ok for each in seen)
    assert after.reason == "refused"
