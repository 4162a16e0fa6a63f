"""Deliberate faults in what a reading proves: each evidence rule of CATALOG.md 2, taken out."""

from tests.mutants.mutant import Mutant
from tests.mutants.setups import (
    GATEWAY,
    SERIAL_LEVEL,
    SERIAL_ROTATE,
    SETTLED,
    TCP_COARSE,
    TCP_LEVEL,
    TCP_ROTATE,
    TCP_STOP,
    TCP_UNCOUNTED,
    TCP_VOID,
)

POLICY, READBACK, RECKONING = "agent.policy", "agent.readback", "agent.reckoning"

EVIDENCE_RULES = [
    Mutant("fresh: readings of before the last copy count", RECKONING,
           "    v.readings.clear()\n    v.last_declined = False\n", "    v.last_declined = False\n", TCP_ROTATE),
    Mutant("ordered: the value from before counts while a copy may arrive", READBACK,
           "    if not quiet:\n        return way_back(terms, v, quiet=True)\n", "", TCP_ROTATE),
    Mutant("ordered: what was read before the path was quiet counts afterwards", READBACK,
           "not quiet or _ordered(terms, v, r.conn, r.waited_s)", "v.copies", TCP_ROTATE),
    Mutant("settled: one reading is enough", READBACK,
           "    if terms.settle_s > 0 and not (paused and _twice(back, readings)):\n        return None\n", "",
           SETTLED),
    Mutant("comparable: values are compared letter by letter", READBACK,
           "    return same(back.type, _as_held(back, a), _as_held(back, b), back.step, back.tolerance)\n",
           "    return a == b\n", TCP_COARSE),
    Mutant("correlated: asked while an answer is owed", READBACK,
           "    return not v.owes_read and (terms.apart or not v.owes_copy)\n", "    return True\n", SERIAL_ROTATE),
    Mutant("void: the expected value may be the one from before", POLICY,
           "    if readback.is_void(t, v):\n", "    if v.person:\n", TCP_VOID),
    Mutant("boots: the counts of starts are not compared", READBACK,
           "verdict if before == v.boot_after else Verdict.UNCLEAR", "verdict", TCP_LEVEL),
    Mutant("boots: a start that nobody could notice is not feared", READBACK,
           "return v.booted or (back.at_start is None and _boot_would_be_hidden(terms, v))", "return v.booted",
           TCP_UNCOUNTED),
    Mutant("boots: an announced start is ignored", READBACK,
           "return v.booted or (back.at_start", "return (back.at_start", GATEWAY),
    Mutant("boots: a start before the baseline voids what is read afterwards", RECKONING,
           "any(each is not None for each in v.baselines.values())", "bool(v.baselines)", SERIAL_LEVEL),
    Mutant("clamps: an undeclared stop is not feared", POLICY,
           "        if not _baseline_authorises(t, v):\n", "        if not v:\n", TCP_STOP),
]  # fmt: skip
