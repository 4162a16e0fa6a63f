"""What keeps a step from its turn: a doubt, a refusal, a limit, the window, a device that has moved?"""

from dataclasses import replace
from datetime import time, timedelta
from pathlib import Path

import pytest

from agent.clock import Clock
from agent.operation import Cause, Outcome
from agent.plans.apply import apply
from agent.plans.course import KINDS, Missed, Note, StepReport, summary
from agent.plans.waves import REST, Abort, Amount
from agent.plans.window import Window
from tests.agent.desk import START, Desk
from tests.plans.desk import Heard, Site, at_a_site, carry, lay_out, outcomes, plan, step

NIGHT = ("SET interval 30", "ADJUST offset +5", "ROTATE log")


def missed(report: StepReport) -> Missed | None:
    """Why a step had no turn."""
    return report.note.why if report.note is not None else None


def test_a_doubt_holds_its_device_and_no_other(tmp_path: Path) -> None:
    """Its later steps have no turn, and the note names the operation; once it is settled they do."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: drop_ack")
        site.text("d2")
        layout = lay_out(site, plan(("BEEP", *NIGHT)))
        reports = await carry(desk.service, layout)
        doubt = reports["d1", "BEEP"]
        assert outcomes([doubt]) == [Outcome.IN_DOUBT]
        for each in NIGHT:
            report = reports["d1", each]
            assert (report.result, missed(report)) == (None, Missed.HELD)
            assert report.note is not None
            assert report.note.op == doubt.operation.op
            assert report.note.text == f"held by operation {doubt.operation.op} ('BEEP'), which is in doubt"
        assert all(reports["d2", each].done for each in ("BEEP", *NIGHT))
        counts = summary(reports.values())
        assert (counts["in_doubt"], counts["held"], counts["changed"]) == (1, 3, 4)
        still = await carry(desk.service, lay_out(site, layout.plan))
        assert still["d1", "BEEP"].skipped
        assert summary(still.values()) == {**dict.fromkeys(KINDS, 0), "in_doubt": 1, "held": 3, "skipped": 4}
        [entry] = desk.service.doubts()
        desk.service.resolve(entry, applied=True, reason="heard it")
        last = await carry(desk.service, lay_out(site, layout.plan))
        assert all(report.done for report in last.values())
        assert [site.count(name, "BEEP") for name in ("d1", "d2")] == [1, 1]

    at_a_site(tmp_path, play)


def test_a_doubt_of_before_holds_a_device_too(tmp_path: Path) -> None:
    """A command that somebody sent by hand and that is in doubt is named. No limit of the plan counts it."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: drop_ack")
        target = site.chosen[0].target
        [by_hand] = lay_out(site, plan(("BEEP",)), key="hand", run="01JHAND").work
        doubt = await desk.service.send(
            target, replace(by_hand.steps[0].operation, key=None, run=None, step=None)
        )
        assert doubt.result.outcome is Outcome.IN_DOUBT
        site.text("d2")
        limits = Abort(failed=Amount(1), in_doubt=Amount(1))
        reports = await carry(desk.service, lay_out(site, plan(NIGHT, parallel=1, abort_after=limits)))
        first = reports["d1", NIGHT[0]]
        assert first.result is not None
        assert (first.result.outcome, first.result.cause) == (Outcome.NOT_SENT, Cause.DOUBT)
        assert all(reports["d2", each].done for each in NIGHT)
        for each in NIGHT[1:]:
            note = reports["d1", each].note
            assert note is not None
            assert (note.why, note.op) == (Missed.HELD, doubt.operation.op)
        assert summary(reports.values())["held"] == 3

    at_a_site(tmp_path, play)


@pytest.mark.parametrize("hold", [False, True])
def test_a_refusal_holds_its_device_where_the_plan_says_so(tmp_path: Path, *, hold: bool) -> None:
    """`on_refused: hold` leaves out the device's later steps; else they are carried out."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("d1", "cmd 1: refuse")
        layout = lay_out(site, plan(("BEEP", *NIGHT), hold_after_refused=hold))
        reports = await carry(desk.service, layout)
        words = [
            missed(report) if report.result is None else report.result.outcome for report in reports.values()
        ]
        assert words == [Outcome.REFUSED, *([Missed.AFTER_FAILURE if hold else Outcome.APPLIED] * 3)]
        assert summary(reports.values())["no_turn"] == (3 if hold else 0)

    at_a_site(tmp_path, play)


ABORTS: list[tuple[Abort, str, int]] = [
    (Abort(failed=Amount(2)), "cmd *: refuse", 2),
    (Abort(failed=Amount(20, percent=True)), "cmd *: refuse", 2),
    (Abort(failed=Amount(21, percent=True)), "cmd *: refuse", 3),
    (Abort(failed=Amount(2)), "cmd *: drop_ack", 10),
    (Abort(in_doubt=Amount(2)), "cmd *: drop_ack", 2),
    (Abort(in_doubt=Amount(10, percent=True), failed=Amount(3)), "cmd *: drop_ack", 1),
    (Abort(in_doubt=Amount(1)), "cmd *: refuse", 10),
    (Abort(), "cmd *: refuse", 10),
]


@pytest.mark.parametrize(("abort", "faults", "begun"), ABORTS)
def test_a_run_is_aborted_when_a_limit_is_reached(
    tmp_path: Path, abort: Abort, faults: str, begun: int
) -> None:
    """By devices, each counted once, or by a share of them: those that follow are not begun, and say why."""

    async def play(desk: Desk, site: Site) -> None:
        for n in range(10):
            site.text(f"d{n}", faults)
        heard = Heard()
        layout = lay_out(site, plan(("BEEP", step("BEEP", "again")), parallel=1, abort_after=abort))
        reports = await carry(desk.service, layout, heard)
        assert heard.names("begun") == [f"d{n}" for n in range(begun)]
        assert len(heard.names("device")) == 10
        for n in range(begun, 10):
            for report in (reports[f"d{n}", "BEEP"], reports[f"d{n}", "again"]):
                assert (report.result, missed(report)) == (None, Missed.ABORTED)
                assert report.note is not None
                assert "of 10 devices, and the plan allows less than" in report.note.text

    at_a_site(tmp_path, play)


def test_what_is_in_flight_reaches_its_word_when_a_run_is_aborted(tmp_path: Path) -> None:
    """Devices at work finish the step that they are at, and begin no other."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("bad", "cmd 1: refuse")
        slow = [site.lsq(f"d{n}", "cmd 1: busy 3") for n in range(3)]
        layout = lay_out(site, plan(NIGHT, abort_after=Abort(failed=Amount(1))))
        reports = await carry(desk.service, layout)
        for n, device in enumerate(slow):
            words = [reports[f"d{n}", each] for each in NIGHT]
            assert outcomes(words) == [Outcome.APPLIED, None, None]
            assert [each.text for each in device.ledger.entries] == [NIGHT[0]]
        assert missed(reports["bad", NIGHT[1]]) is Missed.ABORTED

    at_a_site(tmp_path, play)


