"""Is each due time run at most once, and none lost without a word, where processes die, disks fill and files go?"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent import targets
from agent.plans import serve
from agent.plans.jobs import Jobs, OnMissed
from agent.plans.runs import Runs
from agent.plans.turns import State, Turns, nominal
from agent.service import Service
from agent.store.database import StoreError
from tests.agent.desk import PROFILE
from tests.plans.desk import Killer, killed
from tests.plans.shift import BEGIN, Shift, on_shift
from tests.plans.test_serve import BEEP, HOUR, MINUTE, hold_connections

DUE, NEXT = nominal(BEGIN + MINUTE), nominal(BEGIN + 2 * MINUTE)
FULL = "the journal cannot be written: database or disk is full"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naps of a minute, and a profile that is read once."""
    monkeypatch.setattr(serve, "NAP_S", 60.0)
    monkeypatch.setattr(targets, "load_profile", lambda *_: PROFILE)


# --- processes that die -----------------------------------------------------------------------------------------------


def words(shift: Shift, job: str) -> list[tuple[str, str | None]]:
    """What was told of a job, as event and key."""
    return [(each.event, each.key) for each in shift.told if each.job == job and each.event != "started"]


async def die_waiting(shift: Shift, *jobs: dict[str, Any]) -> None:
    """Jobs of one plan for one device, due together; their process ends while the first one is carried out."""
    path, gate = shift.plan(BEEP), hold_connections(shift, "d1")
    mortal = shift.process(gone=True)
    for n, how in enumerate(jobs, 1):
        shift.add(path, f"m{n}", **how)
    await shift.clock.wait_until(BEGIN + MINUTE)
    running = asyncio.create_task(killed(shift.server(mortal).run_due()))
    await shift.clock.sleep(1)
    Killer(mortal, 1, after=False)
    gate.set()
    assert await running
    shift.told.clear()


def test_a_turn_that_waited_behind_another(quick_home: Path) -> None:
    """It is told as what it is, and made up for, once by two servers; the one that had begun is told to be resumed."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        await die_waiting(shift, {"cron": "1 * * * *"}, {"cron": "1 * * * *", "missed": OnMissed.ONCE})
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        tasks = [shift.serving(shift.process()), shift.serving(shift.process())]
        await shift.clock.sleep(90)
        await shift.stop(*tasks)
        [row] = Runs(shift.process()).newest(5)
        assert words(shift, "m1") == [("cut_off", DUE)]
        assert words(shift, "m2") == [("not_begun", DUE), ("missed", DUE), ("done", DUE)]
        said = {each.event: each.message for each in shift.told}
        assert said["cut_off"] == f"its process ended while it ran. Go on with it: ackonce resume {row.run}"
        assert said["not_begun"] == "its process ended before it began"
        assert said["done"] == "1 changed"
        assert said["missed"] == f"missed 1 time, last {DUE}; to be run once, for the last one"
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_missed_times_that_are_skipped(quick_home: Path) -> None:
    """Where missed times are not made up for, neither is a turn that never began; both are said."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        await die_waiting(shift, {"cron": "1 * * * *"}, {"cron": "1 * * * *"})
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        tasks = [shift.serving(shift.process()), shift.serving(shift.process())]
        await shift.clock.sleep(90)
        await shift.stop(*tasks)
        assert words(shift, "m2") == [("not_begun", DUE), ("missed", DUE)]
        assert device.ledger.count(BEEP) == 0

    on_shift(quick_home, play)


@pytest.mark.parametrize("missed", OnMissed)
def test_a_turn_that_never_began_and_is_on_time(quick_home: Path, missed: OnMissed) -> None:
    """Within the grace its time has not been missed: it is run, whatever becomes of missed ones."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        await die_waiting(shift, {"cron": "1 * * * *"}, {"cron": "1 * * * *", "missed": missed})
        servers = [shift.server(shift.process()), shift.server(shift.process())]
        await asyncio.gather(*(server.run_due() for server in servers))
        assert words(shift, "m2") == [("not_begun", DUE), ("done", DUE)]
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_a_turn_by_hand_that_never_began(quick_home: Path) -> None:
    """What a person began is theirs to begin again: it is told, and no server makes up for it."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        mortal = shift.process(gone=True)
        job = shift.add(shift.plan(BEEP), cron="0 0 1 1 *", missed=OnMissed.ONCE)
        assert Turns(mortal).claim(job, "manual-1") is not None
        for _ in range(2):
            await shift.server(shift.process()).run_due()
        assert shift.events() == [("not_begun", "manual-1")]
        assert device.ledger.count(BEEP) == 0

    on_shift(quick_home, play)


