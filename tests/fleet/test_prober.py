"""Does an agent see what is there, by the real way, in time, and without standing in anybody's way?"""

import asyncio
import itertools
from collections import Counter
from collections.abc import MutableSequence, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent.fleet import prober as prober_module
from agent.fleet.agents import Agents
from agent.fleet.facts import AgentState, Observation
from agent.fleet.observations import Observations
from agent.fleet.prober import Prober
from agent.fleet.verdict import Status
from agent.service import Service
from simulator.faults import parse
from tests.fleet.crew import full
from tests.fleet.watch import Watch, reasons, running, up, watch


class InPhase(Random):
    """A die that always shows the same."""

    def random(self) -> float:
        return 0.5

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Leave the order."""


# --- the pace ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_phase", [True, False], ids=["in phase", "at random"])
def test_h1_two_agents_and_a_healthy_device(quick_home: Path, in_phase: bool) -> None:
    """H1: two agents that probe one healthy device for ten minutes never say anything else of it."""

    async def play(w: Watch) -> None:
        device = w.site.lsq("d1", "hello *: delay 0.2")
        dice = InPhase() if in_phase else None
        agents = [up(w.agent(name)) for name in ("gw1", "gw2")]
        async with running(*(w.prober(service, random=dice) for service in agents)):
            await asyncio.sleep(10)
            for _ in range(118):
                await asyncio.sleep(5)
                assert w.verdicts().verdicts["device:d1"].status is Status.HEALTHY
        assert 220 <= device.counts["hello"] <= 250
        assert set(device.counts) == {"hello", "connections", "delay"}

    watch(quick_home, play)


def test_h2_pace(quick_home: Path) -> None:
    """H2: a pair is probed 11 to 13 times a minute, its rounds count up, and the intervals differ by a tenth."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with running(w.prober(up(w.agent("gw1")))):
            await asyncio.sleep(60)
        rows = w.seen()
        assert 11 <= len(rows) <= 13
        assert [row.round for row in rows] == [*range(1, len(rows) + 1)]
        gaps_s = [b.at_s - a.at_s for a, b in itertools.pairwise(rows)]
        assert 4.5 <= min(gaps_s) < 4.9 < 5.1 < max(gaps_s) <= 5.51

    watch(quick_home, play)


def test_what_was_seen_last_is_written(quick_home: Path) -> None:
    """An agent that ends writes what it has seen until then."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with running(w.prober(up(w.agent("gw1")))):
            await w.began.wait()
            await asyncio.sleep(0.01)
        assert len(w.seen()) == 1

    watch(quick_home, play)


def test_jitter_differs_between_agents(quick_home: Path) -> None:
    """Agents do not fall into step: each draws its own intervals."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with running(*(w.prober(up(w.agent(name))) for name in ("gw1", "gw2"))):
            await asyncio.sleep(60)
        gaps_s = [
            [b.at_s - a.at_s for a, b in itertools.pairwise(w.seen(name))][:10] for name in ("gw1", "gw2")
        ]
        assert all(abs(a - b) > 1e-6 for a, b in zip(*gaps_s, strict=True))

    watch(quick_home, play)


