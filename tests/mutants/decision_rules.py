"""Deliberate faults in what the agent makes of replies and decides (WIRE.md 4, CATALOG.md 2)."""

from tests.mutants.mutant import Mutant
from tests.mutants.setups import ONCE, RESEND, STAYS, STAYS_ONCE, TCP_BEEP, TCP_FORM, TCP_ROTATE

POLICY, RECKONING, FACTS = "agent.policy", "agent.reckoning", "agent.dialects.lsq_facts"
_LOOKED = (
    "        return verdict\n"
    "    if verdict is readback.Verdict.EXPECTED:\n"
    "        want = readback.expected(t, v)\n"
)
"""Where a silent copy of a command with a read-back is decided."""

DECISION_RULES = [
    Mutant("a second copy that met no session is issued again", RECKONING,
           "v.number.copies == 1 and fact.to", "fact.to", STAYS),
    Mutant("BAD_SESSION to a NOP is taken as never ran", RECKONING, ' and fact.to == "cmd"', "", STAYS_ONCE),
    Mutant("the device's record is trusted over a boot", RECKONING,
           "(_remembers(seen, n.life) or seen.boot == n.life.boot)", "True", STAYS),
    Mutant("a number that the command itself has spent is taken as burnt", FACTS,
           "owner = Owner.OURS if reply.spent.digest == ours else Owner.OTHER", "owner = Owner.NOP", ONCE),
    Mutant("a late reply is credited to what was asked last", "protocol.native.requester",
           "        if key == self._outstanding:\n",
           "        if self._outstanding and (key == self._outstanding or key in self._earlier):\n", ONCE),
    Mutant("a record that says INDETERMINATE is a refusal", POLICY,
           "    if status != INDETERMINATE:\n", "    if status:\n", RESEND),
    Mutant("nobody settles a number whose fate is unknown", POLICY,
           "    if _may_settle(t, v):\n", "    if v.person:\n", ONCE),
    Mutant("silences are not counted", RECKONING, "    v.silent += 1\n", "", RESEND),
    Mutant("a device that was busy is not asked once more before a doubt", RECKONING,
           "    v.deferred_s += fact.waited_s\n    v.hello_is_news = True\n",
           "    v.deferred_s += fact.waited_s\n", RESEND),
    Mutant("a further copy takes a new number", POLICY,
           "        return Send(v.copies[0].text, len(v.copies) + 1, (n.session, n.seq))\n",
           "        return Send(v.copies[0].text, len(v.copies) + 1)\n", RESEND),
    Mutant("an unknown end is sent again on plain equipment", POLICY,
           '        return _doubt(f"{_heard(v)}, and the command may neither be repeated nor read back")\n',
           "        return _repeat_absolute(t, v)\n", TCP_BEEP),
    Mutant("silence is taken for a lost command: sent again without reading back", POLICY,
           _LOOKED,
           "        return verdict\n    if wanted:\n        return Send(v.copies[0].text, len(v.copies) + 1)\n"
           "    if verdict is readback.Verdict.EXPECTED:\n        want = readback.expected(t, v)\n", TCP_ROTATE),
    Mutant("the target is computed again from what is read after silence", POLICY,
           _LOOKED,
           "        return verdict\n    if verdict is readback.Verdict.EXPECTED and wanted and t.form:\n"
           '        return Send(f"SET offset {int(v.readings[-1].value or 0) + 5}", len(v.copies) + 1)\n'
           "    if verdict is readback.Verdict.EXPECTED:\n        want = readback.expected(t, v)\n", TCP_FORM),
]  # fmt: skip
