"""What becomes of a run when a person, the store, another process or a device gets in the way?"""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.operation import Cause, Operation, Outcome
from agent.plans.apply import carry_out
from agent.plans.course import KINDS, Missed, StepReport, summary
from agent.plans.runs import Runs, RunState
from agent.service import Report
from agent.station import Station
from agent.store.database import Cursor, StoreError
from tests.agent.desk import Desk, change_faults
from tests.plans.desk import (
    RUN,
    Heard,
    Site,
    another_process,
    at_a_site,
    begin,
    carry,
    lay_out,
    plan,
    run_plan,
    step,
)

NIGHT = ("SET interval 30", "ADJUST offset +5", "ROTATE log")
FULL = "the journal cannot be written: database or disk is full"


def words(reports: dict[tuple[str, str], StepReport], device: str) -> list[str]:
    """The word of each step of a device, or why it had none."""
    found = []
    for (name, _), report in reports.items():
        if name == device and report.note is not None:
            found.append(str(report.note.why))
        elif name == device and report.result is not None:
            found.append(str(report.result.outcome))
    return found


def assert_true(site: Site, reports: dict[tuple[str, str], StepReport]) -> None:
    """No step took effect twice, and none that is said to have had no effect had one."""
    for (device, name), report in reports.items():
        count = site.devices[device].ledger.count(name.replace("ADJUST offset +5", "SET offset 15"))
        count += site.count(device, name) if name.startswith("ADJUST") else 0
        outcome = report.result.outcome if report.result is not None else None
        assert count <= 1
        if outcome is not Outcome.IN_DOUBT:
            assert count == (outcome is Outcome.APPLIED), (device, name, outcome)


async def finish(desk: Desk, site: Site) -> None:
    """A new process applies the plan again under the same key: everything stands on every device, once."""
    desk.restart()
    reports = await carry(desk.service, lay_out(site, plan(NIGHT)))
    assert all(report.done for report in reports.values())
    for name, device in site.devices.items():
        values = device.values()
        assert (values["interval"], values["offset"], values["log_files"]) == (30, 15, 4), name
        assert len([entry for entry in device.ledger.entries if entry.text != NIGHT[0]]) == 2


# --- a person ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after_s", [0.2, 1.2, 2.6])
def test_after_ctrl_c_what_is_in_flight_reaches_its_word(tmp_path: Path, after_s: float) -> None:
    """No step begins any more, anywhere; the rest says that it was interrupted, and the run is unfinished."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(6):
            (site.lsq if n % 2 else site.text)(f"d{n}", "cmd *: busy 1")
        layout = lay_out(site, plan(NIGHT, parallel=2))
        service = desk.service
        asyncio.get_running_loop().call_later(after_s, service.executor.give_up, "interrupted")
        stopped_s = asyncio.get_running_loop().time() + after_s
        reports = {(r.device, r.step): r for r in await run_plan(service, layout)}
        assert_true(site, reports)
        assert all(at_s <= stopped_s for at_s, _ in site.dialled)
        assert words(reports, "d5") == [Missed.INTERRUPTED] * 3
        counts = summary(reports.values())
        assert counts["no_turn"] >= 12
        assert counts["in_doubt"] == 0
        [row] = Runs(service).find(RUN)
        assert row.state is RunState.UNFINISHED
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_nothing_is_begun_after_ctrl_c(tmp_path: Path) -> None:
    """A run that is interrupted before its first step tells so of every step, and of no wave."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        desk.service.executor.give_up("interrupted")
        heard = Heard()
        reports = await carry(desk.service, lay_out(site, plan(NIGHT)), heard)
        assert words(reports, "d1") == [Missed.INTERRUPTED] * 3
        assert [kind for kind, _ in heard.events] == ["step", "step", "step", "device"]
        assert site.dialled == []

    at_a_site(tmp_path, play)


