"""How does the agent do the work? As it always does: journal, lease, policies, links. Only its folder is temporary.

The words are those of the journal after the last command: what was in doubt may have been settled since.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.cli.demo.stand_ins import StandIn
from agent.cli.demo.tally import Said
from agent.cli.demo.work import COPIES_MAX, LATE_S, WORK
from agent.cli.exit_codes import Abandoned
from agent.cli.options import Common
from agent.cli.running import run_agent
from agent.cli.sequence import rows
from agent.operation import Cause, Operation, Outcome, Proof, Result
from agent.orders import order_for
from agent.service import Report, Service
from agent.settings import Settings
from agent.targets import Chosen, choose_targets
from devices.kinds import Policy
from logs.picture import Picture, Row, Way

_SESSION_NUMBER = re.compile(r"session \d+")

_TELLING = (Proof.DUPLICATE_ACK, Proof.SETTLED, Proof.VERIFIED)
"""What an operation with a lost ack was settled by; the first that there is gets drawn."""


_WHY = {
    Cause.DOUBT: "held back by a doubt",
    Cause.UNREACHABLE: "the device did not answer before it",
}
"""Reasons in short, where the agent's own sentence names what ends with the demo."""

_SINCE = ", which has been settled since"
"""Behind the first of them where nothing before it is in doubt any more."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What the agent said about each device, by title, and one operation as a picture where an ack was lost."""

    said: dict[str, list[Said]]
    picture: Picture | None


def home_in(folder: Path) -> Path:
    """Where the agent keeps its state in the demo's folder."""
    return folder / "state"


def apply_policies(
    common: Common,
    folder: Path,
    silence_s: float,
    devices: Sequence[StandIn],
    begin: Callable[[int, str], None],
) -> Ended:
    """Do the work on each device, one after the other.

    Args:
        common: tells what is shown of the attempts.
        folder: of journal and log.
        silence_s: how long one answer may take.
        devices: all of different titles.
        begin: told the place (from 0) and title of each device before its work.

    Raises:
        DemoFailed: a device did not start.
        KeyboardInterrupt: a person wants no more; what was in flight has come to its word, or was left.
        StoreError: the folder does not take a journal.
    """
    # Nothing of the user: neither store nor inventory, configuration or environment.
    settings = Settings(
        home=home_in(folder), project=folder, inventory=None, timeout_s=silence_s, agent=None, actor="demo"
    )
    chosen = [_as_device(settings, device) for device in devices]

    async def work(service: Service) -> Ended | None:
        reports = {}
        for place, each in enumerate(chosen):
            begin(place, each.device.name)
            reports[each.device.name] = await _push(service, settings, each)
            if service.executor.stopping():
                return None
        said = {title: _all_said(service, made) for title, made in reports.items()}
        return Ended(
            said, _picture(service, [report.operation for made in reports.values() for report in made])
        )

    try:
        ended = run_agent(replace(common, quiet=not common.verbose), settings, work)
    except Abandoned:
        ended = None
    if ended is None:
        raise KeyboardInterrupt
    return ended


def _as_device(settings: Settings, stand_in: StandIn) -> Chosen:
    """A stand-in as the agent sees it: by the shipped profile, but for its patience."""
    [chosen] = choose_targets(settings, [stand_in.url()], stand_in.profile)
    profile = replace(chosen.profile, timing=replace(chosen.profile.timing, late_max_s=LATE_S))
    target = replace(chosen.target, name=stand_in.title, profile=profile, attempts=COPIES_MAX)
    return Chosen(replace(chosen.device, name=stand_in.title), profile, target)


async def _push(service: Service, settings: Settings, chosen: Chosen) -> list[Report]:
    """All the work on one device; less of it where a person interrupts."""
    reports: list[Report] = []
    with service.hold(chosen.target) as station:
        for command in WORK:
            if service.executor.stopping():
                break
            reports.append(await service.send_on(station, order_for(settings, chosen, command.split())))
    return reports


def _all_said(service: Service, reports: Sequence[Report]) -> list[Said]:
    """The words about one device, in the order of the work."""
    said, doubtful = [], False
    for each in (_said(service, report) for report in reports):
        settled = each.why == _WHY[Cause.DOUBT] and not doubtful
        said.append(replace(each, why=each.why + _SINCE) if settled else each)
        doubtful = doubtful or each.word == Outcome.IN_DOUBT.value
    return said


def _said(service: Service, report: Report) -> Said:
    operation, result = report.operation, _word(service, report.operation) or report.result
    terms = operation.terms
    return Said(
        command=operation.command,
        word=result.outcome.value,
        texts=frozenset(copy.text for copy in service.journal.load(operation).copies()),
        absolute=terms.idempotent or terms.policy is Policy.READ_THEN_SET,
        proof=result.proof.value if result.proof is not None else None,
        why=_WHY.get(result.cause, result.message) if result.cause is not None else result.message,
    )


def _word(service: Service, operation: Operation) -> Result | None:
    """How the journal has it; None where the operation never came to an entry."""
    return next((entry.result for entry in service.journal.find(operation.op)), None)


def _picture(service: Service, operations: Sequence[Operation]) -> Picture | None:
    results = [(operation, _word(service, operation)) for operation in operations]
    for proof in _TELLING:
        for operation, result in results:
            if result is not None and (result.outcome, result.proof) == (Outcome.APPLIED, proof):
                story = map(_without_session, rows(operation, service.journal.story(operation.op)))
                end = f"{operation.command}: {result.outcome.value} ({proof.value}), {result.message}"
                return Picture(operation.device, tuple(story), f"{operation.device}, {end}")
    return None


def _without_session(row: Row) -> Row:
    """Its number is drawn at random and says nothing here: two runs of one seed shall draw the same."""
    return replace(row, label=_SESSION_NUMBER.sub("a session", row.label)) if row.way is Way.NOTE else row
