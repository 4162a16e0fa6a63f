"""What have the agents seen? Rows of probes and of self reports, and everything that a verdict looks at.

An observation belongs to its observer: its key is the observer, the observer's boot, the target and the round, so that
nobody's row stands in anybody else's way, and a restarted agent does not find its former rounds open. A row is written
once; the same one again changes nothing, so a batch that failed is simply written again with the next. Rows are in
seconds of the store's clock (`store_clock.py`), need no flush, and are forgotten after a while.
"""

import json
from collections.abc import Sequence

from agent.fleet.agents import Agent, Agents
from agent.fleet.damage import making_sense
from agent.fleet.facts import (
    AgentFacts,
    Facts,
    Observation,
    Params,
    SelfReport,
    agent_target,
    device_target,
)
from agent.fleet.marks import Mark, Marks
from agent.fleet.store_clock import StoreClock
from agent.service import Service
from agent.store.database import Cursor

KEEP_S = 600.0
"""Rows older than this are forgotten, unless their observer looks so seldom that they count still."""
PRUNE_MAX = 5_000
"""So many rows are forgotten at a time."""
CONTROL = "control"
"""The metric of a self report about the control probe, a closed local port: `fails`, as it must, or `succeeds`."""


class Observations:
    """The observations of one store, as one process sees them."""

    def __init__(self, service: Service, params: Params = Params()) -> None:  # noqa: B008 - it is frozen
        self._db = service.database
        self._clock = StoreClock(service)
        self._agents = Agents(service)
        self._marks = Marks(service)
        self._params = params

    def now_s(self) -> float:
        """Seconds of the store's clock, for the rows of this process. Raises StoreError."""
        return self._clock.now_s()

    def write(self, observations: Sequence[Observation], reports: Sequence[SelfReport] = ()) -> None:
        """Write rows, all or none; one that is there already stays as it is.

        Survives this process at once. Raises StoreError: nothing is written, the same rows may be given again.
        """
        self._clock.now_s()  # what is of before a restart goes before the first row of after it
        seen = [
            (row.observer, row.boot, row.target, row.round, row.at_s, row.ok, row.reason, row.rtt_s)
            for row in observations
        ]
        said = [
            (row.agent, row.boot, row.at_s, row.ok, row.reason, json.dumps(dict(row.metrics)))
            for row in reports
        ]

        def write(cursor: Cursor) -> None:
            cursor.executemany(
                "INSERT INTO observation (observer, boot, target, round, at, ok, reason, rtt_s) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (observer, boot, round, target) DO NOTHING",
                seen,
            )
            cursor.executemany(
                "INSERT INTO self_report (agent, boot, at, ok, reason, metrics) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (agent, boot, at) DO NOTHING",
                said,
            )

        self._db.commit_loosely(write)

    def fresh(self) -> tuple[Observation, ...]:
        """The rows of the last `fresh_s`, of whatever boot, in no order. Raises StoreError.

        For an observer that looks less often than every `probe_s` the time is longer in proportion.
        """
        since_s = self._clock.now_s() - self._params.fresh_s
        rows = self._db.read(f"{_SEEN} WHERE at >= ?", (since_s,))
        for observer, window_s in self._slow().items():
            earlier = (observer, since_s, since_s + self._params.fresh_s - window_s)
            rows += self._db.read(f"{_SEEN} WHERE observer = ? AND at < ? AND at >= ?", earlier)
        return tuple(
            Observation(observer, boot, target, number, at, bool(ok), reason, rtt_s)
            for observer, boot, target, number, at, ok, reason, rtt_s in rows
        )

    def _slow(self) -> dict[str, float]:
        """For how many seconds the rows of each observer count that looks less often than every `probe_s`."""
        params = self._params
        rows = self._db.read("SELECT name, probe_s FROM agent WHERE probe_s > ?", (params.probe_s,))
        return {name: params.fresh_s * probe_s / params.probe_s for name, probe_s in rows}

    def reports(self) -> tuple[SelfReport, ...]:
        """Every self report that is kept, oldest first. Raises StoreError."""
        rows = self._db.read("SELECT agent, boot, at, ok, reason, metrics FROM self_report ORDER BY at")
        with making_sense(self._db, "its self reports"):
            return tuple(
                SelfReport(agent, boot, at, bool(ok), reason, json.loads(metrics))
                for agent, boot, at, ok, reason, metrics in rows
            )

    def facts(self) -> Facts:
        """Everything that a verdict looks at. Raises StoreError."""
        # Agents are read last: whoever has written a row is among them.
        observations, reports = self.fresh(), self.reports()
        references = self._marks.marked(Mark.REFERENCE)
        control = {
            (each.agent, each.boot): each.metrics.get(CONTROL) != "succeeds" for each in reports
        }  # the newest one's word, as they come oldest first
        agents = tuple(
            _facts(each, agent_target(each.name) in references, control.get((each.name, each.boot), True))
            for each in self._agents.all()
        )
        targets = self._db.read(
            "SELECT DISTINCT device FROM route JOIN agent ON name = agent WHERE state != 'down'"
        )
        devices = frozenset(device_target(name) for (name,) in targets)
        return Facts(agents, observations, reports, references, devices)

    def prune(self) -> int:
        """Forget rows older than `KEEP_S` that count no more, `PRUNE_MAX` of each kind at most; returns how many.

        Raises StoreError.
        """
        keep_s = max([KEEP_S, *self._slow().values()])
        before = (self._clock.now_s() - keep_s, PRUNE_MAX)
        return self._db.commit_loosely(
            lambda cursor: sum(cursor.execute(forget, before).rowcount for forget in _FORGET)
        )


_SEEN = "SELECT observer, boot, target, round, at, ok, reason, rtt_s FROM observation"
_FORGET = tuple(
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE at < ? ORDER BY at LIMIT ?)"  # noqa: S608
    for table, key in (("observation", "observer, boot, round, target"), ("self_report", "agent, boot, at"))
)


def _facts(agent: Agent, reference: bool, control_ok: bool) -> AgentFacts:
    return AgentFacts(
        name=agent.name,
        boot=agent.boot,
        site=agent.site,
        vantage=agent.vantage,
        uplink=agent.uplink,
        state=agent.state,
        reference=reference,
        heartbeat_s=agent.heartbeat_s,
        control_ok=control_ok,
        listens=agent.listens,
        probe_s=agent.probe_s,
    )
