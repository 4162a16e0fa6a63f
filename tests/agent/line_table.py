"""What becomes of each kind of command on plain equipment, whatever goes wrong with its first copy?

One table: rows are the faults, columns the commands, cells the word, what it stands on, how many copies were written
and how often the device carried the command out by its own ledger. Once over a connection that reopening cuts and once
over a serial line, where they differ. It is played in virtual time and over real sockets and ports.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.operation import Outcome, Proof

_COMMANDS = {
    "SET": "SET interval 30",
    "ADJUST form": "ADJUST offset +5",
    "ADJUST verify": "ADJUST level +2",
    "RESET": "RESET counter",
    "ROTATE": "ROTATE log",
    "BEEP": "BEEP",
}
_POLICIES = ("resend", "read-then-set", "get-verify", "get-verify", "get-verify", "no-retry")
_EFFECTS = {"ADJUST offset +5": "SET offset 15"}
"""What the device is told instead, where that is another text."""

# A cell: applied by (a)ck or (v)erify, (n)ot applied, or in (d)oubt; copies written; executions in the ledger.
_TABLE = """
fault           | over | SET   | form  | verify | RESET | ROTATE | BEEP
lost request    | both | a 2 1 | a 2 1 | a 2 1  | a 2 1 | a 2 1  | d 1 0
lost ack        | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
late ack        | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
ack past next   | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
cut             | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
freeze          | both | a 2 2 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
boot before     | both | a 2 1 | a 2 1 | d 1 0  | a 2 1 | a 2 1  | d 1 0
boot after      | both | a 2 2 | v 1 1 | d 1 1  | v 1 1 | v 1 1  | d 1 1
all acks lost   | both | v 3 3 | v 1 1 | v 1 1  | v 1 1 | v 1 1  | d 1 1
all copies lost | both | d 3 0 | n 3 0 | n 3 0  | n 3 0 | n 3 0  | d 1 0
"""
_WORDS = {
    "a": (Outcome.APPLIED, Proof.ACK),
    "v": (Outcome.APPLIED, Proof.VERIFIED),
    "d": (Outcome.IN_DOUBT, None),
    "n": (Outcome.NOT_APPLIED, Proof.VERIFIED),
}


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A fault plan; `{}` in it stands for `lasts_s`, for which it goes on where an answer may take 0.5 s."""

    plan: str
    lasts_s: float = 0.0


_TROUBLES: Mapping[str, _Trouble] = {
    "lost request": _Trouble("cmd 1: drop_request"),
    "lost ack": _Trouble("cmd 1: drop_ack"),
    "late ack": _Trouble("cmd 1: delay {}", 0.8),
    "ack past next": _Trouble("cmd 1: hold {}", 2.9),
    "cut": _Trouble("cmd 1: cut"),
    "freeze": _Trouble("cmd 1: freeze {}", 1.2),
    "boot before": _Trouble("cmd 1: reboot_before"),
    "boot after": _Trouble("cmd 1: reboot_after"),
    "all acks lost": _Trouble("cmd *: drop_ack"),
    "all copies lost": _Trouble("cmd *: drop_request"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One case of the table.

    Attributes:
        name: Fault, carrier and column.
        carrier: `tcp` or `pty`.
        words: What is typed.
        effect: What the device is told.
        policy: By which it is sent.
        word: The outcome, and what it stands on.
        copies: How many are written.
        executions: How often the device's ledger has the effect, after everything late has arrived.
    """

    name: str
    carrier: str
    words: str
    effect: str
    policy: str
    word: tuple[Outcome, Proof | None]
    copies: int
    executions: int
    _trouble: _Trouble

    def faults(self, pace: float = 1.0) -> str:
        """The fault plan, where all times are `pace` times those of half a second for an answer."""
        return self._trouble.plan.format(self.lasts_s(pace))

    def lasts_s(self, pace: float = 1.0) -> float:
        """After so many seconds what the fault holds back has arrived."""
        return self._trouble.lasts_s * pace


def cells() -> list[Cell]:
    """The table's cases."""
    found = []
    for line in _TABLE.strip().splitlines()[1:]:
        fault, over, *row = (part.strip() for part in line.split("|"))
        for carrier in ("tcp", "pty") if over == "both" else (over,):
            for (column, words), policy, cell in zip(_COMMANDS.items(), _POLICIES, row, strict=True):
                word, copies, executions = cell.split()
                found.append(
                    Cell(
                        name=f"{fault}, {carrier}, {column}",
                        carrier=carrier,
                        words=words,
                        effect=_EFFECTS.get(words, words),
                        policy=policy,
                        word=_WORDS[word],
                        copies=int(copies),
                        executions=int(executions),
                        _trouble=_TROUBLES[fault],
                    )
                )
    return found
