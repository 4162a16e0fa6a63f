"""How does an error reach whoever asked, also where another agent, or a job at night, did the work?

An errand is a row for one person (`submitted_by`, or whoever added a job): what failed, of which class, whether they
can act and what to type. It is kept when an operation or a turn ended other than well in a process that is not that
person's own command, once per operation and word. It waits until that person types a command on this store, is shown
there in a line, and counts as shown then: whoever is not there now loses nothing. Undeliverable notices, which are for
everybody, are shown the same way to whoever comes first.

Failures of ours bear a reference; what stands under it in the log is not for a row that a person reads.
"""

import secrets
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent.evidence import Unknown
from agent.fleet.damage import making_sense
from agent.fleet.failures import (
    Failure,
    FailureClass,
    class_of,
    failure_of,
    failure_of_error,
    failure_of_turn,
)
from agent.fleet.notice_rows import LateRows, New, State, told_in
from agent.operation import Operation, Result
from agent.service import Service
from agent.store.database import Cursor, Row, StoreError
from logs.events import Event
from logs.text import escape

LINES_MAX = 3
"""So many are told one by one at a command; of more, where they are."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a person is to see: an errand of theirs, or an undeliverable notice (`to` and `failure` are None).

    `seq` and `attempt`: of the last copy. `agent`: where it happened.
    """

    n: int
    to: str | None
    about: str
    text: str
    utc: str
    state: State
    failure: Failure | None
    agent: str | None
    device: str | None
    op: str | None
    run: str | None
    seq: int | None
    attempt: int | None


