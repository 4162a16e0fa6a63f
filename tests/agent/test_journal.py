"""Is everything on record before it is sent, is nothing ever rewritten, and does it come back as it was?"""

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent import evidence
from agent.evidence import (
    Acked,
    Connected,
    Deferred,
    Evidence,
    Person,
    Sent,
    Unknown,
    Waited,
    fact_of,
    fields_of,
)
from agent.journal import Case
from agent.leases import Lease, LeaseLost
from agent.operation import AbsoluteForm, Cause, Numbering, Outcome, Proof, Readback, Result, Terms
from agent.steps import Connect, Finish, Read, Send, Session, Settle, Wait, step_text
from agent.store.database import Cursor, StoreError
from devices.kinds import Policy
from simulator.device import SimulatedDevice
from tests.agent.desk import Desk, at_a_desk
from tests.agent.replay import assert_replays
from tests.agent.store_desk import ADJUST, case, desk, operation, session, virtual

CONNECTED = Connected(1, boot=2, session=0x20001)
SENT = Sent(1, 1, ADJUST, 1, 0x20001, 0x4C9F0E6B)
STEP = Send(ADJUST, 1)
DONE = Result(
    Outcome.APPLIED, Proof.ACK, "the device confirmed it", seq=1, attempts=1, value="15", elapsed_s=0.25
)


def full(_: Cursor, __: Lease) -> None:
    """Fails as a full disk does, in the middle of a write."""
    raise sqlite3.OperationalError("database or disk is full")


# --- durable before sent ---------------------------------------------------------------------------------------


def test_an_intent_is_on_record_before_anything_can_leave(tmp_path: Path) -> None:
    """When `intend` returns, another process reads the operation, all facts, the copy and the number it uses."""

    async def scenario() -> None:
        one, other = desk(tmp_path), desk(tmp_path)
        lease = one.claim()
        lease.session, lease.number = session(last_seq=1), 1
        hand = case()
        hand.note(Connect(Session.KEEP), CONNECTED, "2026-11-29T22:48:00.000Z")
        flushes = one.database.flushes
        intent = await one.journal.intend(hand, lease, STEP, SENT)
        assert (intent.op, intent.sent) == ("01JOP1", SENT)
        assert one.database.flushes == flushes + 1
        [entry] = other.journal.unsettled(lease.device)
        assert entry.open
        assert entry.operation == operation()
        assert other.journal.story("01JOP1") == [
            (step_text(Connect(Session.KEEP)), CONNECTED, "2026-11-29T22:48:00.000Z"),
            (step_text(STEP), SENT, "2026-11-29T22:48:00.000Z"),
        ]
        row = other.device(lease)
        assert (row["session"], row["last_seq"]) == (0x20001, 1)
        assert other.journal.load(entry.operation).facts == hand.facts

    virtual(scenario)


def test_an_intent_that_is_not_durable_is_no_fact(tmp_path: Path) -> None:
    """A failed commit withdraws the copy, writes nothing, and leaves what was learnt before for the next write."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        hand = case()
        hand.note(None, CONNECTED, "2026-11-29T22:48:00.000Z")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(one.leases, "store_session", full)
            with pytest.raises(StoreError, match="is full"):
                await one.journal.intend(hand, lease, STEP, SENT)
        assert hand.facts == [CONNECTED]
        assert not hand.begun
        assert one.journal.find("01JOP1") == []
        await one.journal.intend(hand, lease, STEP, SENT)
        assert one.journal.load(hand.operation).facts == [CONNECTED, SENT]

    virtual(scenario)


def test_devices_share_a_flush(tmp_path: Path) -> None:
    """The intents of many devices that are ready at the same time cost one flush."""

    async def scenario() -> None:
        one = desk(tmp_path)
        leases = [one.claim(f"tcp://device:{n}") for n in range(20)]
        flushes = one.database.flushes
        await asyncio.gather(
            *(one.journal.intend(case(f"OP{n}"), lease, STEP, SENT) for n, lease in enumerate(leases))
        )
        assert one.database.flushes == flushes + 1
        assert len(one.journal.doubts()) == 20

    virtual(scenario)


def test_the_record_is_append_only(tmp_path: Path) -> None:
    """Facts get consecutive numbers; a second fact under a used number is refused, and the first one stays."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        hand = case()
        await one.journal.intend(hand, lease, STEP, SENT)
        behind = one.journal.load(hand.operation)
        hand.note(None, Unknown("silence"), "2026-11-29T22:48:01.000Z")
        await one.journal.keep(hand, lease)
        await one.journal.keep(hand, lease)
        behind.note(None, Acked(1, False, "15"), "2026-11-29T22:48:02.000Z")
        with pytest.raises(StoreError, match="UNIQUE"):
            await one.journal.close(behind, lease, DONE)
        assert one.database.read("SELECT n, kind FROM evidence ORDER BY n") == [(0, "Sent"), (1, "Unknown")]
        [entry] = one.journal.find("01JOP1")
        assert entry.result is None

    virtual(scenario)


