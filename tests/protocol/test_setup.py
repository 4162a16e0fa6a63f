"""Does HELLO say who the device is, and is a device refused that could not keep to the paper?

WIRE.md sections 1 and 2.
"""

import pytest

from protocol.native.memory import Memory
from protocol.native.messages import HelloReply
from protocol.native.responder import Identity, Reply, Responder
from tests.protocol.pair import ADJUST, IDENTITY, Device, Pair, never


def test_hello_says_who_and_what() -> None:
    """HELLO needs no session and changes nothing, also while a command runs."""
    pair = Pair(Device(2, max_body=128))
    session = pair.open(epoch=3)
    pair.device.slow = True
    pair.send(pair.requester.command(session, 1, 1, ADJUST))
    pair.device.actions.clear()

    hello = pair.ask(pair.requester.hello(9))

    boot_id = pair.device.responder.boot_id
    assert hello == HelloReply("SN-1", "demo", "1.0", boot_id, 3, 2, 128, 32, None)
    assert [type(action) for action in pair.device.actions] == [Reply]


@pytest.mark.parametrize(
    "changed",
    [
        {"tier": 3, "memory": Memory.blank(3)},
        {"tier": 1},
        {"unit": 0},
        {"unit": 248},
        {"max_body": 63},
        {"max_body": 513},
        {"max_body": 64, "identity": Identity("s" * 10, "m" * 10, "f" * 7)},
        {"identity": Identity("s" * 256, "m", "f")},
        {"max_body": 64, "reply_max": 48},
        {"reply_max": 256},
        {"reply_max": -1},
    ],
)
def test_device_that_contradicts_the_paper(changed: dict[str, object]) -> None:
    """A device whose answers could not be framed, or whose memory is of another tier, is refused."""
    fitting = {"tier": 2, "memory": Memory.blank(2), "unit": 1, "max_body": 512, "reply_max": 32}
    arguments = {"identity": IDENTITY, "boot_id": 1, "draw": lambda: 1, "read": never} | fitting | changed

    with pytest.raises(ValueError, match=r"tier|unit|max_body|names"):
        Responder(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        {"max_body": 64, "identity": Identity("s" * 10, "m" * 10, "f" * 6)},
        {"max_body": 64, "reply_max": 47},
        {"reply_max": 255},
        {"reply_max": 0},
        {"unit": 247},
    ],
)
def test_device_at_the_limits(changed: dict[str, object]) -> None:
    """The limits themselves are allowed."""
    fitting = {"tier": 2, "memory": Memory.blank(2), "unit": 1, "max_body": 512, "reply_max": 32}
    arguments = {"identity": IDENTITY, "boot_id": 1, "draw": lambda: 1, "read": never} | fitting | changed

    assert Responder(**arguments).session == 0  # type: ignore[arg-type]