def test_never_two_in_flight(quick_home: Path) -> None:
    """H2: where an answer takes longer than the interval, the next probe waits for it."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1", "hello *: delay 7")
        most = 0
        async with running(w.prober(up(w.agent("gw1")), [replace(w.targets[0], timeout_s=9.0)])):
            for _ in range(600):
                await asyncio.sleep(0.1)
                most = max(most, len(w.site.working))
        assert most == 1
        assert reasons(w.seen()) == {"ok": 8}
        assert all(row.rtt_s == pytest.approx(7.0) for row in w.seen())

    watch(quick_home, play)


def test_hundreds_are_spread(quick_home: Path) -> None:
    """The first probes of 500 devices spread over the interval, and are written in one batch a second."""

    async def play(w: Watch) -> None:
        w.site.text("d0")
        targets = [replace(w.targets[0], name=f"d{n}", url=f"tcp://d{n}:1") for n in range(500)]
        w.cut |= {("gw1", target.name) for target in targets}
        service = up(w.agent("gw1"))
        prober = w.prober(service, targets)
        batches: list[int] = []
        write = prober._observations.write

        def counted(rows: Sequence[Observation]) -> None:
            batches.append(len(rows))
            write(rows)

        prober._observations.write = counted  # type: ignore[method-assign, assignment]
        async with running(prober):
            await asyncio.sleep(5.0)
        first_s = {name: at_s for at_s, _, name in reversed(w.dialled)}
        per_tenth = Counter(int(at_s * 10) for at_s in first_s.values())
        assert (len(first_s), len(per_tenth)) == (500, 50)
        assert max(per_tenth.values()) <= 12
        assert len(batches) <= 6
        assert sum(batches) == prober.written == len(w.seen()) == len(w.dialled)

    watch(quick_home, play)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_h8_observers_do_not_disturb_each_other(quick_home: Path) -> None:
    """H8, H11: what one agent misses is its own row; the other's are untouched, and the device is but pair-marked."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        agents = [up(w.agent(name)) for name in ("gw1", "gw2")]
        w.cut.add(("gw1", "d1"))
        async with running(*(w.prober(service) for service in agents)):
            await asyncio.sleep(40)
            found = w.verdicts().verdicts["device:d1"]
            assert (found.status, found.pair) == (Status.PAIR_MARKED, ("gw1", "d1"))
            assert (found.fails, found.sees) == (("gw1",), ("gw2",))
            w.cut.clear()
            await asyncio.sleep(6)
            assert (
                w.verdicts().verdicts["device:d1"].status is Status.HEALTHY
            )  # H12: nobody switched it on again
        assert set(reasons(w.seen("gw2"))) == {"ok"}
        assert reasons(w.seen("gw1"))["no_route"] >= 7

    watch(quick_home, play)


def test_a_dead_device_is_marked_within_half_a_minute(quick_home: Path) -> None:
    """H6: two agents call a device that has died unreachable within 30 s of its last answer."""

    async def play(w: Watch) -> None:
        device = w.site.lsq("d1")
        agents = [up(w.agent(name)) for name in ("gw1", "gw2")]
        async with running(*(w.prober(service) for service in agents)):
            await asyncio.sleep(30)
            device.suffer(parse("hello *: drop_request"))
            await asyncio.sleep(30)
            assert w.verdicts().verdicts["device:d1"].status is Status.UNREACHABLE

    watch(quick_home, play)


def test_h8_an_agent_that_was_started_again(quick_home: Path) -> None:
    """A restarted agent begins its rounds anew under a new boot, and is not held to the misses of its former life."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        first = up(w.agent("gw1"))
        w.cut.add(("gw1", "d1"))
        async with running(w.prober(first)):
            await asyncio.sleep(30)
        assert w.verdicts().verdicts["device:d1"].status is Status.PAIR_MARKED
        assert Agents(first).enter(AgentState.DOWN)
        w.cut.clear()
        second = up(w.agent("gw1"))
        async with running(w.prober(second)):
            await asyncio.sleep(6)
            assert w.verdicts().verdicts["device:d1"].status is Status.HEALTHY
        by_boot = {boot: [r.round for r in w.seen() if r.boot == boot] for boot in {r.boot for r in w.seen()}}
        assert all(rounds == [*range(1, len(rounds) + 1)] for rounds in by_boot.values())
        assert by_boot.keys() == {first.holder.instance, second.holder.instance}

    watch(quick_home, play)


def test_a_store_that_fails(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows wait for a store that is full; the oldest of too many are lost, and counted."""
    monkeypatch.setattr(prober_module, "ROWS_MAX", 4)

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        service = up(w.agent("gw1"))
        prober = w.prober(service)
        async with running(prober):
            await asyncio.sleep(7)
            written = prober.written
            assert written >= 1
            kept = prober._observations.write
            prober._observations.write = failing(prober)  # type: ignore[method-assign]
            await asyncio.sleep(40)
            assert prober.written == written
            lost = prober.lost
            assert lost >= 3
            prober._observations.write = kept  # type: ignore[method-assign]
            await asyncio.sleep(2)
            assert written + 4 <= prober.written <= written + 5
        assert prober.lost == lost
        rounds = [row.round for row in w.seen()]
        assert len(rounds) == prober.written
        assert max(rounds) == prober.written + prober.lost

    watch(quick_home, play)


