from dataclasses import replace
from itertools import product

import pytest

from agent.cli import foresee as foresight
from agent.cli.foresee import LOSSES, Course, foresee
from agent.operation import AbsoluteForm, Numbering, Outcome, Proof, Readback, Terms
from agent.steps import Connect, Finish, Step
from devices.kinds import Policy

OFFSET = Readback("offset", "int", "before + delta", min="-100", max="100", durable=True)
RELATIVE = Terms(
    policy=Policy.GET_VERIFY,
    idempotent=False,
    numbering=Numbering.NONE,
    text="ADJUST offset +5",
    args={"delta": "5"},
    types={"offset": "int", "delta": "int"},
    queries={"offset": "GET offset"},
    readback=OFFSET,
    late_max_s=10.0,
)
FORM = AbsoluteForm("SET offset {value}", "value", "int", "before + delta", min="-100", max="100")
THEN_SET = replace(RELATIVE, policy=Policy.READ_THEN_SET, form=FORM)
ABSOLUTE = replace(
    RELATIVE,
    policy=Policy.RESEND,
    idempotent=True,
    text="SET offset 30",
    args={"value": "30"},
    types={"offset": "int", "value": "int"},
    readback=replace(OFFSET, expect="value"),
)
TRIGGER = replace(RELATIVE, policy=Policy.NO_RETRY, text="BEEP", args={}, readback=None)
NUMBERED = replace(RELATIVE, policy=Policy.RESEND, numbering=Numbering.LSQ1)


def _by_name(terms: Terms) -> dict[str, Course]:
    return {course.loss.name: course for course in foresee(terms)}


def _variants() -> list[Terms]:
    """Every policy on equipment with and without numbers, patient and impatient, on links of both sorts."""
    found = []
    for base, numbering, attempts, survives, durable, boot, settle_s in product(
        (RELATIVE, THEN_SET, ABSOLUTE, TRIGGER),
        Numbering,
        (1, 3),
        (False, True),
        (False, True),
        (None, "GET boots"),
        (0.0, 0.2),
    ):
        back = replace(base.readback, durable=durable) if base.readback is not None else None
        found.append(
            replace(
                base,
                numbering=numbering,
                attempts_max=attempts,
                survives_reopen=survives,
                readback=back,
                boot_query=boot,
                settle_s=settle_s,
            )
        )
    return [
        *found,
        *(replace(each, policy=Policy.RESEND) for each in found if each.numbering is Numbering.LSQ1),
    ]


def test_every_word_foretold_is_true_of_the_imagined_device() -> None:
    """No course doubles a cumulative command, calls applied what never ran, or not applied what did."""
    for terms in _variants():
        for course in foresee(terms):
            shown = f"{course} under {terms}"
            assert course.effects <= 1 or terms.idempotent, shown
            assert course.effects >= 1 or course.outcome is not Outcome.APPLIED, shown
            assert course.effects == 0 or course.outcome in (Outcome.APPLIED, Outcome.IN_DOUBT), shown


def test_every_loss_is_foretold_once_and_in_order() -> None:
    """The rows are those of the table of losses, whatever the command."""
    assert [course.loss for course in foresee(TRIGGER)] == list(LOSSES)
    assert len({loss.name for loss in LOSSES}) == len(LOSSES)


def test_without_a_loss_the_whole_way_is_told() -> None:
    """The undisturbed course shows all steps, after a loss only what follows the first copy."""
    courses = _by_name(RELATIVE)
    assert courses["none"].does == ("connects", "reads offset", "sends it")
    assert (courses["none"].outcome, courses["none"].proof) == (Outcome.APPLIED, Proof.ACK)
    assert courses["ack_lost"].does == ("connects anew", "reads offset back")


