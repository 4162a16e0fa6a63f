"""Can several checkers of one healthy device talk each other into calling it dead?

The story of the source: one gateway worked; when there were two, healthy servers were cut off. Each gateway asked every
5 s by setting a flag on the *server's* record, which the server cleared when it answered, and counted a miss where it
still found the flag at its next look. So a gateway that looked between another's question and the answer counted that
one's open question as its own miss. Three misses, later five, and the server was cut off.

Here: ten virtual minutes, timers as in the source, all started within 50 ms and without jitter, so that they stay in
phase for ever; answers take 20 ms or 200 ms in the mean. The device never fails. The checkers differ only in where they
keep what is open: each its own rounds, or one flag on the target. Both write what they take for a miss as their rows,
and `verdict` judges them after each miss and at the end.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from agent.fleet.facts import AgentFacts, AgentState, Facts, Observation, Params, SelfReport
from agent.fleet.verdict import Status, verdict

PERIOD_S = 5.0
MINUTES_S = 600.0
SPREAD_S = 0.05
DEVICE = "device:lobby"
KEPT = 13
"""Rows of each checker that may be fresh."""
CLEARED = frozenset({Status.HEALTHY, Status.SHAKY})
RUNS = [(2, 0.02), (2, 0.2), (8, 0.02), (8, 0.2)]
"""Checkers, and seconds that an answer takes in the mean."""


class OwnRounds:
    """What is open belongs to the checker, by round: an answer closes the round that it answers, and no other."""

    def __init__(self) -> None:
        self._open: dict[int, set[int]] = {}

    def ask(self, checker: int, number: int) -> None:
        """A checker puts its question."""
        self._open.setdefault(checker, set()).add(number)

    def answer(self, checker: int, number: int) -> None:
        """The device has answered it."""
        self._open[checker].discard(number)

    def missed(self, checker: int, number: int) -> bool:
        """Whether the checker's question of that round is still open."""
        return number in self._open[checker]


class FlagOnTarget:
    """What is open is one flag on the record of the device, as in the source."""

    def __init__(self) -> None:
        self._testing = False

    def ask(self, checker: int, number: int) -> None:  # noqa: ARG002 - whose question it is, the flag cannot say
        """A checker puts its question."""
        self._testing = True

    def answer(self, checker: int, number: int) -> None:  # noqa: ARG002
        """The device has answered."""
        self._testing = False

    def missed(self, checker: int, number: int) -> bool:  # noqa: ARG002
        """Whether the flag stands."""
        return self._testing


Memory = OwnRounds | FlagOnTarget


