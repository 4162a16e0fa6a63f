"""How is it told why a command gets its policy, and what each loss would lead to? Sends nothing, decides nothing."""

from collections.abc import Iterator
from typing import Any

from agent.cli import exit_codes, output
from agent.cli.foresee import Course, foresee
from agent.cli.layout import GAP, UNDER, aligned, folded
from agent.cli.options import Common
from agent.cli.wording import exit_code
from agent.operation import Numbering, Outcome, Result, Terms
from agent.orders import spelled
from devices.catalog import Call, Choice
from devices.kinds import Kind
from devices.profile import Profile

SECOND_COPY = {
    Kind.QUERY: "it only reads, a second copy does nothing",
    Kind.ABSOLUTE: "a second copy does nothing while ours is the newest write",
    Kind.SAVE: "a second copy does nothing but wear",
    Kind.RELATIVE: "a second copy would count twice",
    Kind.TOGGLE: "a second copy would undo it",
    Kind.TRIGGER: "a second copy would make it happen again",
    Kind.RESET: "a second copy would wipe what came in between",
    Kind.CONSUMING: "a second copy would lose what the first returned",
    Kind.LINK: "it moves the device to other settings of the link, on which no ack can come",
}
"""What a late or second copy does, per kind (CATALOG.md, section 1)."""

_RESTARTS = (
    "A restart is taken to wipe the device's memory of numbers. "
    "Where that memory survives (tier 2), the numbers go on."
)


def show_explanation(
    common: Common, device: str, profile: Profile, call: Call, choice: Choice, terms: Terms
) -> None:
    """Print the explanation of one command for one device, as text or as one JSON object."""
    if common.json:
        output.put_json(explanation_json(device, profile, call, choice, terms))
        return
    for line in explanation(device, profile, call, choice, terms, output.columns()):
        output.put(line)


def explanation(
    device: str, profile: Profile, call: Call, choice: Choice, terms: Terms, columns: int | None = None
) -> list[str]:
    """The explanation for people, as lines; folded where there is a terminal of so many columns."""
    command = call.command
    courses = foresee(terms)
    doubts = dict.fromkeys(course.why for course in courses if course.outcome is Outcome.IN_DOUBT)
    blocks = [
        [f"{device}  {spelled(profile, call)}  ({profile.name})"],
        [
            f"{command.effect_class}, {command.kind}: {SECOND_COPY[command.kind]}.",
            f"Policy {choice.policy}: {choice.why}",
            *_details(profile, call, terms),
        ],
        ["Not taken", *aligned(choice.rejected, columns, GAP)],
        [
            "What each loss would lead to: the word, and what the agent does until then",
            *aligned([_row(course) for course in courses], columns, GAP),
        ],
        ["In doubt means here", *(GAP + why for why in doubts)] if doubts else [],
        [_RESTARTS] if terms.numbering is Numbering.LSQ1 else [],
        ["Nothing was sent."],
    ]
    lines = [line for block in blocks if block for line in ("", *block)][1:]
    return [part for line in lines for part in folded(line, columns, UNDER)]


def explanation_json(
    device: str, profile: Profile, call: Call, choice: Choice, terms: Terms
) -> dict[str, Any]:
    """The explanation as one JSON object; `exit` is the code that `send` would end with."""
    return {
        "schema": 1,
        "device": device,
        "profile": profile.name,
        "command": spelled(profile, call),
        "class": call.command.effect_class.value,
        "kind": call.command.kind.value,
        "policy": choice.policy.value,
        "why": choice.why,
        "rejected": [{"policy": policy.value, "why": reason} for policy, reason in choice.rejected],
        "losses": [
            {
                "loss": course.loss.name,
                "does": list(course.does),
                "outcome": course.outcome.value,
                "evidence": course.proof.value if course.proof is not None else None,
                "exit": int(_exit(course)),
                "message": course.why,
            }
            for course in foresee(terms)
        ],
    }


def _details(profile: Profile, call: Call, terms: Terms) -> Iterator[str]:
    command, back, form = call.command, terms.readback, terms.form
    if command.danger is not None:
        yield f"Danger: {command.danger}"
    if command.mode is not None:
        yield f"Only while {command.mode.setting} reads {command.mode.value}."
    if form is not None:
        yield f"Sent as: {form.template}, where {form.argument} = {form.value}"
    if back is not None:
        query = terms.queries.get(back.setting) or profile.setting(back.setting).read
        asked = f" (asked by {query})" if query is not None else ""
        yield f"Shown by: {back.setting} reads {back.expect}{asked}"


def _row(course: Course) -> tuple[str, str, str]:
    proof = f" ({course.proof})" if course.proof is not None else ""
    code = _exit(course)
    word = f"{course.outcome}{proof}" + (f", exit {code:d}" if code else "")
    return course.loss.text, word, ", ".join(course.does) or "sends nothing more"


def _exit(course: Course) -> exit_codes.Exit:
    return exit_code(Result(course.outcome, course.proof, course.why, course.cause))
