"""What becomes of turns that never began, and of times that nobody remembers?"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.plans import turns as turns_module
from agent.plans.jobs import Jobs
from agent.plans.turns import BY_HAND, KEPT_MAX, State, Turn, Turns, nominal, standing
from agent.service import Service
from agent.store.database import Cursor
from tests.plans.shift import Shift, on_shift
from tests.plans.test_jobs import ADDED, HOUR, JOB, MINUTE, in_a_store

DUE, NEXT = ADDED.replace(second=0) + HOUR, ADDED.replace(second=0) + 2 * HOUR
MINUTELY = replace(JOB, cron="* * * * *")
FEW = 5


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few turns are kept that a test can have more."""
    monkeypatch.setattr(turns_module, "KEPT_MAX", FEW)


def keys(service: Service) -> list[str]:
    """The turns that the store has, oldest due time first."""
    return [key for (key,) in service.database.read("SELECT due_utc FROM due ORDER BY due_utc")]


def orphaned(shift: Shift, **record: str) -> tuple[Turns, Turns]:
    """Two processes, after a third one claimed `DUE` (and recorded that of it) and was gone."""
    gone, first, second = shift.process(gone=True), shift.process(), shift.process()
    Jobs(gone).add(JOB, in_its_place=False)
    turn = Turns(gone).claim(JOB, nominal(DUE))
    assert turn is not None
    if record:
        Turns(gone).record(replace(turn, **record))  # type: ignore[arg-type]
    return Turns(first), Turns(second)


# --- turns that never began -------------------------------------------------------------------------------------------


def test_a_turn_that_never_began_is_told_once(quick_home: Path) -> None:
    """It is told as what it is, to one process only, and it is nobody's any more."""

    def play(shift: Shift) -> None:
        first, second = orphaned(shift)
        [orphan] = first.orphans()
        assert (orphan.key, orphan.state, orphan.run) == (nominal(DUE), State.NOT_BEGUN, None)
        assert first.orphans() == second.orphans() == []

    in_a_store(quick_home, play)


def test_a_turn_that_began_stays_as_it_is(quick_home: Path) -> None:
    """With a run on record it is cut off, and its time is settled: nobody claims it again."""

    def play(shift: Shift) -> None:
        first, second = orphaned(shift, run="R1")
        [orphan] = first.orphans()
        assert (orphan.state, orphan.run) == (State.CUT_OFF, "R1")
        assert second.considered(JOB, DUE + HOUR / 2) == DUE
        assert second.claim(JOB, nominal(DUE)) is None
        assert second.pass_over(JOB, DUE, "missed") is False

    in_a_store(quick_home, play)


def test_a_run_that_was_done_in_time(quick_home: Path) -> None:
    """Where only the word on the turn is missing, the run's own word is told."""

    def play(shift: Shift) -> None:
        first, _ = orphaned(shift, run="R1")
        ended = (
            "INSERT INTO run (run, plan, key, path, text, digest, options, actor, agent, begun_utc, state) "
            "VALUES ('R1', 'p', 'k', '', '', '', '{}', '', '', '', 'done')"
        )

        def write(cursor: Cursor) -> int:
            return cursor.execute(ended).rowcount

        shift.process().database.commit_now(write)
        assert [orphan.state for orphan in first.orphans()] == [State.DONE]

    in_a_store(quick_home, play)


@pytest.mark.parametrize(("late", "on_time", "missed"), [(MINUTE / 2, DUE, 0), (HOUR / 2, None, 1)])
def test_its_time_is_open_again(
    quick_home: Path, late: timedelta, on_time: datetime | None, missed: int
) -> None:
    """Its time is as if nobody had claimed it: on time for a minute, then missed."""

    def play(shift: Shift) -> None:
        first, _ = orphaned(shift)
        now = DUE + late
        assert standing(JOB, first.considered(JOB, now), now).missed == 0
        first.orphans()
        at = standing(JOB, first.considered(JOB, now), now)
        assert (at.on_time, at.missed) == (on_time, missed)

    in_a_store(quick_home, play)