@pytest.mark.parametrize("at_write", range(1, 31))
@pytest.mark.parametrize("after", [True, False])
def test_a_server_of_two_jobs_that_is_killed(quick_home: Path, at_write: int, after: bool) -> None:
    """Wherever it ends, nothing is done twice, and each of its two turns gets one last word that is true."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        mortal = shift.process(gone=True)
        for name in ("m1", "m2"):
            shift.add(shift.plan(BEEP), name, "1 * * * *", missed=OnMissed.ONCE)
        await shift.clock.wait_until(BEGIN + MINUTE)
        Killer(mortal, at_write, after=after)
        died = await killed(shift.server(mortal).run_due())
        sent, before = device.ledger.count(BEEP), len(shift.told)
        await shift.clock.wait_until(BEGIN + 10 * MINUTE)
        servers = [shift.server(shift.process()), shift.server(shift.process())]
        await asyncio.gather(*(server.run_due() for server in servers))
        later = Counter((each.job, each.event) for each in shift.told[before:])
        assert max(later.values(), default=1) == 1
        assert device.ledger.count(BEEP) <= 1
        if not died:
            assert sent == 1
            assert not later
        if ("m1", "not_begun") in later and ("m2", "not_begun") in later:
            assert sent == 0
        if any((job, "done") in later for job in ("m1", "m2")):
            assert device.ledger.count(BEEP) == 1
        for last in (Turns(shift.process()).last(job) for job in ("m1", "m2")):
            assert last is not None
            assert (last.key, last.state in {State.DONE, State.CUT_OFF, State.HELD}) == (DUE, True)

    on_shift(quick_home, play)


# --- two jobs of one plan ---------------------------------------------------------------------------------------------


def test_what_another_job_has_done(quick_home: Path) -> None:
    """The second and the third job of a plan at one time say by which job, and in which run, it was done."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        for name in ("m1", "m2", "m3"):
            shift.add(shift.plan(BEEP), name)
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        [row] = Runs(service).newest(5)
        assert row.job == "m1"
        said = {each.job: each.message for each in shift.told if each.event == "done"}
        by = f"done already by job m1 (run {row.run})"
        assert said == {"m1": "1 changed", "m2": by, "m3": by}
        last = Turns(service).last("m3")
        assert last is not None
        assert (last.state, last.run, last.note) == (State.DONE, row.run, by)
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)


def test_what_a_person_has_done(quick_home: Path) -> None:
    """A run under the same key that nobody's job began is told by who began it."""

    async def play(shift: Shift) -> None:
        shift.site.lsq("d1")
        service = shift.process()
        job = shift.add(shift.plan(BEEP), "m1")
        await shift.clock.wait_until(BEGIN + MINUTE)
        await shift.server(service).run_due()
        service.database.commit_now(
            lambda cursor: cursor.execute("UPDATE run SET job = NULL, actor = 'bo'").rowcount
        )
        shift.add(Path(job.path), "m2", added=BEGIN)
        await shift.server(service).run_due()
        assert shift.told[-1].message.startswith("done already by bo (run ")

    on_shift(quick_home, play)


# --- a store that cannot be written -----------------------------------------------------------------------------------


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, *services: Service) -> Iterator[None]:
    """Nothing can be written meanwhile."""

    def fail(_: object) -> object:
        raise StoreError(FULL)

    async def fail_later(_: object) -> object:
        raise StoreError(FULL)

    with monkeypatch.context() as full:
        for service in services:
            full.setattr(service.database, "commit_now", fail)
            full.setattr(service.database, "commit_loosely", fail)
            full.setattr(service.database, "commit", fail_later)
        yield


