"""Does an error reach whoever asked, wherever it happened, and is it kept until they are there?"""

import time
from pathlib import Path

import pytest

from agent.evidence import Sent
from agent.fleet.deliveries import UNSENT_MAX
from agent.fleet.errands import LINES_MAX, Errands, Message, lines, message_json
from agent.fleet.failures import FailureClass
from agent.fleet.notice_rows import State
from agent.journal import Case
from agent.operation import Cause, Outcome, Proof, Result
from agent.service import KeyClash, Service
from agent.store.database import StoreError
from logs.place import LOG_FILE
from tests.fleet.crew import crew, full, locked
from tests.fleet.operations import asked, in_doubt
from tests.fleet.test_notices import BLOCKED, deliver, fleet, look

DOUBT = Result(Outcome.IN_DOUBT, None, "no answer", seq=1, attempts=1)
REFUSED = Result(Outcome.REFUSED, Proof.ACK, "ERR range", seq=9, attempts=2)
UNREACHABLE = Result(Outcome.NOT_SENT, None, "no route", Cause.UNREACHABLE)


def unseen(service: Service, person: str = "ana") -> list[Message]:
    """What a person has not seen, in a process of its own."""
    return Errands(service).unseen(person)


def log_of(home: Path) -> str:
    """The log of all processes."""
    return (home / LOG_FILE).read_text()


def test_from_the_other_agent_to_whoever_asked(quick_home: Path) -> None:
    """E4: an operation of ana's that fails on another agent is ana's errand, with all that is known; not bob's."""
    with crew(quick_home) as them:
        worker, desk = them.agent("gw2"), them.agent("desk")
        operation = asked("ana", run="01JRUN")
        assert Errands(worker).operation(operation, REFUSED) is not None
        [errand] = unseen(desk)
        assert unseen(desk, "bob") == []
        assert not (quick_home / LOG_FILE).exists()  # nothing of it is ours to look into
        assert message_json(errand) == {
            "schema": 1,
            "ts": "2026-11-29T22:00:00.000Z",
            "to": "ana",
            "about": operation.op,
            "class": "refused",
            "code": "refused",
            "message": "pump: 'ADJUST offset +5' was sent and had no effect: ERR range",
            "actionable": True,
            "action": "If it should have been taken: ackonce resume 01JRUN",
            "reference": None,
            "agent": "gw2",
            "device": "pump",
            "op": operation.op,
            "run": "01JRUN",
            "seq": 9,
            "attempt": 2,
            "state": "due",
        }


@pytest.mark.parametrize("outcome", [Outcome.APPLIED, Outcome.UNCHANGED])
def test_a_good_end_is_no_errand(quick_home: Path, outcome: Outcome) -> None:
    """What went well bothers nobody."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        assert Errands(service).operation(asked(), Result(outcome, Proof.ACK, "")) is None
        assert unseen(service) == []


def test_shown_once(quick_home: Path) -> None:
    """E5: it waits however long its person is away, is shown, and not again; all of it stays to be asked for."""
    with crew(quick_home) as them:
        Errands(them.agent("gw2")).operation(asked(), UNREACHABLE)
        them.clock.pass_s(30 * 86_400)
        desk = Errands(them.agent("desk"))
        found = desk.unseen("ana")
        assert len(found) == 1
        assert len(desk.unseen("ana")) == 1  # reading alone shows nothing
        desk.shown(found)
        assert desk.unseen("ana") == []
        [kept] = desk.messages("ana", 10)
        assert (kept.state, kept.text) == (State.SHOWN, found[0].text)
        assert desk.messages("bob", 10) == []


def test_once_per_operation_and_word(quick_home: Path) -> None:
    """The same word of the same operation again is no new errand; another word is."""
    with crew(quick_home) as them:
        operation = asked()
        for agent in ("gw1", "gw2"):
            Errands(them.agent(agent)).operation(operation, DOUBT)
        desk = them.agent("desk")
        assert len(unseen(desk)) == 1
        Errands(desk).operation(operation, Result(Outcome.NOT_APPLIED, Proof.SETTLED, "it never ran"))
        assert [each.failure.code for each in unseen(desk) if each.failure] == ["in_doubt", "not_applied"]


@pytest.mark.parametrize(
    ("how", "kind"), [("indeterminate", FailureClass.FRAMING), ("silence", FailureClass.TRANSPORT)]
)
def test_an_answer_without_sense(quick_home: Path, how: str, kind: FailureClass) -> None:
    """A doubt after an answer without sense is one of framing, by what the journal says was heard last."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        op = in_doubt(service, how=how)
        [entry] = service.journal.find(op)
        assert entry.result is not None
        failure = Errands(service).operation(entry.operation, entry.result)
        assert failure is not None
        assert failure.kind is kind


