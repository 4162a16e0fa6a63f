"""Is every word of a world true? Asked of ledgers, wires and journals, never of the agent's reasons.

* A cumulative command takes effect at most once; so it does under one key, whatever was started how often.
* `applied`: it had taken effect when that was said. An absolute command may also have found its value there; by `ack`
  its own execution is what counts, so that no late ack is credited to another command.
* A person's word is what the person saw when they decided, until the device's own record proves something else.
* The figures beside a word are true (`results.py`).
* `refused`, `not_sent`, `not_applied`: it never takes effect, also not later. `not_sent`: no byte of it left, but for
  copies of which an intermediary said that they never reached the device.
* Copies under one number are the same bytes but for the attempt, and no two operations share a number. Without numbers
  all copies of an operation are the same bytes.
* Attempts count the copies: 1, 2, 3 and so on, without one twice.
* The log alone tells how many copies went out; only an operation in the hands of a process that ended may have more
  lines than copies, one for each such process, and a copy that never reached the device need not be told of.
* A reading in the journal is what the setting was while the reading was under way: no answer to another question.
* No copy takes effect behind one of a later command: an old SET never lands after a newer one.
* In the end nothing is open, and every doubt that was left before a person decided had no evidence (`doubts.py`).

A restored store has forgotten keys, and words of the time that it has forgotten (README, "Limits"): what is asked again
under a forgotten key is another command, and a forgotten attempt is counted again. Everything else holds.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from math import inf

from agent.clock import moment
from protocol.native.frame import decode
from worlds.records import Copy, Word
from worlds.results import untrue_figures
from worlds.targets import number_of
from worlds.truth import Effect, effects
from worlds.wire import Wire
from worlds.world import PATIENCE_S, SILENCE_S, START, World

READ_MAX_S = PATIENCE_S + 2 * SILENCE_S
"""So long a reading may be under way: a busy device is waited for."""
NEVER = ("refused", "not_sent", "not_applied")


def judge(world: World) -> list[str]:
    """Everything that must not have happened, as sentences; what was seen at once is in the history already."""
    done = defaultdict[str, list[Effect]](list)
    for effect in effects(world.history, world.roads):
        done[effect.op].append(effect)
    cumulative = {op: kind == "cumulative" for op, kind in world.disk.rows("SELECT op, class FROM operation")}
    copies = defaultdict[str, list[Copy]](list)
    for copy in world.history.copies:
        copies[copy.op].append(copy)
    wire = Wire(world.history.lines, {name: road.tongue for name, road in world.roads.items()})
    arrived = {op: [copy for copy in found if not wire.turned_back(copy)] for op, found in copies.items()}
    found = [
        *_once(world, done, cumulative),
        *(
            problem
            for word in world.history.words
            for problem in _true(world, word, done, arrived, cumulative)
        ),
        *_journal(world, done, copies),
        *_readings(world),
        *_ordered(done, copies),
        *_alike(copies, restored=world.restored),
        *_log(world, copies, arrived),
        *untrue_figures(world, wire),
    ]
    return [world.history.in_full(each) for each in found]


def _once(world: World, done: dict[str, list[Effect]], cumulative: dict[str, bool]) -> Iterator[str]:
    by_key = defaultdict[str, list[str]](list)
    outrun = {world.history.keys.get(op) for op in done if _outran_a_person(world, op, done[op])}
    for op, found in done.items():
        if not op:
            yield f"{found[0].device} executed '{found[0].text}', which nobody sent"
        elif cumulative.get(op, False):
            if len(found) > 1:
                yield f"{op} '{found[0].text}' took effect {len(found)} times"
            by_key[world.history.keys.get(op, "")] += [op] * len(found)
    for key, ops in by_key.items():
        if key and len(ops) > 1 and not world.restored and key not in outrun:
            yield f"what was asked under {key} took effect {len(ops)} times, as {' and '.join(ops)}"


def _outran_a_person(world: World, op: str, found: list[Effect]) -> bool:
    """Whether a copy arrived only after somebody had seen, truly, that nothing had happened."""
    seen = world.history.decisions.get(op, [])
    return bool(seen) and not seen[-1].applied and any(effect.at_s > seen[-1].at_s for effect in found)


def _true(
    world: World,
    word: Word,
    done: dict[str, list[Effect]],
    copies: dict[str, list[Copy]],
    cumulative: dict[str, bool],
) -> Iterator[str]:
    """Whether a word that was told is true."""
    said = f"{word.op}: {word.outcome} was said at {word.at_s:.3f} ({word.message})"
    found = done.get(word.op, [])
    if word.proof == "person":
        if word.outcome != _seen(world, word.op, word.at_s):
            yield f"{said}, and the person saw that it was {_seen(world, word.op, word.at_s)}"
        return
    if word.outcome in NEVER and found:
        yield f"{said}, but '{found[0].text}' took effect at {found[0].at_s:.3f}"
    if word.outcome == "not_sent" and any(copy.at_s <= word.at_s for copy in copies.get(word.op, [])):
        yield f"{said}, but a copy had left"
    if word.outcome == "applied":
        before = [effect for effect in found if effect.at_s <= word.at_s]
        own = cumulative.get(word.op, True) or word.proof in ("ack", "duplicate_ack")
        if not before and (own or not _stood(world, word)):
            yield f"{said}, but it had not taken effect"


def _seen(world: World, op: str, until_s: float = inf) -> str:
    """What a person saw of an operation the last time."""
    seen = [each for each in world.history.decisions.get(op, ()) if each.at_s <= until_s]
    return ("applied" if seen[-1].applied else "not_applied") if seen else "nothing"


def _stood(world: World, word: Word) -> bool:
    """Whether an absolute command's value stood on the device at some time while it was under way."""
    [(device, command)] = world.disk.rows("SELECT name, command FROM operation WHERE op = ?", (word.op,))
    _, name, value = command.split(" ")
    first_s = min((copy.at_s for copy in world.history.copies if copy.op == word.op), default=0.0)
    return int(value) in world.history.stood(device, name, first_s, word.at_s)