def test_a_run_that_is_abandoned_is_given_back(tmp_path: Path) -> None:
    """Cancelled in the middle: devices reach their word, nothing new begins, and anybody may go on with it."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(4):
            site.lsq(f"d{n}", "cmd *: busy 1")
        running = asyncio.ensure_future(run_plan(desk.service, lay_out(site, plan(NIGHT, parallel=2))))
        await asyncio.sleep(0.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert desk.service.journal.doubts() == []
        assert [len(device.ledger) for device in site.devices.values()] == [1, 1, 0, 0]
        [row] = Runs(desk.service).find(RUN)
        assert (row.state, row.holder, row.summary) == (RunState.UNFINISHED, None, None)
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_what_may_have_left_is_known_of_every_operation_in_hand(tmp_path: Path) -> None:
    """While several are under way: those with a copy on record may have, one that has not come so far has not."""

    async def play(desk: Desk, site: Site) -> None:
        devices = site.lsq("d1"), site.lsq("d2")
        await carry(desk.service, lay_out(site, plan(("BEEP",))))
        for device, faults in zip(devices, ("cmd *: busy 2", "hello *: delay 0.4"), strict=True):
            change_faults(device, faults)
        layout = lay_out(site, plan(("ROTATE log",)))
        sent, not_yet = (work.steps[0].operation for work in layout.work)
        running = asyncio.ensure_future(carry(desk.service, layout))
        await asyncio.sleep(0.2)
        assert set(desk.service.in_hand) == {sent.op, not_yet.op}
        assert desk.service.may_have_left(sent)
        assert not desk.service.may_have_left(not_yet)
        await running
        assert desk.service.in_hand == {}

    at_a_site(tmp_path, play)


# --- the store --------------------------------------------------------------------------------------------------------


def fill_up(desk: Desk, after: int, *, times: int = 1_000_000) -> None:
    """Only so many more writes fit into the store, then so many do not."""
    database = desk.service.database
    writes = itertools.count(1)

    def room(commit: Callable[..., Any]) -> Callable[..., Any]:
        def write(work: Callable[[Cursor], Any]) -> Any:
            if after < next(writes) <= after + times:
                raise StoreError(FULL)
            return commit(work)

        return write

    database.commit = room(database.commit)  # type: ignore[method-assign]
    database.commit_now = room(database.commit_now)  # type: ignore[method-assign]
    database.commit_loosely = room(database.commit_loosely)  # type: ignore[method-assign]


@pytest.mark.parametrize("after", range(0, 31, 3))
def test_a_full_store_ends_the_run(tmp_path: Path, after: int) -> None:
    """Wherever it happens: nothing more is sent, every step says why, and no word is untrue."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(4):
            (site.lsq if n % 2 else site.text)(f"d{n}")
        layout = lay_out(site, plan(NIGHT, parallel=2))
        row = begin(desk.service, layout)
        fill_up(desk, after)
        service = desk.service
        told = await carry_out(service, Runs(service), row, layout, clock=service.clock, listen=Heard())
        reports = {(report.device, report.step): report for report in told}
        assert_true(site, reports)
        for report in told:
            if report.result is None:
                assert report.note is not None
                assert report.note.why is Missed.HELD
            assert not report.done or service.journal.find(report.operation.op)[0].done
        last = reports["d3", NIGHT[-1]]
        assert last.result is not None
        assert (last.result.outcome, last.result.cause) == (Outcome.NOT_SENT, Cause.STORE)
        assert last.result.message in (f"not tried: {FULL}", "not tried: the journal could not be written")
        assert words(reports, "d3")[-1] == Missed.AFTER_FAILURE
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_a_store_that_failed_once_is_not_trusted_again_in_the_run(tmp_path: Path) -> None:
    """One write that does not get through is enough: nothing more is sent, to no device."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(4):
            site.lsq(f"d{n}")
        fill_up(desk, 4, times=1)
        reports = await carry(desk.service, lay_out(site, plan(NIGHT, parallel=1)))
        assert_true(site, reports)
        assert sum(len(device.ledger) for device in site.devices.values()) <= 1
        assert [words(reports, f"d{n}") for n in (1, 2, 3)] == [[Missed.AFTER_FAILURE] * 3] * 3
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_a_store_that_cannot_be_read_ends_the_run(tmp_path: Path) -> None:
    """Whether a step was done before is not known then, so it is not sent; not even where the next look succeeds."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        await carry(desk.service, lay_out(site, plan(NIGHT)))
        under_key = desk.service.journal.under_key

        def unreadable_once(_: str, __: int) -> Any:
            desk.service.journal.under_key = under_key  # type: ignore[method-assign]
            raise StoreError("the journal cannot be read: disk I/O error")

        desk.service.journal.under_key = unreadable_once  # type: ignore[method-assign, assignment]
        reports = await carry(desk.service, lay_out(site, plan(NIGHT)))
        causes = [report.result.cause for report in reports.values() if report.result is not None]
        assert causes == [Cause.STORE] * 3
        assert len(site.devices["d1"].ledger) == 3
        await finish(desk, site)

    at_a_site(tmp_path, play)


