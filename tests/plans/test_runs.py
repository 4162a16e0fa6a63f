"""Does the store know each run, who works on it, how it stands, and what it was asked for?"""

from pathlib import Path

import pytest

from agent.leases import LEASE_S, SKEW_S
from agent.operation import Cause, Outcome
from agent.plans.course import Missed, Note
from agent.plans.run_steps import NAMED_MAX
from agent.plans.runs import FOUND_MAX, RunHeld, Runs, RunState
from agent.store.database import StoreError
from devices.problems import FileProblems
from tests.agent.desk import Desk
from tests.plans.desk import (
    KEY,
    RUN,
    Killer,
    Site,
    another_process,
    at_a_site,
    begin,
    carry,
    killed,
    lay_out,
    outcomes,
    plan,
    run_plan,
    step,
)

NIGHT = plan(("SET interval 30", "ADJUST offset +5"))


# --- begin and end ----------------------------------------------------------------------------------------------------


def test_a_run_is_what_it_was_begun_with(tmp_path: Path) -> None:
    """The row pins text and options, and says who works on it since when, why and for which job."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        row = begin(desk.service, lay_out(site, NIGHT), reason="CHG-1207", job="nightly")
        assert (row.run, row.plan, row.key, row.path) == (RUN, "night", KEY, "night.yaml")
        assert (row.text, row.digest, row.options) == (NIGHT.text, NIGHT.digest, {"project": "/srv/site"})
        assert (row.reason, row.job, row.actor, row.agent) == ("CHG-1207", "nightly", "ana", "desk")
        assert row.begun_utc == "2026-11-29T22:00:00.000Z"
        assert (row.ended_utc, row.summary) == (None, None)

    at_a_site(tmp_path, play)


def test_only_a_living_process_holds_a_run(tmp_path: Path) -> None:
    """While it works nobody else begins the run, and it is named; afterwards, or once it is gone, anybody may."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        layout = lay_out(site, NIGHT)
        living = another_process(desk)
        row = begin(living, layout)
        assert row.state is RunState.RUNNING
        assert row.holder == living.holder
        with pytest.raises(
            RunHeld, match=rf"run {RUN} of plan night is being carried out by agent other, proc"
        ):
            begin(desk.service, layout)
        with pytest.raises(RunHeld):
            begin(living, layout)
        assert Runs(desk.service).unfinished() is None
        Runs(living).end(row, [])
        assert begin(desk.service, layout).holder == desk.service.holder
        desk.restart()
        [cut_off] = Runs(living).find(RUN)
        assert (cut_off.state, cut_off.holder) == (RunState.UNFINISHED, None)
        assert begin(living, layout).holder == living.holder
        living.close()

    at_a_site(tmp_path, play)


def test_a_run_of_another_machine_is_held_by_the_leases_of_its_process(tmp_path: Path) -> None:
    """Nobody can ask whether that process lives; where it lets its devices lapse the run is free."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        layout = lay_out(site, NIGHT)
        far = another_process(desk, host="elsewhere")
        begin(far, layout)
        far.registry.claim(layout.work[0].chosen.target.url, 1, None)
        with pytest.raises(RunHeld, match="on elsewhere"):
            begin(desk.service, layout)
        await desk.service.clock.sleep(LEASE_S + SKEW_S)
        assert begin(desk.service, layout).state is not RunState.DONE
        far.close()

    at_a_site(tmp_path, play)


def test_a_run_taken_up_keeps_its_beginning_and_pins_what_is_new(tmp_path: Path) -> None:
    """Id, actor and begin stay; text and options are those of now, the reason where there is a new one."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        runs = Runs(desk.service)
        drawn = runs.id_of("night", KEY)
        assert drawn != runs.id_of("night", KEY)
        first = begin(desk.service, lay_out(site, NIGHT, run=drawn), reason="first")
        runs.end(first, [])
        await desk.service.clock.sleep(60)
        assert runs.id_of("night", KEY) == drawn
        more = plan(("SET interval 30", "ADJUST offset +5", "BEEP"))
        layout = lay_out(site, more, run=drawn)
        again = runs.begin(layout, options={"project": "/other"}, actor="bob")
        assert (again.run, again.begun_utc, again.actor, again.reason) == (
            drawn,
            first.begun_utc,
            "ana",
            "first",
        )
        assert (again.text, again.options, again.ended_utc) == (more.text, {"project": "/other"}, None)
        runs.end(again, [])
        assert begin(desk.service, layout, reason="second", job="j").reason == "second"

    at_a_site(tmp_path, play)