def test_nothing_begins_once_the_window_is_shut(tmp_path: Path) -> None:
    """What is in flight reaches its word; the rest has no turn and is carried out when the window is open again."""
    shuts = START + timedelta(minutes=1)
    window = Window(time(21, 0), time(shuts.hour, shuts.minute), "UTC")

    async def play(desk: Desk, site: Site) -> None:
        await desk.service.clock.sleep(58)
        for n in range(4):
            site.lsq(f"d{n}", "cmd *: busy 1.5")
        layout = lay_out(site, plan(NIGHT, parallel=2, window=window))
        reports = await carry(desk.service, layout)
        assert [[missed(reports[f"d{n}", each]) for each in NIGHT] for n in range(4)] == [
            *([[None, None, Missed.WINDOW]] * 2),
            *([[Missed.WINDOW] * 3] * 2),
        ]
        assert [len(site.devices[f"d{n}"].ledger) for n in range(4)] == [2, 2, 0, 0]
        note = reports["d3", NIGHT[0]].note
        assert note is not None
        assert note.text == "the maintenance window is shut: 21:00 to 22:01 (UTC)"
        await desk.service.clock.sleep(23 * 3600)
        again = await carry(desk.service, lay_out(site, layout.plan))
        assert summary(again.values()) == {**dict.fromkeys(KINDS, 0), "skipped": 4, "changed": 8}
        assert [device.values()["offset"] for device in site.devices.values()] == [15] * 4

    at_a_site(tmp_path, play)


def test_a_window_that_was_shut_once_ends_the_run(tmp_path: Path) -> None:
    """A run that is slow enough to see the next opening does not use it."""
    shut = START + timedelta(hours=1)
    moments = iter([START, START, shut])  # before the wave, the first step and the second one

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("d1")
        site.lsq("d2")
        window = Window(time(22, 0), time(22, 1), "UTC")
        layout = lay_out(site, plan(NIGHT, parallel=1, window=window))
        clock = Clock(lambda: next(moments, START))
        reports = await apply(desk.service, layout, clock=clock, listen=Heard())
        assert [missed(each) for each in reports] == [None, *([Missed.WINDOW] * 5)]

    at_a_site(tmp_path, play)


def test_a_device_that_has_moved_since_the_plan_was_saved_is_left_alone(tmp_path: Path) -> None:
    """Nothing is sent to it, and the note says what has moved; what is done already counts as done."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1")
        site.lsq("d2")
        await carry(desk.service, lay_out(site, plan(NIGHT[:1]), only=["d1"]))
        moved = {"d1": Note(Missed.STALE, "offset was 10 when planned, is 11 now")}
        reports = await carry(desk.service, lay_out(site, plan(NIGHT)), left_alone=moved)
        done, *stale = (reports["d1", each] for each in NIGHT)
        assert done.skipped
        for each in stale:
            assert (each.result, each.note) == (None, moved["d1"])
        assert len(device.ledger) == 1
        assert summary(reports.values()) == {
            **dict.fromkeys(KINDS, 0),
            "skipped": 1,
            "stale": 2,
            "changed": 3,
        }

    at_a_site(tmp_path, play)


@pytest.mark.parametrize("done", [False, True])
def test_a_device_that_cannot_be_read_again_is_not_sent_to(tmp_path: Path, *, done: bool) -> None:
    """Its steps are not sent with the cause, and it counts as failed where any of them was due."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("d1")
        site.lsq("d2")
        if done:
            await carry(desk.service, lay_out(site, plan(NIGHT), only=["d1"]))
        before = len(device.ledger)
        unread = {"d1": Note(Missed.AFTER_FAILURE, "not tried: no answer", cause=Cause.UNREACHABLE)}
        limits = {"waves": (Amount(1), REST), "abort_after": Abort(Amount(1), None)}
        reports = await carry(desk.service, lay_out(site, plan(NIGHT, **limits)), left_alone=unread)
        counts = summary(reports.values())
        assert (counts["skipped"], counts["not_sent"], counts["no_turn"]) == (
            (3, 0, 0) if done else (0, 3, 3)
        )
        assert len(device.ledger) == before
        if not done:
            result = reports["d1", NIGHT[0]].result
            assert result is not None
            assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)

    at_a_site(tmp_path, play)
