"""Does every story still go as it is told, to the letter, and is every word in it true?"""

import difflib
from pathlib import Path

import pytest

from tests.scenarios.runner import played
from tests.scenarios.story import StoryError, read, stories

STORIES_MIN = 28
LINES_MAX = 45


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    """The log, the words and the ledger are those of the file; a difference is shown."""
    told, went = path.read_text(encoding="utf-8"), played(path)
    difference = difflib.unified_diff(
        told.splitlines(), went.splitlines(), f"{path.name}", "as it went", lineterm=""
    )
    assert told == went, "\n".join(difference)


def test_stories_are_many_and_short() -> None:
    """There are as many as were promised; each fits on a page and has a title of its own."""
    paths = stories()
    assert len(paths) >= STORIES_MIN
    assert len({read(path).title for path in paths}) == len(paths)
    for path in paths:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_MAX, path.name


LIES = {
    "an ack without the effect": (
        "LSQ1, tier 1",
        "demo/controller",
        "ignore",
        "0 times, with 1 times applied",
    ),
    "a refusal after the effect": (
        "plain lines",
        "demo/controller-line",
        "nak_after_effect",
        "1 times, with 0 times",
    ),
    "one ack for two effects": (
        "plain lines",
        "demo/controller-line",
        "duplicate_request",
        "2 times, with 1 times",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_not_told_as_a_story(lie: str, tmp_path: Path) -> None:
    """Where a device deceives the agent the ledger shows it: the story cannot be played, and so not be rewritten."""
    device, profile, fault, found = LIES[lie]
    path = tmp_path / "lie.txt"
    path.write_text(f"{lie}\n\ndevice: {device}\nprofile: {profile}\nfaults: cmd 1: {fault}\n\n> send BEEP\n")
    with pytest.raises(AssertionError, match=found):
        played(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A title\n\ndevice: LSQ1\n", "nothing is typed"),
        ("A title\n\ndevice: LSQ2\nprofile: demo/controller\n\n> send BEEP\n", "no such device: LSQ2"),
        ("A title\n\nprofile: demo/controller\n\n> send BEEP\n", "a device and a profile"),
        ("A title\n\ncolour: red\n\n> send BEEP\n", "no setup 'colour'"),
        (
            "A title\n\ndevice: LSQ1\nprofile: demo/controller\n\n> sing BEEP\n",
            "bad.txt:6: no command 'sing'",
        ),
        ("A title\n\ndevice: LSQ1\nprofile: demo/controller\n\n~ it rains\n", "bad.txt:6: nobody knows how"),
        (
            "A title\n\ndevice: LSQ1\nprofile: demo/controller\n\n> send BEEP\n+ x\n",
            "bad.txt:7: neither typed",
        ),
    ],
)
def test_a_story_that_cannot_be_read(text: str, problem: str, tmp_path: Path) -> None:
    """Whoever writes a story is told the file, the line and what is wrong with it."""
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(StoryError, match=problem):
        played(path)
