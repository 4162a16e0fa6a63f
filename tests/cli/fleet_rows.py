"""A fleet in a real store, drawn as in `tests/fleet/verdict_table.py`, and command lines typed at it.

The rows are written by the agents' own means, under a clock that the test moves by hand; the commands run under it too.
"""

import os
import pty
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent.cli.main import run
from agent.fleet.agents import Agents
from agent.fleet.changes import Changes
from agent.fleet.facts import AgentState, Facts, Observation
from agent.fleet.observations import Observations
from agent.fleet.verdict import verdict
from agent.processes import this_process
from agent.service import Service
from agent.store.sqlite import open_database
from tests.cli.project import Ended, Project
from tests.fleet.crew import Crew
from tests.fleet.pictures import NOW_S, pictures

EVERYTHING = """
## every status, seen by five agents
             lamp  fan  pump  door  valve  meter  tank  well  a  e
    a  @x     .     2    X     X      .      ?     o     -    -  .
    b  @x     .     .    X     X      .      ?     o     -    .  .
    c  @y     .     .    X     .      X      ?     o     -    .  .
    d  @y     .     .    .     .      .      ?     o     -    .  X
    e  @z ~s  .     .    .     .      .      ?     o     -    .  -
"""
"""The four healthy and unhealthy ways of a device, both ways of no data, and two agents that others look at."""


@dataclass(frozen=True, slots=True)
class FleetRows:
    """A project whose store has a fleet in it."""

    project: Project
    crew: Crew
    monkeypatch: pytest.MonkeyPatch

    def draw(self, picture: str, metrics: Mapping[str, str] | None = None) -> dict[str, Service]:
        """Enter what a picture draws, as it is at this moment; the agents by name."""
        [drawn] = pictures(picture)
        clock = self.crew.clock
        services = {agent.name: self._process(agent.name) for agent in drawn.facts.agents}
        for agent in drawn.facts.agents:
            ago_s = NOW_S - agent.heartbeat_s
            clock.up_s -= ago_s
            Agents(services[agent.name]).register(
                site=f"site-{agent.name}", vantage=agent.vantage, uplink=agent.uplink,
                listens=f"tcp://{agent.name}.example:7077", probe_s=agent.probe_s,
                routes={target[7:]: "tcp://10.0.0.9:1" for target in drawn.facts.targets if target[:7] == "device:"},
            )  # fmt: skip
            for state in (AgentState.UP, agent.state):
                if agent.state is not AgentState.STARTING:
                    assert Agents(services[agent.name]).enter(state)
            clock.up_s += ago_s
        self._write(services, drawn.facts, metrics or {})
        return services

    def _process(self, name: str) -> Service:
        holder = replace(this_process(name), instance="now")
        return self.crew.with_database(open_database(self.project.home), holder)

    def _write(self, services: Mapping[str, Service], facts: Facts, metrics: Mapping[str, str]) -> None:
        for name, service in services.items():
            ahead_s = Observations(service).now_s() - NOW_S
            Observations(service).write(
                [
                    replace(row, at_s=row.at_s + ahead_s, rtt_s=0.012 if row.ok else None)
                    for row in facts.observations
                    if row.observer == name
                ],
                [
                    replace(row, at_s=row.at_s + ahead_s, metrics=metrics)
                    for row in facts.reports
                    if row.agent == name
                ],
            )

    def see(self, service: Service, target: str, number: int, *, ok: bool = True) -> None:
        """Let an agent see something now."""
        at_s = Observations(service).now_s()
        row = Observation(service.holder.agent, "now", target, number, at_s, ok, "" if ok else "no_reply")
        Observations(service).write([row])

    def note(self, service: Service) -> None:
        """Let an agent enter what has changed."""
        known = Observations(service)
        now_s = known.now_s()
        Changes(service).note(verdict(known.facts(), now_s), now_s)

    def pass_s(self, seconds: float) -> None:
        """Let time pass; no agent does anything meanwhile."""
        self.crew.clock.pass_s(seconds)

    def type(self, *words: str) -> Ended:
        """Run one command line of the group."""
        ended = self.project.type("fleet", *words)
        assert ended.code != 70, ended.err
        return ended

    def row(self, name: str, *words: str) -> list[str]:
        """The cells of one target's row of the status, without a terminal."""
        [cells] = [
            line.split("\t") for line in self.type("status", *words).lines if line.split("\t")[0] == name
        ]
        return cells

    def record(self, target: str) -> dict[str, Any]:
        """One target's object of the status."""
        [record] = [each for each in self.type("status", "--json").records if each["target"] == target]
        return record

    def on_terminal(self, columns: int, *words: str, encoding: str = "utf-8", **environ: str) -> str:
        """What a terminal of this width shows of stdout."""
        for name, value in ({"COLUMNS": str(columns), "TERM": "xterm"} | environ).items():
            self.monkeypatch.setenv(name, value)
        ours, theirs = pty.openpty()
        with open(theirs, "w", encoding=encoding) as screen, self.monkeypatch.context() as patch:  # noqa: PTH123
            patch.setattr("sys.stdout", screen)
            assert run(["fleet", *words, "-C", str(self.project.folder)]) == 0
        return _everything(ours)


def _everything(reader: int) -> str:
    """All that a terminal was sent, whose other end is closed."""
    shown = b""
    with suppress(OSError):
        while more := os.read(reader, 65_536):
            shown += more
    os.close(reader)
    return shown.decode().replace("\r\n", "\n")


def plain(shown: str) -> str:
    """A screen without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)
