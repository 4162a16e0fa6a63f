"""A device that is called otherwise now: what is told of its steps, each once, and how its run stands."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.journal import Entry
from agent.operation import Numbering, Operation, Outcome, Result, Terms
from agent.plans.course import Missed
from agent.plans.other_names import counting, pointers, renamed
from agent.plans.runs import Runs, RunState
from devices.kinds import Policy
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk
from tests.agent.line_profiles import PROFILE as LINE_PROFILE
from tests.plans.desk import RUN, Heard, Site, at_a_site, begin, lay_out, plan, run_plan

Told = list[tuple[str, str, str | None, str | None]]


def told(desk: Desk) -> Told:
    """Device and step as they are told, the name under which the operation stands, and its word."""
    return [
        (step.device, step.step, entry.operation.device if entry else None, _word(entry))
        for step, entry in Runs(desk.service).told(RUN)
    ]


def _word(entry: Entry | None) -> str | None:
    return entry.result.outcome.value if entry is not None and entry.result is not None else None


def state(desk: Desk) -> RunState:
    """How the run stands."""
    [row] = Runs(desk.service).find(RUN)
    return row.state


def same_address(site: Site) -> None:
    """The device `old` is called `new` from now on."""
    site.chosen.clear()
    site._add("new", site.devices["old"], LINE_PROFILE, "tcp://old:1", 1)


def same_serial(site: Site) -> None:
    """The device `old` is called `new` from now on, and answers elsewhere."""
    device = site.devices["old"]
    assert isinstance(device, SimulatedDevice)
    site.chosen.clear()
    site.also("new", device)


def first(site: Site, rename: Callable[[Site], None]) -> None:
    """The device as it was called first."""
    if rename is same_address:
        site.text("old")
    else:
        site.lsq("old", serial="SN-0")


RENAMES = pytest.mark.parametrize("rename", [same_address, same_serial])


@RENAMES
def test_what_was_done_under_the_old_name(tmp_path: Path, rename: Callable[[Site], None]) -> None:
    """It is told once, under the new name, with the operation of the old one; the run is done, however often."""

    async def play(desk: Desk, site: Site) -> None:
        first(site, rename)
        await run_plan(desk.service, lay_out(site, plan(("SET interval 30",))))
        rename(site)
        for _ in range(2):
            await run_plan(desk.service, lay_out(site, plan(("SET interval 30", "BEEP"))))
            assert told(desk) == [
                ("new", "SET interval 30", "old", "applied"),
                ("new", "BEEP", "new", "applied"),
            ]
            assert state(desk) is RunState.DONE
        [step, _] = Runs(desk.service).steps(RUN)
        assert step.note is not None
        assert step.note.text == "done before, when the device was called old"

    at_a_site(tmp_path, play)


@RENAMES
def test_what_was_not_done_under_the_old_name(tmp_path: Path, rename: Callable[[Site], None]) -> None:
    """What the old name was left without is due under the new one only, and the run is done once it is."""

    async def play(desk: Desk, site: Site) -> None:
        first(site, rename)
        await run_plan(desk.service, lay_out(site, plan(("BEEP",))))
        site.gone = {"old"}
        await run_plan(desk.service, lay_out(site, plan(("BEEP", "SET interval 30"))))
        assert state(desk) is RunState.UNFINISHED
        rename(site)
        await run_plan(desk.service, lay_out(site, plan(("BEEP", "SET interval 30"))))
        assert told(desk) == [("new", "BEEP", "old", "applied"), ("new", "SET interval 30", "new", "applied")]
        assert state(desk) is RunState.DONE

    at_a_site(tmp_path, play)


def test_a_step_that_the_plan_has_no_more(tmp_path: Path) -> None:
    """What was done under the old name and is in no plan now stays told as it was."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("old")
        await run_plan(desk.service, lay_out(site, plan(("SET interval 30", "BEEP"))))
        same_address(site)
        await run_plan(desk.service, lay_out(site, plan(("SET interval 30",))))
        assert sorted(told(desk)) == [
            ("new", "SET interval 30", "old", "applied"),
            ("old", "BEEP", "old", "applied"),
        ]
        assert state(desk) is RunState.DONE

    at_a_site(tmp_path, play)


