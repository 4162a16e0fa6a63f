"""What really happened in a world? Taken down by the world itself, from the wire and from the devices.

Nothing here is asked of the agent but what it wrote down itself, at the moment in which a copy leaves: whose copy is
this, by the journal? A copy that the journal does not know is a violation at once.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from logs.events import Event
from protocol.native.codes import Type
from protocol.native.frame import Frame, decode
from worlds.disk import Disk

_CMD = int(Type.CMD)
VIOLATION = "VIOLATION"
"""What the story calls it."""


class Phase(StrEnum):
    """What a process is about."""

    BEFORE = "before its copy"
    UNDER_WAY = "copy under way"
    SILENCE = "after silence"
    BETWEEN = "between operations"


_PHASES = {
    "sent": Phase.BEFORE,
    "timeout": Phase.SILENCE,
    "lost": Phase.SILENCE,
    "in_doubt": Phase.BETWEEN,
    "ack": Phase.BETWEEN,
    "duplicate_ack": Phase.BETWEEN,
    "not_sent": Phase.BETWEEN,
    "refused": Phase.BETWEEN,
    "settled": Phase.BETWEEN,
    "verify": Phase.BETWEEN,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story. `detail` are bytes where they went over a link."""

    at_s: float
    who: str
    what: str
    detail: str | bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a command that left, or half of one (`whole` is False); `mark` counts them from 0.

    `op` is the operation that the journal names for it. `session`, `seq` and `attempt` are None without numbers.
    """

    mark: int
    device: str
    op: str
    process: str
    at_s: float
    data: bytes
    whole: bool
    text: str
    session: int | None = None
    seq: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word that somebody was told about an operation. `proof` and `cause` are empty where there is none."""

    op: str
    outcome: str
    proof: str
    cause: str
    at_s: float
    process: str
    message: str


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a device, from that moment on."""

    at_s: float
    device: str
    name: str
    value: int


@dataclass(slots=True)
class History:
    """The record of one world.

    Attributes:
        now_s: The time.
        disk: The store.
        lines: The story.
        copies: Every copy that left, by its mark.
        words: Every word that was told.
        values: How the values of the devices moved.
        sent_in_log: By operation, how many copies the log tells of.
        hands: By operation, the processes that had it in hand.
        keys: By operation, the key it was asked for under.
        forgotten: Operations that a restored store does not know.
        violations: What must not happen.
        policies: By operation, its policy.
        phases: By process, what it is about.
        counts: How often what happened, as `coverage.py` names it.
        requests: How many requests the agents wrote.
    """

    now_s: Callable[[], float]
    disk: Disk
    lines: list[Line] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    sent_in_log: Counter[str] = field(default_factory=Counter)
    hands: dict[str, set[str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    policies: dict[str, str] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    _intents: set[tuple[str, int]] = field(default_factory=set)
    _standing: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, who: str, what: str, detail: str | bytes = "") -> None:
        """Something happened."""
        self.lines.append(Line(self.now_s(), who, what, detail))

    def violated(self, text: str) -> None:
        """Something happened that must not."""
        self.violations.append(text)
        self.note("checker", VIOLATION, text)

    def logged(self, process: str, event: Event) -> None:
        """The agent wrote a line of its log."""
        phase = _PHASES.get(event.event)
        if phase is not None:
            self.phases[process] = phase
        if event.op is not None:
            self.hands.setdefault(event.op, set()).add(process)
            if event.event in ("sent", "unsent"):
                self.sent_in_log[event.op] += 1 if event.event == "sent" else -1
        if event.level != "DEBUG":
            number = f"seq={event.seq} " if event.seq is not None else ""
            attempt = f"attempt={event.attempt} " if event.attempt is not None else ""
            self.note(
                process, "log", f"{event.device} {number}{attempt}{event.event} {event.text or ''}".rstrip()
            )

    def told(self, word: Word) -> None:
        """Somebody was told a word."""
        self.words.append(word)
        proof = f" ({word.proof or word.cause})" if word.proof or word.cause else ""
        self.note(word.process, "word", f"{word.op} {word.outcome}{proof} {word.message}")
        self.counts[f"word of {self.policies.get(word.op, '?')}: {word.outcome}"] += 1

    def saw(self, device: str, values: dict[str, int]) -> None:
        """The values of a device now."""
        for name, value in values.items():
            if self._standing.get((device, name)) != value:
                self._standing[device, name] = value
                self.values.append(Value(self.now_s(), device, name, value))

    def stood(self, device: str, name: str, from_s: float, to_s: float) -> list[int]:
        """The values that a setting had between two times, in order."""
        found: list[int] = []
        for each in self.values:
            if (each.device, each.name) == (device, name) and each.at_s <= to_s:
                if each.at_s <= from_s:
                    found.clear()
                found.append(each.value)
        return found

    def met(self, what: str) -> None:
        """Something around the processes happened."""
        self.counts[f"around: {what}"] += 1

    def stopped(self, process: str, how: str) -> None:
        """A process was killed or frozen."""
        self.counts[f"process {how}: {self.phases.get(process, Phase.BEFORE)}"] += 1

    # --- copies -------------------------------------------------------------------------------------------------------

    def leaves(self, process: str, device: str, data: bytes, *, numbered: bool, whole: bool) -> int | None:
        """A process writes to a device; the mark of the copy, None where it is no copy."""
        self.requests += 1
        self.note(process, f"to {device}", data)
        if not (_is_cmd(data) if numbered else not data.startswith(b"GET ")):
            return None
        frame = decode(data.strip(b"\0")) if numbered and whole else None
        copy = self._copy(process, device, data, frame, whole=whole)
        self.copies.append(copy)
        self.phases[process] = Phase.UNDER_WAY
        self._check(copy)
        return copy.mark

    def _copy(self, process: str, device: str, data: bytes, frame: Frame | None, *, whole: bool) -> Copy:
        text = frame.payload.decode() if frame is not None else data.decode(errors="replace").rstrip("\r\n")
        op = self._whose(device, text, frame, whole=whole)
        number = (frame.session, frame.seq, frame.attempt) if frame is not None else (None, None, None)
        return Copy(len(self.copies), device, op, process, self.now_s(), data, whole, text, *number)

    def _whose(self, device: str, text: str, frame: Frame | None, *, whole: bool) -> str:
        """The operation of a copy: its newest intent in the journal that has not left yet."""
        rows = self.disk.rows(
            "SELECT e.op, e.n, e.fields FROM operation o JOIN evidence e ON e.op = o.op "
            "WHERE o.name = ? AND e.kind = 'Sent' ORDER BY o.created_utc DESC, o.op DESC, e.n DESC",
            (device,),
        )
        for op, n, fields in rows:
            sent = json.loads(fields)
            if (op, n) in self._intents:
                continue
            if frame is not None:
                fits = (frame.session, frame.seq, frame.attempt) == (
                    sent["session"],
                    sent["seq"],
                    min(sent["attempt"], 255),
                )
            else:
                fits = sent["text"] == text or not whole
            if fits:
                self._intents.add((op, n))
                return str(op)
        self.violated(f"a copy of '{text}' left for {device}, and the journal has no intent of it")
        return "?"

    def store_changed(self) -> None:
        """The store is as it was earlier: intents of then may be written again."""
        known = {(op, n) for op, n in self.disk.rows("SELECT op, n FROM evidence WHERE kind = 'Sent'")}
        ops = {op for (op,) in self.disk.rows("SELECT op FROM operation")}
        self.forgotten |= {op for op, _ in self._intents} - ops
        self._intents &= known

    def _check(self, copy: Copy) -> None:
        """No changing command leaves while another one of the device is open or in doubt, nor without the lease."""
        holder = self.disk.rows(
            "SELECT d.holder FROM device d JOIN operation o ON o.device = d.id WHERE o.op = ?", (copy.op,)
        )
        holds = bool(holder) and holder[0][0] and json.loads(holder[0][0])["instance"] == copy.process
        if not holds:
            if copy.session is None:
                self.violated(
                    f"{copy.process} wrote '{copy.text}' to {copy.device}, which another process holds"
                )
            return
        others = self.disk.rows(
            "SELECT op, command FROM operation WHERE name = ? AND op != ? "
            "AND (outcome IS NULL OR outcome = 'in_doubt')",
            (copy.device, copy.op),
        )
        for op, command in others:
            self.violated(f"'{copy.text}' left for {copy.device} while {op} '{command}' was open or in doubt")


def _is_cmd(data: bytes) -> bool:
    return data.lstrip(b"\0")[2:3] == bytes((_CMD,))
