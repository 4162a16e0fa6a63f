"""What does a reading prove about a command whose ack is missing? Reports of verifications that were wrong.

Each test runs over a connection that reopening cuts (`tcp`) and over a line that outlives it (`pty`), in virtual time.
"""

from pathlib import Path

import pytest

from agent.operation import Cause, Outcome, Proof
from devices.kinds import Policy
from devices.profile import Verify
from tests.agent.line_desk import CARRIERS, Bench, at_a_bench
from tests.agent.line_profiles import PROFILE, with_command, with_setting

FORM, LEVEL, RESET, ROTATE = "ADJUST offset +5", "ADJUST level +2", "RESET counter", "ROTATE log"
both = pytest.mark.parametrize("carrier", CARRIERS)


# --- readings that could be taken for the wrong thing --------------------------------------------------------------


@both
@pytest.mark.parametrize("words", [ROTATE, RESET, FORM])
def test_a_reading_does_not_overtake_the_copy(tmp_path: Path, carrier: str, words: str) -> None:
    """A copy that arrives after a reading of the old value is not sent again (83)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(words)).result
        assert (result.outcome, result.attempts) == (Outcome.APPLIED, 1)
        assert len(bench.device.ledger) == 1

    at_a_bench(tmp_path, play, "cmd 1: late_request 2.0", carrier=carrier)


@both
@pytest.mark.parametrize("lost", ["drop_request", "drop_ack"])
def test_late_readings_are_told_from_fresh_ones(tmp_path: Path, carrier: str, lost: str) -> None:
    """A baseline and a verify whose first answers come late are not mixed up (64, 84, B64)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.value) == (Outcome.APPLIED, "4")
        assert bench.count(ROTATE) == 1

    at_a_bench(tmp_path, play, f"read 2: delay 0.8; cmd 1: {lost}; read 4-5: delay 0.8", carrier=carrier)


@both
@pytest.mark.parametrize("lost", ["drop_request", "drop_ack"])
def test_a_verify_that_cannot_be_read_sends_nothing_again(tmp_path: Path, carrier: str, lost: str) -> None:
    """A failed reading is no reading: one copy, in doubt, and no second one until somebody knows (57, B77)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert len(bench.device.copies) == 1

    at_a_bench(tmp_path, play, f"cmd 1: {lost}; read 3-99: drop_ack", carrier=carrier)


@both
def test_a_sentinel_is_no_base_to_add_to(tmp_path: Path, carrier: str) -> None:
    """A value beyond the range of the absolute form is not computed with: nothing is sent (B76, B77)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(FORM)).result
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNFIT)
        assert "lies outside" in result.message
        assert not bench.device.copies

    profile = with_setting("offset", read="GET counter")
    profile = with_setting("offset", profile, max=PROFILE.setting("level").max)
    profile = with_command("SET offset", profile, args=PROFILE.command("SET level").args)
    at_a_bench(tmp_path, play, carrier=carrier, profile=profile)


# --- values that others move, or that have a stop ------------------------------------------------------------------


@both
def test_a_value_that_somebody_moved_meanwhile_is_not_overwritten(tmp_path: Path, carrier: str) -> None:
    """Where another value than the baseline stands before the second copy of a target, no second copy leaves (97)."""

    async def play(bench: Bench) -> None:
        def somebody_else(word: str, _line: str) -> None:
            if word == "fault":
                bench.device._effects.put({"offset": 12})

        bench.device._observe = somebody_else
        result = (await bench.desk.send(FORM)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert bench.device.values()["offset"] == 12

    at_a_bench(tmp_path, play, "cmd 1: drop_request", carrier=carrier)


@both
@pytest.mark.parametrize(("lost", "copies"), [("drop_request", 2), ("drop_ack", 1)])
def test_the_target_of_an_addition_is_reached_once(
    tmp_path: Path, carrier: str, lost: str, copies: int
) -> None:
    """However the first copy ended, adding five to ten makes fifteen, and no other text ever leaves (99, B71)."""

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(FORM)).result
        assert (result.outcome, result.before, result.expected) == (Outcome.APPLIED, "10", "15")
        assert [copy.text for copy in bench.device.copies] == ["SET offset 15"] * copies
        assert bench.device.values()["offset"] == 15

    at_a_bench(tmp_path, play, f"cmd 1: {lost}", carrier=carrier)


@both
def test_a_value_that_others_write_is_neither_read_for_proof_nor_computed_with(
    tmp_path: Path, carrier: str
) -> None:
    """Where the profile says that others write a value, the command goes out once and silence is a doubt (85, 86)."""
    profile = with_setting("offset", other_writers=True)

    async def play(bench: Bench) -> None:
        report = await bench.desk.send(FORM)
        assert report.operation.terms.policy is Policy.NO_RETRY
        assert report.result.outcome is Outcome.IN_DOUBT
        assert len(bench.device.copies) == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack", carrier=carrier, profile=profile)


