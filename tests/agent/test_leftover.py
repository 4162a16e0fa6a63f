"""Does a program outlive its agent and act later, and is anything ended that should live? Real programs."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent.dialects import leftover
from agent.dialects.program import run
from agent.operation import Cause, Outcome, Result
from agent.station import Station
from agent.steps import Session
from logs.place import LOG_FILE
from tests.agent.exec_place import Place, opens

WAITS = 'echo it waits >"$0.up"; read -r go <"$0.gate"; echo "$0" >>ledger'
"""Shell, `$0` its name: tells that it has started, and acts when its gate is opened."""
LATE_S = 20.0
"""How long what a program has sent may be under way: nobody knows which command it was, so the slowest counts."""
REALLY_KILL = os.killpg


class Yard:
    """A place whose last copy, the first one ever, was never answered: its agent is gone, and programs run on."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder)
        self._started: list[subprocess.Popen[bytes]] = []
        self.waits: list[float] = []
        self.place.service.clock.wait = self._wait  # type: ignore[method-assign]
        self.device = asyncio.run(self._leave_a_copy_unanswered())

    async def _leave_a_copy_unanswered(self) -> int:
        service, target = self.place.service, self.place.target(5.0)
        service.leases.release(service.registry.claim("exec:another", 1, None))
        lease = service.registry.claim(target.url, target.unit, target.serial)
        lease.number, lease.quiet_from = 1, service.steady.now() - timedelta(seconds=1)
        service.leases.keep(lease)
        service.leases.release(lease)
        return lease.device

    async def _wait(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        """No test has time to wait."""
        self.waits += [seconds] if seconds > 0 else []
        return not stopped()

    def mark(self, number: int = 1) -> str:
        """What a copy of the device is found by."""
        return f"{self.place.service.leases.agent_id}:{self.device}:{number}"

    def start(self, name: str, *, mark: str, text: str = WAITS) -> int:
        """Start a program that waits at the gate of its name; its process id."""
        self.gate(name)
        process = subprocess.Popen(
            ["/bin/sh", "-c", text, name],
            cwd=self.place.folder,
            env=leftover.environment(mark),
            start_new_session=True,
        )
        self._started.append(process)
        self.hear(name)
        return process.pid

    def gate(self, name: str) -> None:
        """Build the gate of a program."""
        os.mkfifo(self.place.folder / f"{name}.up")
        os.mkfifo(self.place.folder / f"{name}.gate")

    def hear(self, name: str) -> None:
        """Wait until a program says that it waits."""
        assert (self.place.folder / f"{name}.up").read_text() == "it waits\n"

    def acts(self, name: str) -> bool:
        """Open the gate of a program, and wait for its end. False where nobody waits there."""
        if not opens(self.place.folder / f"{name}.gate"):
            return False
        for process in self._started:
            process.wait(5.0)
        return True

    def send(self, words: str = "beep") -> Result:
        """Send a command."""
        return asyncio.run(self.place.send(words))

    def log(self) -> str:
        """What was logged."""
        return (self.place.folder / "home" / LOG_FILE).read_text()

    def close(self) -> None:
        """End what still runs."""
        for process in self._started:
            process.kill()
            process.wait(5.0)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """A yard of its own."""
    built = Yard(tmp_path)
    yield built
    built.close()


def test_a_program_that_outlives_its_agent_is_ended(yard: Yard) -> None:
    """It never acts, what it may have sent is waited for from its end on, and a person is told."""
    pid = yard.start("program", mark=yard.mark())
    assert yard.send().outcome is Outcome.APPLIED
    assert not yard.acts("program")
    assert yard.place.ledger() == ["d1|beep"]
    assert f"the program of an earlier run still runs (pid {pid}), and is ended" in yard.log()
    assert yard.waits == [pytest.approx(LATE_S, abs=0.5)]


def test_what_it_started_in_a_session_of_its_own_lives(yard: Yard) -> None:
    """A daemon is no part of the program, though it has its environment; a child is."""
    yard.gate("daemon")
    yard.gate("child")
    shell = f"setsid sh -c '{WAITS}' daemon & sh -c '{WAITS}' child & {WAITS}"
    yard.start("program", mark=yard.mark(), text=shell)
    yard.hear("daemon")
    yard.hear("child")
    daemon, child = (yard.place.folder / f"{name}.gate" for name in ("daemon", "child"))

    async def look_again(station: Station) -> None:
        await station.connect(Session.NONE, 1)
        await station.connect(Session.NONE, 2)
        await station.connect(Session.KEEP, 3)

    _held(yard, look_again)
    assert yard.send().outcome is Outcome.APPLIED
    assert not yard.acts("program")
    assert not opens(child)
    assert opens(daemon)


def test_what_is_left_of_a_program_that_has_ended(yard: Yard) -> None:
    """What it left running beside itself is not looked for: nobody waits, and it goes on."""
    yard.start("child", mark=yard.mark(), text=f"sh -c '{WAITS}' child & exit 0")
    assert yard.send().outcome is Outcome.APPLIED
    assert yard.waits == []
    assert yard.acts("child")


@pytest.mark.parametrize("whose", ["an earlier copy's", "an answered copy's", "another device's"])
def test_what_else_may_run(yard: Yard, whose: str) -> None:
    """What answered copies have left behind on purpose, and programs of other devices, go on."""
    mark = {"an earlier copy's": yard.mark(0), "another device's": f"{yard.mark()}:9"}.get(whose, yard.mark())
    if whose == "an answered copy's":
        yard.send()
        mark = yard.mark(2)
    yard.start("program", mark=mark)
    assert yard.send().outcome is Outcome.APPLIED
    assert yard.acts("program")


def test_whose_program_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of a copy carries its mark; a reading none, not even one that this process was started with."""
    monkeypatch.setenv(leftover.MARK, "1:1:1")
    shown = ["/bin/sh", "-c", f'echo "-${leftover.MARK}-"']
    assert asyncio.run(run(shown, 5.0)).out == "--"
    assert asyncio.run(run(shown, 5.0, mark="7:8:9")).out == "-7:8:9-"
    place = Place(tmp_path)
    place.end_with(f"echo ${leftover.MARK}")
    place.answer("get level", f"echo 1${leftover.MARK}; exit 0")
    result = asyncio.run(place.send("level up"))
    assert result.before == "1"
    [(device, number)] = place.service.database.read("SELECT id, number FROM device")
    assert result.value == f"{place.service.leases.agent_id}:{device}:{number}"


def test_nothing_is_sent_beside_one_that_cannot_be_ended(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is left alone as long as somebody else may act on it."""
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    monkeypatch.setattr(leftover, "TICKS_MAX", 1)
    pid = yard.start("program", mark=yard.mark())
    result = yard.send()
    assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
    assert f"the program of an earlier run (pid {pid}) still runs and cannot be ended" in result.message
    assert yard.place.ledger() == []
    monkeypatch.undo()
    assert yard.send().outcome is Outcome.APPLIED
    assert not yard.acts("program")


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # it says that the program still runs
@pytest.mark.parametrize("words", ["set level 7", "set colour 7"])
def test_no_second_copy_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Where this very process cannot end what it has run, it does not run the next copy."""
    ended: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _: ended.append(pid))
    monkeypatch.setattr(leftover, "TICKS_MAX", 1)
    monkeypatch.setattr(leftover, "KILLED_S", 0.01)
    place = Place(tmp_path)
    place.lose_the_next()
    result = asyncio.run(place.send(words, 0.3))
    for pid in set(ended):
        REALLY_KILL(pid, signal.SIGKILL)
    assert place.ledger() == []
    assert result.outcome is Outcome.IN_DOUBT


def _held(yard: Yard, work: Callable[[Station], Awaitable[None]]) -> None:
    async def hold() -> None:
        with yard.place.service.hold(yard.place.target(5.0)) as station:
            await work(station)

    asyncio.run(hold())


async def _close(station: Station) -> None:
    station.close()


def test_it_is_ended_before_quiet_is_waited_for(yard: Yard) -> None:
    """Closing ends it, so that the wait that follows begins when it acts no more."""
    pid = yard.start("program", mark=yard.mark())
    service = yard.place.service

    async def play(station: Station) -> None:
        before = service.steady.now()
        station.close()
        assert await leftover.is_gone_soon(pid)
        assert (station.lease.quiet_from or before) > before
        await station.connect(Session.NONE, 1)
        assert yard.waits == [pytest.approx(LATE_S, abs=0.5)]

    _held(yard, play)


def test_one_that_is_slow_to_go(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait begins when it is gone."""
    yard.start("program", mark=yard.mark())
    clock, later_s = yard.place.service.clock, [0.0]
    monkeypatch.setattr(clock, "since_start_s", lambda now=clock.since_start_s: now() + later_s[0])
    monkeypatch.setattr(leftover, "is_gone", lambda _: False)

    async def slowly(_pid: int) -> bool:
        later_s[0] += 100.0
        return True

    monkeypatch.setattr(leftover, "is_gone_soon", slowly)
    assert yard.send().outcome is Outcome.APPLIED
    assert yard.waits == [pytest.approx(LATE_S, abs=0.5)]


def test_a_longer_wait_stays(yard: Yard) -> None:
    """What was to be waited for anyway is."""
    yard.start("program", mark=yard.mark())

    async def longer(station: Station) -> None:
        station.lease.quiet_from = until = yard.place.service.steady.now() + timedelta(seconds=300)
        station.close()
        assert station.lease.quiet_from == until

    _held(yard, longer)


def test_the_wait_is_on_record_first(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process may be killed right after it has ended the program."""
    yard.start("program", mark=yard.mark())
    database, kept = yard.place.service.database, []
    query = "SELECT quiet_utc FROM device WHERE id = ?"
    before = database.read(query, (yard.device,))[0][0]
    monkeypatch.setattr(leftover, "end", lambda _: kept.append(database.read(query, (yard.device,))[0][0]))
    _held(yard, _close)
    assert kept[0] > before


def test_it_is_left_to_whoever_has_the_device(yard: Yard) -> None:
    """Without a lease, or with one that is lost, nothing is ended."""
    yard.start("program", mark=yard.mark())
    place = yard.place
    asyncio.run(place.service.get(place.target(5.0), [place.profile.setting("level")]))

    async def lose(station: Station) -> None:
        place.service.database.commit_now(
            lambda cursor: cursor.execute("UPDATE device SET token = token + 1 WHERE id = ?", (yard.device,))
        )
        station.close()

    _held(yard, lose)
    assert yard.acts("program")