def test_the_detail_is_in_the_log_only(quick_home: Path) -> None:
    """E3: of a store that failed its person sees a reference; the log has it with the detail, and the row has not."""
    detail = "the journal /srv/x/journal.db cannot be written: disk I/O error"
    with crew(quick_home) as them:
        service = them.agent("gw2")
        operation = asked()
        failure = Errands(service).operation(operation, Result(Outcome.NOT_SENT, None, detail, Cause.STORE))
        assert failure is not None
        assert failure.reference is not None
        assert not failure.actionable
        [line] = log_of(quick_home).splitlines()
        assert f"{failure.reference}: {detail}" in line
        assert operation.op in line
        [row] = service.database.read("SELECT text, told FROM notice")
        assert failure.reference in row[0]
        assert "disk I/O" not in str(row)


def test_an_exception_before_the_first_byte(quick_home: Path) -> None:
    """E6: an exception before anything was sent has device, operation, attempt and the word that nothing was sent."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        operation = asked()
        service.in_hand[operation.op] = Case(operation)
        empty: dict[str, str] = {}
        try:
            empty["x"]
        except KeyError as problem:
            failure = Errands(service).error(problem, operation)
        assert (failure.kind, failure.code) == (FailureClass.BUG, "not_sent.KeyError")
        [errand] = unseen(service)
        assert (errand.device, errand.op, errand.attempt, errand.seq) == ("pump", operation.op, 0, None)
        assert "nothing of 'ADJUST offset +5' was sent" in errand.text
        line = log_of(quick_home)
        assert "KeyError" in line
        assert "test_errands.py" in line
        assert "KeyError" not in errand.text


def test_an_exception_after_a_copy(quick_home: Path) -> None:
    """E6: once a copy may have left, the errand says so, with the number and how to settle it."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        operation = asked()
        sent = Sent(attempt=1, conn=1, text=operation.command, seq=1042)
        service.in_hand[operation.op] = Case(operation, [sent])
        Errands(service).error(RuntimeError("no word after 10000 steps"), operation)
        [errand] = unseen(service)
        assert (errand.seq, errand.attempt) == (1042, 1)
        assert "nobody can tell yet" in errand.text
        assert errand.failure is not None
        assert errand.failure.action is not None
        assert f"ackonce doubt check {operation.op}" in errand.failure.action


def test_a_clash_says_which_key(quick_home: Path) -> None:
    """E2: a key that was used for something else is the person's own mistake, and named."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        Errands(service).error(KeyClash("the key 'night' was used for 'SET 3'"), asked())
        [errand] = unseen(service)
        assert "'night'" in errand.text
        assert errand.failure is not None
        assert errand.failure.kind is FailureClass.VALIDATION


def test_a_job_at_night(quick_home: Path) -> None:
    """A turn that failed is its person's errand, and each failed step that of whoever it was asked for."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        steps = [
            (asked(), REFUSED),
            (asked(), UNREACHABLE),
            (asked(), Result(Outcome.APPLIED, Proof.ACK, "")),
        ]
        failure = Errands(service).turn(
            "night", "22:00", "unfinished", "1 refused, 1 not sent", to="ana", run="01J", steps=steps
        )
        assert failure is not None
        assert failure.kind is FailureClass.TRANSPORT
        assert [each.failure.code for each in unseen(service) if each.failure] == [
            "refused",
            "not_sent.unreachable",
            "unfinished",
        ]
        for key in ("22:00", "23:00"):
            Errands(service).turn("night", key, "missed", "not run", to="bob")
            Errands(service).turn("night", key, "missed", "not run", to="bob")
        assert len(unseen(service, "bob")) == 2
        assert Errands(service).turn("night", "24:00", "done", "", to="bob") is None