def test_it_changes_hands_once(quick_home: Path) -> None:
    """Of two processes that would make up for it one gets it, and it is running, with its own claim, from then on."""

    def play(shift: Shift) -> None:
        first, second = orphaned(shift)
        first.orphans()
        turn = second.claim(JOB, nominal(DUE))
        assert turn is not None
        assert turn.state is State.RUNNING
        assert first.claim(JOB, nominal(DUE)) is None
        assert first.pass_over(JOB, DUE, "missed") is False
        assert first.orphans() == []
        overlapping = first.claim(JOB, nominal(NEXT))
        assert overlapping is not None
        assert overlapping.state is State.OVERLAP

    in_a_store(quick_home, play)


@pytest.mark.parametrize("state", [state for state in State if state is not State.NOT_BEGUN])
def test_nothing_else_changes_hands(quick_home: Path, state: State) -> None:
    """A turn that has come to anything else is claimed by nobody a second time."""

    def play(shift: Shift) -> None:
        first, second = shift.process(), shift.process()
        Jobs(first).add(JOB, in_its_place=False)
        turn = Turns(first).claim(JOB, nominal(DUE))
        assert turn is not None
        Turns(first).record(replace(turn, state=state))
        assert Turns(second).claim(JOB, nominal(DUE)) is None
        assert Turns(second).considered(JOB, DUE + MINUTE) == DUE

    in_a_store(quick_home, play)


def test_it_may_be_passed_over(quick_home: Path) -> None:
    """Where missed times are not made up for, it is one of them, told once."""

    def play(shift: Shift) -> None:
        first, second = orphaned(shift)
        first.orphans()
        assert [each.pass_over(JOB, DUE, "missed 1 time") for each in (first, second)] == [True, False]
        last = first.last("night")
        assert last is not None
        assert (last.key, last.state, last.note) == (nominal(DUE), State.MISSED, "missed 1 time")
        assert second.considered(JOB, DUE + MINUTE) == DUE

    in_a_store(quick_home, play)


# --- what is kept -----------------------------------------------------------------------------------------------------


def after(shift: Shift, count: int, claim: Callable[[Turns, int], Turn | None]) -> Service:
    """A process after so many turns of a job that is due each minute; each has been done."""
    service = shift.process()
    Jobs(service).add(MINUTELY, in_its_place=False)
    for n in range(1, count + 1):
        turn = claim(Turns(service), n)
        assert turn is not None
        Turns(service).record(replace(turn, state=State.DONE))
    return service


def at_minute(turns: Turns, n: int) -> Turn | None:
    """Claim the nth due time."""
    return turns.claim(MINUTELY, nominal(ADDED + n * MINUTE))


def by_hand(turns: Turns, n: int) -> Turn | None:
    """Claim a turn as a person does for the nth time."""
    return turns.claim(MINUTELY, f"{BY_HAND}{n:03}")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("claim", "others"), [(at_minute, by_hand), (by_hand, at_minute)])
def test_the_newest_turns_are_kept(
    quick_home: Path, claim: Callable[[Turns, int], Turn | None], others: Callable[[Turns, int], Turn | None]
) -> None:
    """Of each kind so many are kept; one kind, and one job, does not crowd out the other."""

    def play(shift: Shift) -> None:
        service = after(shift, 3, others)
        other = replace(MINUTELY, name="other")
        Jobs(service).add(other, in_its_place=False)
        assert Turns(service).claim(other, nominal(ADDED - HOUR)) is not None
        before = keys(service)
        claimed = []
        for n in range(4, 20):
            turn = claim(Turns(service), n)
            assert turn is not None
            Turns(service).record(replace(turn, state=State.DONE))
            claimed.append(turn.key)
        assert keys(service) == sorted([*before, *claimed[-FEW:]])

    in_a_store(quick_home, play)


