"""Which class has each failure, and what is told of it?"""

import re
import sqlite3
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import agent
from agent.fleet.agents import NameTaken
from agent.fleet.failures import (
    BY_CAUSE,
    BY_ERROR,
    BY_OUTCOME,
    BY_TURN,
    INTERNAL,
    WORST_FIRST,
    FailureClass,
    class_of,
    class_of_error,
    failure_of,
    failure_of_error,
    failure_of_turn,
)
from agent.fleet.notices import BY_TURN as NOTICE_BY_TURN
from agent.leases import LeaseLost
from agent.links.link import LinkLost, PortHeld
from agent.operation import Cause, Numbering, Operation, Outcome, Proof, Result, Terms
from agent.plans.turns import State
from agent.processes import Holder
from agent.service import KeyClash
from agent.store.database import StoreError
from devices.kinds import Policy
from devices.problems import UsageProblem
from protocol.native.frame import FrameError

C = FailureClass
REF = "E-1234"


def asked(run: str | None = None, command: str = "ADJUST offset +5") -> Operation:
    """An operation of ana's."""
    terms = Terms(Policy.RESEND, idempotent=False, numbering=Numbering.LSQ1, text=command)
    return Operation("01JOP", "pump", command, "relative", terms, "p", "d", "tcp://pump:1", "ana", run=run)


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_one_class(cause: Cause) -> None:
    """Each cause has exactly one class, whatever the word, and is never unknown."""
    classes = {class_of(Result(outcome, None, "", cause)) for outcome in Outcome}
    assert classes == {BY_CAUSE[cause]}
    assert BY_CAUSE[cause] not in (C.UNKNOWN, C.BUG)


def test_every_outcome_has_one_class() -> None:
    """Each word without a cause has a class, but for the two that are no failure."""
    assert set(BY_OUTCOME) == set(Outcome)
    well = {outcome for outcome in Outcome if class_of(Result(outcome, None, "")) is None}
    assert well == {Outcome.APPLIED, Outcome.UNCHANGED}
    assert class_of(Result(Outcome.REFUSED, None, "")) is C.REFUSED


def test_an_answer_without_sense_is_framing() -> None:
    """What was answered with nonsense is of another class than what was not answered; a known cause stays."""
    assert class_of(Result(Outcome.IN_DOUBT, None, ""), garbled=True) is C.FRAMING
    assert class_of(Result(Outcome.IN_DOUBT, None, "")) is C.TRANSPORT
    assert class_of(Result(Outcome.IN_DOUBT, None, "", Cause.STORE), garbled=True) is C.STORE


def test_every_turn_has_one_class() -> None:
    """Each state of a job's turn has its class, and is a notice exactly where it is no good end."""
    assert set(BY_TURN) == {state.value for state in State}
    assert {state for state, kind in BY_TURN.items() if kind is not None} == set(NOTICE_BY_TURN)
    assert BY_TURN["done"] is None


def test_every_class_has_its_rank() -> None:
    """The worst class of a run is known whichever classes its steps have."""
    assert sorted(WORST_FIRST) == sorted(FailureClass)


@pytest.mark.parametrize("name", BY_ERROR)
def test_names_of_errors_are_real(name: str) -> None:
    """Each name in the table is an exception, under the name that it has itself."""
    module, _, qualified = name.rpartition(".")
    error = getattr(import_module(module), qualified)
    assert issubclass(error, Exception)
    assert f"{error.__module__}.{error.__qualname__}" == name


def test_every_exception_of_ours_has_its_class() -> None:
    """No exception that agent, devices or protocol define is a bug or unknown by mere omission."""
    root = Path(agent.__file__).parents[1]
    found = {}
    for folder in ("agent", "devices", "protocol"):
        for path in (root / folder).rglob("*.py"):
            for name, base in re.findall(r"^class ([A-Z]\w+)\((\w+)\):", path.read_text(), re.MULTILINE):
                if base in ("Exception", "ValueError", "Refused", "Unreachable"):
                    found[name] = ".".join(path.relative_to(root).with_suffix("").parts)
    ours = {name: module for name, module in found.items() if not module.startswith("agent.cli")}
    assert len(ours) >= 15
    unknown = {
        name for name, module in ours.items() if class_of_error(_bare(module, name)) in (C.BUG, C.UNKNOWN)
    }
    assert unknown == set()


