"""Is data behind a terminal server exactly what was sent, whatever telnet says in between and however it is cut?

And is a stream that is damaged, or no telnet at all, ever more than bytes that mean nothing?
"""

from hypothesis import given
from hypothesis import strategies as st

from agent.links.telnet import Telnet, escaped
from tests.fuzz.damage import Edit, damaged, edits, pieces, places
from tests.fuzz.seeded import fuzz
from tests.links.test_telnet import AGREED, IAC, PURGED, SB, SE, ready

REPLY_MAX = 3
"""Bytes of one answer to a demand."""

RESYNC = b"x" + IAC + SE + IAC + SE
"""Ends whatever a stream may have broken off in."""

options = st.integers(0, 255).map(lambda code: bytes((code,)))
demands = st.tuples(st.sampled_from((b"\xfb", b"\xfc", b"\xfd", b"\xfe")), options).map(
    lambda said: IAC + b"".join(said)
)
harmless = demands.filter(lambda said: said[1] in (0xFB, 0xFD) or said[2] not in (0, 44))
blocks = st.binary(max_size=300).map(lambda block: IAC + SB + escaped(block) + IAC + SE)
commands = st.sampled_from([IAC + bytes((code,)) for code in range(240, 250)])
data = st.binary(max_size=30)
streams = st.lists(st.tuples(data, st.one_of(harmless, blocks, commands)), max_size=8)


@fuzz(200)
@given(streams, places)
def test_data_is_data(said: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    """What arrives is the data that was sent, each byte once and in order, wherever the stream is cut."""
    telnet = ready()
    stream = b"".join(escaped(part) + telnet_says for part, telnet_says in said)
    told = [telnet.receive(piece) for piece in pieces(stream, cuts)]

    assert telnet.refused is None
    assert b"".join(heard for heard, _ in told) == b"".join(part for part, _ in said)


@fuzz(200)
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), demands, blocks, st.just(AGREED), st.just(PURGED)), max_size=8
    ),
    places,
)
def test_any_stream_in_any_pieces(stream: list[bytes], cuts: list[int]) -> None:
    """Any bytes give the same data and the same replies, whole and in pieces; nothing is heard twice."""
    whole = b"".join(stream)
    one, other = Telnet(), Telnet()
    heard, replies = one.receive(whole)
    told = [other.receive(piece) for piece in pieces(whole, cuts)]

    assert (b"".join(part for part, _ in told), b"".join(part for _, part in told)) == (heard, replies)
    assert (one.ready, one.refused) == (other.ready, other.refused)
    assert len(heard) <= len(whole)
    assert len(replies) <= REPLY_MAX * len(whole)
    one.receive(RESYNC)
    assert one.receive(whole)[1] == b"", "a negotiation that goes round in circles"


@fuzz(100)
@given(streams)
def test_an_agreement_is_heard_behind_anything_harmless(said: list[tuple[bytes, bytes]]) -> None:
    """Whatever the server told before, data passes once it has agreed and emptied its buffer, and not earlier."""
    telnet = Telnet()
    for part, telnet_says in said:
        assert telnet.receive(escaped(part) + telnet_says)[0] == b""
    telnet.receive(AGREED + PURGED)
    assert telnet.ready
    assert telnet.receive(b"OK")[0] == b"OK"


@fuzz(150)
@given(data, streams, edits)
def test_damage_never_stops_the_stream(
    before: bytes, said: list[tuple[bytes, bytes]], how: list[Edit]
) -> None:
    """After any damage two ends of a subnegotiation bring the stream back, unless the server was heard to refuse."""
    telnet = ready()
    stream = escaped(before) + b"".join(escaped(part) + telnet_says for part, telnet_says in said)
    telnet.receive(damaged(stream, how))
    telnet.receive(RESYNC)
    if telnet.refused is None:
        assert telnet.receive(b"OK 15\r\n") == (b"OK 15\r\n", b"")
