"""Which agents are there, who has which name, and which of them lead to a device?"""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent.fleet.agents import Agent, Agents, Lapses, NameTaken, Route, lapses
from agent.fleet.facts import AgentState
from agent.leases import LEASE_S
from agent.processes import Holder, this_process
from agent.service import Service
from agent.store import sqlite
from agent.store.database import StoreError
from tests.fleet.crew import START, crew, elsewhere, full, gone, locked, register

S = AgentState


def agents_of(service: Service) -> list[str]:
    """The agents that lead to the pump."""
    return [route.agent for route in Agents(service).routes_to("pump")]


# --- registering ----------------------------------------------------------------------------------------------------


def test_an_agent_registers(quick_home: Path) -> None:
    """V32, V35: what an agent said of itself is what every other one reads; it is `starting` until its own check."""
    with crew(quick_home) as them:
        one, two = them.agent("gw1"), them.agent("gw2")
        Agents(one).register(
            site="north", vantage="x", uplink="dsl", listens="tcp://10.0.0.1:7077", probe_s=30.0,
            routes={"pump": "tcp://10.1.0.7:7000", "fan": "tcp://10.1.0.8:7000"},
        )  # fmt: skip
        [read] = Agents(two).all()
        assert read == Agent(
            name="gw1", boot=one.holder.instance, holder=one.holder, site="north", vantage="x", uplink="dsl",
            listens="tcp://10.0.0.1:7077", probe_s=30.0, state=S.STARTING, heartbeat_s=START.timestamp(),
            started_utc="2026-11-29T22:00:00.000Z", devices=2,
        )  # fmt: skip


def test_states_only_go_on(quick_home: Path) -> None:
    """From starting over up and draining to down, never back; each step is said only where it is true."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        register(service)
        agents = Agents(service)
        for state in (S.UP, S.UP, S.DRAINING, S.DRAINING, S.DOWN, S.DOWN):
            assert agents.enter(state)
            assert agents.all()[0].state is state
            assert agents.heartbeat()
        assert not agents.enter(S.DRAINING)
        assert not agents.enter(S.UP)
        assert agents.all()[0].state is S.DOWN


def test_an_agent_that_starts_may_stop(quick_home: Path) -> None:
    """V32: one whose own check never passes drains and goes down without having been up."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        register(service)
        assert Agents(service).enter(S.DRAINING)
        assert not Agents(service).enter(S.UP)


def test_a_route_leads_through_agents_that_are_up(quick_home: Path) -> None:
    """V30, V34: who starts, drains or has stopped leads nowhere; nor do the routes of a former process of the name."""
    with crew(quick_home) as them:
        one, two = them.registered("gw1"), them.agent("gw2")
        register(two)
        route = Route("gw1", "pump", "tcp://pump:1")
        assert Agents(two).routes_to("pump") == [route]
        assert Agents(two).routes_to("fan") == []
        Agents(two).enter(S.UP)
        assert Agents(one).routes_to("pump") == [route, replace(route, agent="gw2")]
        Agents(one).enter(S.DRAINING)
        assert agents_of(two) == ["gw2"]
        Agents(one).enter(S.DOWN)
        assert agents_of(two) == ["gw2"]
        register(three := them.agent("gw1"), ("fan",))
        Agents(three).enter(S.UP)
        assert agents_of(two) == ["gw2"]
        assert [each.agent for each in Agents(two).routes_to("fan")] == ["gw1"]


# --- a name taken twice ---------------------------------------------------------------------------------------------

NAMES: list[tuple[str, Callable[[str], Holder], S, float, bool]] = [
    ("lives, as the heartbeat says too", this_process, S.UP, 0.0, False),
    ("lives, still starting", this_process, S.STARTING, 0.0, False),
    ("lives, draining", this_process, S.DRAINING, 0.0, False),
    ("lives, though no heartbeat gets through", this_process, S.UP, 3600.0, False),
    ("lives, and has stopped serving", this_process, S.DOWN, 0.0, True),
    ("ended a moment ago", gone, S.UP, 0.0, True),
    ("ended a moment ago, starting", gone, S.STARTING, 0.0, True),
    ("another machine, heard of just now", elsewhere, S.UP, 0.0, False),
    ("another machine, heard of within its time", elsewhere, S.UP, 29.9, False),
    ("another machine, lapsed", elsewhere, S.UP, 30.0, True),
    ("another machine, stopped", elsewhere, S.DOWN, 0.0, True),
]


