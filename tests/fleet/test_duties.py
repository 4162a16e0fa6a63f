"""Does an agent do its part in the fleet from its registration to its end, and is only what changes told?"""

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from agent.fleet import duties as duties_module
from agent.fleet.agents import Agents, NameTaken
from agent.fleet.changes import Changes
from agent.fleet.facts import AgentState
from agent.fleet.observations import KEEP_S, Observations
from agent.fleet.verdict import Status
from agent.service import Service
from agent.settings import Settings
from devices.problems import UsageProblem
from tests.fleet.crew import gone, locked
from tests.fleet.watch import Watch, at, watch


def state(w: Watch, name: str = "gw1") -> AgentState:
    """What an agent says of its life."""
    return next(each.state for each in Agents(w.services[0]).all() if each.name == name)


def lines(w: Watch) -> list[tuple[str, str | None]]:
    """The log from INFO on: level and text."""
    return [(event.level, event.text) for event in w.events if event.level != "DEBUG"]


# --- the life of a name -----------------------------------------------------------------------------------------------


def test_from_its_registration_to_its_end(quick_home: Path) -> None:
    """An agent is up when its own check has passed, drains when a person wants it to stop, and is down at the end."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        service = w.agent("gw1")
        async with w.duties(service, uplink="isp", probe_s=2.0).on():
            assert state(w) is AgentState.STARTING
            await asyncio.sleep(0.1)
            [me] = Agents(service).all()
            assert (me.state, me.site, me.uplink, me.listens) == (
                AgentState.UP,
                "porto",
                "isp",
                "tcp://gw1:1",
            )
            assert (me.probe_s, me.devices, me.boot) == (2.0, 1, service.holder.instance)
            assert [route.url for route in Agents(service).routes_to("d1")] == ["tcp://d1:1"]
            await asyncio.sleep(35)
            assert Agents(service).lapses().lapsed == frozenset()
            service.executor.give_up("interrupted")
            await asyncio.sleep(1.1)
            assert state(w) is AgentState.DRAINING
            seen = len(w.seen())
            await asyncio.sleep(5)
            assert len(w.seen()) > seen
        assert state(w) is AgentState.DOWN
        assert w.seen()[-1].at_s > Observations(service).now_s() - 3

    watch(quick_home, play)


def test_an_agent_that_is_unwell_does_not_come_up(quick_home: Path, tmp_path: Path) -> None:
    """M3, M4: it stays starting until its ports are there, and is unavailable again when one is unplugged."""
    port = tmp_path / "ttyUSB0"

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        target = at(w.targets[0], f"serial:{port}")
        w.cut.add(("gw1", "d1"))
        async with w.duties(w.agent("gw1"), [target]).on():
            await asyncio.sleep(12)
            assert state(w) is AgentState.STARTING
            assert f"this agent is unwell: port_missing: {port}, which leads to d1" in w.told
            port.touch()
            await asyncio.sleep(10)
            assert state(w) is AgentState.UP
            assert "this agent is well again" in w.told
            port.unlink()
            await asyncio.sleep(62)
            found = w.verdicts().verdicts["agent:gw1"]
            assert (found.status, "port_missing" in found.reason) == (Status.UNAVAILABLE, True)
            port.touch()
            await asyncio.sleep(62)
            assert (
                w.verdicts().verdicts["agent:gw1"].status is Status.HEALTHY
            )  # M28: lifted by the next report

    watch(quick_home, play)


def test_a_name_that_is_taken(quick_home: Path) -> None:
    """The second process under a name hears who has it, before it has done anything."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with w.duties(w.agent("gw1")).on():
            await asyncio.sleep(6)
            dialled = len(w.dialled)
            other = w.agent("gw1")
            with pytest.raises(NameTaken, match="Nothing was sent"):
                async with w.duties(other).on():
                    raise AssertionError
            assert len(w.dialled) == dialled
            assert state(w) is AgentState.UP

    watch(quick_home, play)


def test_a_name_that_is_lost(quick_home: Path) -> None:
    """Who finds its name in another process's hands stops all its duties, says so, and writes no more."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        service = w.agent("gw1", holder=gone("gw1"))
        async with w.duties(service).on():
            await asyncio.sleep(12)
            async with w.duties(w.agent("gw1")).on():
                await asyncio.sleep(10)
                assert any("another process has the agent name gw1 now" in text for text in w.told)
                rows = [row for row in w.seen() if row.boot == service.holder.instance]
                await asyncio.sleep(20)
                assert rows == [row for row in w.seen() if row.boot == service.holder.instance]
                assert state(w) is AgentState.UP
        [mine] = [text for level, text in lines(w) if level == "WARN"]
        assert "its jobs go on" in str(mine)

    watch(quick_home, play)


def test_an_agent_that_was_killed_and_started_again(quick_home: Path) -> None:
    """Under its name it takes up where it was: no change is told of a device that is as it was."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        first = w.duties(w.agent("gw1", holder=gone("gw1")))
        on = first.on()
        await on.__aenter__()
        await asyncio.sleep(20)
        for task in first._tasks:
            task.cancel()
        told = len(w.told)
        await asyncio.sleep(5)
        async with w.duties(w.agent("gw1")).on():
            await asyncio.sleep(30)
            assert w.verdicts().verdicts["device:d1"].status is Status.HEALTHY
        assert w.told[told:] == []
        await on.__aexit__(None, None, None)

    watch(quick_home, play)


