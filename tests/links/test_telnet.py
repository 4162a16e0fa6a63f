"""What does a telnet stream mean, byte by byte?"""

import pytest

from agent.links.telnet import OFFER, PURGE_UNSENT, Telnet, escaped

IAC, DONT, DO, WONT, WILL, SB, SE = (bytes((code,)) for code in (255, 254, 253, 252, 251, 250, 240))
BINARY, ECHO, SUPPRESS_GO_AHEAD, COM_PORT = b"\x00", b"\x01", b"\x03", b"\x2c"
AGREED = IAC + DO + COM_PORT + IAC + DO + BINARY + IAC + WILL + BINARY
PURGE_RECEIVED = IAC + SB + COM_PORT + b"\x0c\x01" + IAC + SE
PURGED = IAC + SB + COM_PORT + b"\x70\x01" + IAC + SE


def ready() -> Telnet:
    """A connection on which data passes."""
    telnet = Telnet()
    assert telnet.receive(AGREED + PURGED) == (b"", PURGE_RECEIVED)
    assert telnet.ready
    return telnet


def test_what_a_client_offers() -> None:
    """The port option and all bytes unchanged both ways; nothing that would touch the port."""
    for said in (WILL + COM_PORT, WILL + BINARY, DO + BINARY):
        assert IAC + said in OFFER
    assert SB not in OFFER
    assert ECHO not in OFFER


@pytest.mark.parametrize("missing", [IAC + DO + COM_PORT, IAC + DO + BINARY, IAC + WILL + BINARY])
def test_all_three_are_needed(missing: bytes) -> None:
    """Data passes only after all agreements; then the server is asked to purge, and data counts from its yes on."""
    telnet = Telnet()
    assert telnet.receive(AGREED.replace(missing, b"") + PURGED + b"early") == (b"", b"")
    assert not telnet.ready
    assert telnet.receive(missing) == (b"", PURGE_RECEIVED)
    assert telnet.receive(b"stale\xff\xff" + PURGED + b"fresh") == (b"fresh", b"")


@pytest.mark.parametrize("refusal", [DONT + COM_PORT, DONT + BINARY, WONT + BINARY])
def test_refusals(refusal: bytes) -> None:
    """A server that refuses what is needed is of no use, and a later yes does not change that."""
    telnet = Telnet()
    telnet.receive(IAC + refusal + AGREED)
    assert telnet.refused is not None
    assert Telnet().refused is None


def test_harmless_refusals() -> None:
    """What is only wished for may be refused."""
    telnet = ready()
    telnet.receive(IAC + WONT + SUPPRESS_GO_AHEAD + IAC + DONT + SUPPRESS_GO_AHEAD)
    assert telnet.refused is None


def test_the_server_demands_more() -> None:
    """An echo and anything unknown are refused once each; what we offered is not answered again."""
    telnet = ready()
    demands = IAC + WILL + ECHO + IAC + DO + ECHO + IAC + DO + b"\x18"
    refusals = IAC + DONT + ECHO + IAC + WONT + ECHO + IAC + WONT + b"\x18"
    assert telnet.receive(demands + AGREED) == (b"", refusals)
    assert telnet.receive(demands) == (b"", b"")


@pytest.mark.parametrize(
    "noise",
    [
        IAC + b"\xf1",  # NOP
        IAC + SE,  # an end without a beginning
        IAC + SB + COM_PORT + b"\x6b\x10" + IAC + SE,  # modem state
        IAC + SB + COM_PORT + b"\x6b" + IAC + IAC + IAC + SE,  # with a doubled 255
        IAC + SB + b"x" * 1000 + IAC + SE,
        IAC + SB + IAC + SE,
    ],
)
def test_telnet_between_data(noise: bytes) -> None:
    """Whatever telnet says in between is no data, wherever the stream is cut."""
    stream = b"1" + noise + b"2\xff\xff3"
    for cut in range(0, len(stream), max(1, len(stream) // 20)):
        telnet = ready()
        heard = telnet.receive(stream[:cut])[0] + telnet.receive(stream[cut:])[0]
        assert heard == b"12\xff3"
        assert telnet.refused is None


def test_a_long_subnegotiation_is_not_kept() -> None:
    """Nobody fills our memory with a subnegotiation that never ends."""
    telnet = ready()
    telnet.receive(IAC + SB + b"x" * 100_000)
    assert len(telnet._block) <= 256


def test_writing() -> None:
    """A byte 255 of ours is doubled; a purge is no data."""
    assert escaped(b"a\xffb\xff\xff") == b"a\xff\xffb\xff\xff\xff\xff"
    assert PURGE_UNSENT == IAC + SB + COM_PORT + b"\x0c\x02" + IAC + SE
