"""What counts as a yes? Real terminals on stdin; the question stands on stderr, the result on stdout."""

import os
from collections.abc import Callable

import pytest

from tests.cli.process_rig import COMMAND, ProcessRig, Running

StartRig = Callable[..., ProcessRig]
END_OF_INPUT = "\x04"


@pytest.mark.parametrize(
    ("typed", "code"),
    [("y\n", 0), ("YES\n", 0), ("n\n", 4), ("\n", 4), ("what?\n", 4), (END_OF_INPUT, 4)],
)
def test_the_answer(start_rig: StartRig, typed: str, code: int) -> None:
    """Only y or yes sends; no, nothing, nonsense and Ctrl-D are exit 4 with no connection made."""
    rig = start_rig(timeout="10s")
    sender, terminal = rig.on_terminal("send", "d1", "ADJUST", "offset", "+5", "--json", answer=typed)
    ended = sender.end()
    os.close(terminal)
    [record] = ended.records
    assert (ended.code, record["outcome"]) == (code, "not_sent" if code else "applied")
    assert "ADJUST offset +5 on d1: a relative command, which counts every time. Send it? [y/N]" in ended.err
    counts = rig.device.counts()
    assert counts["executed"] == ({} if code else {"ADJUST offset +5": 1})
    assert ("connections" in counts["counts"]) == (code == 0)


def test_an_answer_typed_too_early(start_rig: StartRig) -> None:
    """What was typed before the question stood there answers nothing."""
    rig = start_rig(timeout="10s")
    sender, terminal = rig.on_terminal("send", "d1", "BEEP", early="y\n", answer="n\n")
    assert sender.end().code == 4
    os.close(terminal)
    assert rig.device.counts()["executed"] == {}


def test_no_input(start_rig: StartRig) -> None:
    """--no-input asks nobody, even on a terminal: exit 4."""
    rig = start_rig()
    sender, terminal = rig.on_terminal("send", "d1", "BEEP", "--no-input", answer="y\n")
    ended = sender.end()
    os.close(terminal)
    assert (ended.code, ended.out) == (4, "")
    assert "--no-input forbids it: give --yes" in ended.err
    assert rig.device.counts()["counts"] == {}


@pytest.mark.parametrize(("typed", "code"), [("d*\n", 0), ("y\n", 4), ("\n", 4)])
def test_the_name_typed(start_rig: StartRig, typed: str, code: int) -> None:
    """A reset of several devices wants the target typed; a mere yes is no."""
    rig = start_rig(timeout="10s")
    with (rig.folder / "inventory.yaml").open("a") as inventory:
        inventory.write('  d2: {profile: demo/controller, url: "tcp://127.0.0.1:9"}\n')
    sender, terminal = rig.on_terminal("send", "d*", "RESET", "counter", answer=typed)
    ended = sender.end()
    os.close(terminal)
    assert ended.code == (7 if code == 0 else 4)
    assert rig.device.executed == ({"RESET counter": 1} if code == 0 else {})


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream(start_rig: StartRig, stream: int) -> None:
    """A run whose stdin, stdout or stderr was closed by its starter ends with the true code all the same."""
    rig = start_rig(timeout="10s")
    closed = f"{stream}{'<' if stream == 0 else '>'}&-"
    words = ["sh", "-c", f'exec "$0" "$@" {closed}', COMMAND, "send", "d1", "SET", "interval", "3", "--json"]
    running = Running(words, cwd=rig.folder, env=rig.environ)
    assert running.end().code == 0
    assert rig.device.executed == {"SET interval 3": 1}
