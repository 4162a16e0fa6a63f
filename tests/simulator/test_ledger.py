"""The ledger: append-only, durable, readable after a kill."""

import json
import os
from pathlib import Path

import pytest

from simulator.ledger import Execution, Ledger, LedgerError


def entry(n: int, text: str = "BEEP") -> Execution:
    """An entry with this number and text."""
    return Execution(n=n, text=text, value_after="", boot=7, session=1, seq=n, at_s=0.5)


def test_counts_one_text_exactly() -> None:
    """`count` compares whole commands."""
    ledger = Ledger()
    for n, text in enumerate(("BEEP", "ADJUST offset +5", "BEEP"), start=1):
        ledger.append(entry(n, text))
    assert (ledger.count("BEEP"), ledger.count("ADJUST offset +5"), ledger.count("ADJUST")) == (2, 1, 0)
    assert [execution.n for execution in ledger.entries] == [1, 2, 3]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_numbers_have_no_gaps_and_no_repeats(n: int) -> None:
    """Only the next number is entered."""
    ledger = Ledger()
    ledger.append(entry(1))
    with pytest.raises(ValueError, match="cannot follow"):
        ledger.append(entry(n))
    assert len(ledger) == 1


def test_entry_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    """Another reader sees a line without any close or flush of ours."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.append(entry(1))
    assert json.loads((tmp_path / "ledger").read_text()) == {
        "n": 1, "text": "BEEP", "value_after": "", "boot": 7, "session": 1, "seq": 1, "at_s": 0.5,
    }  # fmt: skip
    ledger.close()


def test_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A reopened ledger knows its entries and numbers on."""
    first = Ledger(tmp_path / "ledger")
    first.append(entry(1))
    first.close()
    second = Ledger(tmp_path / "ledger")
    second.append(entry(2))
    second.close()
    assert Ledger(tmp_path / "ledger").entries == (entry(1), entry(2))


def test_line_cut_short_by_a_kill_is_no_entry(tmp_path: Path) -> None:
    """A torn tail is dropped and overwritten by the next entry."""
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    ledger.append(entry(1))
    ledger.append(entry(2))
    ledger.close()
    path.write_bytes(path.read_bytes()[:-5])
    again = Ledger(path)
    assert again.entries == (entry(1),)
    again.append(entry(2, "ROTATE log"))
    again.close()
    assert Ledger(path).entries == (entry(1), entry(2, "ROTATE log"))


@pytest.mark.parametrize(
    "line",
    ["{}", "[]", "no json", '{"n": 2}', json.dumps({"n": True, "text": "BEEP", "value_after": "", "boot": 7,
     "session": 1, "seq": 1, "at_s": 0}), json.dumps({"n": 2, "text": "BEEP", "value_after": "", "boot": 7,
     "session": None, "seq": None, "at_s": 0})],
)  # fmt: skip
def test_other_files_are_refused_with_the_line(tmp_path: Path, line: str) -> None:
    """A file that is no ledger, or one with a gap, is never appended to."""
    path = tmp_path / "ledger"
    path.write_text(line + "\n")
    with pytest.raises(LedgerError, match="ledger:1: not a ledger"):
        Ledger(path)
    assert path.read_text() == line + "\n"


def test_devices_and_pipes_are_no_ledgers() -> None:
    """What cannot be truncated or read to an end is refused at once."""
    with pytest.raises(LedgerError, match="not a regular file"):
        Ledger(Path("/dev/null"))


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_full_disk_enters_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Where the disk refuses or takes half a line, the entry is neither in the file nor in memory."""
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    ledger.append(entry(1))
    whole, write = path.read_bytes(), os.write

    def half(fd: int, data: bytes) -> int:
        return write(fd, data[:9])

    def full(fd: int) -> None:
        raise OSError(28, f"No space left on device {fd}")

    with monkeypatch.context() as patch:
        patch.setattr(f"simulator.ledger.os.{call}", half if call == "write" else full)
        with pytest.raises(OSError, match="No space left"):
            ledger.append(entry(2))
    assert path.read_bytes() == whole
    ledger.append(entry(2))
    ledger.close()
    assert Ledger(path).entries == (entry(1), entry(2))
