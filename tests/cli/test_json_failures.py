"""Does `--json` print an object for every failure, whatever the command?"""

import json

import pytest

from tests.cli.project import Project


@pytest.mark.parametrize(
    "words",
    [
        ["get", "nope", "offset"],
        ["probe", "nope"],
        ["explain", "nope", "BEEP"],
        ["devices", "-i", "/nowhere.yaml"],
        ["doubt", "show", "X"],
        ["doubt", "check", "X"],
        ["doubt", "resolve", "X", "--applied"],
        ["profile", "show", "nope"],
        ["send", "nope", "BEEP", "--key", ""],
        ["sned", "x"],
    ],
    ids=" ".join,
)
def test_a_failure_has_its_object(project: Project, words: list[str]) -> None:
    """One object on one line, with the message; the exit code says usage or file."""
    ended = project.type(*words, "--json")
    [line] = ended.out.splitlines()
    record = json.loads(line)
    assert ended.code in (2, 3)
    assert (record["schema"], record["op"], record["outcome"]) == (1, None, "not_sent")
    assert record["message"]
    assert "Traceback" not in ended.err