def _bare(module: str, name: str) -> Exception:
    error = getattr(import_module(module), name)
    bare: Exception = error.__new__(error)
    return bare


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (UsageProblem("no such command"), C.VALIDATION),
        (KeyClash("the key 'night' was used"), C.VALIDATION),
        (LinkLost("reset"), C.TRANSPORT),
        (ConnectionResetError(), C.TRANSPORT),
        (TimeoutError(), C.TRANSPORT),
        (FrameError("bad CRC"), C.FRAMING),
        (PortHeld("held", ours=True), C.POLICY),
        (LeaseLost("taken over"), C.POLICY),
        (StoreError("disk full"), C.STORE),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), C.STORE),
        (KeyError("x"), C.BUG),
        (RuntimeError("no word after 10000 steps"), C.BUG),
        (ValueError("x"), C.BUG),
        (OSError("odd"), C.UNKNOWN),
        (ExceptionGroup("several", [KeyError("x")]), C.UNKNOWN),
        (type("Odd", (Exception,), {})("x"), C.UNKNOWN),
    ],
)
def test_exceptions(problem: Exception, kind: FailureClass) -> None:
    """E2: the nearest known base decides, and what nobody knows is unknown, never nothing."""
    assert class_of_error(problem) is kind
    failure = failure_of_error(problem, asked(), left=False, reference=REF)
    assert failure.kind is kind
    assert failure.text.startswith("nothing of 'ADJUST offset +5' was sent: ")
    assert (failure.reference is not None) == (kind in INTERNAL)
    assert failure.actionable == (kind not in INTERNAL)


def test_a_refusal() -> None:
    """E1: what the device said, that it had no effect, and what to type."""
    failure = failure_of(asked(), Result(Outcome.REFUSED, Proof.ACK, "ERR range", seq=7), reference=REF)
    assert failure is not None
    assert (failure.kind, failure.code) == (C.REFUSED, "refused")
    assert failure.text == "'ADJUST offset +5' was sent and had no effect: ERR range"
    assert failure.action == "If it should have been taken: ackonce send pump 'ADJUST offset +5'"
    assert failure.actionable
    assert failure.reference is None


def test_internals_stay_in_the_log() -> None:
    """E3: of a failure of ours a person sees that it was one and its reference, and can do nothing about it."""
    detail = "the journal /srv/x/journal.db cannot be written: disk I/O error"
    failure = failure_of(asked(), Result(Outcome.NOT_SENT, None, detail, Cause.STORE), reference=REF)
    assert failure is not None
    assert (failure.kind, failure.code, failure.actionable) == (C.STORE, "not_sent.store", False)
    assert failure.reference == REF
    assert REF in failure.text
    assert "/srv" not in failure.text


def test_a_doubt_is_theirs_to_settle() -> None:
    """A doubt that a failure of ours left is settled by whoever asked all the same."""
    told = [
        failure_of(asked(), Result(Outcome.IN_DOUBT, None, "x", Cause.STORE), reference=REF),
        failure_of_error(KeyError("x"), asked(), left=True, reference=REF),
    ]
    for failure in told:
        assert failure is not None
        assert failure.reference == REF
        assert failure.action is not None
        assert failure.action.endswith("ackonce doubt check 01JOP")
        assert failure.text.startswith("'ADJUST offset +5' was sent, and nobody can tell yet")


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("cause", [None, *Cause])
def test_every_failure_is_told(outcome: Outcome, cause: Cause | None) -> None:
    """Each word with each cause is a sentence that names the command, and gives a command to type or a reference."""
    failure = failure_of(asked("01JRUN"), Result(outcome, None, "why", cause), reference=REF)
    if failure is None:
        assert (outcome, cause) in ((Outcome.APPLIED, None), (Outcome.UNCHANGED, None))
        return
    assert "ADJUST offset +5" in failure.text
    assert "{" not in failure.text + (failure.action or "")
    assert failure.reference is not None or outcome in (Outcome.APPLIED, Outcome.UNCHANGED) or failure.action