def test_how_many_are_kept(quick_home: Path) -> None:
    """It is the number that is written down."""

    def play(shift: Shift) -> None:
        service = after(shift, KEPT_MAX + 3, at_minute)
        assert len(keys(service)) == KEPT_MAX == 1000
        assert keys(service)[0] == nominal(ADDED + 4 * MINUTE)

    in_a_store(quick_home, play)


@pytest.mark.usefixtures("few")
def test_what_runs_is_kept(quick_home: Path) -> None:
    """A turn that is still running is never forgotten, however old it is."""

    def play(shift: Shift) -> None:
        service = shift.process()
        Jobs(service).add(MINUTELY, in_its_place=False)
        assert at_minute(Turns(service), 1) is not None
        for n in range(2, 20):
            assert Turns(service).pass_over(MINUTELY, ADDED + n * MINUTE, "missed")
        assert keys(service)[0] == nominal(ADDED + MINUTE)
        assert len(keys(service)) == FEW + 1

    in_a_store(quick_home, play)


@pytest.mark.usefixtures("few")
def test_what_is_forgotten_is_never_due(quick_home: Path) -> None:
    """On a clock set far back nothing that was forgotten is due, nor may anybody who looked before claim it."""

    def play(shift: Shift) -> None:
        service = after(shift, 20, at_minute)
        turns = Turns(service)
        oldest = ADDED.replace(second=0) + 16 * MINUTE
        for n in range(1, 16):
            now = ADDED + n * MINUTE
            assert turns.considered(MINUTELY, now) == oldest
            at = standing(MINUTELY, turns.considered(MINUTELY, now), now)
            assert (at.on_time, at.missed) == (None, 0)
            assert at_minute(turns, n) is None
            assert turns.pass_over(MINUTELY, now, "missed") is False
        assert len(keys(service)) == FEW
        assert by_hand(turns, 1) is not None

    in_a_store(quick_home, play)


@pytest.mark.usefixtures("few")
def test_a_person_whose_clock_was_set_back(quick_home: Path) -> None:
    """What a person begins is no due time: it is claimed, whatever its key sorts behind."""

    def play(shift: Shift) -> None:
        service = after(shift, 20, by_hand)
        turn = Turns(service).claim(MINUTELY, f"{BY_HAND}001-again")
        assert turn is not None
        assert turn.state is State.RUNNING

    in_a_store(quick_home, play)


@pytest.mark.usefixtures("few")
def test_while_nothing_is_forgotten_earlier_times_may_be_due(quick_home: Path) -> None:
    """A clock that was wrong for a while has not spoilt the times before its few claims."""

    def play(shift: Shift) -> None:
        service = shift.process()
        Jobs(service).add(MINUTELY, in_its_place=False)
        for n in range(100, 100 + FEW - 1):
            assert at_minute(Turns(service), n) is not None
        assert Turns(service).considered(MINUTELY, ADDED + MINUTE) == MINUTELY.added
        assert at_minute(Turns(service), 1) is not None

    in_a_store(quick_home, play)


@pytest.mark.usefixtures("few")
def test_a_job_that_waits_for_its_clock_says_so(quick_home: Path) -> None:
    """With its clock set back before all that is kept a server says once, each time, until when nothing is run."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan("BEEP"))
        server = shift.server(service)
        for _ in range(8):
            await shift.clock.wait_until(shift.clock.utc() + MINUTE)
            await server.run_due()
        shift.clock.set_by(-7 * MINUTE)
        for _ in range(9):
            await server.run_due()
            await shift.clock.wait_until(shift.clock.utc() + MINUTE)
        shift.clock.set_by(-7 * MINUTE)
        await server.run_due()
        waiting = [each.message for each in shift.told if each.event == "waiting"]
        until = [said.partition("not run until after ")[2][:22] for said in waiting]
        assert until == ["2026-11-29T22:04+00:00", "2026-11-29T22:05+00:00"]
        done = [key for event, key in shift.events("done")]
        assert len(set(done)) == len(done) == device.ledger.count("BEEP") == 9

    on_shift(quick_home, play, datetime(2026, 11, 29, 22, 0, 20, tzinfo=UTC))