def test_numbered_equipment_is_asked_again() -> None:
    """A lost ack is answered from the device's memory, a late one counts for itself, a lost command runs now."""
    courses = _by_name(NUMBERED)
    proofs = {name: courses[name].proof for name in ("command_lost", "ack_lost", "ack_late", "cut_after")}
    assert proofs == {
        "command_lost": Proof.ACK,
        "ack_lost": Proof.DUPLICATE_ACK,
        "ack_late": Proof.ACK,
        "cut_after": Proof.DUPLICATE_ACK,
    }
    assert courses["ack_lost"].does == ("sends the same again",)
    assert courses["cut_after"].does == ("connects anew", "sends the same again")


def test_a_restart_takes_the_memory_of_numbers_along() -> None:
    """After a restart a cumulative command of a numbering device is in doubt, an absolute one goes out anew."""
    courses = _by_name(replace(NUMBERED, policy=Policy.RESEND, readback=None))
    assert courses["restart_before"].outcome is Outcome.IN_DOUBT
    assert courses["restart_after"].outcome is Outcome.IN_DOUBT
    assert courses["restart_after"].does == ("connects anew",)
    absolute = _by_name(replace(ABSOLUTE, numbering=Numbering.LSQ1))["restart_after"]
    assert absolute.outcome is Outcome.APPLIED
    assert absolute.does[-1] == "sends it again under a new number"


def test_a_restart_on_a_serial_line_is_met_as_a_lost_session() -> None:
    """Where the line outlives the restart, the next copy is turned away and nothing is doubled."""
    course = _by_name(replace(NUMBERED, survives_reopen=True))["restart_after"]
    assert course.does[0] == "sends the same again"
    assert (course.outcome, course.effects) == (Outcome.IN_DOUBT, 1)


def test_a_nop_cannot_settle_what_a_restart_has_wiped() -> None:
    """A restarted device does not know the session, so a NOP to it proves nothing about the command."""
    course = _by_name(replace(NUMBERED, survives_reopen=True, attempts_max=1))["restart_after"]
    assert course.does[0] == "lets a NOP use up the number"
    assert (course.outcome, course.effects) == (Outcome.IN_DOUBT, 1)


def test_reading_back_tells_applied_from_lost() -> None:
    """get-verify ends an executed command without a copy and repeats a lost one only after the quiet time."""
    courses = _by_name(RELATIVE)
    assert (courses["ack_lost"].outcome, courses["ack_lost"].proof) == (Outcome.APPLIED, Proof.VERIFIED)
    lost = courses["command_lost"]
    assert (lost.outcome, lost.effects) == (Outcome.APPLIED, 1)
    assert "lets the line be quiet for 10 s, connects anew" in lost.does
    assert lost.does[-1] == "sends the same again"


def test_a_volatile_setting_proves_nothing_over_a_restart() -> None:
    """What the restart has wiped cannot be read back; with a boot count the agent sees that, and says so."""
    volatile = replace(RELATIVE, readback=replace(OFFSET, durable=False), boot_query="GET boots")
    courses = _by_name(volatile)
    assert courses["restart_after"].outcome is Outcome.IN_DOUBT
    assert courses["restart_after"].does[-1] == "reads its boot count"
    assert "lets the line be quiet for 10 s, connects anew" in courses["restart_after"].does
    assert courses["ack_lost"].outcome is Outcome.APPLIED


def test_read_then_set_says_that_another_command_goes_out() -> None:
    """The reader learns that the absolute command stands in for the relative one."""
    assert _by_name(THEN_SET)["none"].does == (
        "connects",
        "reads offset",
        "sends the absolute command instead",
    )


def test_no_retry_sends_nothing_more() -> None:
    """After any loss a command without dedup and read-back is in doubt, and nothing else is done."""
    none, *losses = foresee(TRIGGER)
    assert none.outcome is Outcome.APPLIED
    assert {(course.does, course.outcome) for course in losses} == {((), Outcome.IN_DOUBT)}


def test_when_nobody_answers_any_more_it_stays_in_doubt() -> None:
    """A silence without end is never called a success or a failure."""
    for terms in (RELATIVE, THEN_SET, ABSOLUTE, TRIGGER, NUMBERED):
        assert _by_name(terms)["nobody_answers"].outcome is Outcome.IN_DOUBT, terms


