"""How does the whole fleet stand? A row for each device and agent, and a row for what each agent says of itself.

The status is always a word; its dot and colour come on top of it, on terminals only.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.cli import output
from agent.cli.fleet_view import PARAMS, View
from agent.cli.fleet_words import SEVERITY, age, coloured, dot, said
from agent.cli.options import Common
from agent.fleet.facts import agent_target, name_of
from agent.fleet.marks import Mark, Word
from agent.fleet.verdict import Status, Verdict
from logs.text import escape

STATUS_COLUMNS = ("name", "kind", "status", "age", "marks", "reason")
AGENT_COLUMNS = ("agent", "state", "site", "vantage", "uplink", "heard of", "trusted", "about")
_GAP, _UNDER = "  ", "     "
_BOOT_SHOWN = 8
"""So much of a boot id tells two apart."""


def put_status(common: Common, view: View, since: Mapping[str, str]) -> None:
    """Print every target, the worst first: alarms, rows, and how many there are of each status."""
    verdicts = sorted(
        view.fleet.verdicts.items(), key=lambda each: (SEVERITY.index(each[1].status), name_of(each[0]))
    )
    for alarm in view.alarms():
        output.say(f"ALARM: {alarm}.")
    if common.json:
        for target, found in verdicts:
            output.put_json(status_json(view, target, found, since.get(target)))
        return
    rows = [_status_row(view, target, found) for target, found in verdicts]
    _put_dotted([found.status for _, found in verdicts], rows)
    if not common.quiet:
        output.say(_sums(view))


def status_json(view: View, target: str, found: Verdict, since: str | None) -> dict[str, Any]:
    """One target as an object; unknown is None."""
    return {
        "schema": 1,
        "target": target,
        "kind": target.partition(":")[0],
        "status": found.status.value,
        "reason": found.reason,
        "fails": list(found.fails),
        "sees": list(found.sees),
        "ignored": list(found.ignored),
        "vantages": list(found.vantages),
        "pair": list(found.pair) if found.pair is not None else None,
        "age_s": round(found.age_s, 1) if found.age_s is not None else None,
        "stale": found.stale,
        "disabled": _word_json(view.words.get((target, Mark.DISABLED))),
        "reference": _word_json(view.words.get((target, Mark.REFERENCE))),
        "since": since,
    }


def _word_json(word: Word | None) -> dict[str, Any] | None:
    """Whose word a mark is; None where there is none."""
    return {"by": word.by, "reason": word.reason, "utc": word.utc} if word is not None else None


def _status_row(view: View, target: str, found: Verdict) -> tuple[object, ...]:
    words = [view.words[target, mark] for mark in Mark if (target, mark) in view.words]
    return (
        view.short(target),
        target.partition(":")[0],
        found.status.value,
        age_and_badge(found),
        ", ".join(word.mark.value for word in words) or None,
        "; ".join([*map(said, words), found.reason]),
    )


def age_and_badge(found: Verdict) -> str:
    """`3 s`, `22 s stale`; `stale` where nothing is known to have an age."""
    known = [age(found.age_s)] if found.age_s is not None else []
    return " ".join([*known, *(["stale"] if found.stale else [])])


def _sums(view: View) -> str:
    """`2 agents, 40 devices: 1 unreachable, 41 healthy`."""
    verdicts = view.fleet.verdicts
    kinds = Counter(target.partition(":")[0] for target in verdicts)
    statuses = Counter(found.status for found in verdicts.values())
    those = ", ".join(f"{statuses[status]} {status.value}" for status in SEVERITY if statuses[status])
    disabled = sum(mark is Mark.DISABLED for _, mark in view.words)
    more = f"; {disabled} disabled" if disabled else ""
    return f"Agents: {kinds['agent']}, devices: {kinds['device']}. {those}{more}."


def _put_dotted(statuses: Sequence[Status], rows: Sequence[Sequence[object]]) -> None:
    """A table of targets with a dot before each on a terminal, laid out as `output.put_table` does."""
    if not output.on_terminal():
        output.put_table(STATUS_COLUMNS, rows)
        return
    from rich.cells import cell_len

    cells = [["-" if cell is None else escape(str(cell), output.LINE_MAX) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(STATUS_COLUMNS, *cells, strict=True)]
    beside = len(_UNDER) + sum(widths) + len(_GAP) * len(widths) <= shutil.get_terminal_size().columns
    shown = len(widths) if beside else len(widths) - 1

    def line(row: Sequence[str]) -> str:
        padded = (
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row[:shown], widths, strict=False)
        )
        return _GAP.join(padded).rstrip()

    output.put_document(f"   {line(STATUS_COLUMNS)}\n")
    for status, row in zip(statuses, cells, strict=True):
        output.put_document(f"{coloured(dot(status), status)}  {line(row)}\n")
        if not beside:
            output.put_document(f"{_UNDER}{row[-1]}\n")


# --- agents -----------------------------------------------------------------------------------------------------------


def put_agents(common: Common, view: View) -> None:
    """Print every agent that ever registered, by name."""
    for alarm in view.alarms():
        output.say(f"ALARM: {alarm}.")
    if common.json:
        for name in view.agents:
            output.put_json(agent_json(view, name))
        return
    output.put_table(AGENT_COLUMNS, [_agent_row(view, name) for name in view.agents])


def agent_json(view: View, name: str) -> dict[str, Any]:
    """One agent as an object."""
    agent, report = view.agents[name], view.reports.get(name)
    return {
        "schema": 1,
        "agent": name,
        "state": agent.state.value,
        "site": agent.site,
        "vantage": agent.vantage,
        "uplink": agent.uplink,
        "listens": agent.listens,
        "heartbeat_age_s": round(view.now_s - agent.heartbeat_s, 1),
        "lapsed": name in view.lapses.lapsed | view.lapses.kept,
        "boot": agent.boot,
        "version": report.metrics.get("version") if report is not None else None,
        "process": str(agent.holder),
        "started_utc": agent.started_utc,
        "probe_s": agent.probe_s,
        "devices": agent.devices,
        "report_ok": report.ok if report is not None else None,
        "report_reason": (report.reason or None) if report is not None else None,
        "report_age_s": round(view.now_s - report.at_s, 1) if report is not None else None,
        "metrics": dict(report.metrics) if report is not None else None,
        "trusted": name not in view.fleet.untrusted,
        "untrusted_why": view.fleet.untrusted.get(name),
        "disabled": _word_json(view.words.get((agent_target(name), Mark.DISABLED))),
        "reference": _word_json(view.words.get((agent_target(name), Mark.REFERENCE))),
    }


def _agent_row(view: View, name: str) -> tuple[object, ...]:
    agent = view.agents[name]
    silent = name in view.lapses.lapsed | view.lapses.kept
    return (
        name,
        f"{agent.state.value}, lapsed" if silent else agent.state.value,
        agent.site or None,
        agent.vantage or None,
        agent.uplink or None,
        f"{age(view.now_s - agent.heartbeat_s)} ago",
        "no" if name in view.fleet.untrusted else "yes",
        "; ".join(_about(view, name)),
    )


def _about(view: View, name: str) -> Iterator[str]:
    """What has no column: operators' words, why it is not trusted, its own report, its process."""
    agent, report = view.agents[name], view.reports.get(name)
    for mark in Mark:
        if (word := view.words.get((agent_target(name), mark))) is not None:
            yield said(word)
    if name in view.fleet.untrusted:
        yield f"its votes are ignored: {view.fleet.untrusted[name]}"
    if name in view.lapses.kept:
        yield "many fell silent together, so its routes stay"
    if report is None:
        yield "no report of its own"
    else:
        late = " stale" if view.now_s - report.at_s >= PARAMS.no_data_s else ""
        state = "well" if report.ok else f"unwell: {report.reason or 'no reason given'}"
        figures = "".join(
            f", {key} {value}" for key, value in sorted(report.metrics.items()) if key != "version"
        )
        yield f"reports {state} ({age(view.now_s - report.at_s)} ago{late}){figures}"
    yield f"answers at {agent.listens}" if agent.listens is not None else "has no address for other agents"
    yield f"leads to {agent.devices} device{'' if agent.devices == 1 else 's'}"
    version = f"ackonce {report.metrics['version']}, " if report and "version" in report.metrics else ""
    yield f"{version}boot {agent.boot[:_BOOT_SHOWN]}, process {agent.holder.pid} on {agent.holder.host}"
