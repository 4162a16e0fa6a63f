"""When did a verdict change, and is each change entered once, whoever notices it?"""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent.fleet import changes as rules
from agent.fleet.changes import Change, Changes
from agent.fleet.observations import Observations
from agent.fleet.verdict import Fleet, Status, Verdict, verdict
from agent.processes import this_process
from agent.service import Service
from agent.store import sqlite
from agent.store.database import StoreError
from agent.store.sqlite import open_database
from tests.fleet.crew import START, Crew, Meanwhile, crew, full, locked, seen

PUMP = "device:pump"
S = Status


def judged(
    status: Status,
    *,
    reason: str = "why",
    vantages: tuple[str, ...] = (),
    pair: tuple[str, str] | None = None,
    reference: str | None = None,
) -> Verdict:
    """A verdict."""
    return Verdict(
        status=status, reason=reason, fails=(), sees=(), ignored=(), vantages=vantages, pair=pair, age_s=None,
        stale=False, streaks={}, reference=reference,
    )  # fmt: skip


def fleet(**verdicts: Verdict | Status) -> Fleet:
    """The verdicts on devices."""
    told = {
        f"device:{name}": each if isinstance(each, Verdict) else judged(each)
        for name, each in verdicts.items()
    }
    return Fleet(told, {}, (), ())


def note(service: Service, of: Fleet, ago_s: float = 0.0) -> list[tuple[str, Status]]:
    """Note verdicts that were computed so long ago."""
    at_s = service.steady.now().timestamp() - ago_s
    return [(each.target, each.status) for each in Changes(service).note(of, at_s)]


def told(service: Service, target: str = PUMP) -> list[Status]:
    """What the history says, oldest first."""
    return [each.status for each in reversed(Changes(service).history(target, 1000))]


def one_later(them: Crew) -> Service:
    """A process, a second after whatever was before."""
    them.clock.pass_s(1)
    return them.agent("gw")


def test_a_row_per_change(quick_home: Path) -> None:
    """The first verdict and each other one is entered; the same again, with another count in its reason, is not."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        steps: tuple[tuple[Verdict | Status, list[Status]], ...] = (
            (S.HEALTHY, [S.HEALTHY]),
            (S.HEALTHY, []),
            (S.UNREACHABLE, [S.UNREACHABLE]),
            (judged(S.UNREACHABLE, reason="3 of 5 cannot reach it"), []),
            (S.HEALTHY, [S.HEALTHY]),
        )
        for number, (status, entered) in enumerate(steps):
            them.clock.pass_s(5)
            assert note(service, fleet(pump=status)) == [(PUMP, each) for each in entered], number
        assert told(them.agent("gw2")) == [S.HEALTHY, S.UNREACHABLE, S.HEALTHY]


def test_what_a_change_says(quick_home: Path) -> None:
    """Newest first: target, status, what it is about, the reason then, when, and what was before; as many as asked."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        note(service, fleet(pump=S.HEALTHY, fan=S.HEALTHY))
        them.clock.pass_s(5)
        note(
            service,
            fleet(pump=judged(S.UNREACHABLE_FROM, reason="2 of 5", vantages=("x", "y")), fan=S.HEALTHY),
        )
        first = Change(PUMP, S.HEALTHY, "", "why", START.timestamp(), "2026-11-29T22:00:00.000Z", None)
        second = Change(
            PUMP, S.UNREACHABLE_FROM, "x, y", "2 of 5", START.timestamp() + 5, "2026-11-29T22:00:05.000Z", S.HEALTHY
        )  # fmt: skip
        other = Changes(them.agent("gw2"))
        assert other.history(PUMP, 10) == [second, first]
        assert other.history(PUMP, 1) == [second]
        assert other.history("device:none", 10) == []


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (judged(S.UNREACHABLE_FROM, vantages=("x",)), judged(S.UNREACHABLE_FROM, vantages=("x",)), False),
        (judged(S.UNREACHABLE_FROM, vantages=("x",)), judged(S.UNREACHABLE_FROM, vantages=("x", "y")), True),
        (judged(S.PAIR_MARKED, pair=("a", "b")), judged(S.PAIR_MARKED, pair=("a", "b")), False),
        (judged(S.PAIR_MARKED, pair=("a", "b")), judged(S.PAIR_MARKED, pair=("c", "b")), True),
        (judged(S.UNREACHABLE), judged(S.UNREACHABLE, reference="a"), True),
        (judged(S.UNREACHABLE, reference="a"), judged(S.UNREACHABLE, reference="a"), False),
    ],
)
def test_what_is_another_verdict(before: Verdict, after: Verdict, changed: bool, quick_home: Path) -> None:
    """M16, M17: other vantages, another pair, another reference are told; the same ones are not told again."""
    with crew(quick_home) as them:
        note(one_later(them), fleet(pump=before))
        assert bool(note(one_later(them), fleet(pump=after))) is changed


def test_a_hundred_good_probes_and_one_transition(quick_home: Path) -> None:
    """H13: a hundred good rounds change nothing after the first; four misses make it shaky, once."""
    with crew(quick_home) as them:
        service = them.registered("gw1")
        mine, entered = Observations(service), []
        for number in range(104):
            them.clock.pass_s(5)
            mine.write([seen(service, number, ok=number < 100)])
            at_s = mine.now_s()
            found = Changes(service).note(verdict(mine.facts(), at_s), at_s)
            entered += [(number, each.before, each.status) for each in found if each.target == PUMP]
        assert entered == [(0, None, S.HEALTHY), (100, S.HEALTHY, S.SHAKY)]