@pytest.mark.parametrize(
    ("holder", "state", "silent_s", "free"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES]
)
def test_a_name_has_one_process(
    holder: Callable[[str], Holder], state: S, silent_s: float, free: bool, quick_home: Path
) -> None:
    """V35: a name that somebody has is refused, with who and since when; of a process that ended it is free at once."""
    with crew(quick_home) as them:
        first, second = them.agent("gw1", holder=holder("gw1")), them.agent("gw1")
        register(first)
        if state is not S.STARTING:
            Agents(first).enter(state)
        them.clock.pass_s(silent_s)
        before = Agents(first).all()
        if free:
            register(second)
            assert not Agents(first).heartbeat()
            assert not Agents(first).enter(S.DOWN)
            [now] = Agents(second).all()
            assert (now.boot, now.state) == (second.holder.instance, S.STARTING)
            assert Agents(second).heartbeat()
        else:
            with pytest.raises(NameTaken) as refused:
                register(second, ("fan",))
            assert (refused.value.holder, refused.value.since) == (
                first.holder,
                "2026-11-29T22:00:00.000Z",
            )
            assert Agents(second).all() == before
            assert not Agents(second).heartbeat()
            assert Agents(first).heartbeat()
            assert Agents(first).routes_to("fan") == []


def test_who_has_the_name_is_said(quick_home: Path) -> None:
    """The refusal names pid, host and begin, that nothing was sent, and both ways out."""
    with crew(quick_home) as them:
        register(them.agent("gw1"))
        with pytest.raises(NameTaken) as refused:
            register(them.agent("gw1"))
        assert str(refused.value) == (
            f"the agent name gw1 is taken by process {os.getpid()} on {this_process().host} since "
            "2026-11-29T22:00:00.000Z. Nothing was sent. Stop that one, or give this one a name of its own: agent in "
            "ackonce.toml, or ACKONCE_AGENT"
        )


