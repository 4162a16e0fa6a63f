"""Does plain text come through bytes that are lost, doubled and made up?

Cuts and noise in front are looked at in tests/protocol.
"""

from hypothesis import given
from hypothesis import strategies as st

from protocol.line import Answered, LineRequester
from tests.fuzz.damage import Edit, damaged, edits, pieces, places
from tests.fuzz.seeded import fuzz
from tests.protocol.line_events import GRAMMAR

lines = st.lists(
    st.sampled_from((b"OK 15\n", b"OK\r\n", b"ERR no\n", b"# hot\n", b"BUSY\n", b"READY\n")), max_size=5
)


@fuzz(150)
@given(lines, edits, places)
def test_the_line_behind_damage_is_understood(before: list[bytes], how: list[Edit], cuts: list[int]) -> None:
    """Whatever became of what came before, the next request has its answer by the line behind the next line end."""
    requester = LineRequester(GRAMMAR)
    requester.ask("GET offset")
    for piece in pieces(damaged(b"".join(before) + b"OK 1\n", how), cuts):
        requester.receive(piece)
    requester.receive(b"\n")
    requester.ask("GET level")

    answers = [event for event in requester.receive(b"OK 3\n") if isinstance(event, Answered)]
    assert answers == [Answered(False, "3", "OK 3")]


@fuzz(150)
@given(edits, places)
def test_a_damaged_answer_is_a_line_that_came(how: list[Edit], cuts: list[int]) -> None:
    """An answer is always a whole line that stood in the stream; nothing is put together from what was lost between."""
    requester = LineRequester(GRAMMAR)
    requester.ask("GET offset")
    stream = damaged(b"# hot\r\nOK 15\r\n", how)
    events = [event for piece in pieces(stream, cuts) for event in requester.receive(piece)]

    whole = stream.decode(errors="backslashreplace")
    answers = [event.line for event in events if isinstance(event, Answered)]
    assert len(answers) <= 1
    assert all(all(word in whole for word in line.split()) for line in answers)
