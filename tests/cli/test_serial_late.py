"""What does an answer that comes too late do to whoever asks next, and what is known of a command whose process died?

On a serial port reopening cuts nothing: the answer to a request of a dead process reaches the next one. Real processes,
real pseudo terminals, the device's own ledger and its record of what it was sent.
"""

from collections.abc import Callable

import pytest

from tests.cli.live_text import LATE_S, TextBench, quick_profile

PATIENT = quick_profile((f"late_max_s: {LATE_S}", "late_max_s: 0.9"))
"""An answer may come after most of a second, while the next process is already there."""


def gives_up(bench: TextBench) -> None:
    """A command ends in doubt, which a person settles; its ack is still under way."""
    code, doubt = bench.send("d1", "BEEP")
    assert (code, doubt["outcome"]) == (5, "in_doubt")
    assert bench.run("doubt", "resolve", doubt["op"], "--applied", "--reason", "heard it").code == 0


def is_killed(bench: TextBench) -> None:
    """A command whose process is killed while it waits for the ack, which is still under way."""
    bench.kill_at("at cmd 1", "d1", "RESET", "counter")


@pytest.mark.parametrize(("late", "first"), [("delay 0.65", gives_up), ("hold 0.65", is_killed)])
def test_a_late_ack_never_acknowledges_the_next_lost_command(
    text_bench: TextBench, late: str, first: Callable[[TextBench], None]
) -> None:
    """While the ack of one command is under way, the next is lost, in a process of its own: it is not applied."""
    live = text_bench.device(f"cmd 1: {late}; cmd 2-9: drop_request")
    text_bench.profile(PATIENT)
    first(text_bench)
    code, record = text_bench.send("d1", "ROTATE", "log", "--attempts", "1")
    assert (code, record["outcome"], record["evidence"]) == (1, "not_applied", "verified")
    assert live.executed["ROTATE log"] == 0
    assert live.copies.count("ROTATE log") == 1


@pytest.mark.parametrize("killed", [False, True], ids=["gives up", "is killed"])
def test_a_late_reading_never_becomes_the_value_of_another_setting(
    text_bench: TextBench, killed: bool
) -> None:
    """The answer to a question whose process has ended is not taken for the answer to the next process's question."""
    live = text_bench.device(f"read 2: delay {0.25 if killed else 0.6}; read 4: delay 0.25")
    text_bench.profile(PATIENT)
    asker = text_bench.shell.start("get", "d1", "offset", "--json")
    live.wait_for("at read 2")
    if killed:
        asker.stop()
    else:
        ended = asker.end()
        assert (ended.code, ended.records[0]["value"]) == (7, None)
    ended = text_bench.run("get", "d1", "log_files", "--json")
    assert [record["value"] for record in ended.records] == (["3"] if ended.code == 0 else [None])


@pytest.mark.parametrize(
    ("carrier", "fault", "code", "outcome"),
    [
        ("pty", "drop_ack", 0, "applied"),
        ("pty", "drop_request", 1, "not_applied"),
        ("tcp", "drop_request", 1, "not_applied"),
    ],
)
def test_a_doubt_of_a_killed_process_is_read_back(
    text_bench: TextBench, carrier: str, fault: str, code: int, outcome: str
) -> None:
    """`doubt check` finds out by reading what became of a command whose process was killed, and sends nothing."""
    live = text_bench.device(f"cmd 1: {fault}", carrier=carrier)
    text_bench.kill_at("at cmd 1", "d1", "ROTATE", "log")
    [doubt] = text_bench.run("doubt", "list", "--json").records
    assert (doubt["device"], doubt["outcome"]) == ("d1", "in_doubt")
    checked = text_bench.run("doubt", "check", doubt["op"], "--json")
    [record] = checked.records
    assert (checked.code, record["outcome"], record["evidence"]) == (code, outcome, "verified")
    assert text_bench.run("doubt", "list", "--json").lines == []
    assert live.copies == ["ROTATE log"]
    assert live.executed["ROTATE log"] == (outcome == "applied")


def test_a_doubt_that_no_reading_settles(text_bench: TextBench) -> None:
    """What cannot be read back stays in doubt: exit 5, nothing is sent, other commands wait, and a person is asked."""
    live = text_bench.device("cmd 1: drop_ack")
    text_bench.kill_at("at cmd 1", "d1", "BEEP")
    [doubt] = text_bench.run("doubt", "list", "--json").records
    checked = text_bench.run("doubt", "check", doubt["op"], "--json")
    assert (checked.code, checked.records[0]["outcome"]) == (5, "in_doubt")
    assert f"ackonce doubt resolve {doubt['op']} --applied|--not-applied --reason TEXT" in checked.err
    code, record = text_bench.send("d1", "ROTATE", "log")
    assert (code, record["outcome"]) == (6, "not_sent")
    assert doubt["op"] in record["message"]
    assert live.copies == ["BEEP"]
