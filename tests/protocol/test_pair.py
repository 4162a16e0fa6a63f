"""Do both sides together execute each number at most once, and say only what is true?

A small agent resends a command, then settles its number with NOP, over every combination of faults; the device's
ledger is the oracle. And single bytes of noise, at each place where they can fall.
"""

import random
from itertools import product
from typing import get_args

import pytest

from protocol.native.codes import Status
from protocol.native.frame import NOP_DIGEST
from protocol.native.messages import CommandReply, NopReply, Reply
from protocol.native.requester import Answered, Event, Ignored
from tests.protocol.pair import ADJUST, ADJUST_DIGEST, Device, Fault, Pair, Wire

FAULTS: tuple[Fault, ...] = get_args(Fault)


def answers(events: list[Event]) -> list[Reply]:
    """The answers among events."""
    return [event.reply for event in events if isinstance(event, Answered)]


def change(pair: Pair, session: int, seq: int, attempts: int) -> str:
    """Send one command until it is answered, at most `attempts` copies; then settle. `applied` or `burnt`."""
    for attempt in range(1, attempts + 1):
        for reply in answers(pair.send(pair.requester.command(session, seq, attempt, ADJUST))):
            assert isinstance(reply, CommandReply)
            assert reply.status is Status.OK
            return "applied"
        pair.requester.abandon()
    for attempt in range(1, 8):
        for reply in answers(pair.send(pair.requester.nop(session, seq, attempt))):
            assert isinstance(reply, NopReply)
            if reply.status is Status.OK:
                return "burnt"
            assert reply.spent is not None
            assert reply.spent.digest in {ADJUST_DIGEST, NOP_DIGEST}
            return "burnt" if reply.spent.digest == NOP_DIGEST else "applied"
        pair.requester.abandon()
    raise AssertionError("the wire delivers after its plan, so the settling ends")


def check(pair: Pair, session: int, words: list[str]) -> None:
    """Let everything late arrive; the ledger holds exactly the numbers that were called applied."""
    for _ in range(3):
        pair.send(pair.requester.read(0x7777, "GET offset"))
    executed = [execution.seq for execution in pair.device.ledger]

    assert executed == [seq for seq, word in enumerate(words, 1) if word == "applied"]
    assert pair.device.offset == 10 + 5 * len(executed)
    assert {execution.session for execution in pair.device.ledger} <= {session}


@pytest.mark.parametrize("first", FAULTS)
def test_every_fault_at_every_step(first: Fault) -> None:
    """Over all faults of two copies there and back, each number is executed at most once and the word is true."""
    for second, back, back_again in product(FAULTS, repeat=3):
        pair = Pair()
        session = pair.open()
        pair.there.plan.extend((first, second))
        pair.back.plan.extend((back, back_again))

        words = [change(pair, session, 1, attempts=2), change(pair, session, 2, attempts=2)]

        check(pair, session, words)


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("faults", list(product(("drop", "hold"), repeat=3)))
def test_settling_over_a_bad_wire(attempts: int, faults: tuple[Fault, ...]) -> None:
    """When commands and NOPs are lost or late, the number is settled truly, and the late copy never runs after."""
    for back in product(FAULTS, repeat=2):
        pair = Pair()
        session = pair.open()
        pair.there.plan.extend(faults)
        pair.back.plan.extend(back)

        check(pair, session, [change(pair, session, 1, attempts), change(pair, session, 2, attempts)])


@pytest.mark.parametrize("seed", range(20))
def test_long_run_over_a_random_wire(seed: int) -> None:
    """Fifty commands over a wire of random faults: the ledger is what the agent was told."""
    chance = random.Random(seed)
    pair = Pair(there=Wire(), back=Wire())
    session = pair.open()
    words = []
    for seq in range(1, 51):
        pair.there.plan.extend(chance.choices(FAULTS, k=3))
        pair.back.plan.extend(chance.choices(FAULTS, k=3))
        words.append(change(pair, session, seq, attempts=3))
        pair.there.plan.clear()
        pair.back.plan.clear()

    check(pair, session, words)


