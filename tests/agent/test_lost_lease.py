"""What is said where another process took the device over while this one was at work?"""

from pathlib import Path

from agent.operation import Cause, Outcome
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk, before_the_write

OPEN = "The journal shows it open"


def taken_over(desk: Desk) -> None:
    """Another process takes the device over now."""
    desk.service.database.commit_now(lambda cursor: cursor.execute("UPDATE device SET token = token + 1"))


def test_before_any_copy(tmp_path: Path) -> None:
    """Nothing was sent, and nothing is open: nobody is sent to the journal."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        desk.network.at["tcp://device:1"] = None
        dial = desk.network.dial

        async def late(target: object) -> object:
            taken_over(desk)
            return await dial(target)  # type: ignore[arg-type]

        desk.service._dial = late  # type: ignore[assignment]
        report = await desk.send("BEEP")
        assert (report.result.outcome, report.result.cause) == (Outcome.NOT_SENT, Cause.HELD)
        assert report.result.message.endswith("another process has taken the device over")
        assert OPEN not in report.result.message
        assert not device.ledger

    at_a_desk(tmp_path, play)


def test_after_a_copy(tmp_path: Path) -> None:
    """The ack came, but its word could not be written: whoever has the device now settles it."""

    async def play(desk: Desk, device: SimulatedDevice) -> None:
        before_the_write(desk, lambda: taken_over(desk))
        report = await desk.send("BEEP")
        assert (report.result.outcome, report.result.cause) == (Outcome.APPLIED, Cause.HELD)
        assert report.result.message.endswith(
            f"taken the device over. {OPEN}. That process settles what was left open"
        )
        assert len(device.ledger) == 1

    at_a_desk(tmp_path, play)