@pytest.mark.parametrize("missed", OnMissed)
def test_a_disk_that_is_full_for_a_while(
    quick_home: Path, monkeypatch: pytest.MonkeyPatch, missed: OnMissed
) -> None:
    """It is said once, nothing is run meanwhile, and then the server goes on; what was missed is said."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), cron="*/5 * * * *", missed=missed)
        task = shift.serving(service)
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        with full_disk(monkeypatch, service):
            await shift.clock.wait_until(BEGIN + 18 * MINUTE)
        await shift.clock.wait_until(BEGIN + 21 * MINUTE)
        await shift.stop(task)
        fives = [nominal(BEGIN + n * 5 * MINUTE) for n in range(1, 5)]
        made_up = [("done", fives[2])] if missed is OnMissed.ONCE else []
        assert shift.events() == [
            ("done", fives[0]), ("store", None), ("missed", fives[2]), *made_up, ("done", fives[3]),
        ]  # fmt: skip
        assert f"{FULL}. Tried again every 30 s" in [each.message for each in shift.told]
        assert device.ledger.count(BEEP) == 2 + len(made_up)

    on_shift(quick_home, play)


@pytest.mark.parametrize(("full_s", "word"), [(15, "done"), (150, "missed")])
def test_a_disk_that_is_full_twice(
    quick_home: Path, monkeypatch: pytest.MonkeyPatch, full_s: int, word: str
) -> None:
    """The second time is said too; a moment of trouble costs no due time."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), cron="*/5 * * * *")
        task = shift.serving(service)
        for n in (1, 2):
            await shift.clock.wait_until(BEGIN + timedelta(minutes=5 * n, seconds=-30))
            with full_disk(monkeypatch, service):
                await shift.clock.wait_until(BEGIN + timedelta(minutes=5 * n, seconds=full_s - 30))
        await shift.clock.wait_until(BEGIN + 14 * MINUTE)
        await shift.stop(task)
        fives = [nominal(BEGIN + n * 5 * MINUTE) for n in (1, 2)]
        assert shift.events() == [
            (event, key) for five in fives for event, key in (("store", None), (word, five))
        ]
        assert device.ledger.count(BEEP) == (2 if word == "done" else 0)

    on_shift(quick_home, play)


@pytest.mark.parametrize("missed", OnMissed)
@pytest.mark.parametrize(("full_s", "late"), [(10, False), (200, True)])
def test_a_disk_that_fills_before_the_beginning(
    quick_home: Path, monkeypatch: pytest.MonkeyPatch, missed: OnMissed, full_s: int, late: bool
) -> None:
    """A claimed turn that could not begin is told; with room again its time is on time, or one of those missed."""
    monkeypatch.setattr(serve, "NAP_S", 1.0)

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), cron="1 * * * *", missed=missed)
        full = full_disk(monkeypatch, service)
        begin = Runs.begin

        def fills(runs: Runs, *what: Any, **how: Any) -> Any:
            if len(shift.told) == 1:
                full.__enter__()
            return begin(runs, *what, **how)

        monkeypatch.setattr(Runs, "begin", fills)
        task = shift.serving(service)
        await shift.clock.wait_until(BEGIN + timedelta(seconds=41 + full_s))
        full.__exit__(None, None, None)
        await shift.clock.sleep(60)
        await shift.stop(task)
        said = [("missed", DUE)] if late else []
        done = [("done", DUE)] if not late or missed is OnMissed.ONCE else []
        assert [each for each in shift.events() if each[0] != "store"] == [("not_begun", DUE), *said, *done]
        assert f"{FULL}. Nothing was sent" in [each.message for each in shift.told]
        assert device.ledger.count(BEEP) == len(done)

    on_shift(quick_home, play)


