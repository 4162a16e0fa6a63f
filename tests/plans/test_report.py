"""A run told as Markdown, CSV and HTML: everything in it, and nothing of it ever markup, formula or script."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from agent.journal import Entry
from agent.operation import Cause, Numbering, Operation, Outcome, Proof, Result, Terms
from agent.plans.course import Missed, Note
from agent.plans.report import CSV_COLUMNS, RunTold, StepTold, as_csv, as_markdown
from agent.plans.report_html import as_html
from devices.kinds import Policy
from logs.picture import Picture, Row, Way

OP = "01JDXAAAAAAAAAAAAAAAAAAAAA"
HOSTILE = "<script>alert(1)</script> | `x` [a](http://b) www.c \x1b[31m\r\n=1+1"
TERMS = Terms(policy=Policy.RESEND, idempotent=False, numbering=Numbering.LSQ1, text="ADJUST offset +5")


def step(
    outcome: Outcome | None = Outcome.APPLIED,
    *,
    device: str = "pump-7",
    command: str = "ADJUST offset +5",
    name: str | None = None,
    picture: Picture | None = None,
    proof: Proof | None = None,
    message: str = "the device confirmed it",
    cause: Cause | None = None,
    attempts: int = 1,
    value: str | None = "15",
) -> StepTold:
    """A step with an operation; without an outcome it is open."""
    operation = Operation(
        op=OP,
        device=device,
        command=command,
        kind="relative",
        terms=TERMS,
        profile="demo/controller",
        profile_digest="d",
        route="tcp://10.0.0.1:7000",
        submitted_by="alice",
    )
    result = None
    if outcome is not None:
        result = Result(
            outcome,
            proof,
            message,
            cause,
            1,
            attempts,
            before="10",
            expected="15",
            value=value,
            elapsed_s=0.5,
        )
    entry = Entry(operation, 1, "2026-11-29T02:00:01.000Z", "2026-11-29T02:00:02.000Z", result)
    return StepTold(device, name or command, command, entry, picture=picture)


def run(*steps: StepTold, **header: str) -> RunTold:
    """A run of the plan `night`."""
    return RunTold("01JDXRUN", "night", "n1", {"plan": "night", "why": "CHG-1207"} | header, steps)


def drawn(*texts: str) -> Picture:
    """A picture in which a device says something."""
    return Picture("pump-7", tuple(Row(0.0, Way.ANSWER, text) for text in texts), "in doubt: silence")


PLAIN = step(proof=Proof.ACK)
DOUBT = step(Outcome.IN_DOUBT, message="silence to everything", picture=drawn("busy"))
NO_TURN = StepTold(
    "meter-1", "SET interval 30", "SET interval 30", None, Note(Missed.ABORTED, "the run was aborted")
)


@pytest.mark.parametrize(
    ("told", "plain"),
    [
        (PLAIN, True),
        (step(Outcome.UNCHANGED, attempts=0), True),
        (step(proof=Proof.VERIFIED), True),
        (step(proof=Proof.ACK, attempts=2), False),
        (step(proof=Proof.DUPLICATE_ACK), False),
        (step(proof=Proof.SETTLED), False),
        (step(proof=Proof.PERSON), False),
        (step(Outcome.REFUSED), False),
        (step(Outcome.NOT_SENT, attempts=0), False),
        (step(None), False),
        (NO_TURN, False),
    ],
)
def test_what_went_plainly(told: StepTold, plain: bool) -> None:
    """Plain is one copy at most and the device's own word at once; all else is for somebody to look at."""
    assert told.plain is plain


def test_words_of_every_end() -> None:
    """The summary counts every step under the word for how it stands, the good ones first."""
    told = run(PLAIN, PLAIN, step(Outcome.UNCHANGED), step(Outcome.NOT_APPLIED), DOUBT, step(None), NO_TURN)
    assert told.summary == "2 applied, 1 unchanged, 1 not applied, 1 in doubt, 1 open, 1 no turn"
    assert told.doubts == (DOUBT, step(None))


def test_a_name_given_to_a_step_stands_before_its_command() -> None:
    """Ids made from the command are not said twice; given ones are."""
    assert step(name="ADJUST offset +5 (2)").name == "ADJUST offset +5"
    assert step(name="summer").name == "summer: ADJUST offset +5"


MARKDOWN = r"""# Run 01JDXRUN of plan night

|  |  |
|---|---|
| plan | night |
| why | CHG-1207 |

**1 applied, 1 not sent, 1 in doubt, 1 no turn**

## In doubt

Nothing that changes these devices is sent until it is settled.

* pump-7: ADJUST offset +5: silence to everything
  * `ackonce doubt check 01JDXAAAAAAAAAAAAAAAAAAAAA`
  * `ackonce doubt resolve 01JDXAAAAAAAAAAAAAAAAAAAAA --applied|--not-applied --reason TEXT`

## Not reached

* meter-2: connection refused

## Steps

| device | step | word | proof | before | value | copies | time | why |
|---|---|---|---|---|---|---|---|---|
| pump-7 | ADJUST offset +5 | applied | ack | 10 | 15 | 1 | 0.50 s |  |
| pump-7 | ADJUST offset +5 | in doubt |  | 10 | 15 | 1 | 0.50 s | silence to everything |
| meter-2 | ADJUST offset +5 | not sent |  | 10 |  | 0 | 0.50 s | connection refused |
| meter-1 | SET interval 30 | no turn |  |  |  |  |  | the run was aborted |

## What did not go plainly

### pump-7: ADJUST offset +5: in doubt

         time │ agent │ wire      │ device
    ──────────┼───────┼───────────┼────────
     +0.000 s │       │ ◄──────── │ busy

    in doubt: silence
"""


