"""What is a world of agents, sites and devices, while it runs?

Agents are processes of their own. Devices, and a relay for each way from an agent to a device or to another agent, are
in this one. Whatever is known of health is read from the agents' store as `ackonce fleet status` reads it; nothing is
ever written there.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from agent.cli.fleet_view import View, look
from agent.fleet.facts import agent_target, device_target
from agent.fleet.verdict import Status
from agent.service import Service
from worlds.fleet import project
from worlds.fleet.cast import Cast, Way
from worlds.fleet.equipment import HOST, Account, Equipment
from worlds.fleet.machinery import Machinery
from worlds.fleet.processes import COMMAND, AgentProcess, Warden
from worlds.fleet.relays import Relays

POLL_S = 0.1
"""How often somebody who waits looks again."""


class WorldFailed(Exception):  # noqa: N818 - it reads as what happened
    """The world cannot be, or go on: why, and what can be typed or looked at next."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


class World:
    """A world, from `with` to its end. `folder`: where its files are, as soon as it runs."""

    def __init__(self, cast: Cast, probe_s: float = project.PROBE_S) -> None:
        """A world that does not run yet.

        Args:
            cast: who is there.
            probe_s: how often each agent probes each target.
        """
        self.cast = cast
        self.folder = Path()
        self.probe_s = probe_s
        self._open = ExitStack()
        self._machinery = Machinery()
        self._relays = Relays()
        self._equipment = [Equipment(device) for device in cast.devices]
        self._folders: dict[str, Path] = {}
        self._running: dict[str, AgentProcess] = {}
        self._cut: frozenset[Way] = frozenset()

    def __enter__(self) -> Self:
        """Start everything. Raises WorldFailed, StoreError."""
        with ExitStack() as begun:
            try:
                self._begin(begun)
            except OSError as problem:
                raise WorldFailed(
                    f"the world needs a temporary folder, processes and addresses of its own such as 127.0.1.1: "
                    f"{problem.strerror or problem}",
                    "Such addresses are there on Linux; elsewhere they must be added",
                ) from problem
            self._open = begun.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, what, where)

    def _begin(self, begun: ExitStack) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ackonce-fleet-"))
        begun.callback(shutil.rmtree, self.folder, ignore_errors=True)
        project.write_shared(self.folder)
        begun.enter_context(self._machinery)
        begun.callback(self._machinery.call, self._close_machinery)
        self._machinery.run(self._open_machinery())
        self._service = Service(project.settings(self.folder))
        begun.callback(self._service.close)
        self._warden = Warden()
        begun.callback(self._warden.close)
        begun.callback(self._kill_everybody)
        for agent in self.cast.agents:
            self.start(agent.name)

    async def _open_machinery(self) -> None:
        ports = {each.device.name: await each.open() for each in self._equipment}
        for agent in self.cast.agents:
            ways = {
                device: await self._relays.open(agent.address, (HOST, port), device, agent.name)
                for device, port in ports.items()
            }
            listens = _free_port(agent.address)
            found_at = await self._relays.open(agent.address, (agent.address, listens), agent.name)
            self._folders[agent.name] = project.write_agent(
                self.folder, self.cast, agent, self.probe_s, ways, listens, found_at
            )

    def _close_machinery(self) -> None:
        self._relays.close()
        for each in self._equipment:
            each.close()

    # --- what happens -------------------------------------------------------------------------------------------------

    def cut(self, who: str, whom: str) -> None:
        """Let nothing pass between two of them any more. Raises UsageProblem."""
        ways = self.cast.ways(who, whom)
        self._cut |= ways
        self._machinery.call(self._relays.cut, ways)

    def heal(self, who: str, whom: str) -> None:
        """Let everything pass between two of them again. Raises UsageProblem."""
        self._heal(self.cast.ways(who, whom))

    def heal_everything(self) -> None:
        """Let everything pass again."""
        self._heal(self._cut)

    def _heal(self, ways: frozenset[Way]) -> None:
        self._cut -= ways
        self._machinery.call(self._relays.heal, ways)

    def start(self, name: str) -> None:
        """Start an agent. Raises UsageProblem."""
        agent = self.cast.agent(name)
        if name not in self._running:
            folder = self._folders[agent.name]
            self._running[name] = AgentProcess(folder, self._warden.group, project.environment(self.folder))

    def kill(self, name: str) -> None:
        """Kill an agent with SIGKILL. Raises UsageProblem."""
        self.cast.agent(name)
        if (process := self._running.pop(name, None)) is not None:
            process.kill()

    def _kill_everybody(self) -> None:
        for name in [*self._running]:
            self.kill(name)

    def pids(self) -> dict[str, int]:
        """The processes of the agents that run."""
        return {name: process.pid for name, process in self._running.items()}

    # --- what is known ------------------------------------------------------------------------------------------------

    def look(self) -> View:
        """What the agents know now. Raises StoreError."""
        return look(self._service, ())

    def until(self, fits: Callable[[View], bool], patience_s: float) -> View | None:
        """Wait until what the agents know fits, at most so long.

        Returns:
            What fitted, None where nothing did in time.

        Raises:
            WorldFailed: an agent ended by itself.
            StoreError: the store cannot be read.
        """
        until_s = time.monotonic() + patience_s
        while not fits(view := self.look()):
            for name, said in self.gone().items():
                raise WorldFailed(f"the agent {name} ended by itself", f"It said last: {said}")
            if time.monotonic() >= until_s:
                return None
            time.sleep(POLL_S)
        return view

    def gone(self) -> dict[str, str]:
        """The agents that have ended by themselves since this was asked last, each with what it said last."""
        ended = {name: each for name, each in self._running.items() if not each.is_running()}
        for name in ended:
            del self._running[name]
        return {name: process.last_words() for name, process in ended.items()}

    def is_whole(self, view: View) -> bool:
        """Whether all are well, and every agent that runs sees every device and every other one that runs."""
        running = set(self._running)
        wanted = {device_target(each.name): running for each in self.cast.devices}
        wanted |= {agent_target(name): running - {name} for name in running}
        verdicts = view.fleet.verdicts
        return all(
            target in verdicts
            and verdicts[target].status is Status.HEALTHY
            and observers <= set(verdicts[target].sees)
            for target, observers in wanted.items()
        )

    def command(self, *words: str, heard: bool = False) -> "subprocess.CompletedProcess[bytes]":
        """Type a command of `ackonce` in the folder of the world.

        Args:
            words: what is typed.
            heard: give back what it prints on stdout; else it prints where this process does.
        """
        return subprocess.run(  # noqa: S603 - ourselves
            [*COMMAND, *words, "-C", str(self.folder)],
            env=project.environment(self.folder),
            stdout=subprocess.PIPE if heard else None,
            check=False,
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    def end(self) -> list[str]:
        """End all agents in good order; the names of those that did not."""
        running, self._running = self._running, {}
        for process in running.values():
            process.ask_to_end()
        return [name for name, process in running.items() if not process.end()]

    def accounts(self) -> list[Account]:
        """What each device has counted."""
        return self._machinery.call(lambda: [each.account() for each in self._equipment])


def _free_port(address: str) -> int:
    """A port that is free there now; it may be taken before it is used, which is a start that fails."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind((address, 0))
        return int(taken.getsockname()[1])
