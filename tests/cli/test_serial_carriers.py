"""Does the promise hold over everything that carries bytes? Ports that echo, terminal servers, LSQ1, a faulty cable.

Real processes and real carriers; what took effect is asked of the device's own ledger.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.live_text import TextBench, TextRig, quick_profile, side_by_side
from tests.cli.process_rig import LIFE_S, LSQ1, DeviceProcess

StartTextRig = Callable[[], TextRig]
ECHO_HINT = "sends our own line back; if it always does, the profile needs 'echo: true'"


@pytest.mark.parametrize("told", [False, True], ids=["unknown to the profile", "known to the profile"])
def test_a_device_that_echoes(text_bench: TextBench, quick_home: Path, told: bool) -> None:
    """An echo is never taken for an answer; where the profile does not know of it, stderr says what to write there."""
    folder = text_bench.shell.folder
    if told:
        text_bench.profile(quick_profile(("line:\n", "line:\n  echo: true\n")))
    device = DeviceProcess(
        quick_home, "cmd 1: drop_ack", "--echo", profile="demo/controller-line", port=folder / "p"
    )
    try:
        text_bench.enter("d1", device.url)
        ended = text_bench.run("send", "d1", "ROTATE", "log", "--yes", "--json")
        [record] = ended.records
        assert (ended.code, record["outcome"], record["evidence"]) == (0, "applied", "verified")
        assert (ECHO_HINT in ended.err) is not told
        code, record = text_bench.send("d1", "BEEP", "--timeout", "5s")
        assert (code, record["evidence"]) == (0, "ack")
        assert device.executed == {"ROTATE log": 1, "BEEP": 1}
    finally:
        device.close()


@pytest.mark.parametrize(
    ("faults", "evidence", "attempts"),
    [("", "ack", 1), ("cmd 1: drop_ack", "verified", 1), ("cmd 1: drop_request", "ack", 2)],
    ids=["well", "lost ack", "lost command"],
)
def test_behind_a_terminal_server(text_bench: TextBench, faults: str, evidence: str, attempts: int) -> None:
    """Over RFC 2217 too a command counts once, whatever is lost behind the server."""
    live = text_bench.device(faults)
    text_bench.enter("d1", live.behind_a_server())
    code, record = text_bench.send("d1", "ROTATE", "log")
    assert (code, record["outcome"]) == (0, "applied")
    assert (record["evidence"], record["attempts"]) == (evidence, attempts)
    assert live.executed == {"ROTATE log": 1}


@pytest.mark.parametrize(
    ("fault", "evidence", "attempts"),
    [("drop_ack", "duplicate_ack", 2), ("drop_request", "ack", 2), ("cut", "duplicate_ack", 2)],
)
def test_lsq1_on_a_port(
    text_bench: TextBench, quick_home: Path, fault: str, evidence: str, attempts: int
) -> None:
    """A device that numbers its commands needs no reading on a port either: the same number goes out again."""
    port = text_bench.shell.folder / "p"
    device = DeviceProcess(quick_home, f"cmd 1: {fault}", profile=LSQ1, port=port)
    try:
        text_bench.enter("d1", device.url, profile=LSQ1)
        code, record = text_bench.send("d1", "ADJUST", "offset", "+5", "--timeout", "0.5s")
        assert (code, record["outcome"], record["value"]) == (0, "applied", "15")
        assert (record["evidence"], record["attempts"]) == (evidence, attempts)
        assert device.executed == {"ADJUST offset +5": 1}
    finally:
        device.close()


ON_THE_WAY = (
    ("tcp", "to 3: drop", "ack"),
    ("tcp", "from 3: trunc 1", "verified"),
    ("tcp", "from 3: cut", "verified"),
    ("pty", "to 3: drop", "ack"),
    ("pty", "from 3: drop", "verified"),
    ("pty", "from 3: hold", "verified"),
)
"""What goes wrong with the K-th line to the device or from it, and what then shows that the command took effect. Three
lines lead to it: who are you, how many are there, one more; and three lead back."""


def test_a_faulty_cable(start_text_rig: StartTextRig) -> None:
    """Whatever a proxy on the way does to one line, the command takes effect once, and the word is `applied`."""

    def play(rig: TextRig, carrier: str, plan: str, evidence: str) -> None:
        live = rig.device(carrier=carrier)
        rig.enter("d1", proxy_in_front_of(rig, live.url, plan))
        code, record = rig.send("d1", "ROTATE", "log")
        assert (code, record["outcome"], record["evidence"]) == (0, "applied", evidence), record
        assert live.executed == {"ROTATE log": 1}

    side_by_side(
        {
            f"{carrier}, {plan}": partial(play, start_text_rig(), carrier, plan, evidence)
            for carrier, plan, evidence in ON_THE_WAY
        }
    )


def proxy_in_front_of(rig: TextRig, url: str, plan: str) -> str:
    """Start `ackonce simulate proxy` as a process; returns its URL."""
    where = ["--listen", "pty", "--link", "cable"] if url.startswith("serial:") else []
    words = ["--to", url, "--frame", "line", "--faults", plan, "--for", LIFE_S, "--json"]
    proxy = rig.shell.start("simulate", "proxy", *where, *words)
    assert proxy.out is not None
    listening: str = json.loads(proxy.out.wait_for("listening"))["listening"]
    return listening
