"""What does a device say of a command whose answer it could not keep? WIRE.md 2, DONE_UNCACHED."""

from pathlib import Path

import pytest

from agent.dialects.lsq_facts import meaning_of
from agent.evidence import Acked, Nakked, Owner, Spent
from agent.operation import Outcome
from protocol.native.codes import REFUSALS, Status
from protocol.native.messages import CommandReply
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk

ADJUST = "ADJUST offset +5"
OURS = 0x4C9F0E6B


@pytest.mark.parametrize("status", sorted(REFUSALS))
def test_a_refusal_that_was_too_long_to_keep_is_a_refusal(status: Status) -> None:
    """The text is gone, the status is not: what the device refused is never taken for done."""
    said = meaning_of(CommandReply(Status.DONE_UNCACHED, 2, False, uncached=status), OURS)
    assert said == Nakked(2, status.name)


def test_an_ack_that_was_too_long_to_keep_is_an_ack() -> None:
    """It was done, at an earlier copy; nor is what the device does not know itself taken for done."""
    done = CommandReply(Status.DONE_UNCACHED, 2, False, uncached=Status.OK)
    assert meaning_of(done, OURS) == Acked(2, True, None)
    unsure = CommandReply(Status.DONE_UNCACHED, 2, False, uncached=Status.INDETERMINATE)
    assert meaning_of(unsure, OURS) == Spent(Owner.OURS, Status.INDETERMINATE, "")


def test_a_lost_refusal_that_was_too_long_to_keep(tmp_path: Path) -> None:
    """Asked again, the device has only the status left: the word is `refused`, and nothing was done."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        result = (await desk.send(ADJUST)).result
        assert result.outcome is Outcome.REFUSED
        assert result.attempts == 2
        assert not device.ledger.count(ADJUST)

    at_a_desk(tmp_path, play, "cmd 1: refuse, long_reply, drop_ack")
