"""Who asks whom, and when? Every device of this agent, and every other agent, again and again.

Each pair of this agent and a target has a ticker of its own: probes every `probe_s`, more or less by a jitter drawn
anew each time, so that agents do not fall into step; never two of one pair at a time; and begun at different moments,
so that hundreds do not go out together. Each has a round number, and what it comes to closes that round. On a line
that devices share, one is probed after the other, and the line rests for as long as a probe took.

What was seen is written in batches and belongs to this agent alone (`observations.py`). Where the store cannot be
written, rows wait, and the oldest are lost, counted, when there are too many.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from random import Random, SystemRandom

from agent.address import parse_url
from agent.fleet.agents import Agents
from agent.fleet.endpoint import Peer, Reach, ask
from agent.fleet.facts import AgentState, Observation, Params, agent_target, device_target
from agent.fleet.looks import Look, Seen
from agent.fleet.observations import Observations
from agent.fleet.traffic import Traffic
from agent.service import Service
from agent.stations import Target, stream_of
from agent.store.database import StoreError
from logs.events import Event

BATCH_S = 1.0
"""How often what was seen is written."""
ROWS_MAX = 10_000
"""So many rows wait for a store that cannot be written."""
AGAIN_S = 1.0
"""When a probe that could not be made is tried again."""
PEERS_S = 5.0
"""How long an agent that comes or goes is unnoticed."""
LOOKS_MAX = 256
"""So many probes are under way at a time: each may have a connection open."""


@dataclass(slots=True)
class _Pair:
    """This agent and a target. `round` counts what was probed, `streak` the misses in a row."""

    target: str
    ask: Callable[[int], Awaitable[Seen | None]]
    line: asyncio.Lock | None = None
    rests: bool = False
    round: int = 0
    streak: int = 0


class Prober:
    """Probes what one agent can reach. `written` and `lost` count rows."""

    def __init__(
        self,
        service: Service,
        devices: Sequence[Target],
        probe_s: float,
        reach: Reach,
        *,
        params: Params = Params(),  # noqa: B008 - it is frozen
        random: Random | None = None,
    ) -> None:
        """A prober that does not run yet.

        Args:
            service: the agent in this process.
            devices: what is probed; only such as can be (`looks.unprobed`).
            probe_s: the time between two probes of one target.
            reach: opens links to other agents.
            params: the numbers of health.
            random: draws the jitter.
        """
        self.written = 0
        self.lost = 0
        self._service = service
        self._me = service.holder
        self._clock = service.clock
        self._agents = Agents(service, params)
        self._observations = Observations(service, params)
        self._traffic = Traffic(service)
        self._devices = devices
        self._probe_s = probe_s
        self._reach = reach
        self._params = params
        self._random = random or SystemRandom()
        self._rows: deque[Observation] = deque()
        self._room = asyncio.Semaphore(LOOKS_MAX)

    async def run(self) -> None:
        """Probe until cancelled; what was seen until then is written."""
        pairs = self._device_pairs()
        self._random.shuffle(pairs)  # neighbours in the inventory often share a gateway
        try:
            async with asyncio.TaskGroup() as group:
                for n, pair in enumerate(pairs):
                    first_s = self._probe_s * (n + self._random.random()) / len(pairs)
                    group.create_task(self._tick(pair, first_s))
                group.create_task(self._follow_agents(group))
                group.create_task(self._write_in_batches())
        finally:
            self._write()

    # --- who is asked -------------------------------------------------------------------------------------------------

    def _device_pairs(self) -> list[_Pair]:
        lines: dict[str, asyncio.Lock] = {}
        return [
            _Pair(
                device_target(device.name),
                partial(self._look, device),
                lines.setdefault(stream_of(device.url), asyncio.Lock()),
                rests=device.survives_reopen,
            )
            for device in self._devices
        ]

    async def _look(self, device: Target, _round: int) -> Seen | None:
        return await Look(self._service, self._traffic, device).take()

    async def _follow_agents(self, group: asyncio.TaskGroup) -> None:
        """See to it that every other agent that is up, and none else, has its ticker."""
        ticking: dict[str, tuple[Peer, asyncio.Task[None]]] = {}
        while True:
            peers = self._peers()
            for name, (peer, task) in [*ticking.items()]:
                if peers is not None and peers.get(name) != peer:
                    task.cancel()
                    del ticking[name]
            for name, peer in (peers or {}).items():
                if name not in ticking:
                    first_s = self._probe_s * self._random.random()
                    ticking[name] = peer, group.create_task(self._tick(self._agent_pair(peer), first_s))
            await self._clock.sleep(PEERS_S)

    def _peers(self) -> dict[str, Peer] | None:
        """The other agents that are up and can be asked; None where the store does not tell."""
        try:
            agents = self._agents.all()
        except StoreError:
            return None
        return {
            each.name: peer
            for each in agents
            if each.state is AgentState.UP
            and each.name != self._me.agent
            and (peer := peer_at(each.name, each.boot, each.listens)) is not None
        }

    def _agent_pair(self, peer: Peer) -> _Pair:
        async def asked(round_: int) -> Seen:
            return await ask(peer, self._me.agent, round_, self._clock.now_s, self._reach)

        return _Pair(agent_target(peer.name), asked)

    # --- when ---------------------------------------------------------------------------------------------------------

    async def _tick(self, pair: _Pair, first_s: float) -> None:
        await self._clock.sleep(first_s)
        while True:
            begun_s = self._clock.now_s()
            made = await self._probe(pair)
            next_s = begun_s + (self._interval_s() if made else AGAIN_S)
            await self._clock.sleep(max(0.0, next_s - self._clock.now_s()))

    def _interval_s(self) -> float:
        jitter = self._params.jitter
        return self._probe_s * self._random.uniform(1 - jitter, 1 + jitter)

    async def _probe(self, pair: _Pair) -> bool:
        """Probe once, when the line is free; whether it was done."""
        line: AbstractAsyncContextManager[object] = pair.line or nullcontext()
        async with line:
            begun_s = self._clock.now_s()
            async with self._room:
                try:
                    seen = await pair.ask(pair.round + 1)
                except StoreError:
                    return False  # nobody can tell whether a command uses the stream
            if seen is not None:
                self._note(pair, seen)
            if pair.rests:
                await self._clock.sleep(self._clock.now_s() - begun_s)
        return seen is not None

    # --- what was seen ------------------------------------------------------------------------------------------------

    def _note(self, pair: _Pair, seen: Seen) -> None:
        try:
            at_s = self._observations.now_s()
        except StoreError:
            return
        pair.round += 1
        self._tell(pair, seen)
        row = Observation(
            self._me.agent, self._me.instance, pair.target, pair.round, at_s, seen.ok, seen.reason, seen.rtt_s
        )
        if len(self._rows) >= ROWS_MAX:
            self._rows.popleft()
            self.lost += 1
        self._rows.append(row)

    def _tell(self, pair: _Pair, seen: Seen) -> None:
        """Log misses until they are a failure, and what ends them; nobody looks for the thousandth of its kind."""
        before, pair.streak = pair.streak, 0 if seen.ok else pair.streak + 1
        if pair.streak > self._params.fail_streak or before == pair.streak:
            return
        ended = f"seen again after {before} misses"
        text = f"probe {pair.round} of {pair.target}: " + (
            ended if seen.ok else f"{seen.reason}, {pair.streak} in a row"
        )
        event = Event(ts=self._clock.stamp(), level="DEBUG", agent=self._me.agent, event="note", text=text)
        self._service.log.write(event)

    async def _write_in_batches(self) -> None:
        while True:
            await self._clock.sleep(BATCH_S)
            self._write()

    def _write(self) -> None:
        """Write what waits; where that fails it goes on waiting."""
        batch = [*self._rows]
        if not batch:
            return
        try:
            self._observations.write(batch)
        except StoreError:
            return
        self._rows.clear()
        self.written += len(batch)


def peer_at(name: str, boot: str, listens: str | None) -> Peer | None:
    """An agent that listens at an address (`tcp://HOST:PORT`), None where it listens nowhere that makes sense."""
    if listens is None:
        return None
    try:
        address = parse_url(listens)
    except ValueError:
        return None
    return Peer(name, boot, address.host, address.port)
