"""What becomes of each kind of command on Modbus equipment, whatever goes wrong with its first copy?

One table: rows are the faults, columns the commands, cells the word, what it stands on, how many copies were written
and how often the device carried the command out by its own ledger. Over Modbus TCP, RTU over TCP and RTU on a serial
line, where they differ.
"""

from pathlib import Path
from typing import Literal

import pytest

from agent.operation import Outcome, Proof
from tests.agent.line_desk import Bench
from tests.agent.modbus_desk import ADDS, FLIPS, SETS, WAYS, at_a_unit

_COMMANDS = {
    "SET": ("SET setpoint 30", SETS),
    "form": ("RAISE setpoint 30", SETS),
    "verify": ("ADD 5", ADDS),
    "toggle": ("TOGGLE relay", FLIPS),
    "blind": ("ADD BLINDLY 5", ADDS),
}

# A cell: applied by (a)ck or (v)erify, (n)ot applied, (r)efused, or in (d)oubt; copies written; executions.
_TABLE = """
fault                         | SET   | form  | verify | toggle | blind
drop_request                  | a 2 1 | a 2 1 | a 2 1  | a 2 1  | d 1 0
drop_ack                      | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
delay 0.8                     | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
cut                           | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
freeze 0.8                    | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
reboot_before                 | a 2 1 | a 2 1 | a 2 1  | d 1 0  | d 1 0
reboot_after                  | a 2 2 | v 1 1 | v 1 1  | d 1 1  | d 1 1
bit_flip                      | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
truncate                      | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
junk                          | a 1 1 | a 1 1 | a 1 1  | a 1 1  | a 1 1
trickle 0.01                  | a 1 1 | a 1 1 | a 1 1  | a 1 1  | a 1 1
wrong_unit                    | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
exception 1                   | r 1 0 | r 1 0 | r 1 0  | r 1 0  | r 1 0
exception 2                   | r 1 0 | r 1 0 | r 1 0  | r 1 0  | r 1 0
exception 3                   | r 1 0 | r 1 0 | r 1 0  | r 1 0  | r 1 0
exception 4                   | a 2 1 | a 2 1 | a 2 1  | a 2 1  | d 1 0
exception 6                   | a 2 1 | a 2 1 | a 2 1  | a 2 1  | a 2 1
exception 10                  | a 1 1 | a 1 1 | a 1 1  | a 1 1  | a 1 1
exception 11                  | a 2 1 | a 2 1 | a 2 1  | a 2 1  | d 1 0
exception_after 4             | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
exception_after 5             | v 1 1 | v 1 1 | v 1 1  | v 1 1  | d 1 1
exception_after 11            | a 2 2 | v 1 1 | v 1 1  | v 1 1  | d 1 1
exception 5                   | d 1 0 | d 1 0 | d 1 0  | d 1 0  | d 1 0
"""
_WORDS = {
    "a": (Outcome.APPLIED, Proof.ACK),
    "v": (Outcome.APPLIED, Proof.VERIFIED),
    "d": (Outcome.IN_DOUBT, None),
    "n": (Outcome.NOT_APPLIED, Proof.VERIFIED),
    "r": (Outcome.REFUSED, None),
}


def _cells() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for line in _TABLE.strip().splitlines()[1:]:
        fault, *row = (part.strip() for part in line.split("|"))
        found += [(fault, column, cell) for column, cell in zip(_COMMANDS, row, strict=True)]
    return found


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize(("fault", "column", "cell"), _cells())
def test_the_word_and_the_ledger(
    tmp_path: Path, way: tuple[Literal["tcp", "rtu"], str], fault: str, column: str, cell: str
) -> None:
    """The word is the table's, and the device's own ledger agrees with it, also after everything late has arrived."""
    words, effect = _COMMANDS[column]
    word, copies, executions = cell.split()

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(words)).result
        await bench.desk.service.clock.sleep(60.0)
        assert (result.outcome, result.proof) == _WORDS[word], result.message
        assert (result.attempts, bench.count(effect)) == (int(copies), int(executions))
        assert bench.count(effect) == len(bench.device.ledger)

    at_a_unit(tmp_path, play, f"cmd 1: {fault}", way=way)
