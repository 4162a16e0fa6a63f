"""Does the checker see every lie? A true world's record is falsified, and it has to object."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.equipment import Controller
from simulator.ledger import Execution
from worlds.checker import judge
from worlds.course import anything_goes
from worlds.healing import heal
from worlds.history import Word
from worlds.loop import WorldLoop
from worlds.plan import NOTHING_CUT, Limits, plan_of
from worlds.world import World

SEED = 11
LIMITS = Limits(devices=1, agents=1, faults=frozenset({"drop_ack", "crash"}))


def played(falsify: Callable[[World], None], seed: int = SEED) -> list[str]:
    """What the checker says of a world whose record was falsified."""

    async def main() -> list[str]:
        world = World(plan_of(seed, LIMITS), NOTHING_CUT)
        await anything_goes(world)
        await heal(world)
        assert judge(world) == []
        assert world.history.violations == []
        falsify(world)
        return [*world.history.violations, *judge(world)]

    loop = WorldLoop()
    try:
        return loop.run_until_complete(main())
    finally:
        loop.end()


def applied(world: World) -> Word:
    """A word about a cumulative command that took effect and was acked."""
    cumulative = {op for (op,) in world.disk.rows("SELECT op FROM operation WHERE class = 'cumulative'")}
    return next(word for word in world.history.words if word.op in cumulative and word.proof == "ack")


def _executed_again(world: World) -> None:
    road = world.roads["d0"]
    op = applied(world).op
    copy = next(copy for copy in world.history.copies if copy.op == op)
    entry = next(
        each for each in road.device.ledger.entries if (copy.seq is None and each.seq == copy.mark) or
        (each.session, each.seq) == (copy.session, copy.seq)
    )  # fmt: skip
    road.device.ledger.append(replace(entry, n=len(road.device.ledger) + 1))


def _executed_by_nobody(world: World) -> None:
    ledger = world.roads["d0"].device.ledger
    ledger.append(Execution(len(ledger) + 1, "BEEP", "", 1, 1, 9_999, 1.0) if ledger.entries[0].session else
                  Execution(len(ledger) + 1, "BEEP", "", 1, None, None, 1.0))  # fmt: skip


def _said(outcome: str) -> Callable[[World], None]:
    def falsify(world: World) -> None:
        word = applied(world)
        world.history.words.append(replace(word, outcome=outcome, proof=""))

    return falsify


def _said_too_early(world: World) -> None:
    word = applied(world)
    world.history.words.append(replace(word, at_s=0.0))


def _journal_says(outcome: str | None) -> Callable[[World], None]:
    def falsify(world: World) -> None:
        world.disk._db.execute(
            "UPDATE operation SET outcome = ?, proof = 'ack' WHERE op = ?", (outcome, applied(world).op)
        )

    return falsify


def _attempt_twice(world: World) -> None:
    copy = world.history.copies[0]
    world.history.copies.append(replace(copy, mark=len(world.history.copies), attempt=1))


def _other_bytes(world: World) -> None:
    copy = next(copy for copy in world.history.copies if copy.op == applied(world).op)
    world.history.copies.append(
        replace(copy, mark=len(world.history.copies), text="BEEP BEEP", attempt=copy.attempt and 250)
    )


def _log_short(world: World) -> None:
    world.history.sent_in_log[applied(world).op] -= 1


def _log_long(world: World) -> None:
    world.history.sent_in_log[applied(world).op] += 3


def _reading_of_something_else(world: World) -> None:
    [(op, utc)] = world.disk.rows("SELECT op, utc FROM evidence WHERE kind = 'Sent' LIMIT 1")
    world.disk._db.execute(
        "INSERT INTO evidence VALUES (?, 99, NULL, 'Reading', ?, ?)",
        (op, '{"setting": "offset", "value": "97", "conn": 1, "why": "verify", "problem": null}', utc),
    )


def _landed_late(world: World) -> None:
    ledger = world.roads["d0"].device.ledger
    first = ledger.entries[0]
    ledger._entries[0] = replace(first, at_s=1e6)


LIES = {
    "took effect 2 times": _executed_again,
    "nobody sent": _executed_by_nobody,
    "refused was said": _said("refused"),
    "not_applied was said": _said("not_applied"),
    "a copy had left": _said("not_sent"),
    "it had not taken effect": _said_too_early,
    "the journal says not_applied": _journal_says("not_applied"),
    "is left open": _journal_says(None),
    "sent the attempts": _attempt_twice,
    "'BEEP BEEP'": _other_bytes,
    "the log tells of 0 copies": _log_short,
    "the log tells of 4 copies": _log_long,
    "which it was not": _reading_of_something_else,
    "had left already": _landed_late,
}


@pytest.mark.parametrize("complaint", LIES)
def test_a_lie_is_seen(complaint: str) -> None:
    """Each rule of the checker has a falsified record that breaks it."""
    found = played(LIES[complaint])
    assert any(complaint in each for each in found), found


def test_the_machine_that_judges_readings_is_its_own() -> None:
    """What a command does is asked of a fresh machine, not of the profile."""
    from worlds.doubts import _effect

    assert _effect("ADJUST level +4", "level", 8) == 10
    assert _effect("ROTATE log", "log_files", None) == Controller().values()["log_files"] + 1
