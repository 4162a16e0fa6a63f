"""Which bytes are requests and answers, on the agent's and on the device's side?"""

import pytest

from protocol.modbus.framing import adu_of_rtu, mbap, rtu
from protocol.modbus.pdu import (
    EXCEPTIONS,
    Asked,
    BadPdu,
    Reply,
    answer_of,
    asked_of,
    exception_pdu,
    reply_pdu,
    request_pdu,
)
from protocol.modbus.requests import request_of
from tests.protocol.modbus_bytes import RTU, Exchange, h

SPECIFICATION = (
    (h("0100130013"), Asked(1, 0x13, 19), "CD6B05", h("0103CD6B05")),
    (h("0200C40016"), Asked(2, 0xC4, 22), "ACDB35", h("0203ACDB35")),
    (h("03006B0003"), Asked(3, 0x6B, 3), "022B00000064", h("0306022B00000064")),
    (h("0400080001"), Asked(4, 8, 1), "000A", h("0402000A")),
    (h("0500ACFF00"), Asked(5, 0xAC, 1, h("FF00")), "", h("0500ACFF00")),
    (h("0600010003"), Asked(6, 1, 1, h("0003")), "", h("0600010003")),
    (h("0F0013000A02CD01"), Asked(15, 0x13, 10, h("CD01")), "", h("0F0013000A")),
    (h("100001000204000A0102"), Asked(16, 1, 2, h("000A0102")), "", h("1000010002")),
    (h("16000400F20025"), Asked(22, 4, 1, h("00F20025")), "", h("16000400F20025")),
    (
        h("1700030006000E00030600FF00FF00FF"),
        Asked(23, 0x0E, 3, h("00FF00FF00FF"), 3, 6),
        "00FE0ACD00010003000D00FF",
        h("170C00FE0ACD00010003000D00FF"),
    ),
    (h("2B0E0404"), Asked(43, 4, 1), "48656C6C6F204D65746572", h("2B0E0483000001040B48656C6C6F204D65746572")),
)
"""The examples of the specification, sections 6.1 to 6.17; individual access of 6.21 as a server of its answers it."""


@pytest.mark.parametrize("exchange", RTU, ids=lambda exchange: exchange.text)
def test_published_frames(exchange: Exchange) -> None:
    """Request and answer are the published bytes, CRC and all."""
    request = request_of(exchange.text)
    assert rtu(exchange.unit, request_pdu(request)) == exchange.request
    answer = adu_of_rtu(exchange.answer)
    assert answer_of(request, answer.pdu).exception is None
    assert rtu(answer.unit, answer.pdu) == exchange.answer


def test_frames_over_tcp() -> None:
    """A request over TCP is the bytes that a published session with a gateway shows."""
    assert mbap(0, 2, request_pdu(request_of("fc04 0x0290 u64"))) == h("000000000006 0204 02900004")
    assert mbap(0xABCD, 255, b"\x03") == h("ABCD 0000 0002 FF 03")


@pytest.mark.parametrize(
    ("pdu", "asked", "content", "answer"), SPECIFICATION, ids=lambda value: str(value)[:12]
)
def test_device_answers_as_specified(pdu: bytes, asked: Asked, content: str, answer: bytes) -> None:
    """A device takes the specification's requests apart and answers with the specification's bytes."""
    assert asked_of(pdu) == asked
    assert reply_pdu(asked, bytes.fromhex(content)) == answer


@pytest.mark.parametrize(
    ("text", "pdu", "answer", "data"),
    [
        ("fc22 0x0004 raw 00F20025", "16000400F20025", "16000400F20025", ""),
        ("fc22 0x0005 bit3 true", "160005FFF70008", "160005FFF70008", ""),
        ("fc15 0x0013 bits(10) 461", "0F0013000A02CD01", "0F0013000A", ""),
        ("fc16 0x0002 f32 30", "10000200020441F00000", "1000020002", ""),
        ("fc23 0x0002 f32 30", "1700020002000200020441F00000", "170441F00000", "41F00000"),
        ("fc01 0x0000 bits(8)", "0100000008", "010101", "01"),
        ("fc43 0x01 text", "2B0E0401", "2B0E04810000010104484D2D31", "484D2D31"),
    ],
)
def test_agent_asks_as_specified(text: str, pdu: str, answer: str, data: str) -> None:
    """Requests are laid out as the specification says, and their answers carry what was read."""
    assert request_pdu(request_of(text)) == h(pdu)
    assert answer_of(request_of(text), h(answer)) == Reply(None, h(data))


