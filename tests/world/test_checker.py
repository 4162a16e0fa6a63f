"""Does the checker see every lie? A true world's record is falsified, and it has to object."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from simulator.equipment import Controller
from simulator.ledger import Execution
from worlds.checker import judge
from worlds.course import anything_goes
from worlds.doubts import _no_stop
from worlds.healing import heal
from worlds.loop import WorldLoop
from worlds.plan import NOTHING_CUT, Limits, plan_of
from worlds.records import Word
from worlds.targets import target_of
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


def _said(outcome: str, proof: str = "") -> Callable[[World], None]:
    def falsify(world: World) -> None:
        word = applied(world)
        world.history.words.append(replace(word, outcome=outcome, proof=proof))

    return falsify


def _said_too_early(world: World) -> None:
    word = applied(world)
    world.history.words.append(replace(word, at_s=0.0))


def _figures(**falsified: Any) -> Callable[[World], None]:
    def falsify(world: World) -> None:
        word = applied(world)
        world.history.words.append(replace(word, **falsified))

    return falsify


def _journal_says(outcome: str | None, proof: str = "ack") -> Callable[[World], None]:
    def falsify(world: World) -> None:
        world.disk._db.execute(
            "UPDATE operation SET outcome = ?, proof = ? WHERE op = ?", (outcome, proof, applied(world).op)
        )

    return falsify


def _journal_counts_otherwise(world: World) -> None:
    world.disk._db.execute("UPDATE operation SET attempts = 9 WHERE op = ?", (applied(world).op,))


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
    "the person saw that it was nothing": _said("applied", "person"),
    "and the person saw nothing": _journal_says("applied", "person"),
    "with 7 attempts, and 1 left": _figures(attempts=7),
    "with seq 4711, and the last copy had": _figures(seq=4711),
    "with the proof 'duplicate_ack', and the wire has": _figures(proof="duplicate_ack"),
    "with the proof 'verified', value": _figures(proof="verified", value="1"),
    "with the proof ''": _figures(proof=""),
    "with 97 before, and it read": _figures(before="97"),
    "with 97 expected, and it is": _figures(expected="97"),
    "with the value 97, and the ack told": _figures(value="97"),
    "with 9 attempts, and 1 left": _journal_counts_otherwise,
}


@pytest.mark.parametrize("complaint", LIES)
def test_a_lie_is_seen(complaint: str) -> None:
    """Each rule of the checker has a falsified record that breaks it."""
    found = played(LIES[complaint])
    assert any(complaint in each for each in found), found


def test_plain_text_settles_nothing() -> None:
    """Only equipment that numbers its commands has a memory of them that could prove anything."""
    seed = next(seed for seed in range(SEED, 100) if plan_of(seed, LIMITS).devices[0].sort.name == "line")
    found = played(_figures(proof="settled", value=None), seed)
    assert any("with the proof 'settled', which the device cannot give" in each for each in found), found


@pytest.mark.parametrize(
    ("command", "setting", "before"),
    [
        ("SET offset 7", "offset", 10),
        ("SET relay 1", "relay", 0),
        ("ADJUST offset -5", "offset", 10),
        ("ADJUST level +4", "level", 8),
        ("ADJUST level -4", "level", 1),
        ("TOGGLE relay", "relay", 1),
        ("RESET counter", "resets", 3),
        ("ROTATE log", "log_files", 3),
    ],
)
def test_a_target_is_what_the_machine_does(command: str, setting: str, before: int) -> None:
    """What is expected of a setting is what a machine of its own shows after the command."""
    machine = Controller()
    machine.put(setting, before)
    machine.execute(command)
    assert target_of(command, before, stops=True) == machine.values()[setting]


def test_a_stop_that_nobody_declared_is_not_expected() -> None:
    """Where the profile says nothing of a stop, the value is expected to go on."""
    assert target_of("ADJUST level +4", 8, stops=False) == 12


@pytest.mark.parametrize(("expected", "ruled_out"), [(100, True), (101, False), (None, False)])
def test_an_expected_value_outside_its_range_rules_no_stop_out(expected: int | None, ruled_out: bool) -> None:
    """Stated ends say something of an unchanged value only where the expected one lies between them."""
    back = {"type": "int", "clamps": None, "expect": "before + delta", "min": "-100", "max": "100"}
    assert _no_stop(back, expected) is ruled_out


def test_a_relative_target_needs_a_baseline() -> None:
    """Without a value from before only an absolute command has a target, and BEEP has none at all."""
    assert target_of("ADJUST offset +4", None, stops=False) is None
    assert target_of("BEEP", 1, stops=False) is None
    assert target_of("SET offset 4", None, stops=False) == 4