# --- reading ---------------------------------------------------------------------------------------------------


def test_a_closed_operation_comes_back_as_it_ended(tmp_path: Path) -> None:
    """The outcome with all its figures and the times of submission and end."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        hand = case()
        await one.journal.intend(hand, lease, STEP, SENT)
        await asyncio.sleep(1.5)
        await one.journal.close(hand, lease, DONE)
        [entry] = one.journal.find("01jop")
        assert (entry.result, entry.open, entry.device) == (DONE, False, lease.device)
        assert (entry.created_utc, entry.closed_utc) == (
            "2026-11-29T22:48:00.000Z",
            "2026-11-29T22:48:01.500Z",
        )
        assert one.journal.unsettled(lease.device) == one.journal.doubts() == []

    virtual(scenario)


def test_open_and_doubtful_operations_are_found_oldest_first(tmp_path: Path) -> None:
    """Unsettled is what is open or in doubt, per device or everywhere; ended ones are not."""

    async def scenario() -> None:
        one = desk(tmp_path)
        here, there = one.claim(), one.claim("tcp://device:2")
        doubt = Result(Outcome.IN_DOUBT, None, "no ack")
        refused = Result(Outcome.NOT_SENT, None, "wrong device", Cause.WRONG_DEVICE)
        for op, lease, result in (
            ("03", here, None),
            ("02", here, doubt),
            ("01", here, refused),
            ("00", there, doubt),
        ):
            hand = case(op)
            await one.journal.keep(hand, lease)
            if result is not None:
                await one.journal.close(hand, lease, result)
            await asyncio.sleep(1)
        assert [entry.operation.op for entry in one.journal.unsettled(here.device)] == ["03", "02"]
        assert [entry.operation.op for entry in one.journal.doubts()] == ["03", "02", "00"]
        [entry] = one.journal.find("01")
        assert entry.result == refused
        assert [entry.operation.op for entry in one.journal.find("0")] == ["00", "01", "02", "03"]
        assert one.journal.find("%") == one.journal.find("_1") == []

    virtual(scenario)


def test_the_newest_operation_of_a_key_is_found(tmp_path: Path) -> None:
    """A key belongs to one device, and a later operation under it stands for it."""

    async def scenario() -> None:
        one = desk(tmp_path)
        here, there = one.claim(), one.claim("tcp://device:2")
        for op, lease in (("02", here), ("01", here), ("03", there)):
            await one.journal.keep(case(op, key="night"), lease)
            await asyncio.sleep(1)
        found = one.journal.under_key("night", here.device)
        assert found is not None
        assert found.operation.op == "01"
        assert one.journal.under_key("noon", here.device) is None

    virtual(scenario)


def test_a_person_decides(tmp_path: Path) -> None:
    """The person's word and the outcome are written together, after all that was known; the session is left."""

    async def scenario() -> None:
        one = desk(tmp_path)
        lease = one.claim()
        hand = case()
        await one.journal.intend(hand, lease, STEP, SENT)
        person = Person(True, "ana", "seen on the panel")
        word = Result(Outcome.APPLIED, Proof.PERSON, "ana decided: seen on the panel")
        loaded = one.journal.load(hand.operation)
        lease.session = session()
        await one.leases.spend(lease)
        one.journal.decide(loaded, lease, person, word)
        [entry] = one.journal.find("01JOP1")
        assert entry.result == word
        assert one.journal.load(hand.operation).facts == [SENT, person]
        one.leases.release(lease)
        with pytest.raises(LeaseLost):
            one.journal.decide(one.journal.load(hand.operation), lease, person, word)
        assert one.claim().session is None

    virtual(scenario)


# --- everything comes back as it was ------------------------------------------------------------------------------

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.dictionaries(st.text(), st.text(), max_size=3)
FACTS = st.one_of(
    *(st.from_type(kind) for kind in get_args(Evidence) if kind not in (Waited, Deferred)),
    st.builds(Waited, FINITE),
    st.builds(Deferred, st.text(), FINITE),
)
TERMS = st.builds(
    Terms,
    args=TEXTS,
    types=TEXTS,
    queries=TEXTS,
    readback=...,
    form=...,
    boot_query=...,
    attempts_max=...,
    settle_s=FINITE,
    late_max_s=FINITE,
    reply_s=FINITE,
    busy_max_s=FINITE,
    survives_reopen=...,
    nak_may_follow_effect=...,
)


