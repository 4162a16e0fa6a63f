"""How is a script played in a world, and how is a world watched that has none?

A step that waits for a status is done when the agents know so; where they do not in time, that is told, and the story
goes on: its end says that not everything came as expected.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from agent.cli.fleet_view import View
from agent.duration import parse_duration
from agent.fleet.facts import name_of
from agent.fleet.verdict import Status
from worlds.fleet.cast import EVERYTHING
from worlds.fleet.script import Step
from worlds.fleet.telling import Teller
from worlds.fleet.world import POLL_S, World

PATIENCE_S = 45.0
PATIENCE_PROBES = 10
"""How long a status is waited for: so many seconds, and so many probes. Silence alone becomes `no_data` after 30 s."""


class Player:
    """Plays steps in one world."""

    def __init__(self, world: World, teller: Teller) -> None:
        """A player that has done nothing yet; `missed` counts what did not come in time."""
        self.missed = 0
        self._world = world
        self._teller = teller
        self._verbs: Mapping[str, Callable[..., None]] = MappingProxyType(
            {
                "say": self._say,
                "cut": self.cut,
                "heal": self._heal,
                "kill": self._kill,
                "start": self._start,
                "until": self.until,
                "wait": self._wait,
                "status": lambda: teller.show(world, "status"),
                "show": lambda target: teller.show(world, "show", target),
                "explain": lambda target: teller.show(world, "explain", target),
            }
        )

    def play(self, steps: Sequence[Step]) -> None:
        """Do the steps. Raises WorldFailed, StoreError, BrokenPipeError, OutputLost."""
        for step in steps:
            self._verbs[step.verb](*step.words)

    def cut(self, who: str, whom: str) -> None:
        """Let nothing pass between two."""
        self._world.cut(who, whom)
        self._teller.tell("cut", f"CUT: nothing passes between {who} and {whom} any more", who=who, whom=whom)

    def until(self, name: str, word: str) -> None:
        """Wait for a status of a target, or of everything."""
        world, status = self._world, Status(word)
        patience_s = PATIENCE_S + PATIENCE_PROBES * world.probe_s
        fits = _everything(world, status) if name == EVERYTHING else _one(world.cast.target(name), status)
        view = world.until(fits, patience_s)
        if view is None:
            self.missed += 1
            text = f"NOT AS EXPECTED: {name} did not become {word} within {patience_s:.0f} s"
            self._teller.tell("missed", text, target=name, status=word)
            return
        why = "" if name == EVERYTHING else f": {view.fleet.verdicts[world.cast.target(name)].reason}"
        self._teller.tell("verdict", _is(name, status) + why, target=name, status=word)

    def watch(self, for_s: float | None) -> None:
        """Tell of each status that changes and each agent that ends, for so long or until interrupted."""
        told = _statuses(self._world.look())
        until_s = time.monotonic() + for_s if for_s is not None else None
        while until_s is None or time.monotonic() < until_s:
            for name, said in self._world.gone().items():
                self._teller.tell("gone", f"{name} has ended. It said last: {said}", agent=name)
            view = self._world.look()
            for target, status in _statuses(view).items():
                if told.get(target) is not status:
                    name = name_of(target)
                    text = f"{_is(name, status)}: {view.fleet.verdicts[target].reason}"
                    self._teller.tell("verdict", text, target=name, status=status.value)
            told = _statuses(view)
            time.sleep(POLL_S)

    # --- the other steps ----------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._teller.tell("said", text)

    def _heal(self, who: str, whom: str | None = None) -> None:
        if whom is None:
            self._world.heal_everything()
            self._teller.tell("healed", "HEALED: everything passes again", who=who, whom=None)
        else:
            self._world.heal(who, whom)
            text = f"HEALED: everything passes between {who} and {whom} again"
            self._teller.tell("healed", text, who=who, whom=whom)

    def _kill(self, agent: str) -> None:
        self._world.kill(agent)
        self._teller.tell("killed", f"KILLED: {agent}, with -9", agent=agent)

    def _start(self, agent: str) -> None:
        self._world.start(agent)
        self._teller.tell("started", f"STARTED: {agent}", agent=agent)

    def _wait(self, text: str) -> None:
        time.sleep(parse_duration(text))


def _is(name: str, status: Status) -> str:
    return f"{name} is {status.value}"


def _one(target: str, status: Status) -> Callable[[View], bool]:
    def fits(view: View) -> bool:
        found = view.fleet.verdicts.get(target)
        return found is not None and found.status is status

    return fits


def _everything(world: World, status: Status) -> Callable[[View], bool]:
    if status is Status.HEALTHY:
        return world.is_whole
    everybody = set(world.cast.targets.values())

    def fits(view: View) -> bool:
        known = _statuses(view)
        return all(known.get(each) is status for each in everybody)

    return fits


def _statuses(view: View) -> dict[str, Status]:
    return {target: found.status for target, found in view.fleet.verdicts.items()}
