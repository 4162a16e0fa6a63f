"""Which word and which effect follow from which fault? One row a story; the ledger is the judge."""

from pathlib import Path
from typing import NamedTuple

import pytest

from agent.operation import Outcome, Proof
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk, before_the_write

ADJUST = "ADJUST offset +5"
ACK, DUPLICATE, SETTLED = Proof.ACK, Proof.DUPLICATE_ACK, Proof.SETTLED
APPLIED, REFUSED, DOUBT = Outcome.APPLIED, Outcome.REFUSED, Outcome.IN_DOUBT
NOT_APPLIED, NOT_SENT = Outcome.NOT_APPLIED, Outcome.NOT_SENT


class Row(NamedTuple):
    """A story: what goes wrong, on which tier, and the word, its proof and the executions that must follow."""

    faults: str
    tier: int
    outcome: Outcome
    proof: Proof | None
    executions: int
    command: str = ADJUST


ROWS = [
    Row("", 0, APPLIED, ACK, 1),
    Row("", 1, APPLIED, ACK, 1),
    Row("", 2, APPLIED, ACK, 1),
    Row("cmd 1: drop_ack", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1-2: drop_ack", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1-3: drop_ack", 1, APPLIED, SETTLED, 1),
    Row("cmd 1: drop_request", 1, APPLIED, ACK, 1),
    Row("cmd 1-2: drop_request", 1, APPLIED, ACK, 1),
    Row("cmd *: drop_request", 1, NOT_APPLIED, SETTLED, 0),
    Row("cmd *: drop_request; nop 1-2: drop_ack", 1, NOT_APPLIED, SETTLED, 0),
    Row("cmd *: drop_ack; nop 1-2: drop_ack", 1, APPLIED, SETTLED, 1),
    Row("cmd *: drop_ack; nop *: drop_ack", 1, APPLIED, SETTLED, 1),
    Row("cmd *: drop_request; nop *: drop_request", 1, DOUBT, None, 0),
    Row("cmd 1: delay 0.7", 1, APPLIED, DUPLICATE, 1),
    Row("cmd *: delay 20", 1, APPLIED, SETTLED, 1),
    Row("cmd 1: duplicate", 1, APPLIED, ACK, 1),
    Row("cmd 1: duplicate_request", 1, APPLIED, ACK, 1),
    Row("cmd 1: junk", 1, APPLIED, ACK, 1),
    Row("cmd 1: bit_flip", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1: truncate", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1: split", 1, APPLIED, ACK, 1),
    Row("cmd 1: foreign", 1, APPLIED, ACK, 1),
    Row("cmd 1: echo", 1, APPLIED, ACK, 1),
    Row("cmd 1: stale_reply", 1, APPLIED, ACK, 1),
    Row("cmd 1: trickle 0.3", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1: cut", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1: cut_before", 1, APPLIED, ACK, 1),
    Row("cmd 1: busy 2.2", 1, APPLIED, ACK, 1),
    Row("cmd 1: busy 4", 2, APPLIED, ACK, 1),
    Row("cmd 1: refuse", 1, REFUSED, None, 0),
    Row("cmd 1: refuse, drop_ack", 1, REFUSED, None, 0),
    Row("cmd *: refuse, drop_ack", 1, REFUSED, SETTLED, 0),
    Row("", 1, REFUSED, None, 0, "ADJUST offset +50\nADJUST offset +50"),
    Row("cmd 1: long_reply", 1, APPLIED, ACK, 1),
    Row("cmd 1: long_reply, drop_ack", 1, APPLIED, DUPLICATE, 1),
    Row("cmd 1: indeterminate", 1, DOUBT, None, 1),
    Row("cmd 1: reboot_before", 0, DOUBT, None, 0),
    Row("cmd 1: reboot_after", 0, DOUBT, None, 1),
    Row("cmd 1: reboot_before", 1, DOUBT, None, 0),
    Row("cmd 1: reboot_inside", 1, DOUBT, None, 1),
    Row("cmd 1: reboot_after", 1, DOUBT, None, 1),
    Row("cmd 1: reboot_before", 2, APPLIED, ACK, 1),
    Row("cmd 1: reboot_after", 2, APPLIED, DUPLICATE, 1),
    Row("cmd 1: drop_ack; cmd 2: reboot_before", 2, APPLIED, DUPLICATE, 1),
    Row("cmd 1: reboot_after", 1, APPLIED, ACK, 2, "SET interval 30"),
    Row("cmd 1: reboot_before", 1, APPLIED, ACK, 1, "SET interval 30"),
    Row("cmd 1: indeterminate", 1, APPLIED, ACK, 2, "SET interval 30"),
    Row("hello 1: drop_ack", 1, APPLIED, ACK, 1),
    Row("open 1: drop_ack", 1, APPLIED, ACK, 1),
    Row("open 1: drop_request", 1, APPLIED, ACK, 1),
    Row("hello *: drop_request", 1, NOT_SENT, None, 0),
    Row("open *: drop_request", 1, NOT_SENT, None, 0),
]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.faults or 'no fault'} | tier {row.tier} | {row.command}"
)
def test_word_and_ledger(row: Row, tmp_path: Path) -> None:
    """The word, its proof and the device's own count are those of the row; copies differ in their attempt only."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        *before, command = row.command.split("\n")
        for words in before:
            await desk.send(words)
        device.copies.clear()
        done = device.ledger.count(command)

        report = await desk.send(command)

        assert (report.result.outcome, report.result.proof) == (row.outcome, row.proof), desk.lines()
        assert device.ledger.count(command) - done == row.executions, device.ledger.entries
        by_number: dict[tuple[int, int], set[int]] = {}
        for copy in device.copies:
            by_number.setdefault((copy.session, copy.seq), set()).add(copy.digest)
        assert all(len(digests) == 1 for digests in by_number.values())
        if row.command == ADJUST and row.outcome is not NOT_SENT:
            assert len(by_number) <= 1
        assert report.result.attempts >= len(device.copies) - ("duplicate_request" in row.faults)

    at_a_desk(tmp_path, play, row.faults, tier=row.tier)


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_a_connection_that_ends_just_before_the_copy(tmp_path: Path, tier: int) -> None:
    """A copy that could not be written is none: its number is used for the next one, and nothing is in doubt."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        before_the_write(desk, device.hang_up)
        report = await desk.send("ADJUST offset +5")
        assert (report.result.outcome, report.result.attempts) == (Outcome.APPLIED, 1)
        assert (await desk.send("BEEP")).result.outcome is Outcome.APPLIED
        assert [(copy.text, copy.seq) for copy in device.copies] == [("ADJUST offset +5", 1), ("BEEP", 2)]
        assert "[WARN] seq=1 attempt=1 did not leave: the device closed the connection" in desk.lines()

    at_a_desk(tmp_path, play, tier=tier)


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_a_number_that_was_never_written_is_used_next(tmp_path: Path, tier: int) -> None:
    """Where nobody asks for the command any more, its number belongs to the next one."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        assert (await desk.send("BEEP")).result.outcome is Outcome.APPLIED

        def end() -> None:
            device.hang_up()
            desk.service.executor.give_up("interrupted")

        before_the_write(desk, end)
        assert (await desk.send("ADJUST offset +5")).result.outcome is Outcome.NOT_SENT
        desk.service.executor.stop = None
        assert (await desk.send("ADJUST offset +1")).result.outcome is Outcome.APPLIED
        assert [copy.seq for copy in device.copies] == [1, 2]
        assert device.ledger.count("ADJUST offset +5") == 0

    at_a_desk(tmp_path, play, tier=tier)
