"""What does the agent keep to, in cases about its journal, its inventory and other agents that no other test plays?

Each test carries the number of its case in `tests/CASES.md`. The ledger is the judge.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.inventory import Device, load
from agent.journal import Case
from agent.leases import Lease
from agent.operation import Cause, Outcome, Result
from agent.orders import order_for
from agent.service import KeyClash
from agent.settings import Settings
from agent.stations import Target, obstacle
from agent.targets import Chosen
from devices.loader import find
from devices.problems import FileProblems, UsageProblem
from logs.events import Event, from_json
from logs.place import LOG_FILE
from simulator.device import SimulatedDevice
from simulator.loop import run
from tests.agent.desk import PROFILE, Desk, Network, at_a_desk, change_faults, machine
from tests.agent.line_desk import Bench, at_a_bench
from tests.agent.modbus_desk import PROFILE as ADDER

ADJUST = "ADJUST offset +5"
URL = "tcp://device:1"
RUN = {"step 1": "SET interval 30", "step 2": "BEEP", "step 3": "ROTATE log"}


@pytest.mark.parametrize("unit", [-1, 256])
def test_case_20_no_inventory_names_what_is_no_unit(unit: int, tmp_path: Path) -> None:
    """What no protocol can address is refused where it stands."""
    path = tmp_path / "inventory.yaml"
    path.write_text(f"devices: {{a: {{url: 'tcp://h:1', profile: demo/controller, unit: {unit}}}}}\n")
    with pytest.raises(FileProblems, match=r"'unit' must be at (least|most)"):
        load(path)


@pytest.mark.parametrize("unit", [0, 248, 255])
@pytest.mark.parametrize("profile", ["demo/controller", "waveshare/modbus-rtu-relay"])
def test_case_20_nobody_talks_to_everybody(unit: int, profile: str) -> None:
    """A unit is one device: the addresses that mean all of a line, or none, are refused before anything is opened."""
    target = Target("a", "tcp://h:1", unit, None, find(profile, []), 1.0, 3, 60.0, 0.0, False)
    why = obstacle(target)
    assert why is not None
    assert f"its unit must be 1 to 247, not {unit}" in why


def test_case_20_what_counts_is_never_sent_to_everybody_behind_a_gateway() -> None:
    """On Modbus TCP unit 0 means the device itself to some, and everybody to gateways."""
    settings = Settings(Path(), Path(), None, None, None, "ana")
    target = Target("a", "tcp://h:1", 0, None, ADDER, 1.0, 3, 60.0, 0.0, False)
    chosen = Chosen(Device("a", "tcp://h:1", unit=0), ADDER, target)
    assert obstacle(target) is None
    with pytest.raises(UsageProblem, match="passes on to everybody"):
        order_for(settings, chosen, ["ADD", "5"])
    assert order_for(settings, chosen, ["SET", "setpoint", "5"]).command == "SET setpoint 5"


def test_case_72_a_run_that_ended_half_way_is_run_again(tmp_path: Path) -> None:
    """Under the keys of the first run what was done is skipped, and what is in doubt holds back the rest."""

    async def play(bench: Bench) -> None:
        words = []
        for _ in range(2):
            for key, command in RUN.items():
                report = await bench.desk.send(command, key=key)
                words.append((report.result.outcome, report.skipped))
            bench.desk.restart()
        held = (Outcome.NOT_SENT, False)
        assert words == [
            (Outcome.APPLIED, False),
            (Outcome.IN_DOUBT, False),
            held,
            (Outcome.APPLIED, True),
            (Outcome.IN_DOUBT, True),
            held,
        ]
        assert [bench.count(command) for command in RUN.values()] == [1, 1, 0]

    at_a_bench(tmp_path, play, "cmd 2: drop_ack")


def test_case_73_a_run_whose_words_were_changed(tmp_path: Path) -> None:
    """Other words under the key of a step that was done are refused, on plain equipment too; nothing is sent."""

    async def play(bench: Bench) -> None:
        await bench.desk.send(RUN["step 1"], key="step 1")
        bench.desk.restart()
        with pytest.raises(KeyClash, match="step 1"):
            await bench.desk.send("SET interval 60", key="step 1")
        assert [entry.text for entry in bench.device.ledger.entries] == ["SET interval 30"]

    at_a_bench(tmp_path, play)


def test_case_75_what_is_in_doubt_outlives_the_log(tmp_path: Path) -> None:
    """With every file of the log gone the doubt is still there, and still holds back the next command."""

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send("BEEP")).result.outcome is Outcome.IN_DOUBT
        bench.desk.service.close()
        for file in bench.desk.home.glob("*.jsonl*"):
            file.unlink()
        bench.desk.service = bench.desk._start()
        assert [entry.operation.command for entry in bench.desk.service.doubts()] == ["BEEP"]
        held = (await bench.desk.send("ROTATE log")).result
        assert (held.outcome, held.cause) == (Outcome.NOT_SENT, Cause.DOUBT)
        assert bench.count("ROTATE log") == 0

    at_a_bench(tmp_path, play, "cmd 1: drop_ack")


@pytest.mark.parametrize("faults", ["", "cmd 1: reboot_after", "cmd *: drop_ack", "hello *: cut"])
def test_case_76_the_log_tells_what_the_journal_has(faults: str, tmp_path: Path) -> None:
    """Copies and doubts are told when they are on record; no success is in the file before it is in the journal."""
    seen: list[str] = []

    async def play(desk: Desk, _: SimulatedDevice) -> None:
        operation = desk.operation(ADJUST)

        def compare(event: Event) -> None:
            if event.op != operation.op or event.event not in {"sent", "in_doubt", "not_sent"}:
                return
            seen.append(event.event)
            [entry] = desk.service.journal.find(operation.op)
            if event.event == "sent":
                assert event.attempt == len(desk.service.journal.load(entry.operation).copies())
            else:
                assert entry.result is not None
                assert entry.result.outcome == event.event

        listen(desk, compare)
        close = desk.service.journal.close

        async def closing(case: Case, lease: Lease, result: Result) -> None:
            file = desk.home / LOG_FILE
            told = (
                {from_json(line).event for line in file.read_text().splitlines()} if file.exists() else set()
            )
            assert not told & {"ack", "duplicate_ack", "settled"}
            seen.append("closed")
            await close(case, lease, result)

        desk.service.journal.close = closing  # type: ignore[method-assign]
        await desk.service.send(desk.target(), operation)

    at_a_desk(tmp_path, play, faults)
    assert "closed" in seen
    assert len(seen) > 1


def listen(desk: Desk, hear: Callable[[Event], None]) -> None:
    """Let a reader see every event of the log at once."""
    desk.service.close()
    desk.events = Heard(hear)
    desk.service = desk._start()


class Heard(list[Event]):
    """Events, each told when it comes."""

    def __init__(self, hear: Callable[[Event], None]) -> None:
        super().__init__()
        self._hear = hear

    def append(self, event: Event) -> None:
        """One more."""
        self._hear(event)
        super().append(event)


def test_case_115_looking_fences_nobody(tmp_path: Path) -> None:
    """Probing and reading open no session and draw no epoch: the agent that has the device goes on in its own."""

    async def main() -> None:
        device = machine()
        network = Network({URL: device}, [])
        ours, other = Desk(tmp_path / "ours", network), Desk(tmp_path / "other", network)
        with ours.service.hold(ours.target()) as station:
            for _ in range(2):
                before = device.memory
                sent = await ours.service.send_on(station, ours.operation(ADJUST))
                assert sent.result.outcome is Outcome.APPLIED
                opened = device.counts["open"]
                await other.service.probe(other.target())
                await other.service.get(other.target(), [PROFILE.settings["offset"]])
                assert device.counts["open"] == opened
                assert before.epoch in (0, device.memory.epoch)
        assert [copy.seq for copy in device.copies] == [1, 2]
        assert len({copy.session for copy in device.copies}) == 1
        assert device.ledger.count(ADJUST) == 2
        ours.service.close()
        other.service.close()

    run(main)


def test_case_125_the_profile_is_edited_between_two_copies(tmp_path: Path) -> None:
    """What was fixed when the command was submitted holds for all its copies, also those of another process."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        before = await desk.send(ADJUST, key="k")
        assert before.result.outcome is Outcome.IN_DOUBT
        commands = tuple(
            replace(command, send="ADJUST offset {delta:+d} again")
            if command.name == "ADJUST offset"
            else command
            for command in PROFILE.commands
        )
        desk.profile = replace(PROFILE, commands=commands, digest="edited")
        desk.restart()
        change_faults(device, "")
        after = await desk.send(ADJUST, key="k")
        assert after.result.outcome is Outcome.APPLIED
        assert {copy.text for copy in device.copies} == {ADJUST}
        assert device.ledger.count(ADJUST) == 1
        assert [entry.text for entry in device.ledger.entries] == [ADJUST]

    at_a_desk(tmp_path, play, "cmd *: drop_request; nop *: drop_request")