def test_an_address_that_is_in_use(quick_home: Path) -> None:
    """Where the agent cannot listen it says so, and its name is free again."""
    import socket

    from agent.address import parse_url

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = parse_url(f"tcp://127.0.0.1:{taken.getsockname()[1]}")

        async def play() -> None:
            service = Service(Settings(quick_home, quick_home, None, None, "gw1", "ana"))
            w = Watch(quick_home)
            with pytest.raises(UsageProblem, match=f"cannot listen at {listen.url}: "):
                async with w.duties(service, [], listen=listen).on():
                    raise AssertionError
            assert Agents(service).all()[0].state is AgentState.DOWN
            service.close()
            w.close()

        asyncio.run(play())


# --- what is told -----------------------------------------------------------------------------------------------------


def test_h13_one_line_for_a_change(quick_home: Path) -> None:
    """H13: a hundred good probes are no line; a change is one of all agents, in the log, to people and in history."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with w.on_duty("gw1", "gw2", "gw3") as services:
            await asyncio.sleep(180)
            assert lines(w) == []
            assert w.told == []
            w.cut |= {(f"gw{n}", "d1") for n in (1, 2, 3)}
            await asyncio.sleep(60)
            w.cut.clear()
            await asyncio.sleep(60)
            history = [c.status for c in Changes(services[0]).history("device:d1", 10)]
        assert Status.UNREACHABLE in history
        assert history[0] is Status.HEALTHY
        texts = [text for _, text in lines(w)]
        assert texts == w.told
        assert len(texts) == len(history) - 1
        assert texts[0] is not None
        assert texts[0].startswith("d1 is shaky (was healthy): gw")
        assert {level for level, _ in lines(w)} == {"INFO"}
        assert {event.device for event in w.events if event.level == "INFO"} == {"d1"}

    watch(quick_home, play)


def test_a_new_device_that_is_bad_is_told(quick_home: Path) -> None:
    """The first verdict on a target is told where it is bad, and only there."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        w.site.lsq("d2")
        w.cut |= {("gw1", "d2")}
        async with w.on_duty("gw1"):
            await asyncio.sleep(30)
        assert w.told[0].startswith("d2 is shaky: ")
        assert not any("d1" in text for text in w.told)

    watch(quick_home, play)


def test_whoever_looks_hears_of_each_judgement(quick_home: Path) -> None:
    """Verdicts of every few seconds are handed on, the first when everything has been probed once."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with w.on_duty("gw1"):
            await asyncio.sleep(6.4)
            assert w.looks == []
            await asyncio.sleep(21)
        assert len(w.looks) == 5
        assert {fleet.verdicts["device:d1"].status for fleet in w.looks} == {Status.HEALTHY}

    watch(quick_home, play)


def test_what_is_not_probed_is_told_once(quick_home: Path) -> None:
    """A device that no probe may touch is named with why when the duties begin."""

    async def play(w: Watch) -> None:
        duties = w.duties(w.agent("gw1"), [])
        duties._watched = replace(
            duties._watched, unprobed=("pump is not probed: opening its port boots it",)
        )
        async with duties.on():
            await asyncio.sleep(20)
        assert w.told == ["pump is not probed: opening its port boots it"]

    watch(quick_home, play)


# --- trouble ----------------------------------------------------------------------------------------------------------


def test_a_store_that_fails_is_told_once(quick_home: Path) -> None:
    """A store that is locked ends no duty and is told once; what was seen meanwhile is written when it works again."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with w.on_duty("gw1") as [service]:
            await asyncio.sleep(12)
            service.database.read("PRAGMA busy_timeout = 0")
            with locked(quick_home):
                await asyncio.sleep(70)
            assert len(w.told) == 1
            assert "database is locked. The duties for the fleet go on when it works again" in w.told[0]
            await asyncio.sleep(12)
            rounds = [row.round for row in w.seen()]
            assert rounds == [*range(rounds[0], rounds[-1] + 1)]
            assert len(rounds) >= 11
            reports = Observations(service).reports()
            assert any("journal: " in report.reason for report in reports)
            assert state(w) is AgentState.UP

    watch(quick_home, play)


def test_old_rows_are_forgotten(quick_home: Path) -> None:
    """Rows that count no more are removed as time goes by."""

    async def play(w: Watch) -> None:
        w.site.lsq("d1")
        async with w.on_duty("gw1", probe_s=50.0) as [service]:
            await asyncio.sleep(2.5 * KEEP_S)
            [(oldest,)] = service.database.read("SELECT min(at) FROM self_report")
            assert Observations(service).now_s() - oldest < KEEP_S + duties_module.PRUNE_S + 1

    watch(quick_home, play)


def test_a_large_fleet_is_judged_less_often(quick_home: Path) -> None:
    """Judging takes no more than a twentieth of the time, however long it takes."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        duties = w.duties(service, [])
        looks_s: list[float] = []

        def slow(*_: object) -> None:
            looks_s.append(service.clock.now_s())
            asyncio.get_running_loop().stand_still(1.0)  # type: ignore[attr-defined]

        duties._look = slow
        async with duties.on():
            await asyncio.sleep(70)
        gaps_s = [b - a for a, b in itertools.pairwise(looks_s)]
        assert len(gaps_s) == 3
        assert all(20 <= gap_s < 22 for gap_s in gaps_s)

    watch(quick_home, play)
