"""Would the tests notice if somebody broke the policy?

Each row breaks one rule in the source of `policy`, `reckoning` or `readback`, loads the broken copy beside the real
one and names the check that must object: a row of the rule table, a setup of the game, or one of the truth model.
"""

import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from agent import policy
from tests.agent.game import Brain
from tests.agent.setups import setup_named
from tests.agent.test_policy_rules import RULES, check_rule
from tests.agent.test_policy_table import check
from tests.agent.test_policy_truth import TRUTHS, Play
from tests.agent.truth import World
from tests.agent.walk import Walk

ORDER = ("reckoning", "readback", "policy")
_NAMES = itertools.count()


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` becomes `new` in one file. `caught_by`: how a check is named, and which one."""

    words: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, str]


def by_rule(start: str) -> tuple[str, str]:
    """The rule whose words begin so objects."""
    return ("rule", start)


MUTANTS = [
    Mutant("a second copy that met no session is issued again", "reckoning", "v.number.copies == 1 and fact.to",
           "fact.to", ("truth", "LSQ1 tier 1, cumulative")),
    Mutant("issued again twice", "policy", "once_more = n.copies == len(v.copies) or (",
           "once_more = True or (", by_rule("4.6: but once only")),
    Mutant("BAD_SESSION to a NOP is taken as never ran", "reckoning", ' and fact.to == "cmd"', "",
           ("truth", "LSQ1 tier 1, cumulative")),
    Mutant("the number before ours counts while the session lives", "reckoning",
           "elif v.bad_session is not None and (", "elif (", ("truth", "LSQ1 tier 1, cumulative")),
    Mutant("the number before ours counts over a boot in tier 1", "reckoning",
           "(_remembers(seen, n.life) or seen.boot == n.life.boot)", "True", ("truth", "LSQ1 tier 1, cumulative")),
    Mutant("a record seen earlier is forgotten", "reckoning",
           "    if last == (n.session, n.seq):\n",
           "    n.shown = None\n    if last == (n.session, n.seq):\n",
           by_rule("4.6: whenever it was seen")),
    Mutant("a burnt number is ignored", "policy", "        case Burnt():\n", "        case Burnt() if t.idempotent:\n",
           ("table", "LSQ1 tier 1 cumulative, opened, 1 attempts")),
    Mutant("an open earlier number is forgotten", "reckoning", "v.earlier_open or not (", "v.earlier_open and not (",
           ("truth", "LSQ1 tier 1, idempotent")),
    Mutant("the target is computed again", "policy", "            return Send(v.copies[0].text, len(v.copies) + 1)\n",
           "            return Send(t.text, len(v.copies) + 1)\n", by_rule("read-then-set never computes")),
    Mutant("baseline counts without quiet", "readback", "    if not quiet:\n", "    if want is None:\n",
           ("truth", "get-verify durable")),
    Mutant("readings of before the quiet time count", "readback",
           "not quiet or _ordered(terms, v, r.conn, r.waited_s)", "v.copies", ("truth", "get-verify durable")),
    Mutant("the first reading counts unsettled", "readback",
           "if terms.settle_s > 0 and not (paused", "if terms.settle_s < 0 and not (paused",
           by_rule("settled: one reading is none")),
    Mutant("a void read-back is not noticed", "policy", "    if readback.is_void(t, v):\n", "    if v.person:\n",
           by_rule("void: expected equals baseline")),
    Mutant("a boot is not noticed", "readback", "verdict if before == v.boot_after else Verdict.UNCLEAR",
           "verdict", ("truth", "get-verify volatile, boot count")),
    Mutant("an announced boot is ignored", "readback", "return v.booted or (back.at_start", "return (back.at_start",
           by_rule("boots: nor after a start")),
    Mutant("an unnoticed boot is not feared", "readback", "return reopened and v", "return v.booted and v",
           ("truth", "get-verify volatile")),
    Mutant("a start hides on a serial line", "readback", "reopened = terms.survives_reopen or (", "reopened = (",
           ("truth", "get-verify volatile, serial")),
    Mutant("the port is closed while an answer is owed", "readback",
           "if v.conn is not None and (terms.survives_reopen or (",
           "if v.conn is not None and ((", by_rule("owed answers: a stream that reopening")),
    Mutant("a lost serial line is opened again at once", "readback",
           "if quiet or terms.survives_reopen else", "if quiet else",
           by_rule("owed answers: a lost connection")),
    Mutant("an owed ack is no reason to wait", "readback", "(terms.apart or not v.owes_copy)", "True",
           ("table", "get-verify durable, serial, 1 attempts")),
    Mutant("an owed reading is no reason to wait", "readback", "return not v.owes_read and (", "return (",
           ("truth", "get-verify durable, serial")),
    Mutant("an absolute command is sent beside an owed ack", "policy",
           "if v.conn is None or v.owes_copy or v.owes_read:",
           "if v.conn is None:", ("table", "resend, serial, 2 attempts")),
    Mutant("a baseline is read beside an owed answer", "policy",
           "again = v.owes_read and t.numbering is Numbering.NONE",
           "again = False", by_rule("baseline: a lost read is asked again")),
    Mutant("one reading beside an owed ack counts on a serial line", "readback",
           "last.owed and terms.survives_reopen", "False", by_rule("told apart: on a serial line one reading")),
    Mutant("an ack that says queued is an effect", "policy", "case Acked(queued=False) if not t.queued:",
           "case Acked(queued=False):",
           ("table", "get-verify, an ack is only queued, 1 attempts")),
    Mutant("queued and unchanged is not applied", "policy",
           "        if isinstance(v.word, Acked):\n", "        if v.person:\n",
           by_rule("queued: unchanged for longer")),
    Mutant("behind an ack that says queued nothing is under way", "readback", "(alone and isinstance(v.word, Nakked))",
           "(alone and v.word is not None)", by_rule("queued: the effect may come")),
    Mutant("an undeclared stop is not feared", "policy", "if not _baseline_authorises(t, v)", "if not v",
           by_rule("clamps: an undeclared stop")),
    Mutant("giving up is ignored", "policy", "return v.given_up is None and not used_up", "return not used_up",
           by_rule("4.5: giving up settles")),
    Mutant("busy time is not counted", "policy", " or v.deferred_s >= t.busy_max_s", "",
           ("table", "LSQ1 tier 1 cumulative, opened, 1 attempts")),
    Mutant("silences are not counted", "reckoning", "    v.silent += 1\n", "",
           ("table", "resend, 1 attempts")),
    Mutant("doubt instead of settling", "policy", "    if _may_settle(t, v):\n", "    if v.person:\n",
           by_rule("4.5: giving up settles")),
    Mutant("the quiet connection is asked for without end", "readback",
           "quiet = _ordered(terms, v, v.conn, v.waited_s)", "quiet = bool(v.readings) and v.readings[-1].waited_s > 0",
           ("table", "get-verify durable, 1 attempts")),
    Mutant("a copy that did not leave counts as sent", "reckoning", "    v.copies.pop()\n", "",
           by_rule("a copy that did not leave is none")),
    Mutant("what does not leave is tried for ever", "policy", "    if v.unsent >= t.attempts_max", "    if v.person",
           ("table", "no-retry, 1 attempts")),
    Mutant("what stands there before an earlier effect shows is taken for the target", "readback",
           "    return terms.settle_s <= 0 or v.baseline_waits > 0\n", "    return True\n",
           ("table", "resend, if needed, settled, 1 attempts")),
    Mutant("what stands there already is sent nevertheless", "policy",
           "    if t.if_needed and readback.stands_already(t, v):", "    if False:",
           ("table", "resend, if needed, 1 attempts")),
    Mutant("a refusal of the second copy says that the first had no effect", "readback",
           "alone = v.taken == 1 or not terms.idempotent", "alone = True",
           by_rule("if needed: a refusal of the second")),
    Mutant("an unchanged volatile setting means that no copy took effect", "policy",
           "looked_between = t.policy", "looked_between = True or t.policy",
           by_rule("if needed: a start between two copies")),
    Mutant("what a start may have put there is the target", "readback",
           "        if _may_be_a_start(terms, back, v, want):\n", "        if v.booted:\n",
           ("table", "read-then-set volatile, starts at the target, serial, 1 attempts")),
    Mutant("what a start may have put there is the baseline", "readback",
           "    if _may_be_a_start(terms, back, v, before):\n", "    if v.booted:\n",
           ("truth", "get-verify volatile, start known, serial")),
    Mutant("what a restart undid is sent again though it counts", "policy",
           "        if wanted and t.policy is Policy.READ_THEN_SET:\n", "        if wanted:\n",
           ("truth", "get-verify volatile, start known, serial")),
    Mutant("a copy that a busy device turned away counts as taken", "reckoning", "    v.declined += 1\n", "",
           ("table", "tells more: no-retry")),
    Mutant("a busy answer to a later copy says that the earlier one was not taken", "policy",
           "if not v.taken and not", "if v.declined and not", ("truth", "tells more: get-verify")),
    Mutant("a busy device that acts nevertheless is believed", "policy",
           "if not v.taken and not t.nak_may_follow_effect:", "if not v.taken:",
           ("table", "tells more: no-retry, nak may follow the effect")),
    Mutant("busy is waited out for ever", "policy", "    if v.deferred_s >= t.busy_max_s:\n", "    if False:\n",
           ("table", "tells more: no-retry")),
    Mutant("a busy device is asked again although nobody wants it", "policy",
           '    busy = "the device was busy and took nothing"\n    if v.given_up is not None:',
           '    busy = "the device was busy and took nothing"\n    if v.given_up is not None and False:',
           ("table", "tells more: no-retry")),
    Mutant("taken is done", "policy", "case Acked(queued=False) if", "case Acked() if",
           ("truth", "tells more: get-verify")),
    Mutant("an address where somebody answers is taken", "policy",
           "v.there_before is not None and v.there_before.answered", "v.there_before is None",
           by_rule("link: nobody may answer")),
    Mutant("whoever answers elsewhere is the device", "policy", "v.there[-1].value == place.expect",
           "v.there[-1].answered", ("table", "tells more: no-retry, moves")),
    Mutant("a device is looked for once only", "policy", "LOOKS_ELSEWHERE = 2", "LOOKS_ELSEWHERE = 1",
           by_rule("link: a device that restarts")),
    Mutant("a refused command is sent again", "policy", "wanted = _wants_more(t, v) and v.word is None",
           "wanted = _wants_more(t, v)", by_rule("a refused command")),
    Mutant("a number that met no session speaks for an earlier one too", "policy",
           "    if n.turned_away and not v.earlier_open:\n", "    if n.turned_away:\n",
           by_rule("LSQ1: where an earlier number may have run the device")),
    Mutant("a boot that HELLO shows is no reason to doubt a volatile setting", "readback",
           " or v.connected.boot != v.number.life.boot\n", "\n", by_rule("4.9: a volatile setting proves nothing")),
    Mutant("a target proves a cumulative command without a baseline", "policy",
           "        or not (t.idempotent or has_baseline)\n", "", by_rule("4.9: without a baseline")),
    Mutant("one declared stop is enough", "readback", "if back.min is None or back.max is None:\n        return False",
           "if back.min is None or back.max is None:\n        return (back.min or back.max) is not None",
           by_rule("clamps: an upper stop alone")),
    Mutant("a target above the form's range is sent", "policy", "Decimal(target) > Decimal(high)", "high == low",
           by_rule("read-then-set outside")),
    Mutant("a target below the form's range is sent", "policy", "Decimal(target) < Decimal(low)", "low == high",
           by_rule("read-then-set below")),
    Mutant("the end of the form's range lies outside it", "policy", "Decimal(target) > Decimal(high)",
           "Decimal(target) >= Decimal(high)", by_rule("read-then-set up to")),
    Mutant("so does its lower end", "policy", "Decimal(target) < Decimal(low)", "Decimal(target) <= Decimal(low)",
           by_rule("read-then-set down to")),
]  # fmt: skip


@contextmanager
def broken(mutant: Mutant, folder: Path) -> Iterator[Brain]:
    """The policy with one rule broken, in a package of its own."""
    package = f"mutant_{next(_NAMES)}"
    home = Path(policy.__file__).parent
    sys.modules[package] = ModuleType(package)
    try:
        for name in ORDER:
            source = (home / f"{name}.py").read_text()
            if name == mutant.file:
                assert source.count(mutant.old) == 1, (
                    f"{mutant.words}: the source has changed, so must this row"
                )
                source = source.replace(mutant.old, mutant.new)
            source = source.replace("from agent import readback", f"from {package} import readback")
            source = source.replace("from agent.reckoning import", f"from {package}.reckoning import")
            path = folder / f"{name}.py"
            path.write_text(source)
            _load(package, name, path)
        loaded = sys.modules[f"{package}.policy"]
        yield Brain(loaded.decide, sys.modules[f"{package}.reckoning"].reckon)
    finally:
        for key in [package, *(f"{package}.{name}" for name in ORDER)]:
            sys.modules.pop(key, None)


def _load(package: str, name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"{package}.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"{package}.{name}"] = module
    setattr(sys.modules[package], name, module)
    spec.loader.exec_module(module)


def objects(brain: Brain, kind: str, name: str) -> None:
    """Run one check against a policy; raises AssertionError where it objects."""
    checks: dict[str, Callable[[], object]] = {
        "rule": lambda: _rule(brain, name),
        "table": lambda: Walk(setup_named(name), partial(check, brain=brain), brain).run(),
        "truth": lambda: Play(next(s for s in TRUTHS if s.name == name), brain).go([], World()),
    }
    checks[kind]()


def _rule(brain: Brain, start: str) -> None:
    rule = next(rule for rule in RULES if rule.words.startswith(start))
    check_rule(rule, brain.next_step(rule.terms, rule.facts))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.words)
def test_a_broken_rule_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    """The named check objects to the broken policy."""
    with broken(mutant, tmp_path) as brain, pytest.raises(AssertionError):
        objects(brain, *mutant.caught_by)


def test_the_unbroken_copy_passes(tmp_path: Path) -> None:
    """Loading a copy alone changes nothing: it is the broken rule that the checks object to."""
    with broken(Mutant("none", "none", "", "", ("", "")), tmp_path) as brain:
        for rule in RULES:
            check_rule(rule, brain.next_step(rule.terms, rule.facts))
