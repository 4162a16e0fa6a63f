"""What does `ackonce simulate world -i INVENTORY` read, say, and end with?

stdout carries one table for each profile and sort of link, then for each command that ended in doubt why, and what was
tried against it. Percentages are of the commands that were sent. Exit code 0; 1 only where the agent said a false word
or did something twice, which would be its bug. A file that is wrong ends the run before anything is played.
"""

from collections.abc import Iterator, Sequence
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
from worlds.own.report import Line, Page, fill, gains, pages

FAILED = 1
LOSS_PERCENT = 20.0
REASONS_MAX = 3
HELPFUL_MAX = 4
COLUMNS = (
    "command",
    "policy",
    "plays",
    "applied",
    "not applied",
    "in doubt",
    "left to a person",
    "refused",
    "not sent",
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
    found = pages(targets(resolve(inventory=inventory), profile_dir))
    for page in found:
        for line in fill(page, Weather(loss_percent / 100, plays)):
            if not quiet:
                output.say(f"{page.target.profile.name}: '{line.command.name}' played")
        if as_json:
            output.put_json(record(page))
        else:
            _show(page)
    if not as_json and any(page.lines for page in found):
        output.put(
            "The simulated equipment believes the profiles: this shows what their evidence is worth, not whether "
            "they are right."
        )
    return FAILED if any(page.wrong for page in found) else 0


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


def record(page: Page) -> dict[str, Any]:
    """A page as JSON."""
    return {
        "schema": 1,
        "profile": page.target.profile.name,
        "devices": page.devices,
        "survives_reopen": page.target.survives_reopen,
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
                "add": [each.what for each in tried.additions],
                "claims": [each.claim for each in tried.additions],
                **_figures(tried.tally),
            }
            for tried in line.tried
        ],
    }


def _figures(tally: Tally) -> dict[str, Any]:
    words = {outcome.value: tally.words[outcome] for outcome in Outcome if outcome is not Outcome.UNCHANGED}
    return {"plays": tally.plays, **words, "left_to_a_person": tally.left}


# --- for people -------------------------------------------------------------------------------------------------------


def _show(page: Page) -> None:
    stream = "a stream that outlives reopening" if page.target.survives_reopen else "connections of their own"
    output.put(f"{page.target.profile.name} over {stream}: {', '.join(page.devices)}")
    if page.unplayed is not None:
        output.put(f"not simulated: {page.unplayed}\n")
        return
    output.put_table(COLUMNS, [_row(line) for line in page.lines])
    for line in page.lines:
        for text in _explained(line):
            output.put(text)
    for problem in page.wrong:
        output.put(f"WRONG, please report this: {problem}")
    output.put("")


def _row(line: Line) -> Sequence[object]:
    tally, words = line.tally, line.tally.words
    return (
        line.command.name, line.policy.value, tally.plays, words[Outcome.APPLIED], words[Outcome.NOT_APPLIED],
        _percent(tally.doubt_percent), _percent(tally.left_percent), words[Outcome.REFUSED], words[Outcome.NOT_SENT],
    )  # fmt: skip


def _percent(number: float) -> str:
    return f"{number:.0f} %" if number in (0, 100) or number >= 1 else "< 1 %"


def _explained(line: Line) -> Iterator[str]:
    """Why a command ended in doubt, and what was tried against it."""
    tally = line.tally
    if not tally.plays:
        yield f"{line.command.name}: not played, no sample argument fits it"
        return
    if not tally.words[Outcome.APPLIED]:
        for why, times in tally.unsent.most_common(1):
            yield f"{line.command.name}: never applied; {times} of {tally.plays} not sent: {why}"
    if tally.words[Outcome.REFUSED]:
        yield f"{line.command.name}: refused where the simulated equipment cannot read the arguments out of its text"
    if not tally.doubts:
        return
    doubts = _percent(tally.doubt_percent), _percent(tally.left_percent)
    yield f"{line.command.name}: of those sent {doubts[0]} in doubt, {doubts[1]} left after 'doubt check'"
    for why, times in tally.doubts.most_common(REASONS_MAX):
        yield f"  {times} of {tally.plays}: {why}"
    helpful = [tried for tried in line.tried if gains(tried.tally, tally)]
    for tried in helpful[:HELPFUL_MAX]:
        figures = f"{_percent(tried.tally.doubt_percent)}, {_percent(tried.tally.left_percent)} left"
        yield f"  with {' and '.join(each.what for each in tried.additions)}: {figures}"
    claims = dict.fromkeys(each.claim for tried in helpful[:HELPFUL_MAX] for each in tried.additions)
    if claims:
        yield f"    only if it is true: {'; '.join(claims)}"
    useless = [tried.additions[0].what for tried in line.tried if tried not in helpful]
    if useless:
        yield f"  no gain: {'; '.join(useless)}"
    elif not line.tried:
        yield "  nothing that could be added to the profile would tell more"