def test_what_nobody_sees_any_more_is_no_data(quick_home: Path) -> None:
    """A target that the verdicts no longer speak of does not stay what it was last."""
    with crew(quick_home) as them:
        note(one_later(them), fleet(pump=S.UNREACHABLE, fan=S.HEALTHY))
        assert note(one_later(them), fleet(fan=S.HEALTHY)) == [(PUMP, S.NO_DATA)]
        assert note(one_later(them), fleet(fan=S.HEALTHY)) == []


# --- several agents -------------------------------------------------------------------------------------------------


def two(them: Crew) -> tuple[Service, Service, Meanwhile]:
    """Two processes, and the connection of the second one."""
    first, slow = one_later(them), Meanwhile(open_database(them.home))
    second = them.with_database(slow, this_process("gw2"))
    second.steady.now()
    return first, second, slow


def test_two_notice_one_change_at_the_same_moment(quick_home: Path) -> None:
    """Both have read the same newest row; one enters the change, the other hears that it was not the first."""
    with crew(quick_home) as them:
        for status in (S.HEALTHY, S.UNREACHABLE):
            first, second, slow = two(them)
            entered: list[tuple[str, Status]] = []
            same = fleet(pump=status)
            slow.happens = lambda first=first, same=same, entered=entered: entered.extend(note(first, same))  # type: ignore[misc]
            assert note(second, same) == []
            assert entered == [(PUMP, status)]
        assert told(first) == [S.HEALTHY, S.UNREACHABLE]


def test_two_notice_different_changes_at_the_same_moment(quick_home: Path) -> None:
    """What only the second one has noticed is entered all the same."""
    with crew(quick_home) as them:
        first, second, slow = two(them)
        slow.happens = lambda: note(first, fleet(pump=S.HEALTHY))
        assert note(second, fleet(pump=S.HEALTHY, fan=S.HEALTHY)) == [("device:fan", S.HEALTHY)]


def test_a_slow_agent_does_not_turn_the_history_back(quick_home: Path) -> None:
    """A verdict computed before the newest change, or at the same moment, changes nothing; a later one does."""
    with crew(quick_home) as them:
        service = one_later(them)
        note(service, fleet(pump=S.HEALTHY))
        them.clock.pass_s(5)
        note(service, fleet(pump=S.UNREACHABLE))
        assert note(them.agent("slow"), fleet(pump=S.HEALTHY), ago_s=2) == []
        assert note(them.agent("slow"), fleet(pump=S.SHAKY)) == []
        them.clock.pass_s(0.1)
        assert note(them.agent("slow"), fleet(pump=S.SHAKY)) == [(PUMP, S.SHAKY)]


@pytest.mark.parametrize("wall", [START - timedelta(days=1), START + timedelta(days=1)])
def test_history_goes_on_after_a_restart(wall: datetime, quick_home: Path) -> None:
    """A machine that starts with an earlier time enters changes at once, behind those of before."""
    with crew(quick_home) as them:
        note(them.agent("gw1"), fleet(pump=S.UNREACHABLE))
        them.restart_machine(wall)
        service = them.agent("gw1")
        assert note(service, fleet(pump=S.HEALTHY)) == [(PUMP, S.HEALTHY)]
        assert told(service) == [S.UNREACHABLE, S.HEALTHY]


# --- bounds and trouble ---------------------------------------------------------------------------------------------


def test_history_has_a_bound(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a target that flaps the newest changes are kept, and nothing of another one is lost for it."""
    monkeypatch.setattr(rules, "HISTORY_MAX", 3)
    with crew(quick_home) as them:
        note(one_later(them), fleet(pump=S.HEALTHY, fan=S.HEALTHY))
        for status in (S.SHAKY, S.HEALTHY, S.SHAKY, S.UNREACHABLE):
            note(service := one_later(them), fleet(pump=status, fan=S.HEALTHY))
        assert told(service) == [S.HEALTHY, S.SHAKY, S.UNREACHABLE]
        [fan] = Changes(service).history("device:fan", 10)
        assert fan.at_s == START.timestamp() + 1


@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_a_store_that_cannot_be_written(
    trouble: str, quick_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked or full, it is said in words, nothing is entered, and the next call finds the same changes."""
    monkeypatch.setattr(sqlite, "BUSY_S", 0.01)
    with crew(quick_home) as them:
        service = one_later(them)
        note(service, fleet(pump=S.HEALTHY))
        them.clock.pass_s(1)
        many = fleet(
            pump=S.SHAKY, **{f"d{number}": judged(S.HEALTHY, reason="x" * 100) for number in range(500)}
        )
        stop = locked(quick_home) if trouble == "locked" else full(service)
        why = "database is locked" if trouble == "locked" else "database or disk is full"
        with stop, pytest.raises(StoreError, match=f"cannot be written: {why}"):
            note(service, many)
        assert told(service) == [S.HEALTHY]
        assert len(note(service, many)) == 501


def test_rows_that_make_no_sense(quick_home: Path) -> None:
    """A damaged row is a StoreError that says so."""
    with crew(quick_home) as them:
        service = one_later(them)
        note(service, fleet(pump=S.HEALTHY))
        service.database.commit_now(lambda cursor: cursor.execute("UPDATE change SET status = 'wealthy'"))
        for look in (lambda: note(service, fleet()), lambda: told(service)):
            with pytest.raises(StoreError, match="its verdicts of before make no sense"):
                look()