@dataclass(slots=True)
class Site:
    """Checkers around one healthy device, in virtual time; `starts_s` is when each begins."""

    starts_s: list[float]
    memory: Memory
    rows: list[deque[tuple[int, float, bool]]] = field(init=False)
    under_way: list[tuple[float, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = [deque(maxlen=KEPT) for _ in self.starts_s]

    def run(self, rng: random.Random, mean_s: float, allowed: frozenset[Status] = CLEARED) -> Status | None:
        """Ten minutes, or until the first verdict that is not allowed, which is returned; None if there is none."""
        order = sorted(range(len(self.starts_s)), key=self.starts_s.__getitem__)
        memory, under_way, now_s = self.memory, self.under_way, 0.0
        for number in range(int(MINUTES_S / PERIOD_S)):
            for checker in order:
                now_s = self.starts_s[checker] + number * PERIOD_S
                while under_way and under_way[0][0] <= now_s:
                    memory.answer(*heapq.heappop(under_way)[1:])
                if number:
                    missed = memory.missed(checker, number - 1)
                    self.rows[checker].append((number - 1, now_s, not missed))
                    if missed and (found := self.judge(now_s)) not in allowed:
                        return found
                memory.ask(checker, number)
                heapq.heappush(under_way, (now_s + rng.expovariate(1.0 / mean_s), checker, number))
        found = self.judge(now_s)
        return None if found in allowed else found

    def judge(self, now_s: float) -> Status:
        """The verdict on the device now."""
        return verdict(self.facts(now_s), now_s).verdicts[DEVICE].status

    def facts(self, now_s: float) -> Facts:
        """The rows that are fresh, as the store would give them."""
        names = [f"gateway-{checker}" for checker in range(len(self.starts_s))]
        return Facts(
            tuple(
                AgentFacts(name, "b", "site", "", "", AgentState.UP, reference=False, heartbeat_s=now_s)
                for name in names
            ),
            tuple(
                Observation(name, "b", DEVICE, number, at_s, ok, "" if ok else "no_reply")
                for name, rows in zip(names, self.rows, strict=True)
                for number, at_s, ok in rows
            ),
            tuple(SelfReport(name, "b", now_s, ok=True) for name in names),
        )


def falsely_cut(seeds: range, memory: Callable[[], Memory], checkers: int, mean_s: float) -> list[int]:
    """The seeds in which the healthy device was marked or worse."""
    cut = []
    for seed in seeds:
        rng = random.Random(seed)
        site = Site([rng.uniform(0, SPREAD_S) for _ in range(checkers)], memory())
        if site.run(rng, mean_s) is not None:
            cut.append(seed)
    return cut


@pytest.mark.parametrize(("checkers", "mean_s"), RUNS)
def test_checkers_do_not_disturb_each_other(checkers: int, mean_s: float) -> None:
    """H1, H7, H8: a thousand runs in all, and the healthy device is never marked, let alone cut off."""
    first = RUNS.index((checkers, mean_s)) * 250
    assert falsely_cut(range(first, first + 250), OwnRounds, checkers, mean_s) == []


@pytest.mark.parametrize(
    ("checkers", "mean_s", "share"), [(2, 0.02, 0.4), (2, 0.2, 1.0), (8, 0.02, 0.9), (8, 0.2, 1.0)]
)
def test_a_flag_on_the_target_cuts_healthy_devices_off(checkers: int, mean_s: float, share: float) -> None:
    """The mutant: with the flag of the source, most of the same runs end with a false verdict, also with limit five."""
    assert len(falsely_cut(range(20), FlagOnTarget, checkers, mean_s)) >= 20 * share


def test_a_quorum_does_not_save_it() -> None:
    """Many checkers that share a flag agree with each other: 2 of 8 and more are a quorum, and all are wrong."""
    allowed = CLEARED | {Status.PAIR_MARKED}
    for seed in range(5):
        rng = random.Random(seed)
        site = Site([rng.uniform(0, SPREAD_S) for _ in range(8)], FlagOnTarget())
        assert site.run(rng, 0.2, allowed) is Status.UNREACHABLE, seed


REPLY_S = 2.0
"""A probe waits so long for its reply (FLEET.md 3, a read)."""


def marked_after_s(intervals_s: Iterable[float], params: Params) -> float:
    """How long a device is dead before its observer's pair is marked, if it dies right after it answered a probe."""
    agents = (AgentFacts("gateway", "b", "", "", "", AgentState.UP, reference=False, heartbeat_s=0.0),)
    rows = [Observation("gateway", "b", DEVICE, 12 - age, age * -PERIOD_S, ok=True) for age in range(12)]
    asked_s = 0.0
    for number, interval_s in enumerate(intervals_s, 13):
        asked_s += interval_s
        now_s = asked_s + REPLY_S
        rows.append(Observation("gateway", "b", DEVICE, number, now_s, ok=False, reason="no_reply"))
        if verdict(Facts(agents, tuple(rows)), now_s, params).verdicts[DEVICE].status not in CLEARED:
            return now_s
    raise AssertionError("never marked")


@pytest.mark.parametrize(("streak", "within_s"), [(3, 20.0), (5, 30.0)])
def test_a_dead_device_is_marked_in_time(streak: int, within_s: float) -> None:
    """H5, H6: whatever the jitter does, and not before as many misses as the limit says."""
    params = Params(fail_streak=streak)
    longest_s, shortest_s = PERIOD_S * (1 + params.jitter), PERIOD_S * (1 - params.jitter)
    assert marked_after_s([longest_s] * 12, params) <= within_s
    assert marked_after_s([shortest_s] * 12, params) == pytest.approx(streak * shortest_s + REPLY_S)
    for seed in range(20):
        rng = random.Random(seed)
        took_s = marked_after_s([rng.uniform(shortest_s, longest_s) for _ in range(12)], params)
        assert (streak - 1) * shortest_s < took_s <= within_s, seed
