"""What does the store know about the fleet at this moment, and which target does a person mean?

Everything that the commands of `fleet` show is computed from one look at the store's rows; no device is touched.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agent.cli.options import Common
from agent.cli.places import settings_of
from agent.cli.running import run_agent
from agent.fleet.agents import Agent, Agents, Lapses
from agent.fleet.changes import Changes
from agent.fleet.facts import Facts, Params, SelfReport, agent_target, device_target, name_of
from agent.fleet.marks import Mark, Marks, Word
from agent.fleet.observations import Observations
from agent.fleet.verdict import Fleet, Status, verdict
from agent.fleet.witnesses import own_reports
from agent.service import Service
from agent.targets import inventory_of
from devices.problems import UsageProblem, did_you_mean

T = TypeVar("T")
PARAMS = Params()
KINDS = ("device", "agent")


@dataclass(frozen=True, slots=True)
class View:
    """One look at the fleet.

    `now_s`: when, by the store's clock. `reports`: the newest of each agent's present life. `words`: the operators'
    last words that hold, by target and mark. `known`: every target that a row, a mark or the inventory knows.
    """

    facts: Facts
    now_s: float
    fleet: Fleet
    agents: Mapping[str, Agent]
    lapses: Lapses
    reports: Mapping[str, SelfReport]
    words: Mapping[tuple[str, Mark], Word]
    known: frozenset[str]

    @property
    def is_begun(self) -> bool:
        """Whether any agent ever was there; before that there is nothing to show."""
        return bool(self.agents or self.facts.observations or self.words)

    def alarms(self) -> list[str]:
        """What is to be known before any single target is looked at."""
        by_votes = [
            target
            for target, each in self.fleet.verdicts.items()
            if each.status in (Status.UNREACHABLE, Status.UNREACHABLE_FROM)
        ]
        of = len(self.fleet.verdicts)
        mass = (
            f"{len(by_votes)} of {of} are unreachable at once, more than votes newly exclude in {PARAMS.cap_s:.0f} s "
            f"({PARAMS.fleet_cap:.0%}): look at the network between them first"
        )
        many = len(by_votes) > max(1, int(of * PARAMS.fleet_cap))
        lapse = [self.lapses.alarm] if self.lapses.alarm is not None else []
        return [*self.fleet.alarms, *lapse, *([mass] if many else [])]

    def meant(self, typed: str) -> str:
        """The target that was typed, with or without its kind. Raises UsageProblem: none is known, or two are."""
        if typed in self.known:
            return typed
        fitting = [target for target in (device_target(typed), agent_target(typed)) if target in self.known]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise UsageProblem(f"a device and an agent are called '{typed}'", f"Type {' or '.join(fitting)}")
        kind, colon, _ = typed.partition(":")
        near = self.known if colon and kind in KINDS else {name_of(target) for target in self.known}
        raise UsageProblem(
            f"nobody knows '{typed}': no row of the fleet, no agent, and not the inventory",
            did_you_mean(typed, sorted(near)) or "See: ackonce fleet status, ackonce devices",
        )

    def short(self, target: str) -> str:
        """A target as it may be typed: without its kind where that is clear."""
        name = name_of(target)
        both = {device_target(name), agent_target(name)} <= self.known
        return target if both else name


def with_view(common: Common, work: Callable[[Service, View], T]) -> tuple[View, T]:
    """Look at the store, and do what else needs it open.

    Raises:
        UsageProblem: the settings.
        FileProblems: a configuration file or the inventory.
        StoreError: the store cannot be opened or read; and what the work raises.
    """
    settings = settings_of(common)
    devices = inventory_of(settings).devices if settings.inventory is not None else ()

    async def both(service: Service) -> tuple[View, T]:
        view = look(service, devices)
        return view, work(service, view)

    return run_agent(common, settings, both)


def look(service: Service, devices: Collection[str]) -> View:
    """Look at the store once.

    Args:
        service: the store.
        devices: the devices of the inventory: they have a verdict although no agent may lead to them.

    Raises:
        StoreError: it cannot be read.
    """
    observations, agents = Observations(service), Agents(service)
    words = {(word.target, word.mark): word for word in Marks(service).words() if word.holds}
    facts = observations.facts()
    marked = {target for target, _ in words}
    facts = replace(facts, targets=facts.targets | marked | {device_target(name) for name in devices})
    now_s = observations.now_s()
    fleet = verdict(facts, now_s, PARAMS)
    return View(
        facts=facts,
        now_s=now_s,
        fleet=fleet,
        agents={agent.name: agent for agent in agents.all()},
        lapses=agents.lapses(),
        reports=own_reports(facts, now_s),
        words=words,
        known=frozenset(fleet.verdicts),
    )


def since(service: Service, view: View, targets: Sequence[str]) -> dict[str, str]:
    """Since when each target's status is what it is, UTC, where the history has it already. Raises StoreError."""
    found = {}
    for target in targets:
        for change in Changes(service).history(target, 1):
            if change.status is view.fleet.verdicts[target].status:
                found[target] = change.utc
    return found
