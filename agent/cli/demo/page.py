"""What does a person read at the end? One table, one verdict, one picture; plain text without colour.

At most WIDTH columns, on a terminal and in a pipe alike; only the picture takes more where there is more. Everything is
told from accounts (`tally.py`): what was said, and what the devices counted themselves.
"""

import shutil
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.cli import output
from agent.cli.demo.tally import DOUBT, MOVED, MOVED_FROM, YES, Account, Line
from logs.picture import ASCII, LINES, LINES_USED, Picture, as_text

WIDTH = 80
PICTURE_WIDTH_MAX = 100

_GAP, _GAP_OF_ACCOUNTS = 2, 3
_SETTLED = {
    "verified": "by reading the value back",
    "duplicate_ack": "by the device, which knew the repeat",
    "settled": "by the device's memory of its last command",
}
"""What a word stands on, by the agent's proof, where the first ack did not come."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the demo found: `naive` shows what goes wrong without the agent, `ours` what it claims itself."""

    seed: int
    loss: int
    naive: Account
    ours: Sequence[Account]
    picture: Picture | None

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All of them, in the order of the columns."""
        return (self.naive, *self.ours)

    @property
    def true(self) -> bool:
        """Whether every word of the agent is true."""
        return all(account.true for account in self.ours)


def as_json(found: Comparison) -> dict[str, Any]:
    """The one object of `--json`: numbers are numbers, values as the device has them."""
    return {
        "seed": found.seed,
        "loss": found.loss,
        "true": found.true,
        "devices": [
            {
                "client": account.client,
                "device": account.device,
                "lost": account.counted.lost,
                "values": dict(account.counted.values),
                "commands": [
                    {"command": line.command, "asked": line.asked, "said": dict(line.said), "executed": line.executed}
                    for line in account.lines
                ],
                "unasked": account.unasked,
            }
            for account in found.accounts
        ],
    }  # fmt: skip


def lines(found: Comparison) -> Iterator[str]:
    """The whole page."""
    yield from _table(found.accounts)
    yield "says: the client's word; did: the device's own count (+1: once more than said)"
    yield ""
    for sentence in (*_of_the_naive(found.naive), *_of_the_agent(found), *_of_the_losses(found)):
        yield from textwrap.wrap(sentence, WIDTH, subsequent_indent=" " * _GAP, break_on_hyphens=False)
    if found.picture is not None:
        yield ""
        yield "No ack, as ackonce trace draws it; the agent only hears silence:"
        yield ""
        yield from _drawn(found.picture)


# --- the table --------------------------------------------------------------------------------------------------------


def _table(accounts: Sequence[Account]) -> Iterator[str]:
    """A row per command: how often it was asked for, then for each account the word and the device's own count."""
    commands = list(dict.fromkeys(line.command for account in accounts for line in account.lines))
    unasked = list(dict.fromkeys(text for account in accounts for text in account.unasked))
    head = ["command", "asked", *(heading for _ in accounts for heading in ("says", "did"))]
    body = [_row(command, accounts) for command in commands] + [_unasked(text, accounts) for text in unasked]
    lost = [cell for account in accounts for cell in ("", str(account.counted.lost))]
    foot = [_value_row(accounts), ["messages lost", "", *lost]]
    widths = [max(len(row[at]) for row in (head, *body, *foot)) for at in range(len(head))]
    for at, account in enumerate(accounts):
        title = max(map(len, _titles(account)))
        widths[2 + 2 * at] = max(widths[2 + 2 * at], title - widths[3 + 2 * at] - _GAP)
    rule = "-" * len(_under(widths, ["-" * width for width in widths]))
    for titles in zip(*map(_titles, accounts), strict=True):
        yield _under(widths, ["", "", *(cell for title in titles for cell in (title, ""))])
    yield _under(widths, head)
    for rows in (body, foot):
        yield rule
        yield from (_under(widths, row) for row in rows)


def _titles(account: Account) -> tuple[str, str, str]:
    return account.client, account.device, account.way


def _row(command: str, accounts: Sequence[Account]) -> list[str]:
    found = [line for account in accounts for line in account.lines if line.command == command]
    pairs = [(_says(line), f"{line.executed}{_mark(line.difference)}") for line in found]
    return [command, str(found[0].asked), *(cell for pair in pairs for cell in pair)]


