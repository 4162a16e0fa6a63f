"""What does reading a setting back prove?

The evidence rules of CATALOG.md 2. A read-back may end the matter or ask for another look; it never sends a command.

| rule | a reading counts only if | where |
|---|---|---|
| fresh | it was asked after the last copy | `reckoning._sent` forgets older ones |
| ordered | no copy can arrive any more, or it shows the effect already | `_ordered` |
| settled | two equal ones lie `settle_s` apart | `_settled` |
| comparable | the device can tell the values apart | `_alike` |
| correlated | its answer cannot be one that is owed | `may_ask`, `way_back`; the stream's part in `dialects/debts.py` |
| void | expected is not the value from before | `is_void` |
| boots | no start lies between that could have put it there | `_boot_voids`, `_unless_booted`, `_may_be_a_start` |
| clamps | an unchanged value cannot be a stop | `baseline_authorises` |
| sole writer | nobody else writes the setting | `devices/catalog.py`, `terms.py`: no read-back at all |
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum

from agent.evidence import Acked, Nakked, Why
from agent.operation import BOOT, Numbering, Readback, Terms
from agent.reckoning import Look, View
from agent.steps import Connect, Drain, Read, Session, Step, Wait
from devices.expressions import Value, clamps, evaluate, names_of
from devices.values import operand, same, text_of

READINGS_MAX = 4
"""Unequal readings are repeated up to this many, then nothing is known."""


class Verdict(StrEnum):
    """What the readings say."""

    EXPECTED = "expected"
    BASELINE = "baseline"
    AT_START = "at_start"  # the baseline, which a restart that nobody noticed would show too
    OTHER = "other"
    UNCLEAR = "unclear"


def settings_needed(terms: Terms) -> tuple[str, ...]:
    """The settings to read before the first copy, the boot count first, as the expressions name them."""
    names: list[str] = []
    if terms.readback is not None:
        if terms.boot_query is not None and not terms.readback.durable:
            names.append(BOOT)
        names.append(terms.readback.setting)
        texts = [terms.readback.expect] + ([terms.form.value] if terms.form is not None else [])
        others = {n for text in texts for n in names_of(text)} - {"before", *terms.args}
        names += sorted(others - set(names))
    return tuple(names)


def known_values(terms: Terms, v: View) -> Mapping[str, Value]:
    """What the expressions may use: `before`, the arguments, other settings as they were read. Raises ValueError."""
    texts = dict(terms.args)
    texts |= {name: text for name, text in v.baselines.items() if text is not None and name != BOOT}
    values: dict[str, Value] = {name: operand(terms.types[name], text) for name, text in texts.items()}
    back = terms.readback
    if back is not None and back.setting in values:
        values["before"] = operand(back.type, texts[back.setting])
    return values


def expected(terms: Terms, v: View) -> str | None:
    """The value that shows the effect, in the device's resolution; None where it cannot be computed."""
    back = terms.readback
    if back is None:
        return None
    try:
        return text_of(back.type, evaluate(back.expect, known_values(terms, v)), back.step)
    except ValueError:
        return None


def is_void(terms: Terms, v: View) -> bool:
    """Known before sending: expected equals baseline, so that no reading can tell the two apart."""
    back, want = terms.readback, expected(terms, v)
    before = v.baselines.get(back.setting) if back is not None else None
    return back is None or want is None or before is None or _alike(back, want, before)


def baseline_authorises(terms: Terms, want: str) -> bool:
    """An undeclared stop looks like a lost command: baseline counts only where the profile rules a stop out."""
    back = terms.readback
    if back is None:
        return False
    if back.type not in ("int", "decimal") or back.clamps is False or clamps(back.expect):
        return True
    if back.min is None or back.max is None:
        return False
    return Decimal(back.min) <= Decimal(want) <= Decimal(back.max)


