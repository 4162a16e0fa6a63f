"""Does the log tell what passes on a line, so that nobody can misread it?"""

import pytest

from agent.clock import Clock
from agent.narrate import Bystander
from agent.secrets import Veil
from logs.events import Event
from protocol.native.requester import Ignored


def test_a_line_end_and_its_name_look_different() -> None:
    """Bytes of the wire that spell a line end as text are shown with two backslashes, a real one with one."""
    told: list[Event] = []
    line = Bystander("d1", "a", Clock(), told.append)
    line.heard_or_written(">", rb"GET x\r\n")
    line.heard_or_written(">", b"GET x\r\n")
    line.stray("junk", "?", rb"\n" + b"\n")
    assert [event.text for event in told] == [r"> GET x\\r\\n", r"> GET x\r\n", "junk: ?"]
    assert told[-1].bytes == r"\\n\n"


def test_a_secret_of_quotes_and_backslashes_is_masked_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the escapes of a frame that answers nothing look like, the secret in it is not shown."""
    monkeypatch.setenv("KEY", "a\\b'c\"d")
    veil, told = Veil(), list[Event]()
    assert veil.begin(["env:KEY"]) is None
    Bystander("d1", "a", Clock(), told.append, veil).ignored(
        Ignored("junk", "no frame", None, b"<a\\b'c\"d>\0")
    )
    assert told[0].bytes == r"<***>\x00"