def _unasked(text: str, accounts: Sequence[Account]) -> list[str]:
    counts = [account.unasked.get(text, 0) for account in accounts]
    return [text, "0", *(cell for count in counts for cell in ("", f"{count}{_mark(count)}"))]


def _value_row(accounts: Sequence[Account]) -> list[str]:
    cells = [f"{MOVED}, from {MOVED_FROM}", ""]
    for account in accounts:
        said, counted = account.value_believed, account.value_counted
        difference = counted - said if said is not None and counted is not None else 0
        cells += ["?" if said is None else str(said), f"{counted}{_mark(difference)}"]
    return cells


def _says(line: Line) -> str:
    """One word for all that was said about a command; where there are several, how many times it was a yes."""
    words = [word for word, number in line.said.items() if number]
    return words[0].replace("_", " ") if len(words) == 1 else f"{line.applied} of {line.asked}"


def _mark(difference: int) -> str:
    return f" {difference:+d}" if difference else ""


def _under(widths: Sequence[int], cells: Sequence[str]) -> str:
    """Cells under each other, the second to the right; a title runs on into the empty cell behind it."""
    text, at = "", 0
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text = text.ljust(at) + (cell.rjust(width) if number == 1 else cell)
        at += width + (_GAP_OF_ACCOUNTS if number % 2 else _GAP)
    return text.rstrip()


# --- the sentences ----------------------------------------------------------------------------------------------------


def _of_the_naive(account: Account) -> Iterator[str]:
    yes = sum(line.applied for line in account.lines)
    wrong = [
        f"{number} {'effect' if number == 1 else 'effects'} {how}"
        for number, how in ((account.unknown, "more than that"), (account.missing, "missing"))
        if number
    ]
    if not account.value_true:
        wrong.append(f"{MOVED} {account.value_counted} instead of {account.value_believed}")
    told = ", ".join(wrong) or "no harm done with these losses"
    yield f"Blind resends: {yes} of {len(account.said)} ok; {told}."
    if any(line.executed > line.applied > 0 and not line.difference for line in account.lines):
        yield "(SET more often is harmless: it sets a value.)"


def _of_the_agent(found: Comparison) -> Iterator[str]:
    if found.true:
        yield "ackonce: no effect too many, and every word is true by the devices' own counts."
    else:
        yield (
            f"ackonce: what it says is NOT what the devices count. Please report this, with the seed: "
            f"ackonce demo --seed {found.seed} --loss {found.loss}"
        )
    settled = [sentence for account in found.ours if (sentence := _settled(account))]
    if settled:
        yield f"No ack at first, and settled all the same: {'; '.join(settled)}."
    for account in found.ours:
        yield from _unhappy(account)


def _settled(account: Account) -> str:
    proofs = Counter(said.proof for said in account.said if said.word in YES)
    told = [f"{proofs[proof]} {how}" for proof, how in _SETTLED.items() if proofs[proof]]
    return f"{', '.join(told)} ({account.device})" if told else ""


def _unhappy(account: Account) -> Iterator[str]:
    """Every word that is no yes, with its reason."""
    groups: Mapping[tuple[str, str], list[str]] = defaultdict(list)
    for said in account.said:
        if said.word not in YES:
            groups[said.word, said.why].append(said.command)
    for (word, why), commands in groups.items():
        what = f"{len(commands)} {word.replace('_', ' ')}: {', '.join(commands)} ({account.device}; {why})."
        yield f"{what} {_ON_A_DOUBT}" if word == DOUBT else what


_ON_A_DOUBT = "Nobody can know, so it is not sent again; a person looks."


def _of_the_losses(found: Comparison) -> Iterator[str]:
    yield (
        f"Same losses (seed {found.seed}): {found.loss} % of acks, {found.loss / 2:g} % of requests. "
        "The k-th copy of a command to arrive has the same fate on each device. "
        "What the agent asks besides (readings, identity) gets lost as often."
    )


def _drawn(picture: Picture) -> list[str]:
    width = min(shutil.get_terminal_size().columns, PICTURE_WIDTH_MAX) if output.on_terminal() else WIDTH
    return as_text(picture, width, LINES if output.can_show(LINES_USED) else ASCII)