def test_one_process_may_register_again(quick_home: Path) -> None:
    """A process whose write failed, nobody knows how far, takes its own name again."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        register(service, ("fan",))
        assert [(each.state, each.devices) for each in Agents(service).all()] == [(S.STARTING, 1)]


def test_of_many_at_the_same_moment_one_gets_the_name(quick_home: Path) -> None:
    """Four processes that begin together: one has the name, three are refused."""
    gate, got = threading.Barrier(4), list[object]()
    with crew(quick_home) as them:
        register(them.agent("other"))  # the store is made

        def begin() -> None:
            with crew(quick_home) as mine:
                service = mine.agent("gw1")
                gate.wait()
                try:
                    register(service)
                    got.append(service.holder.instance)
                except NameTaken as refused:
                    got.append(refused.holder.instance)

        threads = [threading.Thread(target=begin) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 4
        assert {each.boot for each in Agents(them.agent("looks")).all() if each.name == "gw1"} == set(got)


# --- silence --------------------------------------------------------------------------------------------------------


def test_an_agent_lapses_by_the_stores_clock(quick_home: Path) -> None:
    """V33: without a heartbeat for 30 s an agent leads nowhere, not earlier, whatever the wall clock does meanwhile."""
    with crew(quick_home) as them:
        one, two = them.registered("gw1"), them.registered("gw2")
        them.clock.wall += timedelta(hours=1)
        them.clock.pass_s(29.9)
        Agents(two).heartbeat()
        assert agents_of(two) == ["gw1", "gw2"]
        them.clock.pass_s(0.1)
        assert agents_of(two) == ["gw2"]
        assert Agents(two).lapses() == Lapses(frozenset({"gw1"}), frozenset(), None)
        assert Agents(one).heartbeat()
        assert agents_of(two) == ["gw1", "gw2"]


def an_agent(name: str, silent_s: float, state: S = S.UP) -> Agent:
    """An agent that was heard of so long before the moment 1000."""
    return Agent(
        name=name, boot="b", holder=this_process(name), site="", vantage="", uplink="", listens=None, probe_s=5.0,
        state=state, heartbeat_s=1000.0 - silent_s, started_utc="", devices=1,
    )  # fmt: skip


MASSES: list[tuple[str, list[float], str, str]] = [
    ("nobody is silent", [0, 29.9, 10], "", ""),
    ("one of one", [30], "a", ""),
    ("one of three: at least two make a mass", [30, 0, 0], "a", ""),
    ("two of two", [30, 50], "", "ab"),
    ("two of six", [30, 90, 0, 0, 0, 0], "", "ab"),
    ("two of six, more than a minute apart", [30, 90.1, 0, 0, 0, 0], "ab", ""),
    ("two of thirteen are 15.4 %", [40, 40, *[0] * 11], "", "ab"),
    ("two of fourteen are 14.3 %", [40, 40, *[0] * 12], "ab", ""),
    ("three of twenty are 15 %, which is not more", [40, 40, 40, *[0] * 17], "abc", ""),
    ("who lapsed long before is not held back by it", [500, 40, 45, 0, 0], "a", "bc"),
    ("nor does it count among those that were there", [500, 500.1, 500.2, 40, 45, *[0] * 9], "", "abcde"),
    ("it stays so while they are silent", [5000, 5010, 0, 0, 0], "", "ab"),
    ("nobody is removed meanwhile, one alone neither", [5000, 5010, 300, 0, 0], "", "abc"),
]


@pytest.mark.parametrize(
    ("silent", "lapsed", "kept"), [row[1:] for row in MASSES], ids=[row[0] for row in MASSES]
)
def test_a_mass_lapse_removes_nobody(silent: list[float], lapsed: str, kept: str) -> None:
    """More than 15 %, and at least two, that fall silent within a minute: one alarm, and nobody is removed."""
    them = [
        an_agent(name, each) for name, each in zip("abcdefghijklmnopqrst"[: len(silent)], silent, strict=True)
    ]
    for order in (them, them[::-1]):
        found = lapses(order, 1000.0, 30.0)
        assert (found.lapsed, found.kept) == (frozenset(lapsed), frozenset(kept))
        assert (found.alarm is not None) == bool(kept)


def test_those_long_gone_are_not_counted() -> None:
    """Two of four that were there are a mass lapse, however many were lost one by one before."""
    before = [an_agent(f"old{n}", 1000 + 100 * n) for n in range(20)]
    found = lapses([*before, *map(an_agent, "abcd", (40, 41, 0, 0))], 1000.0, 30.0)
    assert (found.lapsed, found.kept) == (frozenset(each.name for each in before), frozenset("ab"))


def test_who_has_stopped_is_not_silent() -> None:
    """V34: agents that said that they go down are neither lapsed nor part of a mass."""
    them = [an_agent("a", 500, S.DOWN), an_agent("b", 501, S.DOWN), an_agent("c", 502), an_agent("d", 0)]
    assert lapses(them, 1000.0, 30.0) == Lapses(frozenset("c"), frozenset(), None)


def test_the_alarm_of_a_mass_lapse() -> None:
    """One sentence with how many, who, and what is done about it."""
    few = lapses([*map(an_agent, "abc", (40, 41, 0))], 1000.0, 30.0).alarm
    assert few == (
        "2 of 3 agents fell silent within 60 s: a, b. More likely the store or a network is at fault than all of them, "
        "so their routes stay. See: ackonce fleet agents"
    )
    many = lapses([an_agent(f"gw{n:02}", 40) for n in range(12)], 1000.0, 30.0).alarm
    assert many is not None
    assert many.startswith("12 of 12 agents fell silent within 60 s: gw00, gw01")
    assert "gw09 and 2 more. " in many


def test_a_mass_lapse_in_the_store(quick_home: Path) -> None:
    """Three of four agents fall silent: their routes stay, the devices that they hold run out as ever."""
    with crew(quick_home) as them:
        services = [them.registered(f"gw{n}", holder=elsewhere(f"gw{n}")) for n in range(3)]
        mine = them.registered("mine")
        lease = services[0].registry.claim("tcp://pump:1", 1, None)
        row = mine.database.read("SELECT * FROM device")
        them.clock.pass_s(30)
        Agents(mine).heartbeat()
        assert Agents(mine).lapses().kept == {"gw0", "gw1", "gw2"}
        assert agents_of(mine) == ["gw0", "gw1", "gw2", "mine"]
        assert mine.database.read("SELECT * FROM device") == row
        them.clock.pass_s(LEASE_S)
        assert mine.leases.claim(lease.device).token > lease.token
        for each in services:
            assert Agents(each).heartbeat()
        Agents(mine).heartbeat()
        assert Agents(mine).lapses() == Lapses(frozenset(), frozenset(), None)


def test_taking_a_name_takes_no_device(quick_home: Path) -> None:
    """The lease of the former process of a name stays as it is: it is taken by the rules of leases, with its doubts."""
    with crew(quick_home) as them:
        first = them.registered("gw1", holder=gone("gw1"))
        first.registry.claim("tcp://pump:1", 1, None)
        before = first.database.read("SELECT * FROM device")
        second = them.registered("gw1")
        assert second.database.read("SELECT * FROM device") == before


# --- trouble --------------------------------------------------------------------------------------------------------


def test_a_store_that_cannot_be_written(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked or full, it is said in words, what was there stays, and later it goes on."""
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with crew(quick_home) as them:
        service, other = them.registered("gw1"), them.agent("gw2")
        before = Agents(other).all()
        with locked(quick_home):
            for write in (
                lambda: register(other),
                Agents(service).heartbeat,
                lambda: Agents(service).enter(S.DOWN),
            ):
                with pytest.raises(StoreError, match="cannot be written: database is locked"):
                    write()
        with full(other), pytest.raises(StoreError, match="cannot be written: database or disk is full"):
            register(other, tuple(f"device {n}" for n in range(1000)))
        assert Agents(other).all() == before
        assert Agents(service).heartbeat()
        register(other)
        assert [each.name for each in Agents(service).all()] == ["gw1", "gw2"]


