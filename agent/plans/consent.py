"""What has a person agreed to, and is that enough for what a plan means today?

A job runs while nobody is there to be asked, so the answer is given when it is added and kept: how far it goes, and for
which text of the plan. A plan that was edited since is a new question, unless it asks nothing. So is one whose
inventory or profiles have changed such that more than that answer is needed: a reset that now reaches several devices.
"""

from collections.abc import Iterable
from enum import IntEnum

from agent.operation import Operation

ASKED = frozenset({"relative", "toggle", "trigger", "reset"})
"""Kinds that ask y/N before they are sent (CLI.md 1)."""


class Consent(IntEnum):
    """How far an answer goes; a higher one includes the lower ones."""

    NOTHING = 0
    YES = 1  # y, yes or --yes
    NAME = 2  # the plan's name, typed or given with --confirm


def needed(operations: Iterable[Operation]) -> Consent:
    """What a person has to answer before these operations may be sent."""
    found, resets = Consent.NOTHING, set()
    for operation in operations:
        if operation.kind == "reset":
            resets.add(operation.device)
        if operation.kind == "link" or len(resets) > 1:
            return Consent.NAME
        if operation.kind in ASKED:
            found = Consent.YES
    return found


def objection(given: Consent, agreed_digest: str, digest: str, wanted: Consent) -> str | None:
    """Why an answer given once does not cover a plan as it is now; None where it does.

    Args:
        given: the answer.
        agreed_digest: of the plan's text that it was given for.
        digest: of its text now.
        wanted: the answer that its operations need now.
    """
    if wanted is Consent.NOTHING:
        return None
    if digest != agreed_digest:
        return "the plan has changed since it was agreed to"
    if wanted > given:
        return "with the inventory and profiles of today the plan needs a stronger yes than it was given"
    return None
