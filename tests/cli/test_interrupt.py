"""What does Ctrl-C do, at every moment of a run? Real processes and real signals.

The first one (or SIGTERM) ends all further copies and waits for the word of what is in flight; the second leaves at
once, and whatever had left is settled by the next command.
"""

import os
import signal
import sys
from collections.abc import Callable

import pytest

from tests.cli.process_rig import ProcessRig, Running

StartRig = Callable[..., ProcessRig]
WAITING = "waiting for what is in flight"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", ["hello", "open"])
def test_before_anything_was_sent(start_rig: StartRig, phase: str, number: signal.Signals) -> None:
    """While HELLO or OPEN is unanswered: nothing was sent, nothing is in doubt, and the exit code says so."""
    rig = start_rig(f"{phase} *: drop_request", timeout="1s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for(f"fault: drop_request at {phase}")
    sender.signal(number)
    ended = sender.end()
    [record] = ended.records
    assert WAITING in ended.err
    assert (record["outcome"], record["attempts"]) == ("not_sent", 0)
    assert ended.code in (7, 130)
    assert rig.run("doubt", "list", "--json").lines == []
    counts = rig.device.counts()
    assert (counts["copies"], counts["counts"][phase]) == (0, 1)  # and nobody goes on trying


def test_a_read(start_rig: StartRig) -> None:
    """A read that is interrupted says so by its exit code, and asks nobody else."""
    rig = start_rig("hello *: drop_request", timeout="1s")
    reader = rig.start("get", "d1", "offset", "--json")
    rig.device.wait_for("fault: drop_request at hello")
    reader.signal(signal.SIGINT)
    ended = reader.end()
    assert ended.code == 130
    assert [record["value"] for record in ended.records] == [None]


def test_once_while_the_ack_is_on_its_way(start_rig: StartRig) -> None:
    """After the copy has left, one Ctrl-C waits for the word: here the ack, `applied`, exit 0."""
    rig = start_rig("cmd 1: delay 2", timeout="30s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("command: BEEP")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    assert WAITING in ended.err
    assert (ended.code, ended.records[0]["outcome"]) == (0, "applied")
    assert rig.device.executed == {"BEEP": 1}


def test_once_while_the_ack_is_lost(start_rig: StartRig) -> None:
    """No further copy leaves after Ctrl-C; the number is settled instead, and the word is true."""
    rig = start_rig("cmd *: drop_request", timeout="1s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("fault: drop_request at cmd 1")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    [record] = ended.records
    assert (ended.code, record["outcome"], record["attempts"]) == (1, "not_applied", 1)
    counts = rig.device.counts()
    assert (counts["copies"], counts["executed"]) == (1, {})


@pytest.mark.parametrize("effect", [True, False], ids=["took effect", "never arrived"])
def test_twice(start_rig: StartRig, *, effect: bool) -> None:
    """Twice: exit 130 at once; `doubt list` shows what may have left, and the next command settles it truly."""
    rig = start_rig("cmd 1: drop_ack" if effect else "cmd 1: drop_request", timeout="30s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("at cmd 1")
    sender.signal(signal.SIGINT)
    assert sender.err is not None
    sender.err.wait_for(WAITING)
    sender.signal(signal.SIGINT)
    ended = sender.end()
    assert (ended.code, ended.records[0]["outcome"]) == (130, "in_doubt")
    assert "See: ackonce doubt list" in ended.err
    [doubt] = rig.run("doubt", "list", "--json").records
    assert (doubt["op"], doubt["outcome"]) == (ended.records[0]["op"], "in_doubt")

    assert rig.run("send", "d1", "SET", "interval", "30").code == 0
    assert rig.run("doubt", "list", "--json").lines == []
    told = rig.run("doubt", "show", doubt["op"]).lines[0]
    assert told.endswith("applied" if effect else "not_applied")
    assert rig.device.executed["BEEP"] == int(effect)


def test_twice_before_anything_was_sent(start_rig: StartRig) -> None:
    """Twice while the device is not even reached: exit 130, `not_sent`, and no doubt is left behind."""
    rig = start_rig("hello *: drop_request", timeout="30s")
    sender = rig.start("send", "d1", "BEEP", "--yes", "--json")
    rig.device.wait_for("at hello 1")
    sender.signal(signal.SIGTERM)
    assert sender.err is not None
    sender.err.wait_for(WAITING)
    sender.signal(signal.SIGTERM)
    ended = sender.end()
    [record] = ended.records
    assert (ended.code, record["op"], record["outcome"]) == (130, None, "not_sent")
    assert "nothing of 'BEEP' was sent" in ended.err
    assert rig.run("doubt", "list", "--json").lines == []


def test_several_devices(start_rig: StartRig) -> None:
    """After Ctrl-C no further device gets its turn; each of them is told as not sent, exit 6."""
    rig = start_rig("cmd 1: delay 1", timeout="30s")
    more = [f'  d{n}: {{profile: demo/controller, url: "tcp://127.0.0.1:{n}"}}\n' for n in (2, 3)]
    with (rig.folder / "inventory.yaml").open("a") as inventory:
        inventory.writelines(more)
    sender = rig.start("send", "d*", "SET", "interval", "30", "--json")
    rig.device.wait_for("command: SET")
    sender.signal(signal.SIGINT)
    ended = sender.end()
    told = [(record["device"], record["outcome"]) for record in ended.records]
    assert told == [("d1", "applied"), ("d2", "not_sent"), ("d3", "not_sent")]
    assert ended.code == 6
    assert rig.device.executed == {"SET interval 30": 1}


def test_a_read_is_just_left(start_rig: StartRig) -> None:
    """Reads end too: Ctrl-C twice, exit 130."""
    rig = start_rig("hello *: drop_request", timeout="30s")
    reader = rig.start("get", "d1", "offset")
    rig.device.wait_for("at hello 1")
    reader.signal(signal.SIGINT)
    assert reader.err is not None
    reader.err.wait_for("interrupted")
    reader.signal(signal.SIGINT)
    assert reader.end().code == 130


def test_at_the_question(start_rig: StartRig) -> None:
    """Ctrl-C at the question: exit 130, nothing was sent, and no connection was made."""
    rig = start_rig()
    err, write = os.pipe()
    sender, terminal = rig.on_terminal("send", "d1", "BEEP", "--json", stderr=write)
    os.close(write)
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(err, 1000)
    sender.signal(signal.SIGINT)
    ended = sender.end()
    rest = os.read(err, 1000)
    os.close(err)
    os.close(terminal)
    assert (ended.code, ended.records[0]["outcome"]) == (130, "not_sent")
    assert b"Nothing was sent." in rest
    assert rig.device.counts()["counts"] == {}


def test_before_anything_is_loaded() -> None:
    """Ctrl-C in the first milliseconds: 130, a sentence, and with --json its object."""
    early = "import agent.cli.start, os, signal; os.kill(os.getpid(), signal.SIGINT)"
    ended = Running([sys.executable, "-c", early, "send", "--json"]).end()
    assert (ended.code, ended.records[0]["outcome"]) == (130, "not_sent")
    assert ended.err == "ackonce: interrupted before anything began\n"
