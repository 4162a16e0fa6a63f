"""Does an answer that was given once cover a plan as it is now?"""

from dataclasses import replace

import pytest

from agent.operation import Operation
from agent.plans.consent import Consent, needed, objection
from tests.plans.desk import Site, lay_out, plan

NOTHING, YES, NAME = Consent


def operations(*wanted: tuple[str, str]) -> list[Operation]:
    """Operations by device and kind."""
    site = Site()
    site.lsq("d1")
    [base] = lay_out(site, plan(["SET interval 3"])).operations()
    return [replace(base, device=device, kind=kind) for device, kind in wanted]


@pytest.mark.parametrize(
    ("wanted", "consent"),
    [
        ([], NOTHING),
        ([("d1", "absolute"), ("d2", "save"), ("d1", "query")], NOTHING),
        ([("d1", "absolute"), ("d1", "relative")], YES),
        ([("d1", "toggle")], YES),
        ([("d1", "trigger")], YES),
        ([("d1", "reset"), ("d1", "reset")], YES),
        ([("d1", "reset"), ("d2", "relative")], YES),
        ([("d1", "reset"), ("d2", "reset")], NAME),
        ([("d1", "link")], NAME),
    ],
)
def test_what_has_to_be_answered(wanted: list[tuple[str, str]], consent: Consent) -> None:
    """What counts every time asks y/N; a link, and a reset of several devices, want the name."""
    assert needed(operations(*wanted)) is consent


@pytest.mark.parametrize(
    ("given", "digest", "wanted", "said"),
    [
        (NOTHING, "old", NOTHING, None),
        (NOTHING, "new", NOTHING, None),
        (YES, "old", YES, None),
        (NAME, "old", YES, None),
        (YES, "new", YES, "the plan has changed"),
        (NAME, "new", YES, "the plan has changed"),
        (NOTHING, "new", YES, "the plan has changed"),
        (NOTHING, "old", YES, "needs a stronger yes"),
        (YES, "old", NAME, "needs a stronger yes"),
    ],
)
def test_whether_it_covers_the_plan_now(
    given: Consent, digest: str, wanted: Consent, said: str | None
) -> None:
    """An answer is for one text and goes as far as it went; what asks nothing is covered always."""
    found = objection(given, "old", digest, wanted)
    assert (found is None) is (said is None)
    assert (said or "") in (found or "")
