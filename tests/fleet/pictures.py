"""What does a picture of `verdict_table.py` mean? The facts that it draws, and what is expected of them."""

import re
import shlex
from dataclasses import dataclass, field, replace

from agent.fleet.facts import (
    AgentFacts,
    AgentState,
    Facts,
    Observation,
    SelfReport,
    agent_target,
    device_target,
)

NOW_S = 50_000.0
PROBE_S = 5.0
ROUNDS = 12
LAST_S = 1.5
"""The age of the newest row."""
HEARTBEATS_S = {"killed": 40.0, "dying": 28.0}
"""How long ago the last sign of life was; 3 s otherwise."""
REPORTS_S = {"killed": 70.0, "dying": 58.0, "quiet": 200.0, "reborn": 3.0, "newborn": 1.0}
"""How long ago the last report was; 20 s otherwise."""


@dataclass(slots=True)
class Expected:
    """What is to be said of one target."""

    status: str
    words: tuple[str, ...] = ()
    vantages: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    reference: str | None = None


@dataclass(slots=True)
class Picture:
    """One case: the facts, and everything that is to be found."""

    name: str
    facts: Facts = field(default_factory=lambda: Facts((), ()))
    verdicts: dict[str, Expected] = field(default_factory=dict)
    untrusted: dict[str, str] = field(default_factory=dict)
    split: tuple[frozenset[str], ...] = ()
    alarms: list[tuple[str, ...]] = field(default_factory=list)


def pictures(table: str) -> list[Picture]:
    """Every case of a table."""
    return [_picture(block.strip("\n").splitlines()) for block in table.split("## ")[1:]]


def _picture(lines: list[str]) -> Picture:
    picture = Picture(lines[0])
    drawn = [line for line in lines[1:] if line.startswith("    ")]
    columns = drawn[0].split()
    rows = [line.split() for line in drawn[1:]]
    names = [row[0] for row in rows]
    targets = {name: agent_target(name) if name in names else device_target(name) for name in columns + names}
    agents, observations, reports = [], [], []
    for words in rows:
        name, marks, cells = words[0], words[1 : -len(columns)], words[-len(columns) :]
        agents.append(_agent(name, marks))
        if "mute" not in marks:
            sick = "sick" in marks
            at_s = NOW_S - next((REPORTS_S[mark] for mark in marks if mark in REPORTS_S), 20.0)
            reports += [
                SelfReport(name, "now", at_s - earlier_s, not sick, "port_missing" if sick else "")
                for earlier_s in ((0.0,) if {"reborn", "newborn"} & set(marks) else (120.0, 60.0, 0.0))
            ]
        for column, cell in zip(columns, cells, strict=True):
            observations += rows_of(name, targets[column], cell)
    picture.facts = Facts(
        tuple(agents),
        tuple(observations),
        tuple(reports),
        targets=frozenset(targets[name] for name in columns),
    )
    for line in lines[1:]:
        if line.strip() and not line.startswith("    "):
            _expect(picture, line, targets)
    return picture


def _agent(name: str, marks: list[str]) -> AgentFacts:
    told = {mark[0]: mark[1:] for mark in marks if mark[0] in "@~"}
    state = next((AgentState(mark) for mark in marks if mark in set(AgentState)), AgentState.UP)
    ago_s = next((HEARTBEATS_S[mark] for mark in marks if mark in HEARTBEATS_S), 3.0)
    return AgentFacts(
        name, "now", "site", told.get("@", ""), told.get("~", ""), state,
        reference="ref" in marks, heartbeat_s=NOW_S - ago_s, control_ok="control" not in marks,
    )  # fmt: skip


def rows_of(observer: str, target: str, cell: str) -> list[Observation]:
    """The rows that a cell stands for, oldest first."""
    misses = int(cell) if cell.isdigit() else {".": 0, "-": 0}.get(cell, ROUNDS)
    boot = "before" if cell == "b" else "now"
    late_s = {"o": 20.0, "O": 61.0}.get(cell, 0.0)
    reason = {"!": "port_held", "?": "device_says: flashing"}.get(cell, "no_reply")
    return [
        Observation(observer, boot, target, ROUNDS - age, NOW_S - LAST_S - late_s - age * PROBE_S, age >= misses,
                    reason if age < misses else "")
        for age in reversed(range(ROUNDS if cell != "-" else 0))
    ]  # fmt: skip


def _expect(picture: Picture, line: str, targets: dict[str, str]) -> None:
    subject, _, rest = line.partition(":") if not line.startswith(("split", "alarm")) else (line, "", "")
    if subject.startswith("split"):
        sides = subject.removeprefix("split").split("|")
        picture.split = tuple(frozenset(side.split()) for side in sides)
    elif subject.startswith("alarm"):
        picture.alarms.append(tuple(shlex.split(subject)[1:]))
    elif subject.startswith("untrusted"):
        picture.untrusted[subject.split()[1]] = shlex.split(rest)[0]
    else:
        for name in subject.split():
            picture.verdicts[targets[name]] = _expected(name, rest)


def _expected(name: str, text: str) -> Expected:
    status, *rest = shlex.split(text)
    expected = Expected(status)
    for word in rest:
        if pair := re.fullmatch(r"(\w+)>(\w+|\*)", word):
            expected.pair = (pair[1], name)
        elif vantage := re.fullmatch(r"@(\w+)", word):
            expected.vantages += (vantage[1],)
        elif reference := re.fullmatch(r"by (\w+)", word):
            expected.reference = reference[1]
        else:
            expected.words += (word,)
    return expected


def healed(facts: Facts) -> Facts:
    """The same with one fresh success of each pair, and every agent up and well."""
    pairs = sorted({(row.observer, row.target) for row in facts.observations})
    return replace(
        facts,
        agents=tuple(
            replace(agent, state=AgentState.UP, heartbeat_s=NOW_S, control_ok=True) for agent in facts.agents
        ),
        observations=(
            *facts.observations,
            *(
                Observation(observer, "now", target, ROUNDS + 1, NOW_S - 0.5, ok=True)
                for observer, target in pairs
            ),
        ),
        reports=(
            *facts.reports,
            *(SelfReport(agent.name, "now", NOW_S - 0.5, ok=True) for agent in facts.agents),
        ),
    )
