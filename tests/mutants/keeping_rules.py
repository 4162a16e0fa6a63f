"""Deliberate faults in what the agent keeps, waits for and takes up again: executor, journal, leases, service."""

from tests.mutants.mutant import Mutant
from tests.mutants.setups import RESEND, SERIAL_ROTATE, SERIAL_SET, SET, STAYS, TCP_ROTATE, TCP_SET

DEBTS, LSQ = "agent.dialects.debts", "agent.dialects.lsq"
EXECUTOR, SERVICE = "agent.executor", "agent.service"
LEASES, JOURNAL = "agent.leases", "agent.journal"

KEEPING_RULES = [
    Mutant("quiet: the next command does not wait for copies under way", DEBTS,
           "        wait_s = max(owed_s, min(under_way_s, max(self.late_s, WAIT_MAX_S)))\n",
           "        wait_s = owed_s\n", TCP_SET),
    Mutant("quiet: what is under way is forgotten when a device is given back", LEASES,
           "    return stamp(lease.quiet_from) if lease.quiet_from is not None else None\n", "    return None\n",
           TCP_SET),
    Mutant("quiet: a way is called quiet without waiting", EXECUTOR,
           "        return await self._clock.wait(\n", "        return bool(wait_s + 1) or await self._clock.wait(\n",
           SERIAL_ROTATE),
    Mutant("quiet: a process that has sent nothing itself calls a way quiet without waiting", EXECUTOR,
           "        if self._asked_s is None:\n            return quiet_s\n",
           "        if self._asked_s is None:\n            return 0.0\n", TCP_ROTATE),
    Mutant("owed: an absolute command is sent where an answer is owed", "agent.policy",
           "    if v.conn is None or v.owes_copy or v.owes_read:\n", "    if v.conn is None:\n", SERIAL_SET),
    Mutant("a copy leaves before it is durable", EXECUTOR,
           "            intent = await self._x.journal.intend(self._case, self._station.lease, step, sent)\n",
           "            self._case.note(step, sent, self._clock.stamp())\n"
           '            intent = __import__("agent.journal").journal.Intent(self._case.operation.op, sent)\n', RESEND),
    Mutant("a doubt does not hold back the next command", SERVICE,
           "        if blocked is None:\n            return None\n        report =",
           "        if operation.op:\n            return None\n        report =", RESEND),
    Mutant("what was left open is not settled", SERVICE,
           "        if not lease.settled:\n", "        if lease.number > 99:\n", RESEND),
    Mutant("the key of a command is forgotten", SERVICE,
           "        if operation.key is None:\n", "        if operation.op:\n", RESEND),
    Mutant("who takes a session up again counts from its first number", LEASES,
           "kept = Session(session, boot, last_seq, _record(opening), opened_by == self._me.instance)",
           "kept = Session(session, boot, 0, _record(opening), True)", RESEND),
    Mutant("the evidence of a dead process is not read", JOURNAL,
           "        return Case(operation, [fact for _, fact, _ in self.story(operation.op)], begun=True)\n",
           "        return Case(operation, [], begun=True)\n", RESEND),
    Mutant("the word at the end is not written", JOURNAL,
           "        await self._write(case, lease, lambda cursor: _close(cursor, case.operation.op, result, closed))\n",
           "        await self._write(case, lease, lambda cursor: closed)\n", RESEND),
    Mutant("every station counts its questions from 1, so that a late answer to an earlier one fits", LSQ,
           "        self._ids = secrets.randbits(16)\n", "        self._ids = 0\n", STAYS),
    Mutant("one cut while a session is opened ends the effort", LSQ,
           "            if isinstance(outcome, Lost):\n                try:\n",
           "            if isinstance(outcome, Lost):\n                break\n                try:\n", SET),
    Mutant("what a dead process left open is sent again, not settled", "agent.recovery",
           "        result = await settle(executor, journal, station, entry)\n",
           "        result = await settle(executor, journal, station, entry, resend=True)\n", RESEND),
]  # fmt: skip
