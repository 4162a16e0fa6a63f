"""What does an answer that comes too late do to whoever asks next, and what is known of a command whose process died?

On a serial port reopening cuts nothing: the answer to a request of a dead process reaches the next one. Real processes,
real pseudo terminals, the device's own ledger and its record of what it was sent.
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.cli.live_text import LATE_S, TextBench, TextRig, quick_profile, side_by_side

StartTextRig = Callable[[], TextRig]
PATIENT = quick_profile((f"late_max_s: {LATE_S}", "late_max_s: 1.1"))
"""An ack may come after most of a second, while the next process is already there."""


def gives_up(rig: TextRig) -> None:
    """A command ends in doubt, which a person settles; its ack is still under way."""
    code, doubt = rig.send("d1", "BEEP")
    assert (code, doubt["outcome"]) == (5, "in_doubt")
    assert rig.run("doubt", "resolve", doubt["op"], "--applied", "--reason", "heard it").code == 0


def is_killed(rig: TextRig) -> None:
    """A command whose process is killed while it waits for the ack, which is still under way."""
    rig.kill_at("at cmd 1", "d1", "RESET", "counter")


def test_a_late_ack_never_acknowledges_the_next_lost_command(start_text_rig: StartTextRig) -> None:
    """While the ack of one command is under way, the next is lost, in a process of its own: it is not applied."""

    def play(rig: TextRig, late: str, first: Callable[[TextRig], None]) -> None:
        live = rig.device(f"cmd 1: {late}; cmd 2-9: drop_request")
        rig.profile(PATIENT)
        first(rig)
        code, record = rig.send("d1", "ROTATE", "log", "--attempts", "1")
        assert (code, record["outcome"], record["evidence"]) == (1, "not_applied", "verified")
        assert live.executed["ROTATE log"] == 0
        assert live.copies.count("ROTATE log") == 1

    side_by_side(
        {
            f"{late} {first.__name__}": partial(play, start_text_rig(), late, first)
            for late, first in (("delay 0.8", gives_up), ("delay 0.8", is_killed), ("hold 0.8", is_killed))
        }
    )


@pytest.mark.parametrize("killed", [False, True], ids=["gives up", "is killed"])
def test_a_late_reading_never_becomes_the_value_of_another_setting(
    text_bench: TextBench, killed: bool
) -> None:
    """The answer to a question whose process has ended is not taken for the answer to the next process's question."""
    live = text_bench.device(f"read 2: delay {0.2 if killed else 0.5}; read 4: delay 0.25")
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