@pytest.mark.parametrize(
    ("text", "pdu"),
    [
        ("fc03 0x0010 u16", "0304001E0000"),  # two registers
        ("fc03 0x0010 u16", "0302001E00"),  # a byte too many
        ("fc03 0x0010 u16", "030200"),
        ("fc03 0x0010 u16", "0402001E"),
        ("fc03 0x0010 u16", "8402"),
        ("fc03 0x0010 u16", "8302FF"),
        ("fc03 0x0010 u16", "83"),
        ("fc03 0x0010 u16", ""),
        ("fc03 0x0010 u16", "0300100001"),  # the request
        ("fc06 0x0010 u16 30", "060011001E"),
        ("fc06 0x0010 u16 30", "060010001F"),
        ("fc05 0x0010 raw 5500", "050010FF00"),
        ("fc15 0x0000 bits(8) 1", "0F00000009"),
        ("fc16 0x0002 f32 30", "1000020001"),
        ("fc16 0x0002 f32 30", "1000030002"),
        ("fc22 0x0005 bit3 true", "160005FFF70000"),
        ("fc23 0x0002 f32 30", "170241F0"),
        ("fc43 0x01 text", "2B0E04810000010204484D2D31"),  # object 2
        ("fc43 0x01 text", "2B0E048100000201014102 0142".replace(" ", "")),  # two objects
        ("fc43 0x01 text", "2B0E01810000010104484D2D31"),  # of the stream
        ("fc43 0x01 text", "2B0D04810000010104484D2D31"),
    ],
)
def test_what_answers_another_request(text: str, pdu: str) -> None:
    """An answer of another function, length, address or value is not the answer."""
    with pytest.raises(ValueError, match=r"."):
        answer_of(request_of(text), h(pdu))


@pytest.mark.parametrize(
    ("pdu", "exception"),
    [
        ("", 1),
        ("0700", 1),
        ("8302", 1),
        ("2B0D0000", 1),
        ("2B0E0100", 3),
        ("0300000000", 3),  # nothing
        ("030000007E", 3),  # 126 registers
        ("01000007D1", 3),  # 2001 coils
        ("0F000007B101FF", 3),  # 1969 coils
        ("0F0000000901FF", 3),  # nine coils in one byte
        ("10000000010400000000", 3),  # two registers where one is counted
        ("10000000000000"[:12], 3),
        ("10000000020400", 3),
        ("0300", 3),
        ("030000000100", 3),
        ("17000000000000000102001E", 3),  # reads nothing
        ("17000000010000000000", 3),  # writes nothing
        ("1700000001000000020200FF", 3),
    ],
)
def test_bad_requests(pdu: str, exception: int) -> None:
    """What a device cannot take is told by the exception of the specification."""
    with pytest.raises(BadPdu) as bad:
        asked_of(h(pdu))
    assert bad.value.exception == exception


def test_limits_are_taken() -> None:
    """The largest requests of the specification are requests, and their answers fit a PDU."""
    assert len(reply_pdu(asked_of(h("030000007D")), bytes(250))) == 252
    assert asked_of(h("01000007D0")).count == 2000
    assert len(asked_of(h("100000007BF6") + bytes(246)).data) == 246
    assert len(asked_of(h("0F000007B0F6") + bytes(246)).data) == 246
    assert len(asked_of(h("1700000001000000 79F2") + bytes(242)).data) == 242


def test_exceptions() -> None:
    """Exceptions carry the function and the code of the specification, section 7."""
    assert exception_pdu(1, 2) == h("8102")
    assert rtu(10, exception_pdu(1, 2)) == h("0A8102B053")
    assert exception_pdu(43, 11) == h("AB0B")
    assert answer_of(request_of("fc06 0x0010 u16 30"), h("8605")) == Reply(5)
    assert EXCEPTIONS[5].startswith("acknowledge")
    assert EXCEPTIONS[6] == "server device busy"
    assert EXCEPTIONS[10].startswith("gateway path")
    assert EXCEPTIONS[11].startswith("gateway target")
