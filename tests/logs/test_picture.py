"""The sequence picture: lanes, arrows, silence, and that nothing from outside is obeyed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from logs.picture import ASCII, LINES, LINES_USED, WIDTH_MIN, Glyphs, Picture, Row, Way, as_mermaid, as_text

STORY = Picture(
    "pump-7",
    (
        Row(0.0, Way.NOTE, "connection 1 is open"),
        Row(None, Way.ASK, "GET offset", "baseline"),
        Row(0.001, Way.ANSWER, "10"),
        Row(0.002, Way.COPY, "ADJUST offset +5", "seq=12 attempt 1"),
        Row(1.002, Way.SILENCE, "1.0 s silence"),
        Row(7200.0, Way.COPY, "ADJUST offset +5", "seq=12 attempt 2"),
        Row(300_000.0, Way.ANSWER, "ack", "attempt 2"),
    ),
    "applied: twice asked, once done",
)

rows = st.builds(
    Row,
    st.none() | st.floats(-10, 1e7),
    st.sampled_from(Way),
    st.text(max_size=60),
    st.text("seq=0123456789 ", max_size=20),
)
pictures = st.builds(
    Picture, st.text(max_size=20), st.lists(rows, max_size=6).map(tuple), st.text(max_size=90)
)


def test_lanes() -> None:
    """Deeds stand with the agent, arrows and silence on the wire, words with the device; the end stands below."""
    assert as_text(STORY, 100) == [
        "     time │ agent                  │ wire                      │ device",
        "──────────┼────────────────────────┼───────────────────────────┼────────",
        " +0.000 s │ (connection 1 is open) │                           │",
        "          │ GET offset             │ baseline ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄► │",
        " +0.001 s │                        │ ◄──────────────────────── │ 10",
        " +0.002 s │ ADJUST offset +5       │ seq=12 attempt 1 ───────► │",
        " +1.002 s │                        │ … 1.0 s silence           │",
        "  +2h 00m │ ADJUST offset +5       │ seq=12 attempt 2 ───────► │",
        "  +3d 11h │                        │ ◄────────────── attempt 2 │ ack",
        "",
        "applied: twice asked, once done",
    ]


def test_every_arrow_crosses_the_wire() -> None:
    """An unanswered copy is drawn exactly like an answered one: no arrow says that something was lost."""
    answered, silent = (
        as_text(Picture("d", (Row(0.0, Way.COPY, "BEEP", "seq=1 attempt 1"), Row(1.0, way, "x")), "e"), 100)[
            2
        ]
        for way in (Way.ANSWER, Way.SILENCE)
    )
    assert answered == silent
    assert answered.endswith("─► │")


def test_ascii() -> None:
    """Where the lines cannot be shown, plain characters draw the same picture."""
    lines = as_text(STORY, 100, ASCII)
    assert "\n".join(lines).isascii()
    assert lines[1].startswith("----------+--")
    assert lines[5] == " +0.002 s | ADJUST offset +5       | seq=12 attempt 1 -------> |"
    assert lines[6] == " +1.002 s |                        | ... 1.0 s silence         |"


def test_the_lines_used_are_those_drawn() -> None:
    """`LINES_USED` names every character beyond ASCII that a picture is drawn with."""
    drawn = {character for line in as_text(STORY, 100) for character in line if not character.isascii()}
    assert drawn == set(LINES_USED)


@pytest.mark.parametrize("width", [WIDTH_MIN, 72, 100])
def test_long_words_go_on_below(width: int) -> None:
    """No line is wider than asked, and no character of a long text is lost."""
    text = "".join(f"{number:03}" for number in range(160))
    picture = Picture("d", (Row(0.0, Way.COPY, text, "seq=1 attempt 1"), Row(0.1, Way.ANSWER, text)), "e")
    lines = as_text(picture, width)
    assert max(map(cell_len, lines)) <= width
    lanes = [line.split("│") for line in lines[2:-2]]
    assert "".join(lane[1].strip() for lane in lanes) == text
    assert "".join(lane[3].strip() for lane in lanes) == text


@pytest.mark.parametrize("length", range(40, 90))
def test_lanes_keep_their_names(length: int) -> None:
    """However long the words of one lane are, the others keep the room for their names."""
    for way in (Way.NOTE, Way.ANSWER):
        assert as_text(Picture("d", (Row(0.0, way, "x" * length),), "e"), 100)[0].endswith("│ device")


def test_a_silence_is_one_line() -> None:
    """The wire is wide enough for its silence."""
    lines = as_text(Picture("d", (Row(0.0, Way.SILENCE, "connection lost after 1.5 s"),), "e"), 100)
    assert lines[2] == " +0.000 s │       │ … connection lost after 1.5 s │"


def test_a_narrow_place_gets_readable_lanes() -> None:
    """Lanes of a few columns would help nobody: below the minimum whoever shows the lines wraps them."""
    assert as_text(STORY, 10) == as_text(STORY, WIDTH_MIN)


def test_no_rows() -> None:
    """A story without facts is its end alone."""
    assert as_text(Picture("d", (), "not_sent: no route"), 100) == ["not_sent: no route"]


@settings(derandomize=True, max_examples=80, deadline=None)
@given(pictures, st.integers(20, 120), st.sampled_from([LINES, ASCII]))
def test_any_text_is_drawn(picture: Picture, width: int, glyphs: Glyphs) -> None:
    """Whatever a device says, the lines are printable and as wide as allowed, and markup stays text."""
    lines = as_text(picture, width, glyphs)
    assert all(line.isprintable() for line in lines)
    table = lines[: lines.index("")] if picture.rows else []
    assert all(cell_len(line) <= max(width, WIDTH_MIN) for line in table)


def test_markup_is_text() -> None:
    """Brackets from a device are shown as they came."""
    assert "[bold]x[/bold]" in as_text(Picture("d", (Row(0.0, Way.ANSWER, "[bold]x[/bold]"),), "e"), 100)[2]


def test_mermaid() -> None:
    """The same story as a sequenceDiagram."""
    assert as_mermaid(STORY) == [
        "sequenceDiagram",
        "    participant agent",
        "    participant wire",
        "    participant device as pump-7",
        "    Note over agent: +0.000 s, connection 1 is open",
        "    agent->>device: GET offset, baseline",
        "    device-->>agent: +0.001 s, 10",
        "    agent->>device: +0.002 s, ADJUST offset +5, seq=12 attempt 1",
        "    Note over wire: +1.002 s, 1.0 s silence",
        "    agent->>device: +2h 00m, ADJUST offset +5, seq=12 attempt 2",
        "    device-->>agent: +3d 11h, ack, attempt 2",
        "    Note over agent,device: applied#58; twice asked, once done",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a;b", "a#59;b"),
        ("#35", "#35;35"),
        ("wrap: x", "wrap#58; x"),
        ("a\nb\r", "a#92;nb#92;r"),
        ("<br/>", "#60;br/#62;"),
        ("%% hidden", "#37;#37; hidden"),
        ("a->>b", "a-#62;#62;b"),
        ("", "-"),
    ],
)
def test_mermaid_obeys_no_device(text: str, shown: str) -> None:
    """What Mermaid would read as syntax is written as entities."""
    assert as_mermaid(Picture("d", (Row(None, Way.ANSWER, text),), "e"))[4] == f"    device-->>agent: {shown}"


@settings(derandomize=True, max_examples=80, deadline=None)
@given(pictures)
def test_mermaid_keeps_its_form(picture: Picture) -> None:
    """Whatever is said, each row is one line of a known form, with plain characters and entities only."""
    first, *lines = as_mermaid(picture)
    words = r"(?:[\w .,+=()/'?!*@-]|#\d+;)+"
    line = rf"    (participant \w+( as {words})?|(agent->>device|device-->>agent|Note over [\w,]+): {words})"
    assert first == "sequenceDiagram"
    assert len(lines) == len(picture.rows) + 4
    assert [each for each in lines if not re.fullmatch(line, each)] == []
