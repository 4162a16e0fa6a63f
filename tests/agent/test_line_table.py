"""What becomes of each kind of command on plain equipment, whatever goes wrong with its first copy?

One table: rows are the faults, columns the commands, cells the word, what it stands on, how many copies were written
and how often the device carried the command out by its own ledger. Once over a connection that reopening cuts and once
over a serial line, where they differ.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.operation import Outcome, Proof
from tests.agent.line_desk import Bench, at_a_bench

COMMANDS = {
    "SET": "SET interval 30",
    "ADJUST form": "ADJUST offset +5",
    "ADJUST verify": "ADJUST level +2",
    "RESET": "RESET counter",
    "ROTATE": "ROTATE log",
    "BEEP": "BEEP",
}
POLICIES = ("resend", "read-then-set", "get-verify", "get-verify", "get-verify", "no-retry")
EFFECTS = {"ADJUST offset +5": "SET offset 15"}
"""What the device is told instead, where that is another text."""

# A cell: applied by (a)ck or (v)erify, or in (d)oubt; copies written; executions in the device's ledger.
TABLE = """
fault           | over | SET   | form  | verify | RESET | ROTATE | BEEP
lost request    | both | a 2 1 | a 2 1 | a 2 1  | a 2 1 | a 2 1  | d 1 0
lost ack        | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
late ack        | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
ack past next   | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
cut             | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
freeze          | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
boot before     | both | a 2 1 | a 2 1 | d 1 0  | a 2 1 | a 2 1  | d 1 0
boot after      | both | a 2 2 | v 1 1 | d 1 1  | v 1 1 | v 1 1  | d 1 1
all acks lost   | both | v 3 3 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
all copies lost | both | d 3 0 | n 3 0 | n 3 0  | n 3 0 | n 3 0  | d 1 0
"""
FAULTS = {
    "lost request": "cmd 1: drop_request",
    "lost ack": "cmd 1: drop_ack",
    "late ack": "cmd 1: delay 0.8",
    "ack past next": "cmd 1: hold 2.9",
    "cut": "cmd 1: cut",
    "freeze": "cmd 1: freeze 1.2",
    "boot before": "cmd 1: reboot_before",
    "boot after": "cmd 1: reboot_after",
    "all acks lost": "cmd *: drop_ack",
    "all copies lost": "cmd *: drop_request",
}
WORDS = {
    "a": (Outcome.APPLIED, Proof.ACK),
    "v": (Outcome.APPLIED, Proof.VERIFIED),
    "d": (Outcome.IN_DOUBT, None),
    "n": (Outcome.NOT_APPLIED, Proof.VERIFIED),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One case of the table."""

    fault: str
    carrier: str
    command: str
    policy: str
    word: str
    copies: int
    executions: int


def cells() -> list[Cell]:
    """The table's cases."""
    found = []
    for line in TABLE.strip().splitlines()[1:]:
        fault, over, *row = (part.strip() for part in line.split("|"))
        for carrier in ("tcp", "pty") if over == "both" else (over,):
            for (name, cell), policy in zip(zip(COMMANDS, row, strict=True), POLICIES, strict=True):
                word, copies, executions = cell.split()
                found.append(Cell(fault, carrier, name, policy, word, int(copies), int(executions)))
    return found


@pytest.mark.parametrize("cell", cells(), ids=lambda c: f"{c.fault}, {c.carrier}, {c.command}")
def test_the_word_and_the_ledger(cell: Cell, tmp_path: Path) -> None:
    """The word is the table's, and the device's own ledger agrees with it, also after everything late has arrived."""
    words = COMMANDS[cell.command]
    effect = EFFECTS.get(words, words)

    async def play(bench: Bench) -> None:
        report = await bench.desk.send(words)
        result = report.result
        await bench.desk.service.clock.sleep(60.0)
        assert report.operation.terms.policy == cell.policy
        assert (result.outcome, result.proof) == WORDS[cell.word], result.message
        assert (result.attempts, bench.count(effect)) == (cell.copies, cell.executions)
        assert bench.count(effect) == len(bench.device.ledger)

    at_a_bench(tmp_path, play, FAULTS[cell.fault], carrier=cell.carrier)