def test_a_step_of_a_run_goes_on_with_the_run() -> None:
    """What to type for a step of a run is to resume the run: its key makes that safe."""
    failure = failure_of(
        asked("01JRUN"), Result(Outcome.NOT_SENT, None, "x", Cause.UNREACHABLE), reference=REF
    )
    assert failure is not None
    assert failure.action == "When that is mended: ackonce resume 01JRUN"


def test_a_secret_is_typed_as_its_reference() -> None:
    """What to type has the reference as a person types it, while the sentence has the command as it is kept."""
    operation = asked(command="passwd {env:MYPW}")
    operation = replace(operation, terms=replace(operation.terms, secrets=("env:MYPW",)))
    for cause, verb in ((Cause.INTERRUPTED, "send"), (Cause.UNFIT, "explain")):
        failure = failure_of(operation, Result(Outcome.NOT_SENT, None, "x", cause), reference=REF)
        assert failure is not None
        assert "'passwd {env:MYPW}'" in failure.text
        assert (failure.action or "").endswith(f"ackonce {verb} pump 'passwd env:MYPW'")


def test_what_may_have_been_raw_is_told_in_words() -> None:
    """The catalog may not know it: no line is told that names it as if it did."""
    operation = replace(asked(command="level+=3"), kind="trigger")
    operation = replace(operation, terms=replace(operation.terms, policy=Policy.NO_RETRY))
    told = {
        Cause.INTERRUPTED: "To do it: send it again as it was typed (with --raw, if it was)",
        Cause.UNFIT: "See what it needs: ackonce profile show p",
    }
    for cause, action in told.items():
        failure = failure_of(operation, Result(Outcome.NOT_SENT, None, "x", cause), reference=REF)
        assert failure is not None
        assert failure.action == action


def test_a_duplicate_name_says_which() -> None:
    """E2: who finds the name taken hears the name, and by which process."""
    taken = NameTaken("gw1", Holder("gw1", "north", 4711, "1", "b", "i"), "2026-11-29T22:00:00.000Z")
    failure = failure_of_error(taken, asked(), left=False, reference=REF)
    assert failure.kind is C.VALIDATION
    assert "gw1" in failure.text
    assert "4711" in failure.text
    clash = failure_of_error(KeyClash("the key 'night' was used"), asked(), left=False, reference=REF)
    assert "'night'" in clash.text


def test_text_of_devices_stays_one_line() -> None:
    """A device's words cannot break out of the line that they are told in."""
    failure = failure_of(asked(), Result(Outcome.REFUSED, None, "ERR\x1b[2J\nfake line"), reference=REF)
    assert failure is not None
    assert failure.text.isprintable()


def test_a_turn_is_of_its_steps_worst_class() -> None:
    """A run that ended badly is of the class of the worst step; without a failed step of that of its state."""
    worst = failure_of_turn(
        "night", "unfinished", "2 refused", run="01J", steps=[C.REFUSED, C.TRANSPORT], reference=REF
    )
    assert worst is not None
    assert worst.kind is C.TRANSPORT
    assert worst.action == "See: ackonce runs 01J; go on with it: ackonce resume 01J"
    alone = failure_of_turn("night", "window", "shut", run=None, steps=[], reference=REF)
    assert alone is not None
    assert alone.kind is C.POLICY
    assert failure_of_turn("night", "done", "", run="01J", steps=[], reference=REF) is None