@pytest.mark.parametrize("lives", [True, False])
def test_a_run_whose_end_does_not_fit_into_the_store_still_tells_its_words(
    tmp_path: Path, *, lives: bool
) -> None:
    """The journal has them. The end is entered with the next run; without one the run counts as cut off."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        layout = lay_out(site, plan(NIGHT))
        row = begin(desk.service, layout)
        service, runs = desk.service, Runs(desk.service)
        heard = Heard(on_step=lambda report: fill_up(desk, 1, times=1) if report.step == NIGHT[-1] else None)
        told = await carry_out(service, runs, row, layout, clock=service.clock, listen=heard)
        assert all(report.done for report in told)
        assert runs.find(RUN)[0].state is RunState.RUNNING
        if lives:
            runs.begin(lay_out(site, plan(NIGHT), run="01JNEXT", key="next"), options={}, actor="ana")
        else:
            desk.restart()
        [found] = Runs(desk.service).find(RUN)
        assert found.state is (RunState.DONE if lives else RunState.UNFINISHED)

    at_a_site(tmp_path, play)


# --- other processes --------------------------------------------------------------------------------------------------


def test_a_device_that_another_process_holds_is_left_out(tmp_path: Path) -> None:
    """Its steps say who holds it, those that are done say so; the other devices go on."""

    async def play(desk: Desk, site: Site) -> None:
        held = site.lsq("d1")
        site.lsq("d2")
        other = another_process(desk)
        await carry(desk.service, lay_out(site, plan(NIGHT[:1]), only=["d1"]))
        with other.hold(site.chosen[0].target):
            reports = await carry(desk.service, lay_out(site, plan(NIGHT)))
        assert reports["d1", NIGHT[0]].skipped
        assert words(reports, "d1")[1:] == [Missed.NOT_BEGUN, Missed.AFTER_FAILURE]
        for each in NIGHT[1:]:
            report = reports["d1", each]
            assert report.result is not None
            assert (report.result.outcome, report.result.cause) == (Outcome.NOT_SENT, Cause.HELD)
            assert f"held by {other.holder}" in report.result.message
            assert not report.recorded
        assert words(reports, "d2") == [Outcome.APPLIED] * 3
        assert len(held.ledger) == 1
        other.close()
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_the_store_says_why_a_step_has_no_operation(tmp_path: Path) -> None:
    """A step that never came to one, since another process held the device, has a note with the cause."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        other = another_process(desk)
        with other.hold(site.chosen[0].target):
            await run_plan(desk.service, lay_out(site, plan(NIGHT)))
        notes = [each.note for each in Runs(desk.service).steps(RUN)]
        assert [note.cause for note in notes if note is not None] == [Cause.HELD] * 3
        other.close()

    at_a_site(tmp_path, play)


def test_a_device_that_is_taken_over_in_the_middle_is_left_to_the_other_process(tmp_path: Path) -> None:
    """Nothing more is sent to it in this run; the others go on."""

    async def play(desk: Desk, site: Site) -> None:
        for name in ("d1", "d2"):
            site.lsq(name)

        def take_over(report: StepReport) -> None:
            if (report.device, report.step) == ("d1", NIGHT[0]):
                desk.service.database.commit_now(
                    lambda cursor: cursor.execute("UPDATE device SET token = token + 1 WHERE serial = 'd1'")
                )

        reports = await carry(desk.service, lay_out(site, plan(NIGHT)), Heard(on_step=take_over))
        assert words(reports, "d1") == [Outcome.APPLIED, Missed.NOT_BEGUN, Missed.AFTER_FAILURE]
        assert words(reports, "d2") == [Outcome.APPLIED] * 3
        assert [len(device.ledger) for device in site.devices.values()] == [1, 3]

    at_a_site(tmp_path, play)