def test_every_kind_of_fact_has_a_name() -> None:
    """The journal knows every class of evidence by its name."""
    assert set(evidence.KINDS.values()) == set(get_args(Evidence))


@given(facts=st.lists(FACTS, max_size=5))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_facts_survive_the_journal(facts: list[Evidence]) -> None:
    """Every fact, whatever its fields, is read back equal, enums and records included."""
    for fact in facts:
        back = fact_of(type(fact).__name__, json.loads(json.dumps(fields_of(fact))))
        assert back == fact
        for name in fact.__slots__:
            assert type(getattr(back, name)) is type(getattr(fact, name))


@given(terms=TERMS)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_terms_survive_the_journal(terms: Terms) -> None:
    """Terms come back equal, whatever texts and numbers they carry."""
    assert Terms.from_json(terms.to_json()) == terms


def test_full_terms_survive_a_store(tmp_path: Path) -> None:
    """Terms with a read-back and an absolute form go through a real store, foreign letters included."""
    pinned = Terms(
        Policy.READ_THEN_SET,
        idempotent=False,
        numbering=Numbering.NONE,
        text="ADJUST größe +5",
        args={"delta": "+5"},
        readback=Readback("offset", "int", "before + delta", min="0", durable=True, clamps=False),
        form=AbsoluteForm("SET {value}", "value", "int", "before + delta"),
    )

    async def scenario() -> None:
        one = desk(tmp_path)
        asked = replace(operation(), terms=pinned)
        await one.journal.keep(Case(asked), one.claim())
        assert one.journal.find("01JOP1")[0].operation == asked

    virtual(scenario)


def test_steps_are_recorded_as_stable_lines() -> None:
    """The text of a step is part of every journal ever written; it does not change."""
    assert [
        step_text(step)
        for step in (
            Connect(Session.KEEP, 1.5),
            Read("offset", evidence.Why.VERIFY),
            Send("A", 2, (1, 2)),
            Settle(1, 2, 3, 1),
            Wait(0.5),
            Finish(Outcome.APPLIED, Proof.ACK, "ok"),
        )
    ] == [
        "Connect(session=<Session.KEEP: 'keep'>, quiesce_s=1.5)",
        "Read(setting='offset', why=<Why.VERIFY: 'verify'>)",
        "Send(text='A', attempt=2, number=(1, 2))",
        "Settle(session=1, seq=2, digest=3, attempt=1)",
        "Wait(seconds=0.5)",
        "Finish(outcome=<Outcome.APPLIED: 'applied'>, proof=<Proof.ACK: 'ack'>, why='ok', cause=None)",
    ]


# --- replay -----------------------------------------------------------------------------------------------------

STORIES = [
    "",
    "cmd 1: drop_ack",
    "cmd *: drop_request",
    "cmd 1: cut",
    "cmd 1: reboot_after",
    "open 1: drop_ack",
]


@pytest.mark.parametrize("faults", STORIES, ids=lambda faults: faults or "no fault")
def test_a_journal_replays(faults: str, tmp_path: Path) -> None:
    """The policy, given the evidence before each step of a journal, takes the same step again."""

    async def play(at: Desk, _: SimulatedDevice) -> None:
        for words in (ADJUST, "SET interval 30"):
            await at.send(words)

    at_a_desk(tmp_path, play, faults)
    assert assert_replays(tmp_path) >= 4


def test_a_changed_journal_does_not_replay(tmp_path: Path) -> None:
    """A step that the evidence before it does not lead to is noticed, and so is an outcome."""

    async def play(at: Desk, _: SimulatedDevice) -> None:
        await at.send(ADJUST)

    at_a_desk(tmp_path, play)
    one = desk(tmp_path)
    one.database.commit_now(lambda cursor: cursor.execute("UPDATE operation SET outcome = 'refused'"))
    with pytest.raises(AssertionError):
        assert_replays(tmp_path)
    one.database.commit_now(
        lambda cursor: cursor.execute(
            "UPDATE evidence SET step = ? WHERE kind = 'Sent'", (step_text(Wait(1)),)
        )
    )
    with pytest.raises(AssertionError, match="fact 1"):
        assert_replays(tmp_path)
