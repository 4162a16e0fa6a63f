"""Are the words of a client true? They are held against the ledger of the device, and against nothing else.

Rule 1. A command that counts every time took effect as often as it was said to: each doubt may be one more.
Rule 2. A command that sets a value may run more often than it was said to, but not without having been said to.
Rule 3. The device executed nothing else than what the client wrote.
Rule 4. The value that the relative commands move stands where the words say that it stands.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.cli.demo.stand_ins import Counted

YES = frozenset({"applied", "ok"})
DOUBT = "in_doubt"
MOVED, MOVED_FROM = "offset", 10
"""What `ADJUST offset` moves, and where it stands on a fresh device."""


@dataclass(frozen=True, slots=True)
class Said:
    """How a client ended one command.

    `texts` are those of the copies that it wrote. `absolute`: they set a value, so that a second one changes nothing.
    `proof` and `why` are the agent's: what its word stands on.
    """

    command: str
    word: str
    texts: frozenset[str]
    absolute: bool
    proof: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One command: how often it was asked for, which words were said, how often the device executed it.

    `difference`: executions that no word accounts for, or with a minus those that are missing.
    """

    command: str
    asked: int
    said: Mapping[str, int]
    executed: int
    difference: int

    @property
    def applied(self) -> int:
        """How often it was said to have taken effect."""
        return sum(number for word, number in self.said.items() if word in YES)


@dataclass(frozen=True, slots=True)
class Account:
    """All that one client said about one device, and what the device counted. `way`: of the link between them."""

    client: str
    device: str
    way: str
    said: Sequence[Said]
    counted: Counted

    @property
    def lines(self) -> list[Line]:
        """One line per command, in the order in which they were asked for first."""
        return [self._line(command) for command in dict.fromkeys(said.command for said in self.said)]

    def _line(self, command: str) -> Line:
        mine = [said for said in self.said if said.command == command]
        words = Counter(said.word for said in mine)
        texts = {command}.union(*(said.texts for said in mine))
        executed = sum(self.counted.executed.get(text, 0) for text in texts)
        low = sum(number for word, number in words.items() if word in YES)
        high = low + words[DOUBT]
        harmless = high > 0 and all(said.absolute for said in mine)
        surplus = 0 if harmless else max(0, executed - high)
        return Line(command, len(mine), words, executed, surplus or min(0, executed - low))

    @property
    def unasked(self) -> dict[str, int]:
        """What the device executed though this client never wrote it."""
        known = {said.command for said in self.said}.union(*(said.texts for said in self.said))
        return {text: number for text, number in self.counted.executed.items() if text not in known}

    @property
    def value_believed(self) -> int | None:
        """Where MOVED stands by the client's words; None where a doubt leaves it open."""
        moves = [said for said in self.said if said.command.startswith(f"ADJUST {MOVED} ")]
        if any(said.word == DOUBT for said in moves):
            return None
        return MOVED_FROM + sum(int(said.command.split()[-1]) for said in moves if said.word in YES)

    @property
    def value_counted(self) -> int | None:
        """Where MOVED stands by the device; None where it has none."""
        value = self.counted.values.get(MOVED)
        return int(value) if value is not None else None

    @property
    def value_true(self) -> bool:
        """Whether both are the same, as far as the words say anything."""
        return self.value_believed in (None, self.value_counted)

    @property
    def unknown(self) -> int:
        """Executions that the client does not know of: no word accounts for them."""
        return sum(max(0, line.difference) for line in self.lines) + sum(self.unasked.values())

    @property
    def missing(self) -> int:
        """Executions that were said and never took place."""
        return -sum(min(0, line.difference) for line in self.lines)

    @property
    def true(self) -> bool:
        """Whether every word is true."""
        return not self.unknown and not self.missing and self.value_true
