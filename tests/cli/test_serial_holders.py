"""Two processes and one serial port: who has it, who is told so, and what does the equipment hear?

A process of its own holds a real pseudo terminal; what the others do is seen in the device's record of its lines.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.live_text import LATE_S, LiveText, TextBench, quick_profile
from tests.cli.process_rig import Running

UNDISTURBED = ["GET serial", "GET log_files", "ROTATE log"]
"""What one `ROTATE log` sounds like on the line."""
FOREIGN = {
    "python": [
        sys.executable,
        "-c",
        "import sys; port = open(sys.argv[1], 'rb'); print('open', flush=True); input()",
    ],
    "cat": ["sh", "-c", 'exec 3< "$1"; echo open; exec cat <&3', "sh"],
}
"""Programs that hold the port that is their last argument, and say so."""


@pytest.fixture
def line(text_bench: TextBench) -> LiveText:
    """d1, and on the same port under other names d2 and d3; the ack of the first command takes a minute."""
    live = text_bench.device("cmd 1: delay 60")
    text_bench.enter("d2", live.url, ", unit: 2")
    text_bench.enter("d3", f"serial:{os.path.realpath(path_of(live))}")
    return live


def path_of(live: LiveText) -> Path:
    """The name of its port."""
    return Path(live.url.removeprefix("serial:"))


def sender(bench: TextBench, patience: str = "30s") -> Running:
    """A process that has sent `ROTATE log` to d1 and waits for its ack."""
    running = bench.start("d1", "ROTATE", "log", "--timeout", patience)
    bench.devices[0].wait_for("command: ROTATE log")
    return running


def test_the_same_device(text_bench: TextBench, line: LiveText) -> None:
    """Exit 8, as an object too, the holder is named by its process id, and nothing of it reaches the line."""
    holder = f"process {sender(text_bench).process.pid} on"
    code, record = text_bench.send("d1", "BEEP")
    assert (code, record["op"], record["outcome"]) == (8, None, "not_sent")
    assert holder in record["message"]
    told = text_bench.run("send", "d1", "BEEP", "--yes").err
    assert f"nothing of 'BEEP' was sent: the device is held by agent {os.uname().nodename}, {holder}" in told
    assert "Try again when that process has finished." in told
    assert line.lines == UNDISTURBED


def test_the_same_port(text_bench: TextBench, line: LiveText) -> None:
    """Whoever wants the port meanwhile is told at once by which process and command it is open: exit 8."""
    first = sender(text_bench)
    holder = f"is open in process {first.process.pid} ("
    for device, told in (
        ("d2", holder),
        ("d3", f"held by agent {os.uname().nodename}, process {first.process.pid} "),
    ):
        code, record = text_bench.send(device, "BEEP")
        assert (code, record["outcome"], record["attempts"]) == (8, "not_sent", 0)
        assert told in record["message"]
    assert "send d1 ROTATE log" in text_bench.send("d2", "BEEP")[1]["message"]
    for words in (["get", "d1", "offset"], ["get", "d2", "offset"], ["probe", "d1"]):
        ended = text_bench.run(*words, "--json")
        assert (ended.code, len(ended.records)) == (8, 1)
        assert holder in ended.out + ended.err
    assert first.process.poll() is None  # nobody waited for it
    assert line.lines == UNDISTURBED


def test_who_held_the_port_meanwhile(text_bench: TextBench) -> None:
    """What others ask while a process waits for the line is waited for too, and its answer never taken for another."""
    live = text_bench.device("read 1: delay 0.7; cmd 1: delay 0.8; read 2: delay 0.3")
    nobody = ('identity: {read: "GET serial", expect: "{serial}"}', "")
    patient = (("reply_s: 0.3", "reply_s: 0.9"), (f"late_max_s: {LATE_S}", "late_max_s: 1.2"))
    text_bench.profile(quick_profile(nobody, *patient))
    first = text_bench.start("d1", "ROTATE", "log")
    live.wait_for("at read 1")
    second = text_bench.shell.start("get", "d1", "offset", "--json")
    live.wait_for("command: ROTATE log")
    first.stop()
    ended = second.end()
    assert [record["value"] for record in ended.records] == (["10"] if ended.code == 0 else [None])


def test_a_holder_that_is_killed(text_bench: TextBench, line: LiveText) -> None:
    """A dead process holds neither device nor port: others work at once, and what it left open is settled first."""
    sender(text_bench, "0.5s").stop()
    code, record = text_bench.send("d2", "BEEP", "--timeout", "5s")
    assert (code, record["outcome"]) == (0, "applied")
    code, record = text_bench.send("d1", "ROTATE", "log")
    assert (code, record["before"], record["value"]) == (0, "4", "5")
    assert line.executed == {"BEEP": 1, "ROTATE log": 2}


@pytest.mark.parametrize("program", FOREIGN)
def test_a_foreign_program(text_bench: TextBench, program: str) -> None:
    """A port that another program has open is left alone: exit 7, the program is named, nothing is sent."""
    live = text_bench.device()
    foreign = Running([*FOREIGN[program], str(path_of(live))], stdin=subprocess.PIPE)
    text_bench.shell.started.append(foreign)
    assert foreign.out is not None
    foreign.out.wait_for("open")
    holder = f"is open in process {foreign.process.pid} ({'cat' if program == 'cat' else sys.executable}"
    code, record = text_bench.send("d1", "BEEP")
    assert (code, record["op"] is None, record["outcome"]) == (7, False, "not_sent")
    assert holder in record["message"]
    for words in (["get", "d1", "offset"], ["probe", "d1"]):
        ended = text_bench.run(*words, "--json")
        assert ended.code == 7
        assert holder in ended.out + ended.err
    assert live.lines == []
    foreign.stop()
    assert text_bench.send("d1", "BEEP", "--timeout", "5s")[0] == 0


def test_a_doubt_under_another_name_of_the_port(text_bench: TextBench) -> None:
    """What is in doubt under one name of a serial port holds the next command under another one."""
    live = text_bench.device("cmd 1: drop_ack")
    text_bench.enter("d2", f"serial:{os.path.realpath(path_of(live))}")
    assert text_bench.send("d1", "BEEP")[0] == 5
    code, record = text_bench.send("d2", "BEEP")
    assert (code, record["outcome"]) == (6, "not_sent")
    assert live.lines.count("BEEP") == 1