@pytest.mark.parametrize("at_write", range(1, 16))
def test_a_disk_that_fills_during_a_run(quick_home: Path, at_write: int) -> None:
    """Wherever it fills, nothing is done twice, each due time gets a word, and the job is not stuck afterwards."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        service = shift.process()
        shift.add(shift.plan(BEEP), missed=OnMissed.ONCE)
        fills = Filling(service, at_write)
        task = shift.serving(service)
        await shift.clock.wait_until(BEGIN + timedelta(seconds=90))
        fills.room = True
        await shift.clock.wait_until(BEGIN + 6 * MINUTE)
        await shift.stop(task)
        told = shift.events()
        assert [key for event, key in told if event == "overlap"] == []
        done = [key for event, key in told if event == "done"]
        assert len(set(done)) == len(done)
        assert done[-4:] == [nominal(BEGIN + n * MINUTE) for n in range(3, 7)]
        assert {key for _, key in told if key is not None} == {
            nominal(BEGIN + n * MINUTE) for n in range(1, 7)
        }
        assert len(done) <= device.ledger.count(BEEP) <= 6
        assert Counter(event for event, key in told if event == "store" and key is None)["store"] <= 1

    on_shift(quick_home, play)


class Filling:
    """A store whose disk is full from a write on until there is `room`."""

    def __init__(self, service: Service, at_write: int) -> None:
        self.room = False
        self._left = at_write
        database = service.database
        commit, commit_now, commit_loosely = database.commit, database.commit_now, database.commit_loosely

        async def gathered(write: Any) -> Any:
            self._insist_on_room()
            return await commit(write)

        def at_once(write: Any) -> Any:
            self._insist_on_room()
            return commit_now(write)

        def loosely(write: Any) -> Any:
            self._insist_on_room()
            return commit_loosely(write)

        database.commit = gathered  # type: ignore[method-assign]
        database.commit_now = at_once  # type: ignore[method-assign]
        database.commit_loosely = loosely  # type: ignore[method-assign]

    def _insist_on_room(self) -> None:
        self._left -= 1
        if self._left < 0 and not self.room:
            raise StoreError(FULL)


# --- files that go ----------------------------------------------------------------------------------------------------


def in_its_place(path: Path) -> Path:
    """A path whose file or folder has been moved away."""
    path.rename(path.with_name("elsewhere"))
    return path


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda site: (site / "night.yaml").unlink(), "night.yaml"),
        (lambda site: (site / "inventory.yaml").unlink(), "inventory.yaml"),
        (shutil.rmtree, "night.yaml"),
        (lambda site: (site / "night.yaml").write_bytes(b"\xff\xfe\x00"), "night.yaml"),
        (lambda site: (site / "night.yaml").write_text("plan: night\nsteps: [\n"), "night.yaml:3:1:"),
        (lambda site: (site / "inventory.yaml").write_text("devices:\n  d1: {}\n"), "inventory.yaml:2:"),
        (lambda site: (site / "inventory.yaml").write_text("devices: {}\n"), "inventory.yaml:1:10:"),
        (lambda site: in_its_place(site / "night.yaml").mkdir(), "night.yaml"),
        (lambda site: in_its_place(site / "inventory.yaml").mkdir(), "inventory.yaml"),
        (lambda site: in_its_place(site / "night.yaml").symlink_to("night.yaml"), "night.yaml"),
        (lambda site: in_its_place(site).write_text(""), "night.yaml"),
    ],
)  # fmt: skip
def test_files_that_have_gone(quick_home: Path, spoil: Any, said: str) -> None:
    """Whatever a job needs and cannot be read is said with its place, at each time; other jobs go on."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        good = shift.add(shift.plan(BEEP, name="good"), "good")
        site = shift.folder / "site"
        site.mkdir()
        for name in ("good.yaml", "inventory.yaml"):
            (site / name.replace("good", "night")).write_text(
                (shift.folder / name).read_text().replace("good", "night")
            )
        bad = replace(
            good, name="bad", path=str(site / "night.yaml"), project=str(site), inventory=str(site / "inventory.yaml")
        )  # fmt: skip
        task = shift.serving(service := shift.process())
        Jobs(service).add(bad, in_its_place=True)
        spoil(site)
        await shift.clock.wait_until(BEGIN + 2 * MINUTE)
        await shift.stop(task)
        assert words(shift, "bad") == [("unusable", DUE), ("unusable", NEXT)]
        assert words(shift, "good") == [("done", DUE), ("done", NEXT)]
        [first, _] = [each.message for each in shift.told if each.event == "unusable"]
        assert first.startswith("the plan cannot be carried out: ")
        assert str(site / said) in first
        assert device.ledger.count(BEEP) == 2

    on_shift(quick_home, play)


def test_hours_pass(quick_home: Path) -> None:
    """A job that cannot be carried out for hours is told at each of its times, and is carried out once it can be."""

    async def play(shift: Shift) -> None:
        device = shift.site.lsq("d1")
        path = shift.plan(BEEP)
        shift.add(path, cron="0 * * * *")
        text = path.read_text()
        path.unlink()
        task = shift.serving(shift.process())
        await shift.clock.wait_until(BEGIN + 2 * HOUR)
        path.write_text(text)
        await shift.clock.wait_until(BEGIN + 3 * HOUR)
        await shift.stop(task)
        assert [event for event, _ in shift.events()] == ["unusable", "unusable", "done"]
        assert device.ledger.count(BEEP) == 1

    on_shift(quick_home, play)
