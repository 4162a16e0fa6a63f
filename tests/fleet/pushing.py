"""Commands for devices in tests of the fleet, with terms as a person's command has them."""

import itertools
from dataclasses import replace

from agent.operation import Operation
from agent.stations import Target
from agent.terms import terms_for
from devices.catalog import choose, resolve

_IDS = itertools.count(1)


def operation(target: Target, words: str) -> Operation:
    """One command for a device, under the policy that its profile chooses."""
    call = resolve(target.profile, words.split())
    terms = terms_for(
        target.profile, call, choose(target.profile, call.command, None).policy, reply_s=target.timeout_s,
        attempts=target.attempts, survives_reopen=target.survives_reopen,
    )  # fmt: skip
    return Operation(
        op=f"OP{next(_IDS):06}", device=target.name, command=words, kind=call.command.kind.value,
        terms=replace(terms, busy_max_s=target.busy_max_s), profile=target.profile.name,
        profile_digest=target.profile.digest, route=target.url, submitted_by="ana",
    )  # fmt: skip
