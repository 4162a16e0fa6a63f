"""Does an agent know when it is unwell itself?"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agent.fleet.facts import SelfReport
from agent.fleet.self_report import ClosedPort, SelfCheck, ports_of
from agent.links.tcp import open_tcp
from agent.service import Service
from agent.store.database import StoreError
from tests.fleet.crew import locked
from tests.fleet.watch import Watch, at, watch


def check(w: Watch, service: Service, ports: Mapping[str, list[str]] | None = None) -> SelfCheck:
    """What looks at an agent."""
    return SelfCheck(
        service, ports or {}, w.prober(service), w.closed,
        lambda host, port, _: w.reach_as(service.holder.agent, host, port),
    )  # fmt: skip


async def report(w: Watch, service: Service, ports: Mapping[str, list[str]] | None = None) -> SelfReport:
    """What an agent says of itself."""
    return await check(w, service, ports).look()


def test_a_well_agent(quick_home: Path) -> None:
    """It says so, and how it does, under its boot and the store's time."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        found = await report(w, service)
        assert (found.agent, found.boot, found.ok, found.reason) == ("gw1", service.holder.instance, True, "")
        assert found.at_s == service.steady.now().timestamp()
        assert found.metrics == {
            "control": "fails", "clock_skew_s": "0.0", "queue": "0", "rows_written": "0", "rows_lost": "0",
            "ports": "0",
        }  # fmt: skip

    watch(quick_home, play)


def test_m3_a_port_that_is_gone(quick_home: Path, tmp_path: Path) -> None:
    """M3: a serial port that is unplugged makes the agent unwell, which names the port and what is behind it."""

    async def play(w: Watch) -> None:
        w.site.text("t1")
        plugged, gone = tmp_path / "ttyUSB0", tmp_path / "ttyUSB1"
        plugged.touch()
        targets = [
            at(replace(w.targets[0], name=name), f"serial:{path}?baud=9600")
            for name, path in (("pump", plugged), ("valve", gone), ("fan", gone))
        ]
        ports = ports_of([*targets, w.targets[0]])
        assert ports == {str(plugged): ["pump"], str(gone): ["valve", "fan"]}
        found = await report(w, w.agent("gw1"), ports)
        assert not found.ok
        assert found.reason == f"port_missing: {gone}, which leads to valve, fan"
        gone.touch()
        again = await report(w, w.services[0], ports)
        assert (again.ok, again.metrics["ports"]) == (True, "2")

    watch(quick_home, play)


def test_a_port_without_permission(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that may not be opened is as good as none, and called otherwise."""
    monkeypatch.setattr(os, "access", lambda *_: False)

    async def play(w: Watch) -> None:
        found = await report(w, w.agent("gw1"), {"/dev/null": ["pump"]})
        assert found.reason == "port_denied: /dev/null, which leads to pump"

    watch(quick_home, play)


def test_a_journal_that_cannot_be_written(quick_home: Path) -> None:
    """An agent whose journal takes no durable write cannot send, and says so."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        of_it = check(w, service)
        await of_it.look()
        service.database.read("PRAGMA busy_timeout = 0")
        with locked(quick_home):
            found = await of_it.look()
        assert not found.ok
        assert found.reason.startswith("journal: ")
        assert "database is locked" in found.reason

    watch(quick_home, play)


def test_the_write_is_durable(quick_home: Path) -> None:
    """The journal is tried with a flush, as a command needs it."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        flushes = service.database.flushes  # type: ignore[attr-defined]
        await report(w, service)
        assert service.database.flushes == flushes + 1  # type: ignore[attr-defined]

    watch(quick_home, play)


def test_a_closed_port_that_answers(quick_home: Path) -> None:
    """What would call anything alive says so in its report, which makes its votes ignored."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        w.open_port = True
        found = await report(w, service)
        assert (found.ok, found.metrics["control"]) == (True, "succeeds")

    watch(quick_home, play)


def test_a_port_at_which_certainly_nobody_listens() -> None:
    """The port of the control probe refuses on a real machine, as long as it is taken."""
    import asyncio

    async def play() -> bool:
        control = ClosedPort()
        try:
            return await control.answers(open_tcp)
        finally:
            control.close()

    assert asyncio.run(play()) is False


def test_what_it_has_in_hand(quick_home: Path) -> None:
    """Operations under way, rows written and lost, and how far the wall clock has been moved."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        service.steady.now()
        service.in_hand["OP1"] = None  # type: ignore[assignment]
        service.clock._utc = lambda: service.steady.now().replace(year=2027)
        found = await report(w, service)
        assert (found.metrics["queue"], float(found.metrics["clock_skew_s"])) == ("1", 365 * 86_400.0)
        assert found.ok  # records carry it; nothing on this machine goes by it

    watch(quick_home, play)


def test_a_store_that_tells_nothing(quick_home: Path) -> None:
    """Where not even the store's time can be told, there is no report."""

    async def play(w: Watch) -> None:
        service = w.agent("gw1")
        service.database.read("PRAGMA busy_timeout = 0")
        with locked(quick_home), pytest.raises(StoreError):
            await report(w, service)

    watch(quick_home, play)
