"""What really happened in a world? Taken down by the world itself, from the wire and from the devices.

Nothing here is asked of the agent but what it wrote down itself, at the moment in which a copy leaves: whose copy is
this, by the journal? A copy that the journal does not know is a violation at once.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from logs.events import Event
from protocol.native.frame import Frame, decode
from worlds.disk import Disk
from worlds.records import Copy, Decision, Value, Wanted, Word
from worlds.tongues import Tongue

VIOLATION = "VIOLATION"
"""What the story calls it."""
STRUCK_MAX = 6
"""So much of what struck is named beside a violation."""
_STRIKES = frozenset(
    ["fault", "strike", "boot", "power", "panel", "unplugged", "clock", "dead", "leaves", "frozen", "restored"]
)  # fmt: skip
"""The words of the story for what goes wrong."""
_OP = re.compile(r"\bOP\d+")


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
        wanted: By operation, what somebody asked for.
        decisions: By operation, what persons decided, in order.
        phases: By process, what it is about.
        counts: How often what happened before everything was healed, as `coverage.py` names it.
        healed: Nothing goes wrong any more, so nothing counts.
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
    wanted: dict[str, Wanted] = field(default_factory=dict)
    decisions: dict[str, list[Decision]] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    healed: bool = False
    requests: int = 0
    _intents: set[tuple[str, int]] = field(default_factory=set)
    _standing: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, who: str, what: str, detail: str | bytes = "") -> None:
        """Something happened."""
        self.lines.append(Line(self.now_s(), who, what, detail))

    def violated(self, text: str) -> None:
        """Something happened that must not."""
        self.violations.append(self.in_full(text))
        self.note("checker", VIOLATION, self.violations[-1])

    def in_full(self, violation: str) -> str:
        """A violation of an operation, with what was asked for, what was sent for it, and what struck meanwhile."""
        named = _OP.search(violation)
        wanted = self.wanted.get(named[0]) if named is not None else None
        if wanted is None:
            return violation
        copies = [copy for copy in self.copies if copy.op == wanted.op]
        sent = Counter(copy.text if copy.whole else "half a line" for copy in copies)
        told = [f"'{text}' {n} times" if n > 1 else f"'{text}'" for text, n in sent.items()]
        struck = self._struck(wanted)
        more = [f"and {len(struck) - STRUCK_MAX} more"] if len(struck) > STRUCK_MAX else []
        return (
            f"{violation} (asked for: '{wanted.command}' on {wanted.device}, by {wanted.policy}; "
            f"sent: {', '.join(told) or 'nothing'}; "
            f"struck meanwhile: {', '.join(struck[:STRUCK_MAX] + more) or 'nothing'})"
        )

    def _struck(self, wanted: Wanted) -> list[str]:
        """What went wrong around an operation until its last word."""
        hands = self.hands.get(wanted.op, set())
        last = max((word.line for word in self.words if word.op == wanted.op), default=len(self.lines))
        return [
            f"{line.at_s:.3f} s {line.who} {line.what} {line.detail!s}".rstrip()
            for line in self.lines[wanted.line : last]
            if line.what in _STRIKES and (line.who in (wanted.device, "world") or line.who in hands)
        ]

    def asks(self, who: str, wanted: Wanted) -> None:
        """Somebody asks for an operation."""
        self.wanted[wanted.op] = wanted
        self.note(who, "asks", f"{wanted.op}: {wanted.command} on {wanted.device} by {wanted.policy}")

    def decides(self, who: str, op: str, *, applied: bool) -> None:
        """A person decides what is in doubt, after looking at the device."""
        self.decisions.setdefault(op, []).append(Decision(self.now_s(), applied))
        self.note(who, "decides", f"{op}: {'applied' if applied else 'not applied'}")

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
        if word.proof != "person":
            self._count(f"word of {self._policy(word.op)}: {word.outcome}")

    def _policy(self, op: str) -> str:
        return self.wanted[op].policy if op in self.wanted else "?"

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
        self._count(f"around: {what}")

    def stopped(self, process: str, how: str) -> None:
        """A process was killed or frozen."""
        self._count(f"process {how}: {self.phases.get(process, Phase.BEFORE)}")

    def _count(self, what: str) -> None:
        if not self.healed:
            self.counts[what] += 1

    # --- copies -------------------------------------------------------------------------------------------------------

    def leaves(self, process: str, device: str, request: bytes, data: bytes, *, tongue: Tongue) -> int | None:
        """A process writes to a device; the mark of the copy, None where it is no copy.

        `data` is what of the request left: all of it, or half.
        """
        self.requests += 1
        self.note(process, f"to {device}", data)
        if not tongue.changes(request):
            return None
        copy = self._copy(process, device, request, data, tongue)
        self.copies.append(copy)
        self.phases[process] = Phase.UNDER_WAY
        self._check(copy)
        return copy.mark

    def _copy(self, process: str, device: str, request: bytes, data: bytes, tongue: Tongue) -> Copy:
        whole, text = data == request, tongue.text(request)
        frame = decode(data.strip(b"\0")) if tongue.numbered and whole else None
        op, intent, number = self._whose(device, text, frame, tongue)
        numbers = (frame.session, frame.seq, frame.attempt) if frame is not None else (None, None, None)
        mark, line = len(self.copies), len(self.lines) - 1
        return Copy(
            mark, line, device, op, process, self.now_s(), data, whole, text, intent, number, *numbers
        )  # fmt: skip

    def _whose(
        self, device: str, text: str, frame: Frame | None, tongue: Tongue
    ) -> tuple[str, int | None, int | None]:
        """The operation of a copy, its intent and the number in that: the newest in the journal that has not left."""
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
                fits = tongue.entered(sent["text"]) == text
            if fits:
                self._intents.add((op, n))
                return str(op), n, sent["seq"]
        self.violated(f"a copy of '{text}' left for {device}, and the journal has no intent of it")
        return "?", None, None

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
