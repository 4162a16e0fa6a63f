"""How one operation's end is told: what was not sent, what stays in doubt, and what to type next."""

import pytest

from agent.cli.wording import advice, still_in_doubt
from agent.evidence import Connected, Evidence, Found, NotSent, Reading, Unanswered, Why
from agent.operation import BOOT, Cause, Numbering, Operation, Outcome, Readback, Result, Terms
from agent.service import Report
from devices.kinds import Policy

DOUBT = Result(Outcome.IN_DOUBT, None, "no ack", before="10", expected="15")
NEW = Why.VERIFY


def _operation(device: str = "pump-7", *, readback: bool = True, **more: str) -> Operation:
    terms = Terms(
        policy=Policy.GET_VERIFY,
        idempotent=False,
        numbering=Numbering.NONE,
        text="ADJUST offset +5",
        readback=Readback("offset", "int", "before + delta") if readback else None,
    )
    return Operation(
        "01J", device, "ADJUST offset +5", "relative", terms, "demo/x", "d", "tcp://h:1", "ana", **more
    )


def _next(result: Result, operation: Operation) -> list[str]:
    return advice(Report(operation, result), why=False)[1:]


# --- nothing was sent ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unread", "says"),
    [
        ("offset", "See what it answers: ackonce get pump-7 offset -vv"),
        (BOOT, "See what it answers: ackonce probe pump-7 -vv"),
    ],
)
def test_a_setting_that_could_not_be_read(unread: str, says: str) -> None:
    """Without a baseline nothing was sent; the next step is to read just that, with the bytes."""
    result = Result(Outcome.NOT_SENT, None, "could not read it before", Cause.UNFIT, unread=unread)
    assert _next(result, _operation()) == [says]


def test_what_does_not_fit_has_many_reasons() -> None:
    """A target out of range, another mode, somebody at the new address: no next step fits all, so none is given."""
    assert (
        _next(Result(Outcome.NOT_SENT, None, "the target 120 lies outside", Cause.UNFIT), _operation()) == []
    )


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (Cause.UNREACHABLE, "When that is mended: ackonce probe tcp://h:1 --profile demo/x"),
        (Cause.WRONG_DEVICE, "See who answers: ackonce probe tcp://h:1 --profile demo/x"),
        (
            Cause.FOREIGN,
            "If nobody else uses it: ackonce probe tcp://h:1 --profile demo/x --take-over --reason TEXT",
        ),
    ],
)
def test_a_url_needs_its_profile(cause: Cause, says: str) -> None:
    """What is printed to be typed about a URL has its profile, without which it would not run."""
    assert _next(Result(Outcome.NOT_SENT, None, "", cause), _operation("tcp://h:1")) == [says]


def test_a_url_that_a_shell_would_take_apart() -> None:
    """A URL with options is quoted."""
    result = Result(Outcome.NOT_SENT, None, "", Cause.UNREACHABLE)
    [says] = _next(result, _operation("serial:/dev/ttyUSB0?baud=9600&parity=E"))
    assert says.endswith("probe 'serial:/dev/ttyUSB0?baud=9600&parity=E' --profile demo/x")


# --- no effect ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (_operation(), "ackonce send pump-7 'ADJUST offset +5'"),
        (_operation("tcp://h:1"), "ackonce send tcp://h:1 --profile demo/x 'ADJUST offset +5'"),
        (_operation(key="k 1"), "ackonce send pump-7 'ADJUST offset +5' --key 'k 1'"),
        (_operation(key="plan/x", run="01JRUN"), "ackonce resume 01JRUN"),
    ],
)
def test_what_was_not_applied_may_be_sent_again(operation: Operation, says: str) -> None:
    """The same command under the same key, or the run that it belongs to, so that nothing is done twice."""
    assert _next(Result(Outcome.NOT_APPLIED, None, ""), operation) == [f"If it is still wanted: {says}"]


# --- still in doubt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learnt", "says"),
    [
        ([NotSent(Cause.UNREACHABLE, "refused")], "pump-7 could not be asked now."),
        ([Connected(2), Reading("offset", None, 2, NEW)], "pump-7 gave no usable answer now."),
        ([Reading("offset", None, 2, NEW, "ERR 3"), Connected(3)], "pump-7 gave no usable answer now."),
        ([Connected(2), Unanswered("settle"), Connected(3)], "pump-7 gave no usable answer now."),
        ([Found(before=False, answered=False, value=None, text="")], "pump-7 could not be asked now."),
    ],
)
def test_a_check_that_was_not_answered(learnt: list[Evidence], says: str) -> None:
    """What could not be asked now may tell later: check again then; a person may look all the same."""
    first, second = still_in_doubt(_operation(), DOUBT, learnt)
    assert first == f"Still in doubt: {says} When it can: ackonce doubt check 01J"
    assert second == (
        "or, when you have looked: ackonce doubt resolve 01J --applied|--not-applied --reason TEXT"
    )


@pytest.mark.parametrize("learnt", [[], [Connected(2, 8)]])
def test_where_nothing_can_be_read(learnt: list[Evidence]) -> None:
    """Only where there was nothing to ask, or it was asked in vain, nothing that can be read tells."""
    [says] = still_in_doubt(_operation(readback=False), DOUBT, learnt)
    assert says.startswith("Still in doubt. Nothing that can be read tells. Look at the equipment, then: ")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("15", "reads 15 now, as if the command had taken effect;"),
        ("10", "reads 10 now, as if the command had not taken effect;"),
        ("12", "reads 12 now; 15 was expected."),
    ],
)
def test_what_was_read_is_proposed(value: str, says: str) -> None:
    """A reading that proves nothing is shown with what it suggests."""
    [told] = still_in_doubt(_operation(), DOUBT, [Connected(2), Reading("offset", value, 2, NEW)])
    assert f"It was 10 before and {says}" in told


def test_an_old_reading_is_not_now() -> None:
    """What an earlier check had read is not told as what the setting reads now."""
    before = Result(Outcome.IN_DOUBT, None, "no ack", before="10", expected="15", value="15")
    told = still_in_doubt(_operation(), before, [NotSent(Cause.UNREACHABLE, "refused")])
    assert "reads 15" not in "".join(told)
