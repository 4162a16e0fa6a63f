"""Is a plan carried out in its order, side by side where it may be, and nothing of it twice?"""

import asyncio
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent.evidence import Sent
from agent.operation import Cause, Outcome
from agent.plans.course import KINDS, Missed, summary
from agent.plans.waves import REST, Amount
from tests.agent.desk import Desk
from tests.plans.desk import Heard, Site, another_process, at_a_site, carry, lay_out, outcomes, plan, step

NIGHT = ("SET interval 30", "ADJUST offset +5", "ROTATE log")
NOTHING_TWICE = {"interval": 30, "offset": 15, "log_files": 4}


def assert_once_each(site: Site) -> None:
    """Every device did every step of NIGHT once."""
    for name, device in site.devices.items():
        assert {key: device.values()[key] for key in NOTHING_TWICE} == NOTHING_TWICE, name
        assert len(device.ledger) == len(NIGHT), name


# --- the order --------------------------------------------------------------------------------------------------------


def test_a_plan_is_told_as_it_goes_on(tmp_path: Path) -> None:
    """Wave, begin of each device, each step's word, its end; the reports come in the order of the plan."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.text("d2")
        heard = Heard()
        layout = lay_out(site, plan(("SET interval 30", step("BEEP", devices=("d2",))), parallel=1))
        reports = await carry(desk.service, layout, heard)
        assert outcomes(list(reports.values())) == [Outcome.APPLIED] * 3
        assert heard.events == [
            ("wave", (1, 1, ("d1", "d2"))),
            ("begun", "d1"), ("step", ("d1", "SET interval 30")), ("device", ("d1", 1)),
            ("begun", "d2"), ("step", ("d2", "SET interval 30")), ("step", ("d2", "BEEP")), ("device", ("d2", 2)),
        ]  # fmt: skip

    at_a_site(tmp_path, play)


def test_a_wave_begins_when_the_one_before_has_ended(tmp_path: Path) -> None:
    """No device of the second wave is even dialled while one of the first is still at work."""

    async def play(desk: Desk, site: Site) -> None:
        devices = [site.lsq(f"d{n}", "cmd 1: busy 2") for n in range(10)]
        heard = Heard()
        layout = lay_out(site, plan(NIGHT, waves=(Amount(1), Amount(20, percent=True), REST)))
        await carry(desk.service, layout, heard)
        assert heard.names("wave") == [
            (1, 3, ("d0",)),
            (2, 3, ("d1", "d2")),
            (3, 3, tuple(f"d{n}" for n in range(3, 10))),
        ]
        done_s = [device.ledger.entries[-1].at_s for device in devices]
        began_s = {name: at_s for at_s, name in reversed(site.dialled)}
        assert done_s[0] <= began_s["d1"]
        assert max(done_s[1:3]) <= min(began_s[f"d{n}"] for n in range(3, 10))
        assert_once_each(site)

    at_a_site(tmp_path, play)


def test_never_more_devices_at_once_than_the_plan_allows(tmp_path: Path) -> None:
    """And as many as it allows, where there are so many; by tasks, not by threads."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(12):
            site.lsq(f"d{n}", "cmd *: busy 1")
        threads = threading.active_count()
        tasks: list[int] = []
        heard = Heard(on_step=lambda _: tasks.append(len(asyncio.all_tasks())))
        await carry(desk.service, lay_out(site, plan(NIGHT, parallel=3)), heard)
        assert site.most == 3
        assert threading.active_count() == threads
        assert (
            max(tasks) <= 2 + 2 * 3 + 3
        )  # this test, its limit, and for each of three: its worker, walk and lease
        assert_once_each(site)

    at_a_site(tmp_path, play)