def test_a_doubt_under_the_old_name(tmp_path: Path) -> None:
    """It is a doubt under the new name too, and what a person decides about it is told there."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("old", "cmd 1: drop_ack")
        await run_plan(desk.service, lay_out(site, plan(("BEEP",))))
        same_address(site)
        await run_plan(desk.service, lay_out(site, plan(("BEEP",))))
        assert told(desk) == [("new", "BEEP", "old", "in_doubt")]
        assert state(desk) is RunState.UNFINISHED
        [entry] = desk.service.doubts()
        desk.service.resolve(entry, applied=False, reason="it was silent")
        assert told(desk) == [("new", "BEEP", "old", "not_applied")]
        [report] = await run_plan(desk.service, lay_out(site, plan(("BEEP",))))
        assert report.result is not None
        assert report.result.outcome is Outcome.APPLIED
        assert told(desk) == [("new", "BEEP", "new", "applied")]
        assert state(desk) is RunState.DONE

    at_a_site(tmp_path, play)


def test_a_run_that_is_under_way(tmp_path: Path) -> None:
    """What the store knows is told from the beginning: a process that is killed leaves nothing untrue."""

    async def play(desk: Desk, site: Site) -> None:
        site.text("old")
        await run_plan(desk.service, lay_out(site, plan(("BEEP",))))
        same_address(site)
        row = begin(desk.service, lay_out(site, plan(("BEEP", "SET interval 30"))))
        there = [("new", "BEEP", "old", "applied"), ("new", "SET interval 30", None, None)]
        assert told(desk) == there
        Runs(desk.service).end(row, [])
        assert told(desk) == there
        assert state(desk) is RunState.UNFINISHED

    at_a_site(tmp_path, play)


def test_no_turn_for_what_stands_under_the_old_name(tmp_path: Path) -> None:
    """A step that is interrupted before its turn is told as done, where it turned out to be done under another name."""

    async def play(desk: Desk, site: Site) -> None:
        site.lsq("old", serial="SN-0")
        layout = lay_out(site, plan(("SET interval 30", "BEEP")))
        await run_plan(desk.service, layout)
        same_serial(site)
        heard = Heard(on_step=lambda _: desk.service.executor.give_up("interrupted"))
        reports = await run_plan(desk.service, lay_out(site, layout.plan), heard)
        assert [report.result is None for report in reports] == [False, True]
        assert told(desk) == [
            ("new", "SET interval 30", "old", "applied"),
            ("new", "BEEP", "old", "applied"),
        ]
        assert state(desk) is RunState.DONE

    at_a_site(tmp_path, play)


def test_both_names_in_the_plan(tmp_path: Path) -> None:
    """Two names that the plan means are told both: one with what was done, the other as not sent."""

    async def play(desk: Desk, site: Site) -> None:
        device = site.lsq("old", serial="SN-0")
        site.also("new", device)
        for _ in range(2):
            await run_plan(desk.service, lay_out(site, plan(("BEEP",), parallel=1)))
            first_told, second_told = told(desk)
            assert first_told == ("old", "BEEP", "old", "applied")
            assert second_told[:2] == ("new", "BEEP")
            assert second_told[3] in (None, "not_sent")
            [_, step] = Runs(desk.service).steps(RUN)
            assert step.note is None or step.note.why is not Missed.OTHER_NAME
            assert state(desk) is RunState.UNFINISHED

    at_a_site(tmp_path, play)


# --- which operation counts -------------------------------------------------------------------------------------------


def entry(op: str, name: str, device: int, outcome: Outcome | None) -> Entry:
    """An operation of the step BEEP."""
    operation = Operation(
        op=op, device=name, command="BEEP", kind="trigger",
        terms=Terms(policy=Policy.NO_RETRY, idempotent=False, numbering=Numbering.NONE, text="BEEP"),
        profile="p", profile_digest="d", route="tcp://a:1", submitted_by="ana", step="BEEP",
    )  # fmt: skip
    result = Result(outcome, None, "") if outcome is not None else None
    return Entry(operation, device, "2026-11-29T22:00:00.000Z", None, result)


REFUSED, DONE, DOUBT = Outcome.REFUSED, Outcome.APPLIED, Outcome.IN_DOUBT


@pytest.mark.parametrize(
    ("words", "counts"),
    [((DONE, REFUSED), "0"), ((DOUBT, REFUSED), "0"), ((REFUSED, None), "1"), ((DOUBT, DONE), "1"),
     ((REFUSED, REFUSED), "1")],
)  # fmt: skip
def test_what_counts_most(words: tuple[Outcome | None, ...], counts: str) -> None:
    """What is done, then what is open or in doubt, then the newest."""
    entries = [entry(str(n), "old", 1, word) for n, word in enumerate(words)]
    assert counting(entries, {"new": 1})["new", "BEEP"].operation.op == counts


def test_what_was_refused_under_the_old_name_is_no_word_for_the_new_one() -> None:
    """Only what keeps a step from being sent again is told of it."""
    entries = [entry("0", "old", 1, REFUSED)]
    assert pointers(entries, {"new": 1}) == {}
    assert renamed(entries, {"new": 1}) == {("old", "new")}


def test_two_names_that_the_plan_means() -> None:
    """Each keeps what was asked for under it, neither is an old name, and another device of that name is none."""
    entries = [entry("0", "a", 1, DONE), entry("1", "b", 1, REFUSED), entry("2", "c", 9, DONE)]
    ids = {"a": 1, "b": 1, "c": 2, "d": None}
    assert {at: each.operation.op for at, each in counting(entries, ids).items()} == {
        ("a", "BEEP"): "0",
        ("b", "BEEP"): "1",
    }
    assert (pointers(entries, ids), renamed(entries, ids)) == ({}, set())
