"""Which agents are there, who has which name, and which of them lead to a device?

An agent is a running `serve` under a name. Its row is what it says of itself: where it stands, its routes, and every
`heartbeat_s` that it lives. Whoever is silent for `lapse_s` has lapsed, and its routes lead nowhere. Rules:

* A name belongs to one process at a time. It is free where its process has stopped, is certainly gone, or, on another
  machine, has lapsed. A process that lost its name hears so at its next heartbeat, and must end.
* The state only goes on: starting, up (after its own check), draining, down.
* A mass lapse removes nobody: where many fall silent together, the store or a network is more likely at fault than all
  of them. Their routes stay until they are back or stopped.
* Leases of devices are not touched here: a lapsed agent's lease runs out by itself (`agent/leases.py`).

Rows need no flush: after a power cut every process that they speak of is gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.damage import making_sense
from agent.fleet.facts import AgentState, Params
from agent.fleet.store_clock import StoreClock
from agent.processes import Holder, is_gone
from agent.service import Service
from agent.store.database import Cursor, Refused, Row
from logs.text import escape

MASS_PERCENT = 15
MASS_MIN = 2
MASS_S = 60.0
"""More than `MASS_PERCENT` of the agents, and at least `MASS_MIN`, that fall silent within `MASS_S`: a mass lapse."""
NAMED_MAX = 10
"""So many agents are named in an alarm."""

_BEFORE = {
    AgentState.UP: (AgentState.STARTING, AgentState.UP),
    AgentState.DRAINING: (AgentState.STARTING, AgentState.UP, AgentState.DRAINING),
    AgentState.DOWN: tuple(AgentState),
}
"""From where each state may be entered."""


class NameTaken(Refused):
    """Another process has the agent's name. `holder` is that process, `since` when it began, UTC."""

    def __init__(self, name: str, holder: Holder, since: str) -> None:
        super().__init__(
            f"the agent name {escape(name)} is taken by process {holder.pid} on {escape(holder.host)} since {since}. "
            "Nothing was sent. Stop that one, or give this one a name of its own: agent in ackonce.toml, or "
            "ACKONCE_AGENT"
        )
        self.holder = holder
        self.since = since


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's row; the fields that are those of `AgentFacts` mean the same. `devices` counts its routes."""

    name: str
    boot: str
    holder: Holder
    site: str
    vantage: str
    uplink: str
    listens: str | None
    probe_s: float
    state: AgentState
    heartbeat_s: float
    started_utc: str
    devices: int


@dataclass(frozen=True, slots=True)
class Route:
    """A way to a device: through this agent, which reaches it at `url`."""

    agent: str
    device: str
    url: str


@dataclass(frozen=True, slots=True)
class Lapses:
    """Who has fallen silent. `lapsed`: whose routes lead nowhere; `kept`: those of a mass lapse, whose routes stay.

    `alarm` is a sentence where there is a mass lapse.
    """

    lapsed: frozenset[str]
    kept: frozenset[str]
    alarm: str | None


def lapses(agents: Sequence[Agent], now_s: float, lapse_s: float) -> Lapses:
    """Who of the agents has lapsed at `now_s` of the store's clock. Pure; the order of agents means nothing."""
    there = [each for each in agents if each.state is not AgentState.DOWN]
    silent = sorted(
        (each for each in there if now_s - each.heartbeat_s >= lapse_s), key=lambda each: each.heartbeat_s
    )
    for first in silent:
        later = [each for each in silent if each.heartbeat_s >= first.heartbeat_s]
        together = [each.name for each in later if each.heartbeat_s <= first.heartbeat_s + MASS_S]
        then = sum(each.heartbeat_s >= first.heartbeat_s for each in there)
        if len(together) >= MASS_MIN and len(together) * 100 > MASS_PERCENT * then:
            kept = frozenset(each.name for each in later)
            return Lapses(frozenset(each.name for each in silent) - kept, kept, _alarm(together, then))
    return Lapses(frozenset(each.name for each in silent), frozenset(), None)


def _alarm(silent: Sequence[str], of: int) -> str:
    names = ", ".join(map(escape, sorted(silent)[:NAMED_MAX]))
    more = f" and {len(silent) - NAMED_MAX} more" if len(silent) > NAMED_MAX else ""
    return (
        f"{len(silent)} of {of} agents fell silent within {MASS_S:.0f} s: {names}{more}. More likely the store or a "
        "network is at fault than all of them, so their routes stay. See: ackonce fleet agents"
    )