def test_devices_on_one_line_take_turns(tmp_path: Path) -> None:
    """Whatever `parallel` says: no two of one stream ever have a link, while other streams go on beside it."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(1, 6):
            site.lsq(f"u{n}", "cmd *: busy 1", url="tcp://gateway:1", unit=n)
        for n in range(3):
            site.lsq(f"d{n}", "cmd *: busy 1")
        await carry(desk.service, lay_out(site, plan(NIGHT, parallel=8)))
        assert site.overlaps == []
        assert site.most == 4
        line = [site.devices[f"u{n}"].ledger.entries for n in range(1, 6)]
        assert all(a[-1].at_s < b[0].at_s for a, b in pairwise(line))
        assert_once_each(site)

    at_a_site(tmp_path, play)


def test_a_dead_unit_costs_its_line_its_own_attempts_only(tmp_path: Path) -> None:
    """The next unit's turn comes as soon as the dead one's first step has failed; its later steps are not tried."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(1, 4):
            site.lsq(f"u{n}", "any *: drop_request" if n == 1 else "", url="tcp://gateway:1", unit=n)
        reports = await carry(desk.service, lay_out(site, plan(NIGHT)))
        first, *later = (reports["u1", each] for each in NIGHT)
        assert first.result is not None
        assert (first.result.outcome, first.result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
        for each in later:
            assert each.note is not None
            assert each.note.why is Missed.AFTER_FAILURE
            assert each.result is not None
            assert (each.result.outcome, each.result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
            assert each.result.message == f"not tried: {first.result.message}"
            assert not each.recorded
        tries_s = [at_s for at_s, name in site.dialled if name == "u1"]
        next_s = next(at_s for at_s, name in site.dialled if name == "u2")
        assert next_s - tries_s[-1] <= 1.0
        assert [len(site.devices[f"u{n}"].ledger) for n in range(1, 4)] == [0, 3, 3]

    at_a_site(tmp_path, play)


# --- nothing twice ----------------------------------------------------------------------------------------------------


def test_the_same_key_does_nothing_twice(tmp_path: Path) -> None:
    """The second time no device is even dialled, and each step is told with its first word; a new key is a new run."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.text("d2")
        first = await carry(desk.service, lay_out(site, plan(NIGHT)))
        assert_once_each(site)
        dialled, heard = len(site.dialled), Heard()
        desk.restart()
        again = await carry(desk.service, lay_out(site, plan(NIGHT)), heard)
        assert len(site.dialled) == dialled
        assert heard.names("begun") == []
        for at, report in again.items():
            assert report.skipped
            assert report.operation.op == first[at].operation.op
            assert report.result == first[at].result
        assert summary(again.values()) == {**dict.fromkeys(KINDS, 0), "skipped": 6}
        await carry(desk.service, lay_out(site, plan(NIGHT), key="next", run="01JNEXT"))
        assert [device.values()["offset"] for device in site.devices.values()] == [20, 20]

    at_a_site(tmp_path, play)


def test_moved_and_inserted_steps_change_nothing_of_what_is_done(tmp_path: Path) -> None:
    """Only the new ones are carried out."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1")
        await carry(desk.service, lay_out(site, plan(NIGHT)))
        reports = await carry(desk.service, lay_out(site, plan(("BEEP", *reversed(NIGHT), "ROTATE log"))))
        assert [report.skipped for report in reports.values()] == [False, True, True, True, False]
        assert [each.text for each in device.ledger.entries] == [*NIGHT, "BEEP", "ROTATE log"]

    at_a_site(tmp_path, play)


def test_two_processes_at_the_same_time_do_nothing_twice(tmp_path: Path) -> None:
    """Side by side on one store, under one key: whoever holds a device does its steps, the other one is told so."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(6):
            (site.lsq if n % 2 else site.text)(f"d{n}", "cmd *: busy 1")
        one, two = another_process(desk), another_process(desk)
        night = plan(NIGHT, parallel=2)
        reports = await asyncio.gather(*(carry(each, lay_out(site, night)) for each in (one, two)))
        assert_once_each(site)
        for at in reports[0]:
            words = sorted(str(outcomes([each[at]])[0]) for each in reports)
            assert words in (["applied", "applied"], ["applied", "not_sent"]), at
            for result in (each[at].result for each in reports):
                assert result is not None
                assert (result.outcome is Outcome.NOT_SENT) == (result.cause is Cause.HELD)
        last = await carry(one, lay_out(site, night))
        assert all(report.skipped for report in last.values())
        assert_once_each(site)
        one.close()
        two.close()

    at_a_site(tmp_path, play)


@pytest.mark.parametrize(
    ("faults", "word"),
    [
        ("cmd 1: refuse", Outcome.REFUSED),
        ("cmd 1-3: drop_request", Outcome.NOT_APPLIED),
        (None, Outcome.NOT_SENT),
    ],
)
def test_what_had_no_effect_is_due_again(tmp_path: Path, faults: str | None, word: Outcome) -> None:
    """A step that was refused, not applied or not sent is carried out by the next apply under the same key."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.text("d1", faults or "")
        site.gone = {"d1"} if faults is None else set()
        layout = lay_out(site, plan(("ROTATE log",)))
        [first] = (await carry(desk.service, layout)).values()
        assert outcomes([first]) == [word]
        assert len(device.ledger) == 0
        site.gone.clear()
        [again] = (await carry(desk.service, lay_out(site, layout.plan))).values()
        assert outcomes([again]) == [Outcome.APPLIED]
        assert not again.skipped
        [last] = (await carry(desk.service, lay_out(site, layout.plan))).values()
        assert last.skipped
        assert site.count("d1", "ROTATE log") == 1

    at_a_site(tmp_path, play)


def test_what_was_there_already_is_not_due_again(tmp_path: Path) -> None:
    """A step that ended `unchanged` sent nothing, and nothing is sent under its key later either."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.text("d1")
        layout = lay_out(site, plan(("SET interval 10",)))
        [first] = (await carry(desk.service, layout)).values()
        assert outcomes([first]) == [Outcome.UNCHANGED]
        await desk.send("SET interval 30", url="tcp://elsewhere:1")
        [again] = (await carry(desk.service, lay_out(site, layout.plan))).values()
        assert again.skipped
        assert len(device.ledger) == 0
        assert summary([first, again])["unchanged"] == summary([first, again])["skipped"] == 1

    at_a_site(tmp_path, play)


# --- what it costs -------------------------------------------------------------------------------------------------


def test_devices_share_what_is_common(tmp_path: Path) -> None:
    """Their profile is one object for all; an operation in hand is forgotten with its word."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(20):
            site.lsq(f"d{n}")
        layout = lay_out(site, plan(NIGHT[:1], parallel=20))
        assert len({id(work.chosen.target.profile) for work in layout.work}) == 1
        in_hand: list[int] = []
        intend = desk.service.journal.intend

        async def counting(case: Any, lease: Any, step_: Any, sent: Sent) -> Any:
            in_hand.append(len(desk.service.in_hand))
            return await intend(case, lease, step_, sent)

        desk.service.journal.intend = counting  # type: ignore[method-assign, assignment]
        await carry(desk.service, layout)
        assert max(in_hand) > 1
        assert desk.service.in_hand == {}

    at_a_site(tmp_path, play)