def failing(prober: Prober) -> Any:
    """Writing into a store that is full."""
    write = prober._observations.write

    def attempt(rows: Sequence[Observation]) -> None:
        with full(prober._service):
            write([replace(row, reason="x" * 9_000, round=row.round + 1_000) for row in rows] * 3)

    return attempt


def test_h13_ordinary_probes_are_no_lines(quick_home: Path) -> None:
    """H13: a hundred good probes log nothing; misses are told at debug until they are a failure, and their end."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with running(w.prober(up(w.agent("gw1")))):
            await asyncio.sleep(500)
            assert w.events == []
            w.cut.add(("gw1", "d1"))
            await asyncio.sleep(100)
            w.cut.clear()
            await asyncio.sleep(100)
        assert {event.level for event in w.events} == {"DEBUG"}
        texts = [(event.text or "").partition(": ")[2] for event in w.events]
        assert texts[0].endswith("no_route, 1 in a row")
        assert texts[4].endswith("no_route, 5 in a row")
        assert len(texts) == 6
        assert "seen again after" in texts[5]

    watch(quick_home, play)


# --- other agents -----------------------------------------------------------------------------------------------------


def listening(w: Watch, name: str) -> Service:
    """An agent that is up and answers at its name, port 1."""
    from agent.fleet.endpoint import Endpoint

    service = w.agent(name)
    Agents(service).register(
        site="", vantage="", uplink="", listens=f"tcp://{name}:1", probe_s=5.0, routes={}
    )
    assert Agents(service).enter(AgentState.UP)
    w.endpoints[name, 1] = Endpoint(name, service.holder.instance)
    return service


def test_agents_probe_each_other(quick_home: Path) -> None:
    """M6: each agent that is up and has an address is probed by all others; a cut is seen where it is, within 30 s."""

    async def play(w: Watch) -> None:
        agents = [listening(w, name) for name in ("a", "b", "c")]
        async with running(*(w.prober(service, []) for service in agents)):
            await asyncio.sleep(20)
            pairs = {(row.observer, row.target): row.ok for row in w.seen()}
            others = [(x, f"agent:{y}") for x in "abc" for y in "abc" if x != y]
            assert pairs == dict.fromkeys(others, True)
            w.cut.add(("a", "b"))
            for _ in range(3):
                await asyncio.sleep(9)
                for service in agents:
                    Agents(service).heartbeat()
            found = w.verdicts().verdicts
            assert (found["agent:b"].status, found["agent:b"].pair) == (Status.PAIR_MARKED, ("a", "b"))
            assert found["agent:a"].fails == found["agent:c"].fails == ()

    watch(quick_home, play)


def test_agents_come_and_go(quick_home: Path) -> None:
    """An agent that comes up is probed soon, one that stops is left in peace."""

    async def play(w: Watch) -> None:
        first = listening(w, "a")
        async with running(w.prober(first, [])):
            await asyncio.sleep(10)
            assert w.seen() == []
            second = listening(w, "b")
            await asyncio.sleep(12)
            assert reasons(w.seen())["ok"] >= 1
            Agents(second).enter(AgentState.DOWN)
            await asyncio.sleep(6)
            known = len(w.seen())
            await asyncio.sleep(20)
            assert len(w.seen()) == known

    watch(quick_home, play)


def test_an_impostor(quick_home: Path) -> None:
    """What answers at an agent's address under another name, or as a former life of it, is not that agent."""

    async def play(w: Watch) -> None:
        from agent.fleet.endpoint import Endpoint

        first = listening(w, "a")
        second = listening(w, "b")
        for impostor in (Endpoint("c", second.holder.instance), Endpoint("b", "former")):
            w.endpoints["b", 1] = impostor
            async with running(w.prober(first, [])):
                await asyncio.sleep(6)
        assert set(reasons(w.seen())) == {"wrong_device"}

    watch(quick_home, play)


def test_observations_are_of_this_boot(quick_home: Path) -> None:
    """Rows carry the observer's boot and the store's time."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        service = up(w.agent("gw1"))
        async with running(w.prober(service)):
            await asyncio.sleep(6)
        rows = w.seen()
        now_s = Observations(service).now_s()
        assert all(now_s - 6 <= row.at_s <= now_s for row in rows)
        assert {(row.observer, row.boot) for row in rows} == {("gw1", service.holder.instance)}

    watch(quick_home, play)
