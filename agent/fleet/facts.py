"""What do verdicts look at? What each agent saw, what each says of itself, and who is there.

Facts are rows that somebody wrote about what it saw itself, or about itself; nobody writes health on the record of what
it checks. Moments (`at_s`) are seconds of the store's clock, of which only differences mean anything. Targets are
texts: `device:NAME`, `agent:NAME`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

DEVICE_SAYS = "device_says"
"""The reason of a probe that was answered, by equipment that says itself that it is unwell: `device_says`, or
`device_says: TEXT` where it says more. It was reached: this is no miss."""
NO_PROBE = frozenset({"port_held", "not_probed"})
"""Reasons that are about the observer: nothing was asked of the target, so these rows say nothing about it."""


class AgentState(StrEnum):
    """What an agent says of its own life."""

    STARTING = "starting"
    """Its own check has not passed yet."""
    UP = "up"
    DRAINING = "draining"
    """It begins nothing new."""
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Observation:
    """One probe's result, by one observer about one target.

    `boot`: the observer's; a restarted agent has another. `round` counts the probes of this pair within a boot.
    `reason` is "" where `ok`, else `no_reply`, `refused`, `no_route`, `bad_frame`, `wrong_device`, `DEVICE_SAYS` or one
    of `NO_PROBE`. `rtt_s`: how long the answer took.
    """

    observer: str
    boot: str
    target: str
    round: int
    at_s: float
    ok: bool
    reason: str = ""
    rtt_s: float | None = None


@dataclass(frozen=True, slots=True)
class SelfReport:
    """What an agent says of itself: well, or why not; and its figures."""

    agent: str
    boot: str
    at_s: float
    ok: bool
    reason: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """An agent as it registered.

    `boot` is its present one. `vantage`: from where it looks, "" where it stands for none. `uplink`: its way out;
    agents that share one have one vote, and "" is shared with nobody. `heartbeat_s`: when it last said that it lives.
    `control_ok`: its probe of a closed port fails, as it must. `listens`: its address for other agents. `probe_s`: how
    often it probes each target.
    """

    name: str
    boot: str
    site: str
    vantage: str
    uplink: str
    state: AgentState
    reference: bool
    heartbeat_s: float
    control_ok: bool = True
    listens: str | None = None
    probe_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a verdict looks at; the order of rows means nothing.

    `reports`: all that are kept, not only the newest: the oldest of a boot tells since when it lives.
    `references`: targets of the kind `agent:NAME` whose failing to reach another one counts alone. `targets`: what is
    to have a verdict although nobody may have a row about it; agents, and whatever a row is about, have one anyway.
    """

    agents: tuple[AgentFacts, ...]
    observations: tuple[Observation, ...]
    reports: tuple[SelfReport, ...] = ()
    references: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Params:
    """The numbers of health (FLEET.md 1 and 4).

    `probe_s` +- `jitter`: time between two probes of a pair. `fail_streak`: so many misses in a row are a failure of
    the pair. `fresh_s`: rows older than this mean nothing; `stale_probe_s`: a pair with none newer has no voice.
    Both are for probes every `probe_s`, and grow with the interval of an observer that looks less often.
    `self_s`: time between two self reports; none for `no_data_s` is silence. `heartbeat_s`, `lapse_s`: the same for the
    sign of life. `quorum`: so many independent observers at least. `trust_targets_min`: an observer that fails half (so
    at least two) of at least so many targets that others see is an unreliable witness.
    `group_cap`: votes exclude no more than this part of a route group; `fleet_cap`: nor, within `cap_s`, of the fleet.
    """

    probe_s: float = 5.0
    jitter: float = 0.1
    fail_streak: int = 5
    fresh_s: float = 60.0
    stale_probe_s: float = 15.0
    self_s: float = 60.0
    no_data_s: float = 180.0
    heartbeat_s: float = 10.0
    lapse_s: float = 30.0
    quorum: int = 2
    trust_targets_min: int = 3
    group_cap: float = 0.5
    fleet_cap: float = 0.15
    cap_s: float = 60.0

    def pace(self, agent: AgentFacts) -> float:
        """By how much longer than `probe_s` the agent takes between two probes; 1 at least."""
        return max(1.0, agent.probe_s / self.probe_s)


def agent_target(name: str) -> str:
    """An agent as a target."""
    return f"agent:{name}"


def device_target(name: str) -> str:
    """A device of the inventory as a target."""
    return f"device:{name}"


def name_of(target: str) -> str:
    """The name in a target."""
    return target.partition(":")[2]