def test_waits_and_nops_are_told_in_words() -> None:
    """Settled readings show as waits, the last resort on numbering devices as a NOP."""
    settled = _by_name(replace(RELATIVE, settle_s=0.2))["ack_lost"]
    assert settled.does == ("connects anew", "reads offset back", "waits 0.2 s", "reads offset back")
    nop = _by_name(replace(NUMBERED, attempts_max=1))
    assert nop["command_lost"].does == ("lets a NOP use up the number",)
    assert (nop["command_lost"].outcome, nop["ack_lost"].outcome) == (Outcome.NOT_APPLIED, Outcome.APPLIED)


def test_the_same_step_in_a_row_is_counted() -> None:
    """A row stays short however often a step is repeated."""
    assert list(foresight._counted(["a", "a", "b", "a"])) == ["a (2 times)", "b", "a"]


@pytest.mark.parametrize(
    ("back", "args", "types"),
    [
        (replace(OFFSET, min="10", max="12", expect="before + delta"), {"delta": "2"}, {"delta": "int"}),
        (replace(OFFSET, min=None, max=None, expect="0"), {}, {}),
        (replace(OFFSET, type="bool", min=None, max=None, expect="not before"), {}, {}),
        (
            replace(OFFSET, type="enum(low, high)", min=None, max=None, expect="level"),
            {"level": "low"},
            {"level": "text"},
        ),
        (replace(OFFSET, type="text", min=None, max=None, expect="name"), {"name": "a"}, {"name": "text"}),
        (replace(OFFSET, type="decimal", min="0.5", max="0.75", step="0.25", expect="before + 0.25"), {}, {}),
        (replace(OFFSET, expect="before + other"), {}, {"other": "int"}),
    ],
)
def test_the_imagined_value_is_one_that_can_show_the_effect(
    back: Readback, args: dict[str, str], types: dict[str, str]
) -> None:
    """The course is told for a device on which the command is possible and visible, where there is such a one."""
    terms = replace(
        RELATIVE,
        readback=back,
        args=args,
        types={"offset": back.type} | types,
        queries={"offset": "Q", "other": "R"},
    )
    if "other" in back.expect:
        terms = replace(terms, readback=replace(back, expect="before + other + 1"))
    courses = _by_name(terms)
    assert courses["none"].outcome is Outcome.APPLIED
    assert courses["ack_lost"].proof is Proof.VERIFIED


def test_the_imagined_value_leaves_room_for_the_command() -> None:
    """The foretold device is not at its stop, where even an unchanged reading would be in doubt."""
    narrow = replace(RELATIVE, readback=replace(OFFSET, min="10", max="15"))
    assert _by_name(narrow)["command_lost"].outcome is Outcome.APPLIED


def test_a_command_that_cannot_be_carried_out_is_foretold_so() -> None:
    """Where no value of the setting suits, the policy's own refusal is the word of every row."""
    impossible = replace(THEN_SET, args={"delta": "500"})
    assert {course.outcome for course in foresee(impossible)} == {Outcome.NOT_SENT}


def test_it_is_the_policy_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another policy foretells another course: nothing is written down here per policy."""
    doubt = Finish(Outcome.IN_DOUBT, None, "somebody said so")
    monkeypatch.setattr("agent.cli.foresee.next_step", lambda _terms, _facts: doubt)
    assert _by_name(NUMBERED)["ack_lost"].outcome is Outcome.IN_DOUBT


def test_a_policy_without_end_is_a_bug_that_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that never comes to a word raises instead of hanging."""

    def endless(_terms: Terms, _facts: object) -> Step:
        return Connect()

    monkeypatch.setattr("agent.cli.foresee.next_step", endless)
    with pytest.raises(RuntimeError, match="no word"):
        foresee(TRIGGER)
