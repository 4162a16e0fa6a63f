"""What is taken down of the operations of a world: what was wanted, what left, what was said, what a person saw?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a command that left, or half of one (`whole` is False); `mark` counts them from 0.

    `line` is its place in the story. `op` is the operation that the journal names for it, `intent` the fact of that
    operation, and `number` what the journal counts it as. `session`, `seq` and `attempt` are None without numbers.
    """

    mark: int
    line: int
    device: str
    op: str
    process: str
    at_s: float
    data: bytes
    whole: bool
    text: str
    intent: int | None
    number: int | None
    session: int | None = None
    seq: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word that somebody was told about an operation, with its figures; `line` is its place in the story.

    `proof` and `cause` are empty where there is none.
    """

    op: str
    line: int
    outcome: str
    proof: str
    cause: str
    at_s: float
    process: str
    message: str
    seq: int | None
    attempts: int
    before: str | None
    expected: str | None
    value: str | None

    @property
    def figures(self) -> tuple[object, ...]:
        """What is said of the operation itself, whoever says it when."""
        return self.outcome, self.proof, self.seq, self.attempts, self.before, self.expected, self.value


@dataclass(frozen=True, slots=True)
class Wanted:
    """An operation as somebody asked for it.

    `setting` is the one that it is read back by, if any; `stops`: the profile says that it stops at its ends.
    `based`: it is read before the first copy.
    """

    op: str
    device: str
    command: str
    policy: str
    at_s: float
    line: int
    setting: str | None
    stops: bool
    based: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person saw at a device, and so decided."""

    at_s: float
    applied: bool


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a device, from that moment on."""

    at_s: float
    device: str
    name: str
    value: int