def test_markdown() -> None:
    """Header, summary, doubts with what to type, devices not reached, every step, a picture of what was not plain."""
    unreached = step(
        Outcome.NOT_SENT,
        device="meter-2",
        message="connection refused",
        cause=Cause.UNREACHABLE,
        attempts=0,
        value=None,
    )
    assert as_markdown(run(PLAIN, DOUBT, unreached, NO_TURN)) == MARKDOWN


def test_markdown_finds_nothing_to_obey() -> None:
    """Hostile text keeps its table's columns, its line, and becomes no HTML, code, link or heading."""
    hostile = step(Outcome.REFUSED, message=HOSTILE, value=HOSTILE, picture=drawn(HOSTILE, "```", "# x"))
    page = as_markdown(run(hostile, why=HOSTILE))
    table = [line for line in page.splitlines() if line.startswith("| pump-7")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in table] == [10]
    outside = [line for line in page.splitlines() if not line.startswith("    ")]
    for special in ("<", "`x", "[a", "://", "www."):
        assert not re.search(rf"(?<!\\){re.escape(special)}", "\n".join(outside))
    assert "\x1b" not in page
    assert "\r" not in page
    assert not [line for line in outside if line.startswith(("```", "# x"))]


def parsed(page: str) -> list[list[str]]:
    """A CSV page as rows."""
    return list(csv.reader(io.StringIO(page, newline="")))


def test_csv() -> None:
    """One row for each step, lines ending in CR LF, words as in the JSON objects."""
    page = as_csv(run(PLAIN, NO_TURN))
    assert page.count("\r\n") == page.count("\n") == 3
    heading, applied, missed = parsed(page)
    assert tuple(heading) == CSV_COLUMNS
    row = dict(zip(heading, applied, strict=True))
    assert (row["run"], row["device"], row["outcome"], row["evidence"]) == (
        "01JDXRUN",
        "pump-7",
        "applied",
        "ack",
    )
    assert (row["before"], row["value"], row["attempts"], row["op"]) == ("10", "15", "1", OP)
    row = dict(zip(heading, missed, strict=True))
    assert (row["outcome"], row["op"], row["message"]) == ("not_sent", "", "the run was aborted")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-5+A1", "'-5+A1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1+1", "' =1+1"),
        ("＝1+1", "'＝1+1"),  # noqa: RUF001
        ("\t=1", "\\t=1"),
        ("-5", "-5"),
        ("+0.5", "+0.5"),
        ('a "b", c', 'a "b", c'),
        ("two\r\nlines", "two\\r\\nlines"),
    ],
)
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    """What a spreadsheet would compute gets an apostrophe in front; plain numbers stay numbers."""
    [_, row] = parsed(as_csv(run(step(value=text))))
    assert row[CSV_COLUMNS.index("value")] == cell


class Reader(HTMLParser):
    """Collects the elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_harmless_page() -> None:
    """Hostile text shows as it is: no element, attribute or address comes from it, and every element is closed."""
    hostile = step(Outcome.REFUSED, message=HOSTILE, value='" onload="x', picture=drawn(HOSTILE, "</pre>"))
    page = as_html(run(hostile, DOUBT, NO_TURN, why=HOSTILE))
    reader = Reader(page)
    assert reader.open == []
    assert not {"script", "img", "link", "iframe", "a"} & set(reader.elements)
    assert reader.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "scope"}
    assert "<script>alert(1)</script>" in reader.text
    assert "\x1b" not in page
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"(src|href|url)\s*[=(]", re.sub(r"&[^;]+;", "", page))


def test_html_has_everything() -> None:
    """The page has header, summary, the doubt with what to type, every step and the picture."""
    text = Reader(as_html(run(PLAIN, DOUBT, NO_TURN))).text
    for part in (
        "CHG-1207",
        "1 applied, 1 in doubt, 1 no turn",
        f"ackonce doubt check {OP}",
        "the run was aborted",
    ):
        assert part in text
    assert "+0.000 s │" in text


def test_html_is_readable_in_the_dark_and_on_paper() -> None:
    """The page follows the reader's colours, and prints in black with its table's heading on each sheet."""
    page = as_html(run(PLAIN))
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_a_device_that_could_not_be_read_again() -> None:
    """A device that a saved plan did not reach is told as not reached, though no operation was begun."""
    note = Note(Missed.AFTER_FAILURE, "not tried: no answer", cause=Cause.UNREACHABLE)
    unread = StepTold("meter-3", "BEEP", "BEEP", None, note)
    assert run(PLAIN, NO_TURN, unread).not_reached == {"meter-3": "not tried: no answer"}


def test_what_was_done_under_another_name() -> None:
    """It is told as done, with the name of then, and nobody needs to look at it."""
    text = "done before, when the device was called pump-6"
    renamed = replace(PLAIN, device="pump-9", note=Note(Missed.OTHER_NAME, text, OP))
    told = as_markdown(run(renamed))
    assert "**1 applied**" in told
    assert f"| pump-9 | ADJUST offset +5 | applied | ack | 10 | 15 | 1 | 0.50 s | {text} |" in told
    assert "did not go plainly" not in told
