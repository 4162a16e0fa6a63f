"""What does each exception code of a real server become (CATALOG.md, section 3), and was the command executed?

libmodbus makes the exceptions, its adder's ledger says what was executed, the relay how many writes crossed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.peers.adders import Server
from tests.peers.bench import TypingBench
from tests.peers.conftest import StartAdder


@dataclass(frozen=True, slots=True)
class Row:
    """What is asked of the adder, what it does, and what must come of it."""

    command: str
    faults: Sequence[str]
    code: int
    outcome: str
    evidence: str | None
    writes: int
    executed: int


ROWS = {
    "1 illegal function": Row("ADD", ["write 1 nak 1"], 1, "refused", None, 1, 0),
    "2 illegal data address": Row("ADD", ["write 1 nak 2"], 1, "refused", None, 1, 0),
    "3 illegal data value": Row("ADD", ["write 1 nak 3"], 1, "refused", None, 1, 0),
    "4 without effect": Row("ADD", ["write 1 nak 4"], 0, "applied", "ack", 2, 1),
    "4 after the effect": Row("ADD", ["write 1 nak_after 4"], 0, "applied", "verified", 1, 1),
    "4, nothing to verify by": Row("PUSH", ["write 1 nak_after 4"], 5, "in_doubt", None, 1, 1),
    "5 accepted": Row("ADD", ["write 1 later 200"], 0, "applied", "verified", 1, 1),
    "5, nothing to verify by": Row("PUSH", ["write 1 later 50"], 5, "in_doubt", None, 1, 1),
    "6 twice": Row("ADD", ["write 1 nak 6", "write 2 nak 6"], 0, "applied", "ack", 3, 1),
    "6, nothing to verify by": Row("PUSH", ["write 1 nak 6"], 0, "applied", "ack", 2, 1),
    "10 once": Row("PUSH", ["write 1 nak 10"], 0, "applied", "ack", 2, 1),
    "10 always": Row("PUSH", [f"write {number} nak 10" for number in (1, 2, 3)], 7, "not_sent", None, 3, 0),
    "4 always, without effect": Row(
        "ADD", [f"write {number} nak 4" for number in (1, 2, 3)], 1, "not_applied", "verified", 3, 0
    ),
    "11 without effect": Row("ADD", ["write 1 nak 11"], 0, "applied", "ack", 2, 1),
    "11 after the effect": Row("ADD", ["write 1 nak_after 11"], 0, "applied", "verified", 1, 1),
    "11, nothing to verify by": Row("PUSH", ["write 1 nak_after 11"], 5, "in_doubt", None, 1, 1),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_exception_has_its_word(typing_bench: TypingBench, start: StartAdder, row: Row) -> None:
    """Outcome, exit code, writes on the wire and executions are as the exception's meaning has it."""
    adder = start("libmodbus", "tcp", *row.faults)
    code, record = typing_bench.send(row.command, "5")
    assert (code, record["outcome"], record["evidence"]) == (row.code, row.outcome, row.evidence), record
    assert len(adder.relay.writes) == row.writes
    adder.wait_for(row.executed)
    assert len(adder.executed) == row.executed
    assert adder.total == 5 * row.executed


@pytest.mark.parametrize("server", ["libmodbus", "pymodbus"])
def test_an_address_that_the_server_has_not(
    typing_bench: TypingBench, start: StartAdder, server: Server
) -> None:
    """Both servers refuse by themselves what they have no register for; the message names the exception."""
    adder = start(server, "rtu on a port")
    code, record = typing_bench.send("ADD", "nowhere", "5")
    assert (code, record["outcome"]) == (1, "refused"), record
    assert "exception 2 (illegal data address)" in record["message"]
    assert len(adder.relay.writes) == 1
    assert adder.executed == []


def test_a_vendors_coil_value_is_refused_by_the_standard(
    typing_bench: TypingBench, start: StartAdder
) -> None:
    """Of libmodbus a coil takes nothing but FF00 and 0000: 5500 is refused, and nothing is turned over."""
    adder = start("libmodbus", "tcp")
    code, record = typing_bench.send("FLIP", "vendor")
    assert (code, record["outcome"]) == (1, "refused"), record
    assert "exception 3 (illegal data value)" in record["message"]
    assert adder.relay.writes == [bytes.fromhex("05 0001 5500")]
    assert adder.executed == []