def test_two_that_begin_the_same_run_at_once_are_one(tmp_path: Path) -> None:
    """Whoever laid the plan out under an id of its own before the other one began it is told so, and does nothing."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        other = another_process(desk)
        Runs(other).end(begin(other, lay_out(site, NIGHT, run="01JOTHER")), [])
        with pytest.raises(RunHeld, match="run 01JOTHER of plan night was begun by another process just now"):
            begin(desk.service, lay_out(site, NIGHT, run="01JMINE"))
        assert [row.run for row in Runs(desk.service).newest(5)] == ["01JOTHER"]
        other.close()

    at_a_site(tmp_path, play)


def test_a_process_ends_only_a_run_that_it_works_on(tmp_path: Path) -> None:
    """A former holder that wakes up later changes nothing of a run that somebody has taken up."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        layout = lay_out(site, NIGHT)
        former = desk.service
        row = begin(former, layout)
        former.executor.give_up("interrupted")
        reports = list((await carry(former, layout)).values())
        other = another_process(desk)
        begin(other, layout)
        Runs(former).end(row, reports)
        assert [each.note for each in Runs(other).steps(RUN)] == [None, None]
        [now] = Runs(other).find(RUN)
        assert (now.state, now.holder, now.ended_utc) == (RunState.RUNNING, other.holder, None)
        other.close()

    at_a_site(tmp_path, play)


# --- how it stands ----------------------------------------------------------------------------------------------------


def test_a_run_is_done_when_every_step_stands(tmp_path: Path) -> None:
    """`done` with its counts; one step that does not makes it `unfinished`."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.text("d2", "cmd 2: refuse")
        runs = Runs(desk.service)
        await run_plan(desk.service, lay_out(site, NIGHT))
        [row] = runs.newest(1)
        assert (row.state, row.holder) == (RunState.UNFINISHED, None)
        assert row.summary is not None
        assert (row.summary["changed"], row.summary["refused"], sum(row.summary.values())) == (3, 1, 4)
        assert runs.unfinished() == row
        await run_plan(desk.service, lay_out(site, NIGHT))
        [row] = runs.newest(1)
        assert row.state is RunState.DONE
        assert row.summary is not None
        assert (row.summary["changed"], row.summary["skipped"], sum(row.summary.values())) == (1, 3, 4)
        assert runs.unfinished() is None

    at_a_site(tmp_path, play)


def test_a_part_that_is_done_does_not_make_a_run_done(tmp_path: Path) -> None:
    """Work on some of the devices leaves the run unfinished while a step of another one does not stand."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.lsq("d2")
        site.gone = {"d2"}
        await run_plan(desk.service, lay_out(site, NIGHT))
        await run_plan(desk.service, lay_out(site, NIGHT, only=["d1"]))
        assert Runs(desk.service).newest(1)[0].state is RunState.UNFINISHED
        assert sorted(each.device for each in Runs(desk.service).steps(RUN)) == ["d1", "d1", "d2", "d2"]
        site.gone = set()
        await run_plan(desk.service, lay_out(site, NIGHT, only=["d2"]))
        assert Runs(desk.service).newest(1)[0].state is RunState.DONE

    at_a_site(tmp_path, play)


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_between_the_last_word_and_the_end_of_the_run_loses_nothing(
    tmp_path: Path, after: bool
) -> None:
    """The journal is the truth: the run counts as cut off, and going on with it finds everything done."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1")
        layout = lay_out(site, NIGHT)
        runs = Runs(desk.service)
        row = begin(desk.service, layout)
        reports = list((await carry(desk.service, layout)).values())
        Killer(desk.service, 1, after=after)

        async def ending() -> None:
            runs.end(row, reports)

        assert await killed(ending())
        desk.restart()
        [found] = Runs(desk.service).find(RUN)
        assert found.state is (RunState.DONE if after else RunState.UNFINISHED)
        assert all(entry is not None and entry.done for _, entry in Runs(desk.service).told(RUN))
        again = await run_plan(desk.service, layout)
        assert all(report.skipped for report in again)
        assert Runs(desk.service).find(RUN)[0].state is RunState.DONE
        assert len(device.ledger) == 2

    at_a_site(tmp_path, play)


def test_an_end_without_reports_asks_the_journal(tmp_path: Path) -> None:
    """Where the work was cut off after its last word, the run is done all the same."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        layout = lay_out(site, NIGHT)
        row = begin(desk.service, layout)
        await carry(desk.service, layout)
        Runs(desk.service).end(row, [])
        [found] = Runs(desk.service).find(RUN)
        assert (found.state, found.summary) == (RunState.DONE, None)

    at_a_site(tmp_path, play)