class Agents:
    """The agents of one store, as one process sees them; it speaks for the agent of its own holder."""

    def __init__(self, service: Service, params: Params = Params()) -> None:  # noqa: B008 - it is frozen
        self._db = service.database
        self._params = params
        self._me = service.holder
        self._clock = service.clock
        self._store_clock = StoreClock(service)

    # --- this agent -----------------------------------------------------------------------------------------------

    def register(
        self,
        *,
        site: str,
        vantage: str,
        uplink: str,
        listens: str | None,
        probe_s: float,
        routes: Mapping[str, str],
    ) -> None:
        """Take this process's agent name; the state is `starting`, whatever was known under the name is replaced.

        Args:
            site: where it stands.
            vantage: from where it looks, "" where it stands for none.
            uplink: its way out; agents that share one have one vote, and "" is shared with nobody.
            listens: its address for other agents, None where it has none.
            probe_s: how often it probes each target.
            routes: the devices that it leads to, by their names in the inventory, each with its URL.

        Raises:
            NameTaken: a process that lives has the name.
            StoreError: the store cannot be written.
        """
        now_s, name = self._store_clock.now_s(), self._me.agent
        row = (
            name, self._me.instance, self._me.to_json(), site, vantage, uplink, listens, probe_s,
            AgentState.STARTING.value, now_s, self._clock.stamp(),
        )  # fmt: skip

        def write(cursor: Cursor) -> None:
            taken = cursor.execute(
                "SELECT holder, state, heartbeat, started_utc FROM agent WHERE name = ?", (name,)
            ).fetchone()
            if taken is not None:
                self._insist_on_free(taken, now_s)
            cursor.execute("DELETE FROM route WHERE agent = ?", (name,))
            cursor.execute("DELETE FROM agent WHERE name = ?", (name,))
            marks = ", ".join("?" * len(row))
            cursor.execute(f"INSERT INTO agent ({_COLUMNS}) VALUES ({marks})", row)  # noqa: S608
            cursor.executemany(
                "INSERT INTO route (agent, device, url) VALUES (?, ?, ?)",
                [(name, device, url) for device, url in routes.items()],
            )

        self._db.commit_loosely(write)

    def _insist_on_free(self, taken: Row, now_s: float) -> None:
        with making_sense(self._db, "its agents"):
            holder, state = Holder.from_json(taken[0]), AgentState(taken[1])
        if state is AgentState.DOWN or holder == self._me:
            return
        # Whether a process of this machine lives is known, also of one whose heartbeats do not get through.
        here = holder.host == self._me.host
        free = is_gone(holder, self._me) if here else now_s - taken[2] >= self._params.lapse_s
        if not free:
            raise NameTaken(self._me.agent, holder, taken[3])

    def heartbeat(self) -> bool:
        """Say that this agent lives; False where another process has its name now. Raises StoreError."""
        return self._change("heartbeat = ?", (self._store_clock.now_s(),), tuple(AgentState))

    def enter(self, state: AgentState) -> bool:
        """Go on to a state.

        Args:
            state: `up` after its own check, `draining` when no new work begins, `down` at the end.

        Returns:
            Whether this agent is in that state now: not where it is in a later one, nor where another process has its
            name.

        Raises:
            StoreError: the store cannot be written.
        """
        return self._change("state = ?", (state.value,), _BEFORE[state])

    def _change(self, what: str, values: tuple[object, ...], states: Sequence[AgentState]) -> bool:
        marks = ", ".join("?" * len(states))
        mine = (self._me.agent, self._me.instance, *(state.value for state in states))
        sql = f"UPDATE agent SET {what} WHERE name = ? AND boot = ? AND state IN ({marks})"  # noqa: S608
        changed = self._db.commit_loosely(lambda cursor: cursor.execute(sql, (*values, *mine)).rowcount)
        return changed == 1

    # --- all agents -----------------------------------------------------------------------------------------------

    def all(self) -> list[Agent]:
        """Every agent that ever registered, by name. Raises StoreError."""
        with making_sense(self._db, "its agents"):
            return [_agent(row) for row in self._db.read(_AGENTS)]

    def lapses(self) -> Lapses:
        """Who has lapsed now. Raises StoreError."""
        return lapses(self.all(), self._store_clock.now_s(), self._params.lapse_s)

    def routes_to(self, device: str) -> list[Route]:
        """The routes to a device, by agent: through those that are up and have not lapsed. Raises StoreError."""
        agents = self.all()
        silent = lapses(agents, self._store_clock.now_s(), self._params.lapse_s).lapsed
        usable = {each.name for each in agents if each.state is AgentState.UP} - silent
        rows = self._db.read(
            "SELECT agent, device, url FROM route WHERE device = ? ORDER BY agent, url", (device,)
        )
        return [Route(*row) for row in rows if row[0] in usable]


_COLUMNS = "name, boot, holder, site, vantage, uplink, listens, probe_s, state, heartbeat, started_utc"
_AGENTS = f"""
    SELECT {_COLUMNS}, (SELECT count(*) FROM route WHERE route.agent = agent.name)
    FROM agent ORDER BY name"""  # noqa: S608 - names of our own columns


def _agent(row: Row) -> Agent:
    name, boot, holder, site, vantage, uplink, listens, probe_s, state, heartbeat, started_utc, devices = row
    return Agent(
        name=name, boot=boot, holder=Holder.from_json(holder), site=site, vantage=vantage, uplink=uplink,
        listens=listens, probe_s=probe_s, state=AgentState(state), heartbeat_s=heartbeat, started_utc=started_utc,
        devices=devices,
    )  # fmt: skip