@both
def test_a_counter_that_counted_on_after_its_reset(tmp_path: Path, carrier: str) -> None:
    """A counter that is read back itself, and moved since, proves nothing about its reset (94, 95)."""
    profile = with_command("RESET counter", verify=Verify("counter", "0"))
    profile = with_setting("counter", profile, durable=True)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(RESET)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert bench.count(RESET) == 1

    at_a_bench(tmp_path, play, "cmd 1: drop_ack, other_writer", carrier=carrier, profile=profile)


@both
def test_a_reset_at_zero_is_not_proven_by_zero(tmp_path: Path, carrier: str) -> None:
    """Where the counter stands at its expected value before, one copy leaves and silence is a doubt (87)."""
    profile = with_command("RESET counter", verify=Verify("counter", "0"))
    profile = with_setting("counter", profile, durable=True)

    async def play(bench: Bench) -> None:
        assert (await bench.desk.send(RESET)).result.outcome is Outcome.APPLIED
        result = (await bench.desk.send(RESET)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)
        assert bench.count(RESET) == 1

    at_a_bench(tmp_path, play, "cmd 2: drop_request", carrier=carrier, profile=profile)


@both
@pytest.mark.parametrize("lost", ["drop_request", "drop_ack"])
def test_a_count_with_an_unstated_stop_authorises_nothing(tmp_path: Path, carrier: str, lost: str) -> None:
    """Where the number of files may be capped, an unchanged one is no reason to rotate again (88, 96)."""
    profile = with_setting("log_files", clamps=None)

    async def play(bench: Bench) -> None:
        def three_at_most(word: str, _line: str) -> None:
            if word == "command":
                bench.device._effects.put({"log_files": 3})

        bench.device._observe = three_at_most
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.attempts) == (Outcome.IN_DOUBT, 1)

    at_a_bench(tmp_path, play, f"cmd 1: {lost}", carrier=carrier, profile=profile)


# --- starts --------------------------------------------------------------------------------------------------------


@both
def test_a_start_that_makes_the_value_look_as_expected(tmp_path: Path, carrier: str) -> None:
    """A default that equals the expected value is no effect of ours: the boot count tells (102)."""

    async def play(bench: Bench) -> None:
        await bench.desk.send("SET level 3")
        result = (await bench.desk.send(LEVEL)).result  # the expected value is the default, 5
        assert result.outcome is Outcome.IN_DOUBT
        assert bench.count(LEVEL) == 0
        assert bench.device.values()["level"] == 5

    at_a_bench(tmp_path, play, "cmd 2: reboot_before", carrier=carrier)


@both
def test_a_command_that_restarts_the_device_is_proven_by_the_boot_count(tmp_path: Path, carrier: str) -> None:
    """Where the effect is the restart itself no ack can come, and one boot more is the proof (103)."""
    profile = with_setting("boots", durable=True, clamps=False)
    profile = with_command("BEEP", profile, verify=Verify("boots", "before + 1"))

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send("BEEP")).result
        assert (result.outcome, result.proof, result.attempts) == (Outcome.APPLIED, Proof.VERIFIED, 1)
        assert bench.device.values()["boots"] == 2

    at_a_bench(tmp_path, play, "cmd 1: reboot_after", carrier=carrier, profile=profile)


# --- ack and effect ------------------------------------------------------------------------------------------------

MATRIX = [
    ("ack, effect", "", Outcome.APPLIED, Proof.ACK, 1),
    ("ack, none", "cmd 1: ignore", Outcome.IN_DOUBT, None, 0),
    ("refusal, effect", "cmd 1: nak_after_effect", Outcome.APPLIED, Proof.VERIFIED, 1),
    ("refusal, none", "cmd 1: refuse", Outcome.NOT_APPLIED, Proof.VERIFIED, 0),
    ("silence, effect", "cmd *: drop_ack", Outcome.APPLIED, Proof.VERIFIED, 1),
    ("silence, none", "cmd *: drop_request", Outcome.NOT_APPLIED, Proof.VERIFIED, 0),
]


@both
@pytest.mark.parametrize(
    ("case", "faults", "outcome", "proof", "executions"), MATRIX, ids=[m[0] for m in MATRIX]
)
def test_ack_and_effect(
    tmp_path: Path,
    carrier: str,
    case: str,
    faults: str,
    outcome: Outcome,
    proof: Proof | None,
    executions: int,
) -> None:
    """Each combination of answer and effect has its own true word, where the profile says what answers mean (B66)."""
    means = {"ack_means": "queued"} if case == "ack, none" else {"nak_may_follow_effect": True}
    profile = with_command(ROTATE, **means)

    async def play(bench: Bench) -> None:
        result = (await bench.desk.send(ROTATE)).result
        assert (result.outcome, result.proof) == (outcome, proof)
        assert bench.count(ROTATE) == executions

    at_a_bench(tmp_path, play, faults, carrier=carrier, profile=profile)