def test_runs_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    """In any case of letters; the whole id wins; of very many only some are shown; the newest comes first."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        runs = Runs(desk.service)
        ids = ["01JA", "01JAB", *(f"01JZ{n}" for n in range(FOUND_MAX + 1))]
        for number, each in enumerate(ids):
            runs.end(begin(desk.service, lay_out(site, NIGHT, run=each, key=f"k{number}")), [])
            await desk.service.clock.sleep(1)
        assert [row.run for row in runs.find("01ja")] == ["01JA", "01JAB"]
        assert [row.run for row in runs.find("01JA")] == ["01JA"]
        assert len(runs.find("01J")) == FOUND_MAX
        assert runs.find("01K") == []
        assert runs.find("%") == []
        assert [row.run for row in runs.newest(2)] == [ids[-1], ids[-2]]
        newest = runs.unfinished()
        assert newest is not None
        assert newest.run == ids[-1]

    at_a_site(tmp_path, play)


# --- steps ------------------------------------------------------------------------------------------------------------


def test_a_changed_step_under_a_used_id_is_refused(tmp_path: Path) -> None:
    """At its place, with the run and both commands, for all devices at once; store and devices stay as they are."""

    async def play(desk: Desk, site: Site) -> None:
        devices = [site.lsq(f"d{n}") for n in range(NAMED_MAX + 2)]
        first = plan(("SET interval 30", step("ADJUST offset +5", "summer")))
        await run_plan(desk.service, lay_out(site, first))
        [before] = Runs(desk.service).find(RUN)
        changed = plan(("BEEP", "SET interval 30", step("ADJUST offset +6", "summer")))
        with pytest.raises(FileProblems) as refused:
            begin(desk.service, lay_out(site, changed))
        [problem] = refused.value.problems
        assert (problem.path, problem.line, problem.column) == ("night.yaml", 5, 5)
        assert problem.message == (
            f"step 'summer' is now 'ADJUST offset +6', but in run {RUN} (key {KEY}) it was 'ADJUST offset +5' "
            "on d0, d1, d2 and 2 more"
        )
        assert problem.hint == "Give the changed step another id, or apply the plan under another key"
        assert Runs(desk.service).find(RUN) == [before]
        assert all(len(device.ledger) == 2 for device in devices)
        assert begin(desk.service, lay_out(site, changed, run="01JNEW", key="next")).run == "01JNEW"

    at_a_site(tmp_path, play)


def test_what_was_never_asked_for_may_be_changed(tmp_path: Path) -> None:
    """Steps without an operation follow the plan of now; those with one stay on record when they leave it."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd *: drop_ack")
        first = plan(("SET interval 30", "BEEP", step("ADJUST offset +5", "a"), "ROTATE log"))
        layout = lay_out(site, first)
        reports = await run_plan(desk.service, layout)
        assert outcomes(reports)[2:] == [None, None]
        second = plan(("BEEP", step("ADJUST offset +6", "a"), "ROTATE log"))
        begin(desk.service, lay_out(site, second))
        steps = Runs(desk.service).steps(RUN)
        assert {(each.step, each.command) for each in steps} == {
            ("SET interval 30", "SET interval 30"), ("BEEP", "BEEP"), ("a", "ADJUST offset +6"),
            ("ROTATE log", "ROTATE log"),
        }  # fmt: skip
        third = plan(("BEEP", step("ADJUST offset +6", "a")))
        desk.restart()
        begin(desk.service, lay_out(site, third))
        assert [each.step for each in Runs(desk.service).steps(RUN) if each.step == "ROTATE log"] == []

    at_a_site(tmp_path, play)


