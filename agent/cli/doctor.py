"""Is everything in order on this side? `ackonce doctor` looks at software, store, clock, files and ports.

No device is asked, and the store is neither made nor changed. The exit code is 0 where nothing failed, warnings
included, else the one that commands would end with because of it: 2 a setting makes no sense, 3 a file is invalid,
7 nothing could be sent.
"""

import os
from collections.abc import Iterator

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit, worst
from agent.cli.health import Finding, State
from agent.cli.layout import GAP, SENTENCE_MIN, UNDER, fitted
from agent.cli.options import Common, command
from devices.problems import FileProblems, UsageProblem
from logs.text import escape

EPILOG = (
    "Exit codes: 0 nothing failed, warnings included · 2 a setting makes no sense · 3 a file is invalid · "
    "7 commands could send nothing"
)

_WIDTHS = (4, 13)
"""Of the columns before the sentence on a terminal: findings are shown as they come, before all are known."""
_START = sum(_WIDTHS) + len(GAP) * len(_WIDTHS)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor", epilog=EPILOG)(doctor)


def doctor(common: Common) -> None:
    """Check this side: software, store, disk, clock, log, inventory, profiles, ports. Asks no device."""
    found = []
    for finding in _findings(common):
        found.append(finding)
        if common.json:
            output.put_json(_json(finding))
        else:
            _put(finding)
    failed = [finding for finding in found if finding.state is State.FAIL]
    warned = [finding for finding in found if finding.state is State.WARN]
    if not common.quiet:
        output.say(f"{len(found)} checks: {len(failed)} failed, {len(warned)} to look at.")
    codes = {finding.code for finding in failed}
    raise typer.Exit(Exit.USAGE if Exit.USAGE in codes else worst(codes))


def _findings(common: Common) -> Iterator[Finding]:
    from agent.cli import health
    from agent.cli.health_files import configuration, files
    from agent.cli.health_store import store
    from agent.cli.places import log_path, settings_of
    from agent.clock import Clock

    yield health.software()
    yield health.environment(os.environ)
    try:
        settings = settings_of(common)
    except (UsageProblem, FileProblems) as problem:
        yield configuration(problem)
        return
    yield health.home(settings.home)
    yield health.disk(settings.home)
    yield health.flush(settings.home)
    yield from store(settings.home)
    yield health.log(log_path(settings))
    yield health.clock(settings.home, Clock().utc())
    yield from files(settings)


def _put(finding: Finding) -> None:
    """Beside each other on a terminal, with the advice below; elsewhere one line of three columns."""
    advice = output.in_place(f"Next: {finding.next}") if finding.next is not None else None
    columns = output.columns()
    if columns is not None:
        row = (finding.state.value, finding.check, escape(finding.says, output.LINE_MAX))
        for line in fitted(row, _WIDTHS, columns):
            output.put(line)
        if advice is not None:  # never folded, so that it can be copied
            output.put((" " * _START if columns >= _START + SENTENCE_MIN else UNDER) + advice)
        return
    says = f"{finding.says}. {advice}" if advice is not None else finding.says
    output.put_table(("state", "check", "found"), [(finding.state.value, finding.check, says)])


def _json(finding: Finding) -> dict[str, object]:
    return {
        "check": finding.check,
        "state": finding.state.value,
        "says": finding.says,
        "next": finding.next,
        "code": int(finding.code) if finding.state is State.FAIL else int(Exit.OK),
    }
