"""Which messages get lost? One seed gives one fate to the k-th message of each kind, whoever sends it.

A device counts a message when it arrives there. Its fate is drawn by its kind and number alone, never by what came in
between, so that two clients that send different readings still meet the same losses of commands.
"""

import random
from collections.abc import Iterator
from itertools import groupby

MESSAGES_MAX = {"cmd": 100, "read": 400, "hello": 60, "open": 60, "nop": 60, "query": 60}
"""Kinds of messages, and how many of each have a fate; none beyond is lost."""

TEXT_KINDS = ("cmd", "read")
LSQ1_KINDS = tuple(MESSAGES_MAX)


def fault_plan(seed: int, loss: int, kinds: tuple[str, ...]) -> str:
    """A fault plan of `ackonce simulate device`.

    Args:
        seed: decides everything.
        loss: percent of acks that get lost; of the requests half as many.
        kinds: of messages, as the device's tongue has them.
    """
    return "; ".join(clause for kind in kinds for clause in _clauses(seed, loss, kind))


def _clauses(seed: int, loss: int, kind: str) -> Iterator[str]:
    luck = random.Random(f"{seed} {kind}")  # noqa: S311 - repeatable, not secret
    fates = [_fate(luck, loss) for _ in range(MESSAGES_MAX[kind])]
    number = 1
    for fate, alike in groupby(fates):
        last = number + len(list(alike)) - 1
        if fate is not None:
            which = f"{number}-{last}" if last > number else number
            yield f"{kind} {which}: {fate}"
        number = last + 1


def _fate(luck: random.Random, loss: int) -> str | None:
    """Two draws for each message, so that more losses are lost besides, not instead."""
    request_lost, ack_lost = luck.random() < loss / 200, luck.random() < loss / 100
    return "drop_request" if request_lost else "drop_ack" if ack_lost else None