def _journal(world: World, done: dict[str, list[Effect]], copies: dict[str, list[Copy]]) -> Iterator[str]:
    rows = world.disk.rows("SELECT op, outcome, proof, class, command FROM operation")
    for op, outcome, proof, kind, command in rows:
        if outcome is None:
            yield f"{op} '{command}' is left open"
        if proof == "person":
            if outcome != _seen(world, op):
                yield f"the journal says {outcome} of {op} '{command}', and the person saw {_seen(world, op)}"
            continue
        if outcome in NEVER and done.get(op):
            yield f"the journal says {outcome} of {op} '{command}', which took effect"
        if outcome == "applied" and kind == "cumulative" and not done.get(op):
            yield f"the journal says applied of {op} '{command}', which never took effect"
    known = {row[0] for row in rows}
    for op in copies:
        if op != "?" and op not in known and not world.restored:
            yield f"{op} sent copies, and the journal does not know it"


def _readings(world: World) -> Iterator[str]:
    """Answers that were credited to another question. Where somebody else writes, nobody knows what was true when."""
    told_apart = {each.name for each in world.plan.devices if not each.sort.panel}
    slept = {process.name: process.slept_s for process in world.processes}
    rows = world.disk.rows(
        "SELECT e.op, e.utc, e.fields, o.name FROM evidence e JOIN operation o ON e.op = o.op WHERE e.kind = 'Reading'"
    )
    for op, utc, fields, device in rows:
        reading = json.loads(fields)
        if reading["value"] is None or device not in told_apart:
            continue
        at_s = (moment(utc) - START).total_seconds()
        name = {"(boot)": "boots"}.get(reading["setting"], reading["setting"])
        value = _number(reading["value"])
        slept_s = max((slept[each] for each in world.history.hands.get(op, ())), default=0.0)
        if value not in world.history.stood(device, name, at_s - READ_MAX_S - slept_s, at_s + 0.001):
            yield f"{op} read {name} {reading['value']} at {at_s:.3f}, which it was not"


def _number(text: str) -> int | None:
    """A reading as the machine would have it; None where it is none: then it answered another question."""
    try:
        return number_of(text)
    except ValueError:
        return None


def _ordered(done: dict[str, list[Effect]], copies: dict[str, list[Copy]]) -> Iterator[str]:
    """Old copies behind newer commands. An operation is older where its last copy left before the other's first."""
    spans = {op: (min(c.at_s for c in found), max(c.at_s for c in found)) for op, found in copies.items()}
    for op, found in done.items():
        if op not in spans:
            continue
        for effect in found:
            for other, (first_s, _) in spans.items():
                newer = copies[other][0].device == effect.device and spans[op][1] < first_s < effect.at_s
                if newer:
                    yield f"{op} '{effect.text}' took effect at {effect.at_s:.3f}, when {other} had left already"


def _alike(copies: dict[str, list[Copy]], *, restored: bool) -> Iterator[str]:
    """Numbers, bytes and attempts of copies."""
    owners: dict[tuple[str, int, int], str] = {}
    for op, found in copies.items():
        whole = [copy for copy in found if copy.whole]
        attempts = [copy.attempt for copy in whole if copy.attempt is not None]
        if not restored and (len(set(attempts)) != len(attempts) or sorted(attempts) != attempts):
            yield f"{op} sent the attempts {attempts}"
        texts = {copy.text for copy in whole}
        if len(texts) > 1:
            yield f"{op} sent {', '.join(map(repr, sorted(texts)))}"
        bodies: dict[tuple[int, int], set[object]] = defaultdict(set)
        for copy in whole:
            if copy.session is None or copy.seq is None:
                continue
            frame = decode(copy.data.strip(b"\0"))
            bodies[copy.session, copy.seq].add((frame.type, frame.unit, frame.flags, frame.payload))
            owner = owners.setdefault((copy.device, copy.session, copy.seq), op)
            if owner != op:
                yield f"{op} and {owner} share the number {copy.session}/{copy.seq}"
        yield from (
            f"{op} sent different bytes under {number}" for number, each in bodies.items() if len(each) > 1
        )


def _log(world: World, copies: dict[str, list[Copy]], arrived: dict[str, list[Copy]]) -> Iterator[str]:
    """The log's count of copies against the wire's."""
    ended = {process.name for process in world.processes if process.killed}
    for op in {*world.history.sent_in_log, *copies} - {"?"}:
        logged, left = world.history.sent_in_log[op], len(copies.get(op, []))
        spare = len(world.history.hands.get(op, set()) & ended)
        if not len(arrived.get(op, [])) <= logged <= left + spare:
            yield f"the log tells of {logged} copies of {op}, and {left} left"