class Errands:
    """The errands of one store, as one process sees them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._db = service.database
        self._late = LateRows(service)

    # --- keeping ------------------------------------------------------------------------------------------------------

    def operation(self, operation: Operation, result: Result) -> Failure | None:
        """Keep an errand for whoever asked for an operation; None, and nothing is kept, where it ended well.

        Survives a store that cannot be written now: it is kept at the next call, or `flush`.
        """
        failure = failure_of(
            operation, result, reference=_reference(), garbled=self._is_garbled(operation, result)
        )
        if failure is None:
            return None
        self._log(failure, result.message, operation)
        self._keep(
            operation.submitted_by, operation.op, "", failure,
            device=operation.device, op=operation.op, run=operation.run, seq=result.seq, attempt=result.attempts,
        )  # fmt: skip
        return failure

    def turn(
        self,
        job: str,
        key: str,
        state: str,
        note: str,
        *,
        to: str,
        run: str | None = None,
        steps: Iterable[tuple[Operation, Result]] = (),
    ) -> Failure | None:
        """Keep an errand for whoever wants a job's turn, and one for each step of it that failed.

        Args:
            job: its name.
            key: the turn's key, its due time.
            state: what it has come to, as `plans/turns.py` has it.
            note: the sentence about it.
            to: whoever added the job, or began the turn.
            run: the id of its run.
            steps: the operations of the run and their words.

        Returns:
            The turn's failure; None where it went well.
        """
        failures = [failed.kind for step in steps if (failed := self.operation(*step)) is not None]
        failure = failure_of_turn(job, state, note, run=run, steps=failures, reference=_reference())
        if failure is None:
            return None
        self._log(failure, f"job {job} of {key}: {note}", None, run)
        self._keep(to, f"job:{job}", key, failure, run=run)
        return failure

    def error(self, problem: BaseException, operation: Operation) -> Failure:
        """Keep an errand for whoever asked for an operation that an exception ended, with all that is known of it."""
        case = self._service.in_hand.get(operation.op)
        copies = case.copies() if case is not None else []
        left = self._service.may_have_left(operation)
        failure = failure_of_error(problem, operation, left=left, reference=_reference())
        self._log(failure, _where(problem), operation)
        self._keep(
            operation.submitted_by, operation.op, "", failure, device=operation.device, op=operation.op,
            run=operation.run, seq=copies[-1].seq if copies else None, attempt=len(copies),
        )  # fmt: skip
        return failure

    def flush(self) -> None:
        """Keep what could not be kept before. Raises StoreError."""
        self._late.flush()

    def _is_garbled(self, operation: Operation, result: Result) -> bool:
        """Whether the last copy was answered with what makes no sense."""
        if class_of(result) is not FailureClass.TRANSPORT:
            return False
        try:
            story = self._service.journal.story(operation.op)
        except StoreError:
            return False
        ended = [fact.how for _, fact, _ in story if isinstance(fact, Unknown)]
        return ended[-1:] == ["indeterminate"]

    def _log(
        self, failure: Failure, detail: str, operation: Operation | None, run: str | None = None
    ) -> None:
        """The detail of a failure of ours, under its reference."""
        if failure.reference is None:
            return
        self._service.log.write(
            Event(
                ts=self._service.clock.stamp(),
                level="ERROR",
                event="note",
                op=operation.op if operation is not None else None,
                run=operation.run if operation is not None else run,
                device=operation.device if operation is not None else None,
                agent=self._service.holder.agent,
                text=f"{failure.reference}: {detail}",
            )
        )

    def _keep(self, to: str, about: str, since: str, failure: Failure, **context: object) -> None:
        told = {
            "class": failure.kind.value,
            "code": failure.code,
            "action": failure.action,
            "reference": failure.reference,
            "agent": self._service.holder.agent,
        } | context
        name = context.get("device")
        text = f"{name}: {failure.text}" if isinstance(name, str) else failure.text
        self._late.enter(
            New(about, f"errand {failure.code}", since, escape(text), self._service.clock.stamp(), to, told)
        )

    # --- showing ------------------------------------------------------------------------------------------------------

    def unseen(self, person: str) -> list[Message]:
        """What a person has not been shown yet, oldest first. One look into an index. Raises StoreError."""
        return [self._message(row) for row in self._db.read(_UNSEEN, (person,))]

    def messages(self, person: str, limit: int) -> list[Message]:
        """All that is kept for a person, newest first, so many at most. Raises StoreError."""
        return [self._message(row) for row in self._db.read(_ALL, (person, limit))]

    def shown(self, messages: Sequence[Message]) -> None:
        """Messages have been shown to whoever they are for, or told of. Raises StoreError."""
        if not messages:
            return

        def write(cursor: Cursor) -> None:
            cursor.executemany(
                "UPDATE notice SET state = 'shown' WHERE n = ? AND state IN ('due', 'undeliverable')",
                [(each.n,) for each in messages],
            )

        self._db.commit_loosely(write)

    def _message(self, row: Row) -> Message:
        n, to, about, text, utc, state, told_text = row
        told, failure = told_in(self._db, told_text), None
        with making_sense(self._db, "its errands"):
            if to is not None:
                kind = FailureClass(told["class"])
                failure = Failure(kind, told["code"], text, told["action"], told["reference"])
            return Message(
                n=n, to=to, about=about, text=text, utc=utc, state=State(state), failure=failure,
                agent=told.get("agent"), device=told.get("device"), op=told.get("op"), run=told.get("run"),
                seq=told.get("seq"), attempt=told.get("attempt"),
            )  # fmt: skip


_COLUMNS = 'n, "to", about, text, utc, state, told'
_UNSEEN = f"""SELECT {_COLUMNS} FROM notice WHERE state IN ('due', 'undeliverable')
    AND ("to" = ? OR ("to" IS NULL AND state = 'undeliverable')) ORDER BY n"""  # noqa: S608 - our own columns
_ALL = f"""SELECT {_COLUMNS} FROM notice
    WHERE "to" = ? OR ("to" IS NULL AND state IN ('undeliverable', 'shown')) ORDER BY n DESC LIMIT ?"""  # noqa: S608


def lines(messages: Sequence[Message], limit: int = LINES_MAX) -> list[str]:
    """Messages as a person reads them: the newest ones, and how many more there are."""
    told = [
        f"{each.utc} {each.text}"
        + (f". {each.failure.action}" if each.failure and each.failure.action else "")
        for each in messages[-limit:]
    ]
    more = len(messages) - len(told)
    return [*([f"{more} older: ackonce fleet messages"] if more else []), *told]


def message_json(message: Message) -> dict[str, Any]:
    """A message as an object, for `--json`."""
    failure = message.failure
    return {
        "schema": 1,
        "ts": message.utc,
        "to": message.to,
        "about": message.about,
        "class": failure.kind.value if failure is not None else None,
        "code": failure.code if failure is not None else None,
        "message": message.text,
        "actionable": failure.actionable if failure is not None else None,
        "action": failure.action if failure is not None else None,
        "reference": failure.reference if failure is not None else None,
        "agent": message.agent,
        "device": message.device,
        "op": message.op,
        "run": message.run,
        "seq": message.seq,
        "attempt": message.attempt,
        "state": message.state.value,
    }


def _reference() -> str:
    """A new name for a detail in the log; nobody else has it."""
    return f"E-{secrets.token_hex(4)}"


def _where(problem: BaseException) -> str:
    """What an exception says and where it was raised."""
    frames = traceback.extract_tb(problem.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(problem).__name__}: {problem}{at}"
