"""What becomes of each kind of command on plain equipment? The table of `line_table.py`, in virtual time."""

from pathlib import Path

import pytest

from tests.agent.line_desk import Bench, at_a_bench
from tests.agent.line_table import Cell, cells


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_the_word_and_the_ledger(cell: Cell, tmp_path: Path) -> None:
    """The word is the table's, and the device's own ledger agrees with it, also after everything late has arrived."""

    async def play(bench: Bench) -> None:
        report = await bench.desk.send(cell.words)
        result = report.result
        await bench.desk.service.clock.sleep(60.0)
        assert report.operation.terms.policy == cell.policy
        assert (result.outcome, result.proof) == cell.word, result.message
        assert (result.attempts, bench.count(cell.effect)) == (cell.copies, cell.executions)
        assert bench.count(cell.effect) == len(bench.device.ledger)

    at_a_bench(tmp_path, play, cell.faults(), carrier=cell.carrier)
