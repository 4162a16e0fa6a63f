"""Two processes and one serial port: who has it, who is told so, and what does the equipment hear?

Real processes, a real pseudo terminal, and the device's own record of the lines that reached it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.live_text import LiveText, TextRig, quick_profile
from tests.cli.process_rig import Running

UNDISTURBED = ["GET serial", "GET log_files", "ROTATE log"]
"""What one `ROTATE log` sounds like on the line."""

NOBODY = ('identity: {read: "GET serial", expect: "{serial}"}', "")
"""A profile without identity."""


@pytest.fixture
def line(rig: TextRig) -> LiveText:
    """d1, and on the same port under other names d2 and d3; the ack of the first command takes a minute."""
    live = rig.device("cmd 1: delay 60")
    rig.enter("d2", f'url: "{live.url}", unit: 2')
    rig.enter("d3", f'url: "serial:{os.path.realpath(path_of(live))}"')
    return live


def path_of(live: LiveText) -> Path:
    """The name of its port."""
    return Path(live.url.removeprefix("serial:"))


def sender(rig: TextRig, live: LiveText, patience: str = "50s") -> Running:
    """A process that has sent `ROTATE log` to d1 and waits for its ack."""
    running = rig.start("d1", "ROTATE", "log", "--timeout", patience)
    live.wait_for("command: ROTATE log")
    return running


def test_the_same_device(rig: TextRig, line: LiveText) -> None:
    """Exit 8, as an object too, the holder is named by its process id, and nothing of it reaches the line."""
    holder = f"process {sender(rig, line).process.pid} on"
    code, record = rig.send("d1", "BEEP")
    assert (code, record["op"], record["outcome"]) == (8, None, "not_sent")
    assert holder in record["message"]
    told = rig.shell.run("send", "d1", "BEEP", "--yes").err
    assert holder in told
    assert "nothing of 'BEEP' was sent" in told
    assert "Try again when that process has finished." in told
    assert line.lines == UNDISTURBED


def test_the_same_port(rig: TextRig, line: LiveText) -> None:
    """Whoever wants the port meanwhile is told at once by which process and command it is open: exit 8."""
    first = sender(rig, line, "8s")
    others = [
        rig.start("d2", "BEEP"),
        rig.start("d3", "BEEP"),
        rig.shell.start("get", "d1", "offset", "--json"),
        rig.shell.start("probe", "d1", "--json"),
    ]
    for ended in [other.end() for other in others]:
        assert ended.code == 8
        assert f"is open in process {first.process.pid} (" in ended.out + ended.err
        assert "send d1 ROTATE log" in ended.out + ended.err
        assert ended.records[0].get("outcome") in ("not_sent", None)
    assert first.process.poll() is None  # nobody waited for it
    assert line.lines == UNDISTURBED


def test_an_answer_to_somebody_who_was_there_meanwhile(rig: TextRig) -> None:
    """What others ask while a process waits for the port is waited for too, and never taken for an answer to it."""
    live = rig.device("read 2: delay 0.25; cmd 1: delay 0.8; read 3: delay 0.2")
    rig.profile(quick_profile(NOBODY))
    first = rig.start("d1", "ROTATE", "log")
    live.wait_for("at read 2")
    second = rig.shell.start("get", "d1", "offset", "--json")
    live.wait_for("command: ROTATE log")
    first.stop()
    ended = second.end()
    assert [record["value"] for record in ended.records] in (["10"], [None])
    assert ended.code in (0, 7, 8)


FOREIGN = {
    "python": [
        sys.executable,
        "-c",
        "import sys; port = open(sys.argv[1], 'rb'); print('open', flush=True); input()",
    ],
    "cat": ["sh", "-c", 'exec 3< "$1"; echo open; exec cat <&3', "sh"],
}


@pytest.mark.parametrize("program", FOREIGN)
def test_a_foreign_program(rig: TextRig, program: str) -> None:
    """A port that another program has open is left alone: exit 7, the program is named, nothing is sent."""
    live = rig.device()
    foreign = Running([*FOREIGN[program], str(path_of(live))], stdin=subprocess.PIPE)
    rig.shell.started.append(foreign)
    assert foreign.out is not None
    foreign.out.wait_for("open")
    holder = f"is open in process {foreign.process.pid} ({'cat' if program == 'cat' else sys.executable}"
    code, record = rig.send("d1", "BEEP")
    assert (code, record["outcome"]) == (7, "not_sent")
    assert holder in record["message"]
    for words in (["get", "d1", "offset"], ["probe", "d1"]):
        ended = rig.shell.run(*words, "--json")
        assert ended.code == 7
        assert holder in ended.out + ended.err
    assert live.lines == []
    foreign.stop()
    assert rig.send("d1", "BEEP")[0] == 0
