"""Does LSQ1 come through a line that cuts, loses, doubles and makes up bytes?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.native.codes import Status
from protocol.native.frame import Decoder, Frame, encode
from protocol.native.messages import CommandReply
from protocol.native.requester import Answered
from tests.fuzz.damage import Edit, damaged, edits, pieces, places
from tests.fuzz.seeded import fuzz
from tests.protocol.pair import ADJUST, Pair
from tests.protocol.test_frame import frames

CLEAN = b"\0"
"""What ends any noise."""


@fuzz(150)
@given(st.lists(frames, min_size=1, max_size=6), st.integers(0, 5), edits, places)
def test_damage_costs_what_it_touches(
    sent: list[Frame], which: int, how: list[Edit], cuts: list[int]
) -> None:
    """All frames but the damaged one and its neighbour behind come through in their order, and none is made up."""
    which %= len(sent)
    sent = [replace(frame, seq=number) for number, frame in enumerate(sent)]
    blocks = [encode(frame) for frame in sent]
    blocks[which] = damaged(blocks[which], how)
    decoder = Decoder()
    heard = [item for piece in pieces(b"".join(blocks), cuts) for item in decoder.feed(piece)]

    found = [item.seq for item in heard if isinstance(item, Frame)]
    assert [seq for seq in found if seq not in (which, which + 1)] == [
        seq for seq in range(len(sent)) if seq not in (which, which + 1)
    ]
    assert all(item in sent for item in heard if isinstance(item, Frame))


@fuzz(100)
@given(st.binary(max_size=600), frames, places)
def test_any_noise_ends_at_a_zero(noise: bytes, frame: Frame, cuts: list[int]) -> None:
    """Whatever came before, a frame behind a zero is understood, as a sender writes it who begins with one."""
    decoder = Decoder()
    heard = [item for piece in pieces(noise + CLEAN + encode(frame), cuts) for item in decoder.feed(piece)]

    assert heard[-1] == frame


@pytest.mark.parametrize("stray", range(256))
def test_a_stray_byte_does_not_cost_a_request(stray: int) -> None:
    """Each byte that may lie before the first request, or before one after silence: that same request is answered."""
    pair = Pair()
    pair.device.receive(pair.conn, bytes((stray,)))
    assert pair.ask(pair.requester.hello(1)) is not None
    session = pair.open()
    pair.requester.abandon()
    pair.device.receive(pair.conn, bytes((stray,)))

    answer = pair.ask(pair.requester.command(session, 1, 1, ADJUST))

    assert answer == CommandReply(Status.OK, 1, False, "15")


@fuzz(100)
@given(st.lists(st.tuples(edits | st.none(), edits | st.none()), min_size=1, max_size=4))
def test_a_command_over_a_damaging_line(damages: list[tuple[list[Edit] | None, list[Edit] | None]]) -> None:
    """Whatever happens to the copies and the replies, the device acts at most once, and an ack says that it did."""
    pair = Pair()
    session = pair.open()
    acked = False
    for attempt, (there, back) in enumerate(damages, 1):
        copy = pair.requester.command(session, 1, attempt, ADJUST)
        for _, reply in pair.device.receive(pair.conn, damaged(copy, there) if there else copy):
            events = pair.requester.receive(damaged(reply, back) if back else reply)
            acked |= any(isinstance(event, Answered) for event in events)
        pair.requester.abandon()
    assert len(pair.device.ledger) <= 1
    assert not acked or pair.device.executed == [(1, ADJUST)]

    for attempt in (8, 9):  # what lies before a reply may cost it; the next one comes through
        events = pair.send(pair.requester.command(session, 1, attempt, ADJUST))
        acked |= any(isinstance(event, Answered) for event in events)
    assert acked
    assert pair.device.executed == [(1, ADJUST)]