def stands_already(terms: Terms, v: View) -> bool:
    """Before the first copy: the setting has the wanted value, long enough after anything that was sent earlier."""
    back, want = terms.readback, expected(terms, v)
    seen = v.baselines.get(back.setting) if back is not None else None
    if back is None or want is None or seen is None or not _alike(back, seen, want):
        return False
    return terms.settle_s <= 0 or v.baseline_waits > 0


def look_first(terms: Terms, v: View) -> Step | None:
    """Before the first copy of what is sent only if needed: the next look, or None where nothing more can be learnt.

    A setting that cannot be read is no reason to leave an absolute command undone.
    """
    back, want = terms.readback, expected(terms, v)
    if back is None or want is None:
        return None
    if back.setting not in v.baselines:
        return Read(back.setting, Why.BASELINE) if v.failed_reads < terms.attempts_max else None
    seen = v.baselines[back.setting]
    if seen is None:
        return way_back(terms, v) if v.owes_read and terms.numbering is Numbering.NONE else None
    if not _alike(back, seen, want):
        return None
    # It may be what stood there before the effect of an earlier command could be seen.
    return Read(back.setting, Why.BASELINE) if v.waits else Wait(terms.settle_s)


def look(terms: Terms, v: View) -> Step | Verdict:
    """The next step of reading back after the last copy, or what the readings say."""
    back, want = terms.readback, expected(terms, v)
    if back is None or want is None or _boot_voids(terms, back, v):
        return Verdict.UNCLEAR
    quiet = _ordered(terms, v, v.conn, v.waited_s)
    readings = [r for r in v.readings if not quiet or _ordered(terms, v, r.conn, r.waited_s)]
    if v.conn is None or not may_ask(terms, v):
        if (v.opening_failed is not None and v.conn is None) or len(readings) >= READINGS_MAX:
            return Verdict.UNCLEAR
        return way_back(terms, v)
    value = _settled(terms, back, readings)
    if value is None:
        return _another_look(terms, back, v, readings)
    if _alike(back, value, want):
        if _may_be_a_start(terms, back, v, want):
            return Verdict.UNCLEAR
        return _unless_booted(back, v, Verdict.EXPECTED)
    before = v.baselines.get(back.setting)
    if before is None or not _alike(back, value, before):
        if not quiet and isinstance(v.word, Acked):
            return way_back(terms, v, quiet=True)  # taken, and perhaps not done yet
        return Verdict.OTHER if _twice(back, readings) else _another_look(terms, back, v, readings)
    if not quiet:
        return way_back(terms, v, quiet=True)
    if _may_be_a_start(terms, back, v, before):
        return Verdict.AT_START
    return _unless_booted(back, v, Verdict.BASELINE)


def may_ask(terms: Terms, v: View) -> bool:
    """Whether the answer to a read could be told from everything that the open connection still owes."""
    return not v.owes_read and (terms.apart or not v.owes_copy)


def way_back(terms: Terms, v: View, *, quiet: bool = False) -> Connect | Drain:
    """The way to a stream that owes nothing, and with `quiet` to one on which no copy is under way any more.

    Where opening anew cuts the stream that is enough for the first. Where it does not, only time helps, and the port
    stays open meanwhile, because opening it may boot the board. A reading that must not lie behind a reconnect, and
    need not, is waited for on the open connection too.
    """
    if v.conn is not None and (terms.survives_reopen or (quiet and may_ask(terms, v) and v.owes_copy)):
        return Drain(terms.late_max_s)
    return Connect(Session.NONE, terms.late_max_s if quiet or terms.survives_reopen else 0.0)


def _alike(back: Readback, a: str, b: str) -> bool:
    """One value for the device: as it rounds them, within half a step, or within the profile's tolerance."""
    return same(back.type, _as_held(back, a), _as_held(back, b), back.step, back.tolerance)


def _as_held(back: Readback, value: str) -> str:
    """A number as the device rounds it; one that it cannot hold at all stays as it is."""
    if back.held_as is None:
        return value
    from protocol.modbus.cells import cell_of, held

    try:
        return held(cell_of(back.held_as), value)
    except ValueError:
        return value