def test_a_key_that_was_used_for_another_command_sends_nothing(tmp_path: Path) -> None:
    """Even where nobody compared the plan with its run before: the step says which operation it was."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1")
        await carry(desk.service, lay_out(site, plan((step("ADJUST offset +5", "a"),))))
        changed = lay_out(site, plan((step("ADJUST offset +6", "a"), "BEEP")))
        reports = await carry(desk.service, changed)
        clash = reports["d1", "a"].result
        assert clash is not None
        assert (clash.outcome, clash.cause) == (Outcome.NOT_SENT, Cause.KEY)
        assert "was used for 'ADJUST offset +5' on this device" in clash.message
        assert [each.text for each in device.ledger.entries] == ["ADJUST offset +5", "BEEP"]

    at_a_site(tmp_path, play)


# --- devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", [Cause.UNREACHABLE, Cause.WRONG_DEVICE, Cause.FOREIGN])
def test_a_device_that_cannot_be_worked_with_is_tried_once(tmp_path: Path, cause: Cause) -> None:
    """The first step says why, the later ones are not tried for the same cause; all of them are due again."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.lsq("d2")
        await carry(desk.service, lay_out(site, plan(("BEEP",))))
        right = site.devices["d1"]
        match cause:
            case Cause.UNREACHABLE:
                site.gone = {"d1"}
            case Cause.WRONG_DEVICE:
                site.devices["d1"] = site.devices["d2"]
            case _:
                stranger = Desk(tmp_path / "stranger", site)
                await stranger.service.take_over(site.chosen[0].target, "theirs now")
                stranger.service.close()
        effects = len(right.ledger)
        dialled = len([name for _, name in site.dialled if name == "d1"])
        reports = await carry(desk.service, lay_out(site, plan(NIGHT)))
        for each in NIGHT:
            result = reports["d1", each].result
            assert result is not None
            assert (result.outcome, result.cause) == (Outcome.NOT_SENT, cause)
        assert words(reports, "d1")[1:] == [Missed.AFTER_FAILURE] * 2
        assert words(reports, "d2") == [Outcome.APPLIED] * 3
        assert len([name for _, name in site.dialled if name == "d1"]) - dialled <= 4
        assert len(right.ledger) == effects
        if cause is Cause.FOREIGN:
            return
        site.gone, site.devices["d1"] = set(), right
        again = await carry(desk.service, lay_out(site, plan(NIGHT)))
        assert all(report.done for report in again.values())

    at_a_site(tmp_path, play)


def test_a_bug_ends_the_run_and_cuts_nothing(tmp_path: Path) -> None:
    """What is not foreseen is raised, after all other devices have reached their word; the run is given back."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(3):
            site.lsq(f"d{n}", "cmd *: busy 1")
        send_on = desk.service.send_on

        async def broken(station: Station, operation: Operation) -> Report:
            if operation.device == "d1":
                await asyncio.sleep(0.1)
                raise RuntimeError("no such state")
            return await send_on(station, operation)

        desk.service.send_on = broken  # type: ignore[method-assign]
        with pytest.raises(ExceptionGroup, match="unhandled errors") as raised:
            await run_plan(desk.service, lay_out(site, plan(NIGHT)))
        assert raised.group_contains(RuntimeError)
        assert desk.service.journal.doubts() == []
        assert [row.state for row in Runs(desk.service).find(RUN)] == [RunState.UNFINISHED]
        await finish(desk, site)

    at_a_site(tmp_path, play)


def test_losses_on_one_device_delay_no_other(tmp_path: Path) -> None:
    """A device that is silent for long keeps its own slot only."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("slow")
        for n in range(6):
            site.lsq(f"d{n}")
        change_faults(site.devices["slow"], "cmd 1: drop_ack; read *: drop_ack")  # type: ignore[arg-type]
        reports = await carry(desk.service, lay_out(site, plan(NIGHT, parallel=2)))
        assert all(site.devices[f"d{n}"].ledger.entries[-1].at_s < 1 for n in range(6))
        counts = summary(report for (name, _), report in reports.items() if name != "slow")
        assert counts == {**dict.fromkeys(KINDS, 0), "changed": 18}

    at_a_site(tmp_path, play)
