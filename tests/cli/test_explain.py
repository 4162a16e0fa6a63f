import json
from collections.abc import Sequence

import pytest

from agent.cli.explain_text import SECOND_COPY, explanation, explanation_json
from agent.cli.foresee import LOSSES, foresee
from agent.operation import Terms
from agent.terms import terms_for
from devices.calls import Call, resolve
from devices.catalog import Choice, Policy, choose
from devices.kinds import Kind
from devices.loader import find
from devices.profile import Profile
from tests.cli.project import LINE_PROFILE, Project

INVENTORY = """\
devices:
  pump-7: {profile: demo/controller, url: "tcp://10.3.0.31:7000"}
  meter: {profile: test/line, url: "tcp://10.3.0.32:7000"}
"""


def _explained(
    words: Sequence[str], asked: Policy | None = None, name: str = "demo/controller"
) -> tuple[Profile, Call, Choice, Terms]:
    profile = find(name, [])
    call = resolve(profile, words)
    choice = choose(profile, call.command, asked)
    terms = terms_for(profile, call, choice.policy, reply_s=1.0, attempts=3, survives_reopen=False)
    return profile, call, choice, terms


def test_every_kind_says_what_a_second_copy_would_do() -> None:
    """No kind is without its sentence."""
    assert set(SECOND_COPY) == set(Kind)


def test_the_text_says_class_kind_policy_and_why() -> None:
    """The first lines answer what it is, whether it is safe to repeat, and what the agent does about silence."""
    profile, call, choice, terms = _explained(["ADJUST", "offset", "+5"])
    lines = explanation("pump-7", profile, call, choice, terms)
    assert lines[0] == "pump-7  ADJUST offset +5  (demo/controller)"
    assert "cumulative, relative: a second copy would count twice." in lines
    assert f"Policy resend: {choice.why}" in lines
    assert "Shown by: offset reads before + delta (asked by GET offset)" in lines
    assert lines[-1] == "Nothing was sent."


def test_every_rejected_policy_has_its_reason() -> None:
    """Whoever wants another policy reads why it was not taken."""
    profile, call, choice, terms = _explained(["BEEP"])
    lines = [line.strip() for line in explanation("pump-7", profile, call, choice, terms)]
    for policy, reason in choice.rejected:
        assert any(line.startswith(policy) and line.endswith(reason) for line in lines)


def test_the_absolute_form_is_shown() -> None:
    """With read-then-set the reader sees which command really goes out."""
    profile, call, choice, terms = _explained(["ADJUST", "offset", "+5"], Policy.READ_THEN_SET)
    text = "\n".join(explanation("pump-7", profile, call, choice, terms))
    assert "Sent as: SET offset {value}, where value = before + delta" in text


def test_every_loss_is_a_row_with_its_word() -> None:
    """The table has a row per loss with the word, the exit code where it is not 0, and what the agent does."""
    profile, call, choice, terms = _explained(["ADJUST", "offset", "+5"])
    lines = explanation("pump-7", profile, call, choice, terms)
    for course in foresee(terms):
        [row] = [line for line in lines if line.startswith(f"  {course.loss.text}  ")]
        assert course.outcome in row
        assert ("exit" in row) == (course.outcome == "in_doubt")
        assert row.endswith(", ".join(course.does))
    columns = {line.index(" applied (") for line in lines if " applied (" in line}
    assert len(columns) == 1


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", ["ADJUST offset +5", "ROTATE log", "BEEP"])
def test_a_terminal_is_wide_enough(words: str, columns: int) -> None:
    """Every line fits the terminal, and every word stands there in its order; in a pipe nothing is folded."""
    explained = _explained([words], name="demo/controller-line")
    whole = explanation("pump-7", *explained)
    folded = explanation("pump-7", *explained, columns)
    assert max(map(len, folded)) <= columns
    assert max(map(len, whole)) > 100
    assert " ".join(folded).split() == " ".join(whole).split()


def test_what_goes_on_stands_under_its_column() -> None:
    """Where the agent does much after a loss, the rest of it begins where the column begins, or under the row."""
    explained = _explained(["ADJUST offset +5"], name="demo/controller-line")
    row = "  the command is lost                      applied (ack)"
    wide, narrow = (explanation("pump-7", *explained, columns) for columns in (120, 80))
    [at] = [number for number, line in enumerate(wide) if line.startswith(row)]
    start = wide[at].index("connects anew")
    assert [len(line) - len(line.lstrip()) for line in wide[at + 1 : at + 4]] == [start] * 3
    at = narrow.index(row)
    assert narrow[at + 1].startswith("      connects anew, reads offset back,")
    assert narrow[at + 2].startswith("        ")


def test_doubts_say_why() -> None:
    """Where a loss leads to doubt, the policy's own reason stands below, once."""
    profile, call, choice, terms = _explained(["BEEP"])
    text = "\n".join(explanation("pump-7", profile, call, choice, terms))
    whys = {course.why for course in foresee(terms) if course.outcome == "in_doubt"}
    assert whys
    assert all(text.count(why) == 1 for why in whys)


def test_json_has_the_same_facts() -> None:
    """The object has the choice, the rejected policies and a row per loss with outcome, evidence and exit code."""
    profile, call, choice, terms = _explained(["ADJUST", "offset", "+5"])
    record = json.loads(json.dumps(explanation_json("pump-7", profile, call, choice, terms)))
    head = {key: record[key] for key in ("schema", "device", "command", "class", "kind", "policy", "why")}
    assert head == {
        "schema": 1,
        "device": "pump-7",
        "command": "ADJUST offset +5",
        "class": "cumulative",
        "kind": "relative",
        "policy": "resend",
        "why": choice.why,
    }
    assert [each["policy"] for each in record["rejected"]] == ["read-then-set", "get-verify", "no-retry"]
    assert [each["loss"] for each in record["losses"]] == [loss.name for loss in LOSSES]
    by_loss = {each["loss"]: (each["outcome"], each["evidence"], each["exit"]) for each in record["losses"]}
    assert by_loss["ack_lost"] == ("applied", "duplicate_ack", 0)
    assert by_loss["nobody_answers"] == ("in_doubt", None, 5)


@pytest.fixture
def site(project: Project) -> Project:
    """A project with a numbering device and one that numbers nothing, neither of which is there."""
    project.put("inventory.yaml", INVENTORY)
    project.put("profiles/line.yaml", LINE_PROFILE)
    return project


def test_the_command_explains_without_a_device(site: Project) -> None:
    """`explain` needs neither the device nor a store, and leaves none behind."""
    ended = site.type("explain", "pump-7", "ADJUST", "offset", "-5")
    assert (ended.code, ended.lines[0]) == (0, "pump-7  ADJUST offset -5  (demo/controller)")
    assert not site.home.exists()


def test_the_command_as_json(site: Project) -> None:
    """--json has one object per device of the target."""
    records = site.type("explain", "*", "BEEP", "--json").records
    assert [(record["device"], record["policy"]) for record in records] == [
        ("pump-7", "resend"),
        ("meter", "no-retry"),
    ]


def test_danger_is_said(site: Project) -> None:
    """What the profile warns of stands in the explanation."""
    assert "Danger: loud" in site.type("explain", "meter", "BEEP").lines


def test_a_weaker_promise_is_refused_with_the_reason(site: Project) -> None:
    """Asking what `resend` would do to a device that doubles ends with exit 2 and the reason."""
    ended = site.type("explain", "meter", "BEEP", "--policy", "resend")
    assert (ended.code, ended.out) == (2, "")
    assert "does not recognise repeats" in ended.err