def test_kept_while_the_store_fails(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: whoever tells is not stopped by a store that cannot be written; the errand is entered later, once."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        errands = Errands(service)
        ends = [asked() for _ in range(20)]
        with full(service):
            for operation in ends:
                errands.operation(operation, Result(Outcome.REFUSED, None, "x" * 400))
        assert len(unseen(service)) < 20
        errands.flush()
        assert [each.op for each in unseen(service)] == [operation.op for operation in ends]
        monkeypatch.setattr(service.database, "commit_now", pytest.fail)
        errands.flush()


def test_so_many_wait(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is locked for long costs the oldest errands, not the memory."""
    monkeypatch.setattr("agent.fleet.notice_rows.LATE_MAX", 3)
    monkeypatch.setattr("agent.store.sqlite.BUSY_S", 0.0)
    with crew(quick_home) as them:
        service = them.agent("gw2")
        errands = Errands(service)
        ends = [asked() for _ in range(5)]
        with locked(quick_home):
            for operation in ends:
                errands.operation(operation, UNREACHABLE)
        errands.flush()
        assert [each.op for each in unseen(service)] == [operation.op for operation in ends[-3:]]


def test_a_store_that_cannot_be_read(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was heard last may be unreadable: the errand is kept all the same."""
    with crew(quick_home) as them:
        service = them.agent("gw2")

        def broken(_: str) -> None:
            raise StoreError("damaged")

        monkeypatch.setattr(service.journal, "story", broken)
        assert Errands(service).operation(asked(), DOUBT) is not None
        assert len(unseen(service)) == 1


def test_undeliverable_notices_are_shown_next(quick_home: Path) -> None:
    """A notice that could not be delivered is shown to whoever comes first, then to nobody, and is kept."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        look(service, fleet(pump=BLOCKED))
        assert unseen(service, "bob") == []  # it is on its way
        them.clock.pass_s(UNSENT_MAX.total_seconds())
        deliver(service)
        [message] = unseen(service, "bob")
        assert message.failure is None
        assert message.to is None
        assert "pump is unreachable" in lines([message])[0]
        Errands(service).shown([message])
        assert unseen(service, "ana") == []
        assert [each.n for each in Errands(service).messages("ana", 10)] == [message.n]
        assert message_json(message)["class"] is None


def test_lines(quick_home: Path) -> None:
    """A few are told in full with what to type, of more only how many there are and where."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        for _ in range(LINES_MAX + 2):
            Errands(service).operation(asked(), UNREACHABLE)
        told = lines(unseen(service))
        assert told[0] == "2 older: ackonce fleet messages"
        assert len(told) == LINES_MAX + 1
        assert told[-1] == (
            "2026-11-29T22:00:00.000Z pump: nothing of 'ADJUST offset +5' was sent: no route. "
            "When that is mended: ackonce send pump 'ADJUST offset +5'"
        )
        assert lines([]) == []


def test_the_look_at_each_command_is_cheap(quick_home: Path) -> None:
    """Among thousands of told rows the look finds its few by the index, in well under a millisecond."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        service.database.commit_now(
            lambda cursor: cursor.executemany(
                'INSERT INTO notice (about, kind, since, text, utc, "to", state, told) '
                "VALUES (?, 'errand refused', '', 'x', 'u', 'ana', 'shown', '{}')",
                [(str(number),) for number in range(4000)],
            )
        )
        Errands(service).operation(asked(), UNREACHABLE)
        errands = Errands(service)
        assert len(errands.unseen("ana")) == 1
        best_s = min(_timed(errands) for _ in range(20))
        assert best_s < 0.001


def _timed(errands: Errands) -> float:
    started_s = time.perf_counter()
    errands.unseen("ana")
    return time.perf_counter() - started_s


def test_damaged_rows(quick_home: Path) -> None:
    """An errand that makes no sense is a damaged store, said in words, and no crash."""
    with crew(quick_home) as them:
        service = them.agent("gw2")
        Errands(service).operation(asked(), UNREACHABLE)
        for told in ("no json", "[]", '{"class": "odd"}', '{"code": 1}'):
            service.database.commit_now(
                lambda cursor, told=told: cursor.execute("UPDATE notice SET told = ?", (told,)).rowcount  # type: ignore[misc]
            )
            with pytest.raises(StoreError, match="damaged"):
                unseen(service)


def test_a_locked_store_holds_nobody_up_twice(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marking as shown fails where another process does not come to an end; they are shown again then."""
    monkeypatch.setattr("agent.store.sqlite.BUSY_S", 0.0)
    with crew(quick_home) as them:
        service = them.agent("gw2")
        Errands(service).operation(asked(), UNREACHABLE)
        found = unseen(service)
        with locked(quick_home), pytest.raises(StoreError):
            Errands(service).shown(found)
        assert unseen(service) == found