@pytest.mark.parametrize(
    "spoil",
    ["UPDATE agent SET holder = '{'", "UPDATE agent SET holder = '{}'", "UPDATE agent SET state = 'upp'"],
)
def test_rows_that_make_no_sense(spoil: str, quick_home: Path) -> None:
    """A damaged row is a StoreError that says so, not a bug."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        service.database.commit_now(lambda cursor: cursor.execute(spoil))
        with pytest.raises(StoreError, match=r"its agents make no sense .*Restore a backup"):
            Agents(service).all()
        with pytest.raises(StoreError, match="its agents make no sense"):
            register(them.agent("gw1"))
        them.restart_machine(START)
        with pytest.raises(StoreError, match="its agents make no sense"):
            Agents(them.agent("gw1")).routes_to("pump")


def test_nothing_is_flushed(quick_home: Path) -> None:
    """Heartbeats of many agents cost no flush of the disk; another process reads them at once."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        assert isinstance(service.database, sqlite.SqliteDatabase)
        Agents(service).heartbeat()
        assert service.database.flushes == 0


# --- a machine's restart --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wall", [START - timedelta(days=1), START + timedelta(seconds=5)])
def test_agents_of_before_a_restart(quick_home: Path, wall: datetime) -> None:
    """After a restart of the machine every agent of before is down, whatever the clock says now."""
    with crew(quick_home) as them:
        them.registered("gw1")
        them.registered("far", holder=elsewhere("far"))
        them.restart_machine(wall)
        service = them.registered("gw2")
        states = {each.name: each.state for each in Agents(service).all()}
        assert states == {"far": S.UP, "gw1": S.DOWN, "gw2": S.UP}
