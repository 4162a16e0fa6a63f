"""Deliberate faults that no sequence of one command at one address can show: a test catches each (CATALOG.md 2)."""

from tests.mutants.mutant import Mutant

REGISTRY, LEASES, JOURNAL, OWED = "agent.registry", "agent.leases", "agent.journal", "agent.owed"
DEBTS, STREAM, FACTS = "agent.dialects.debts", "agent.dialects.stream", "agent.dialects.lsq_facts"
_NAMES = "tests/agent/test_other_names.py"
_IDENTITY = "tests/agent/test_identity.py"
_UNDER_WAY = "tests/agent/test_under_way.py"
_LEVELLED = "        return max(0.0, unknown_s, min(left_s, float(rows[0][1])))\n"

CATALOG_RULES = [
    Mutant("device key: a doubt stays with the address", REGISTRY,
           "        if here == [(model, serial)]:\n", "        if model:\n",
           f"{_NAMES}::test_a_doubt_follows_the_serial"),
    Mutant("device key: a device has a lease for each address", REGISTRY,
           "            taken = self._leases.take(cursor, other)\n", "            taken = lease\n",
           f"{_IDENTITY}::test_a_device_held_under_another_address_is_held"),
    Mutant("device key: what an address had is lost when its device turns out to be known", REGISTRY,
           'cursor.execute("UPDATE operation SET device = ? WHERE device = ?", (other, lease.device))',
           'cursor.execute("DELETE FROM operation WHERE device = ?", (lease.device,))',
           f"{_IDENTITY}::test_a_second_address_leads_to_the_known_device"),
    Mutant("device key: whoever answers at an address is its device", REGISTRY,
           "            if not provisional and not named:\n", "            if not provisional and not model:\n",
           f"{_IDENTITY}::test_the_first_device_met_is_pinned"),
    Mutant("quiet: what may arrive at the name before is forgotten with it", LEASES,
           "        self.quiet_from = max(known, default=None)\n", "        self.quiet_from = other.quiet_from\n",
           f"{_NAMES}::test_what_may_arrive_at_either_name_is_waited_for"),
    Mutant("key: a newer failure under another name hides what was done", JOURNAL,
           "ORDER BY coalesce(outcome, '') IN ('applied', 'unchanged') DESC, \"\n", 'ORDER BY "\n',
           f"{_NAMES}::test_a_key_that_was_used_under_both_names"),
    Mutant("key: a newer failure under another name hides a doubt", JOURNAL,
           "            \"outcome IS NULL OR outcome = 'in_doubt' DESC, rowid DESC LIMIT 1\",\n",
           '            "rowid DESC LIMIT 1",\n',
           f"{_NAMES}::test_a_key_that_was_used_under_both_names"),
    Mutant("quiet: what is only queued is not waited for", STREAM,
           '        if said.how in ("queued", "unknown"):\n', '        if said.how == "unknown":\n',
           f"{_UNDER_WAY}::test_what_was_only_queued_lands_before_the_next_command"),
    Mutant("quiet: a clock that was set back makes everybody wait", DEBTS,
           "        wait_s = max(owed_s, min(under_way_s, max(self.late_s, WAIT_MAX_S)))\n",
           "        wait_s = max(owed_s, under_way_s)\n", f"{_UNDER_WAY}::test_nobody_waits_for_ever"),
    Mutant("owed: after a power cut only what is on record is waited for", OWED, _LEVELLED,
           "        return max(0.0, min(left_s, float(rows[0][1])))\n",
           f"{_UNDER_WAY}::test_a_debt_on_record_does_not_hide_one_that_was_lost"),
    Mutant("a refusal that was too long to keep is an effect", FACTS,
           "        reply.uncached\n        if reply", "        Status.OK\n        if reply",
           "tests/agent/test_lsq_facts.py::test_a_lost_refusal_that_was_too_long_to_keep"),
    Mutant("target range: a target beyond the form's end is sent", "agent.policy",
           "Decimal(target) > Decimal(high)", "Decimal(target) < Decimal(high)",
           "tests/agent/test_policy_rules.py::test_rule[read-then-set outside the form's range: not sent]"),
    Mutant("sole writer: a setting that others write too is read back", "agent.terms",
           "setting.read is not None and not setting.other_writers:", "setting.read is not None:",
           "tests/agent/test_terms.py::test_what_others_write_too_is_not_read_back"),
    Mutant("sole writer: a form or a verify is offered for a setting that others write too", "devices.catalog",
           "    if setting is not None and profile.setting(setting).other_writers:\n", "    if setting is None:\n",
           "tests/devices/test_catalog.py::test_cumulative_commands"),
]  # fmt: skip