@pytest.mark.parametrize("stray", range(256))
def test_stray_byte_on_the_way_there(stray: int) -> None:
    """A stray byte before a command costs that copy at most; the next one, after silence, gets through."""
    pair = Pair()
    session = pair.open()
    pair.device.receive("main", bytes((stray,)))

    lost = answers(pair.send(pair.requester.command(session, 1, 1, ADJUST)))
    pair.requester.abandon()
    answer = pair.ask(pair.requester.command(session, 1, 2, ADJUST))

    assert lost == ([CommandReply(Status.OK, 1, False, "15")] if stray == 0 else [])
    assert answer == CommandReply(Status.OK, 2, stray == 0, "15")
    assert len(pair.device.ledger) == 1


@pytest.mark.parametrize("stray", range(256))
def test_stray_byte_on_the_way_back(stray: int) -> None:
    """A stray byte before a reply costs that reply at most and invents none; the repeat is answered."""
    pair = Pair()
    session = pair.open()
    pair.requester.receive(bytes((stray,)))

    events = pair.send(pair.requester.command(session, 1, 1, ADJUST))
    again = answers(pair.send(pair.requester.command(session, 1, 2, ADJUST)))

    if stray == 0:
        assert events == [Answered(CommandReply(Status.OK, 1, False, "15"))]
    else:
        assert [event.why for event in events if isinstance(event, Ignored)] == ["junk"]
    assert again == [CommandReply(Status.OK, 2, True, "15")]
    assert len(pair.device.ledger) == 1


@pytest.mark.parametrize("seed", range(10))
def test_garbage_between_frames(seed: int) -> None:
    """Garbage that ends in a zero, between any two frames in both directions, costs nothing at all."""
    chance = random.Random(seed)
    pair = Pair()
    session = pair.open()
    for seq in range(1, 21):
        garbage = chance.randbytes(chance.randrange(700)) + b"\0"
        pair.device.receive("main", garbage)
        pair.requester.receive(garbage)
        answer = pair.ask(pair.requester.command(session, seq, 1, ADJUST))
        assert answer == CommandReply(Status.OK, 1, False, str(10 + 5 * seq))


@pytest.mark.parametrize("stray", range(256))
def test_first_request_survives_noise_from_plugging_in(stray: int) -> None:
    """The first request on a stream ends the noise before it by itself."""
    pair = Pair()
    pair.device.receive("main", bytes((stray,)))

    assert pair.record() is None


@pytest.mark.parametrize("tier", [0, 1, 2])
@pytest.mark.parametrize("when", ["before", "after"])
def test_boot_between_two_copies(tier: int, when: str) -> None:
    """Over a boot a number is executed at most once: tiers 0 and 1 refuse, tier 2 knows (24, 27, 39)."""
    pair = Pair(Device(tier))
    session = pair.open()
    copy = pair.requester.command(session, 1, 1, ADJUST)
    if when == "after":
        pair.device.receive("main", copy)
    pair.device.reboot()
    pair.reconnect()

    answer = pair.ask(pair.requester.command(session, 1, 2, ADJUST))

    assert isinstance(answer, CommandReply)
    if tier == 2:
        assert answer == CommandReply(Status.OK, 2, when == "after", "15")
    else:
        assert answer.status is Status.BAD_SESSION
    assert len(pair.device.ledger) <= 1


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_old_agent_wakes_up(tier: int) -> None:
    """After a takeover the old agent's late command is refused, and its late OPEN is stale (32, 33)."""
    device = Device(tier)
    old = Pair(device)
    session = old.open(epoch=1, nonce=1)
    Pair(device, conn="new").open(epoch=2, nonce=2)
    device.connect("main")

    refused = old.ask(old.requester.command(session, 1, 1, ADJUST))
    stale = old.ask(old.requester.open(1, 1, 1))

    assert refused == CommandReply(Status.BAD_SESSION, 1, False, boot_id=device.responder.boot_id)
    assert getattr(stale, "status", None) is Status.STALE_EPOCH
    assert device.ledger == []
