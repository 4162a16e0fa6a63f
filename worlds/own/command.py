"""What does `ackonce simulate world -i INVENTORY` read, say, and end with?

stdout carries one table for each profile and sort of link, then for each command that ended in doubt why, and what was
tried against it. All figures are percentages of the runs, and how many runs there were stands above the table. Exit
code 0; 1 only where the agent said a false word or did something twice, which would be its bug. A file that is wrong
ends the run before anything is played.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from agent.cli import output
from agent.operation import Outcome
from agent.profile_folders import profile_roots
from agent.settings import Settings, resolve
from agent.stations import Target
from agent.targets import choose_targets, inventory_of
from devices.loader import find
from devices.problems import UsageProblem
from worlds.own.plays import Tally, Weather
from worlds.own.report import Line, Page, fill, pages
from worlds.own.search import STANDARD_ERRORS, Tried

FAILED = 1
LOSS_PERCENT = 20.0
REASONS_MAX = 3
HELPFUL_MAX = 4
COLUMNS = (
    "command",
    "policy",
    "runs",
    "applied %",
    "not applied %",
    "in doubt %",
    "left %",
    "refused %",
    "not sent %",
)
_CLOSING = (
    "The simulated equipment believes the profiles: this shows what their evidence is worth, not whether they are "
    "right.\n"
    f"A help makes the doubts, or those left to a person, fewer by more than {STANDARD_ERRORS:g} standard errors; more "
    "--seeds show smaller differences."
)
_FILES = (".yaml", ".yml")


def run(
    inventory: Path, profile_dir: Path | None, loss_percent: float, plays: int, *, as_json: bool, quiet: bool
) -> int:
    """Play every profile of an inventory; returns the exit code.

    Args:
        inventory: the user's file.
        profile_dir: where profiles are looked for first.
        loss_percent: how many of a hundred answers are lost.
        plays: how often each command is played.
        as_json: one object for each profile and sort of link.
        quiet: no progress on stderr.

    Raises:
        UsageProblem: a device without profile, a folder that is none.
        FileProblems: inventory or profile.
    """
    weather = Weather(loss_percent / 100, plays)
    found = pages(targets(resolve(inventory=inventory), profile_dir))
    for page in found:
        for line in fill(page, weather):
            if not quiet:
                output.say(f"{page.target.profile.name}: '{line.command.name}' played")
        # A bug of the agent ends with its code, whoever listens.
        with output.whoever_listens() if page.wrong else nullcontext():
            if as_json:
                output.put_json(record(page, weather))
            else:
                _show(page, weather)
    if any(page.wrong for page in found):
        return FAILED
    if not as_json and any(page.lines for page in found):
        output.put(_CLOSING)
    return 0


def targets(settings: Settings, profile_dir: Path | None) -> list[Target]:
    """Every device of the inventory as the agent would mean it. Raises UsageProblem, FileProblems."""
    if profile_dir is not None and not profile_dir.is_dir():
        raise UsageProblem(f"{profile_dir} is no folder", "Give the folder of your profiles to --profile-dir")
    roots = [profile_dir] if profile_dir is not None else []
    by_profile: dict[str | None, list[str]] = {}
    for device in inventory_of(settings).devices.values():
        by_profile.setdefault(device.profile, []).append(device.name)
    chosen: list[Target] = []
    for name, devices in by_profile.items():
        source = name
        if name is not None and not name.endswith(_FILES):
            source = find(name, [*roots, *profile_roots(settings)]).source
        chosen += [each.target for each in choose_targets(settings, devices, source)]
    return chosen


def record(page: Page, weather: Weather) -> dict[str, Any]:
    """A page as JSON."""
    return {
        "schema": 1,
        "profile": page.target.profile.name,
        "devices": page.devices,
        "survives_reopen": page.target.survives_reopen,
        "loss_percent": 100 * weather.loss,
        "not_simulated": page.unplayed,
        "commands": [_command_record(line) for line in page.lines],
        "wrong": page.wrong,
    }


def _command_record(line: Line) -> dict[str, Any]:
    return {
        "command": line.command.name,
        "policy": line.policy.value,
        **_figures(line.tally),
        "reasons": dict(line.tally.doubts.most_common()),
        "tried": [
            {
                "add": [edit.what for edit in tried.edits if not edit.changes],
                "change": [edit.what for edit in tried.edits if edit.changes],
                "claims": [edit.claim for edit in tried.edits],
                "helps": tried.helps,
                **_figures(tried.tally),
            }
            for tried in line.tried or ()
        ],
    }


def _figures(tally: Tally) -> dict[str, Any]:
    words = {outcome.value: tally.words[outcome] for outcome in Outcome if outcome is not Outcome.UNCHANGED}
    return {"plays": tally.plays, **words, "left_to_a_person": tally.left}


# --- for people -------------------------------------------------------------------------------------------------------


def _show(page: Page, weather: Weather) -> None:
    stream = "a stream that outlives reopening" if page.target.survives_reopen else "connections of their own"
    output.put(f"{page.target.profile.name} over {stream}: {', '.join(page.devices)}")
    if page.unplayed is not None:
        output.put(f"not simulated: {page.unplayed}\n")
        return
    losses = f"{100 * weather.loss:g} % of the answers lost"
    output.put(f"each command run {weather.plays} times, {losses}; all figures are % of the runs")
    rows = [COLUMNS, *map(_row, page.lines)]
    if output.on_terminal():  # what is 0.0 everywhere takes up the room of what is not
        columns = [column for column in zip(*rows, strict=True) if {*column[1:]} != {"0.0"}]
        output.put_table([str(column[0]) for column in columns], [*zip(*columns, strict=True)][1:])
    else:
        output.put_table(COLUMNS, rows)
    for line in page.lines:
        for text in _explained(line):
            output.put(text)
    for problem in page.wrong:
        output.put(f"WRONG, please report this: {problem}")
    output.put("")


def _row(line: Line) -> Sequence[object]:
    tally, words = line.tally, line.tally.words
    shown = (
        words[Outcome.APPLIED], words[Outcome.NOT_APPLIED], words[Outcome.IN_DOUBT], tally.left,
        words[Outcome.REFUSED], words[Outcome.NOT_SENT],
    )  # fmt: skip
    figures = [f"{tally.percent(times):.1f}" if tally.plays else None for times in shown]
    return (line.command.name, line.policy.value, tally.plays, *figures)


def _explained(line: Line) -> Iterator[str]:
    """Why a command ended in doubt, and what was tried against it."""
    tally, name = line.tally, line.command.name
    if not tally.plays:
        yield f"{name}: not run, no sample argument fits it"
        return
    if not tally.words[Outcome.APPLIED]:
        for why, times in tally.unsent.most_common(1):
            yield f"{name}: never applied; {_percent(tally, times)} not sent: {why}"
    if tally.words[Outcome.REFUSED]:
        yield f"{name}: refused where the simulated equipment cannot read the arguments out of its text"
    if not tally.doubts:
        return
    doubts, left = _shares(tally)
    yield f"{name}: {doubts} in doubt, {left} left to a person after 'doubt check'"
    for why, times in tally.doubts.most_common(REASONS_MAX):
        yield f"  why, {_percent(tally, times)}: {why}"
    yield from _advice(line.tried)


def _shares(tally: Tally) -> tuple[str, str]:
    """In doubt, and left to a person."""
    return _percent(tally, tally.words[Outcome.IN_DOUBT]), _percent(tally, tally.left)


def _percent(tally: Tally, times: int) -> str:
    return f"{tally.percent(times):.1f} %"


def _advice(tried: Sequence[Tried] | None) -> Iterator[str]:
    """What helps, what it claims, and what was tried besides."""
    if tried is None:
        yield "  so few doubts cannot show whether anything helps; run more of them with --seeds"
        return
    if not tried:
        yield "  nothing was tried: there is nothing that could be added or changed for this command"
        return
    helpful = [each for each in tried if each.helps]
    for each in helpful[:HELPFUL_MAX]:
        doubts, left = _shares(each.tally)
        yield f"  helps, {doubts} in doubt, {left} left: {' and '.join(map(str, each.edits))}"
        yield f"    only if it is true: {'; '.join(edit.claim for edit in each.edits)}"
    named = {edit for each in helpful[:HELPFUL_MAX] for edit in map(str, each.edits)}
    alone = [each for each in tried if len(each.edits) == 1 and str(each.edits[0]) not in named]
    for title, lazy in (
        ("no difference beyond chance", False),
        ("no help, the command is hardly applied then", True),
    ):
        vain = [str(each.edits[0]) for each in alone if each.lazy is lazy]
        if vain:
            yield f"  tried alone, {title}: {'; '.join(vain)}"
    together = sum(len(each.edits) > 1 for each in tried)
    if together and not any(len(each.edits) > 1 for each in helpful):
        yield f"  tried together, no {'further ' if helpful else ''}help: {together} combinations"