def _settled(terms: Terms, back: Readback, readings: list[Look]) -> str | None:
    """The value of the last reading, if it counts: not a failed one, and seen twice where one look is not enough.

    That is where the setting takes `settle_s` to show, and where a surviving stream still owed an answer.
    """
    if not readings:
        return None
    last = readings[-1]
    paused = len(readings) > 1 and last.waits > readings[-2].waits
    if terms.settle_s > 0 and not (paused and _twice(back, readings)):
        return None
    if last.owed and terms.survives_reopen and not _twice(back, readings):
        return None
    return last.value


def _twice(back: Readback, readings: list[Look]) -> bool:
    """The last two readings show one value."""
    values = [r.value for r in readings[-2:] if r.value is not None]
    return len(values) == 2 and _alike(back, values[0], values[1])


def _another_look(terms: Terms, back: Readback, v: View, taken: list[Look]) -> Step | Verdict:
    if len(taken) >= READINGS_MAX:
        return Verdict.UNCLEAR
    if taken and terms.settle_s > 0 and v.waits == taken[-1].waits:
        return Wait(terms.settle_s)
    return Read(back.setting, Why.VERIFY)


def _ordered(terms: Terms, v: View, conn: int | None, waited_s: float) -> bool:
    """Asked where no copy can arrive any more: numbered, behind a refusal of the last copy, or on a quiet path.

    Copies before the last need no look where each further one went out on a quiet path only; those of an absolute
    command did not, so that a refusal of the last says nothing of them.
    """
    alone = v.taken == 1 or not terms.idempotent
    answered = (alone and isinstance(v.word, Nakked)) or (v.last_declined and not v.taken)
    behind_the_answer = answered and conn == v.copies[-1].conn
    return v.number is not None or behind_the_answer or waited_s >= terms.late_max_s


def _boot_voids(terms: Terms, back: Readback, v: View) -> bool:
    """A volatile setting proves nothing over a boot, nor where one would not be noticed.

    A reconnect hides a boot from who does not count them. So does a stream that outlives a boot of the device: its
    announcement may be lost with the answer.
    """
    if back.durable:
        return False
    if v.number is not None:
        return v.connected is None or v.connected.boot != v.number.life.boot
    return v.booted or (back.at_start is None and _boot_would_be_hidden(terms, v))


def _boot_would_be_hidden(terms: Terms, v: View) -> bool:
    since = v.copies[-1].conn if v.baseline_conn is None or terms.idempotent else v.baseline_conn
    reopened = terms.survives_reopen or (v.conn is not None and v.conn != since)
    return reopened and v.baselines.get(BOOT) is None


def _may_be_a_start(terms: Terms, back: Readback, v: View, value: str) -> bool:
    """Whether a start that nobody would have noticed could have put the setting to this value."""
    if back.durable or v.number is not None or back.at_start is None:
        return False
    return _boot_would_be_hidden(terms, v) and _alike(back, value, back.at_start)


def hidden_by_a_boot(terms: Terms, v: View) -> bool:
    """Whether it is a start of the device, or that one could not be noticed, which makes the readings worthless."""
    back, counted = terms.readback, v.baselines.get(BOOT)
    if back is None or back.durable:
        return False
    seen = v.readings[-1].value if v.readings else None
    if seen is not None and _may_be_a_start(terms, back, v, seen):
        return True
    return _boot_voids(terms, back, v) or (v.boot_after is not None and v.boot_after != counted)


def _unless_booted(back: Readback, v: View, verdict: Verdict) -> Step | Verdict:
    """Compare the boot count of before the copy with the one after the verify."""
    before = v.baselines.get(BOOT)
    if back.durable or v.number is not None or before is None:
        return verdict
    if v.boot_after is None:
        return Read(BOOT, Why.VERIFY)
    return verdict if before == v.boot_after else Verdict.UNCLEAR