def test_a_note_is_kept_of_what_had_no_turn(tmp_path: Path) -> None:
    """With its reason; it goes once the step is begun. What has an operation is told by the journal alone."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: drop_ack")
        layout = lay_out(site, plan(("BEEP", "SET interval 30")))
        runs = Runs(desk.service)
        await run_plan(desk.service, layout)
        beep, later = runs.steps(RUN)
        [entry] = desk.service.journal.of_run(RUN)
        assert beep.note is None
        assert later.note is not None
        assert (later.note.why, later.note.op) == (Missed.HELD, entry.operation.op)
        assert entry.operation.op in later.note.text
        desk.service.resolve(desk.service.doubts()[0], applied=True, reason="heard it")
        await run_plan(desk.service, layout)
        assert [each.note for each in runs.steps(RUN)] == [None, None]
        assert runs.find(RUN)[0].state is RunState.DONE

    at_a_site(tmp_path, play)


def test_nothing_is_noted_of_a_run_that_is_under_way(tmp_path: Path) -> None:
    """What was in the way last time is no news of this time."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: drop_ack")
        layout = lay_out(site, plan(("BEEP", "SET interval 30")))
        await run_plan(desk.service, layout)
        begin(desk.service, layout)
        assert [each.note for each in Runs(desk.service).steps(RUN)] == [None, None]

    at_a_site(tmp_path, play)


def test_the_newest_operation_speaks_for_a_step(tmp_path: Path) -> None:
    """A step that was refused and then applied is applied."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: refuse")
        layout = lay_out(site, plan(("ROTATE log", "BEEP")))
        await run_plan(desk.service, layout)
        await desk.service.clock.sleep(60)
        await run_plan(desk.service, lay_out(site, layout.plan))
        [(step_of_it, rotate), _] = Runs(desk.service).told(RUN)
        assert step_of_it.step == "ROTATE log"
        assert rotate is not None
        assert rotate.result is not None
        assert rotate.result.outcome is Outcome.APPLIED
        assert len(desk.service.journal.of_run(RUN)) == 3

    at_a_site(tmp_path, play)


def test_a_note_comes_back_as_it_was() -> None:
    """Whatever characters it has."""
    for note in (
        Note(Missed.ABORTED, 'in doubt on "d1"\n\x1b[31m'),
        Note(Missed.AFTER_FAILURE, "not tried", cause=Cause.WRONG_DEVICE),
        Note(Missed.HELD, "held", "01J"),
    ):
        assert Note.from_json(note.to_json()) == note


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE run SET options = 'x'",
        "UPDATE run SET state = 'sleeping'",
        "UPDATE run SET holder = '{}', state = 'running'",
        "UPDATE run_step SET note = '[]'",
    ],
)
def test_rows_that_make_no_sense_are_a_damaged_store(tmp_path: Path, damage: str) -> None:
    """SQLite keeps no checksum of what it stores; a person is told to restore a backup."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        begin(desk.service, lay_out(site, NIGHT))
        desk.service.database.commit_now(lambda cursor: cursor.execute(damage))
        runs = Runs(desk.service)
        with pytest.raises(StoreError, match=f"run {RUN} makes no sense"):
            runs.steps(runs.find(RUN)[0].run)

    at_a_site(tmp_path, play)


def test_options_come_back_as_they_were(tmp_path: Path) -> None:
    """Texts, lists, flags and nothing."""
    options = {"project": "/srv/ä", "profiles": ["a", "b"], "yes": True, "confirm": None}

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        row = Runs(desk.service).begin(lay_out(site, NIGHT), options=options, actor="ana")
        assert row.options == options

    at_a_site(tmp_path, play)
