"""Who is there, and which ways lead from one to another? Sites with their agents, and devices; nothing runs here.

Agents are named by their site, `porto-1`, and look from it: the site is their vantage. Each has an uplink of its own,
so that each has a vote. Every agent looks at every device and at every other agent. A way belongs to one who asks and
one who answers; devices ask nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.fleet.facts import agent_target, device_target
from devices.problems import UsageProblem, did_you_mean

SITES = ("porto", "lisbon", "faro", "braga", "evora", "aveiro", "coimbra", "guarda")
AGENTS_MAX = 20
DEVICES_MAX = 50
PROFILES = ("demo/controller", "demo/controller-line", "worlds/adder")
"""What the devices are, by turns: one that numbers its commands, one of plain text lines, one of Modbus TCP."""
EVERYTHING = "everything"

Way = tuple[str, str]
"""Who asks, and who answers."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent. `address`: the loopback address that stands for its place at the site."""

    name: str
    site: str
    uplink: str
    address: str


@dataclass(frozen=True, slots=True)
class Device:
    """A device, with the profile that agents know it by and the serial that it must answer with."""

    name: str
    profile: str
    serial: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody in one world."""

    agents: tuple[Agent, ...]
    devices: tuple[Device, ...]

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, in their order."""
        return tuple(dict.fromkeys(agent.site for agent in self.agents))

    def agent(self, name: str) -> Agent:
        """The agent of a name. Raises UsageProblem."""
        for agent in self.agents:
            if agent.name == name:
                return agent
        raise _nobody(name, "agent", [agent.name for agent in self.agents])

    @property
    def targets(self) -> dict[str, str]:
        """Everybody as the fleet names them, `device:NAME` and `agent:NAME`, by name."""
        targets = {each.name: device_target(each.name) for each in self.devices}
        return targets | {each.name: agent_target(each.name) for each in self.agents}

    def target(self, name: str) -> str:
        """A device or an agent as the fleet names it. Raises UsageProblem."""
        targets = self.targets
        if name not in targets:
            raise _nobody(name, "device or agent", [*targets])
        return targets[name]

    def ways(self, who: str, whom: str) -> frozenset[Way]:
        """The ways between two of them.

        Args:
            who: a site or an agent.
            whom: a device; or a site or an agent, and then there is a way in each direction.

        Raises:
            UsageProblem: one of them is not there, or no way leads from one to the other.
        """
        askers = self._agents(who)
        if any(whom == each.name for each in self.devices):
            return frozenset((asker, whom) for asker in askers)
        answerers = self._agents(whom, or_device=True)
        there = {(one, other) for one in askers for other in answerers if one != other}
        if not there:
            raise UsageProblem(f"no way leads from {who} to {whom}")
        return frozenset(there | {(other, one) for one, other in there})

    def _agents(self, name: str, *, or_device: bool = False) -> list[str]:
        """The agents that a name means: itself, or those of the site."""
        found = [agent.name for agent in self.agents if name in (agent.name, agent.site)]
        if found:
            return found
        known = [*self.sites, *(agent.name for agent in self.agents)]
        if or_device:
            raise _nobody(name, "device, site or agent", [*known, *(each.name for each in self.devices)])
        raise _nobody(name, "site or agent", known)


def _nobody(name: str, kind: str, known: Sequence[str]) -> UsageProblem:
    return UsageProblem(
        f"there is no {kind} '{name}'", did_you_mean(name, known) or f"There is: {', '.join(known)}"
    )


def cast_of(agents: Sequence[int], devices: int) -> Cast:
    """A cast.

    Args:
        agents: how many agents each site has; so many sites.
        devices: how many devices.
    """
    return Cast(
        tuple(
            Agent(f"{SITES[site]}-{n}", SITES[site], f"{SITES[site]}-line-{n}", f"127.0.{site + 1}.{n}")
            for site, many in enumerate(agents)
            for n in range(1, many + 1)
        ),
        tuple(Device(f"device-{n + 1}", PROFILES[n % len(PROFILES)], f"SIM-{n + 1}") for n in range(devices)),
    )
