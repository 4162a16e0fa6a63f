"""Does the README work as it is written, for somebody who has nothing else?"""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.cli.main import GROUPS, run
from tests.cli.process_rig import PATIENCE_S, Running
from tests.cli.project import Project
from tests.cli.readme import (
    README,
    File,
    Typed,
    instructions,
    last_op,
    matches,
    said_by_the_program,
    shown,
    spans,
    symptoms,
)

TEXT = README.read_text()
STEPS = list(instructions(TEXT))
SAID = said_by_the_program()


def test_everything_typed_and_written_as_it_stands(tmp_path: Path) -> None:
    """Every file and every command of the README, in order, in a fresh folder and on a terminal, shows what it says."""
    reader = Reader(tmp_path)
    with reader.devices():
        for step in STEPS:
            if isinstance(step, File):
                reader.write(step)
            else:
                reader.type(step)


def test_the_readme_has_something_to_type() -> None:
    """The test above reads the blocks that a reader sees."""
    typed = [step.command for step in STEPS if isinstance(step, Typed)]
    assert len(typed) == TEXT.count("\n$ ") > 12
    assert sum(isinstance(step, File) for step in STEPS) == 6
    assert not matches(("a", "…", "c"), ["a", "b"])


@pytest.mark.parametrize("words", sorted(set(spans(TEXT))))
def test_commands_in_the_prose_exist(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that the text names exists, with the options that it names."""
    named = [word for word in words.split() if re.fullmatch(r"[a-z]+", word)]
    assert run([*named[: 2 if named[0] in GROUPS else 1], "--help"]) == 0
    helped = capsys.readouterr().out
    for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", words):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", helped) or option == "-vv", option


@pytest.mark.parametrize("symptom", symptoms(TEXT))
def test_symptoms_are_in_the_program_s_words(symptom: str) -> None:
    """What stands under "you see" is what the program says, between what differs from case to case."""
    for part in re.split(r"…|\d+", symptom):
        assert part.strip() in SAID, part


def test_the_sample_has_what_the_prose_types(project: Project) -> None:
    """The short command for one device names a device and settings of the project that the reader has begun."""
    [words] = [words for words in spans(TEXT) if words.startswith("set ")]
    project.type("init")
    ended = project.type(*words.split(), "--yes", "--timeout", "50ms")
    assert (ended.code, ended.out.count("refuses connections")) == (7, 2)


class Reader:
    """Somebody at a terminal, in an empty folder, with the command in the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.folder.mkdir()
        (folder / "user").mkdir()
        self._environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder / "user"),
            "TERM": "xterm",
            "COLUMNS": "80",
            "LANG": "C.UTF-8",
        }
        self._op = ""
        self._running: list[Running] = []

    @contextmanager
    def devices(self) -> Iterator[None]:
        """End what was started in further terminals."""
        try:
            yield
        finally:
            for running in self._running:
                running.stop()

    def write(self, file: File) -> None:
        """Write a file, or add to it."""
        path = self.folder / file.path
        path.write_text((path.read_text() if file.added else "") + file.text)

    def type(self, typed: Typed) -> None:
        """Type a command and compare what is shown."""
        if typed.command.startswith("cd "):
            self.folder /= typed.command.removeprefix("cd ")
            return
        said = self._serve(typed.command) if typed.serves else self._run(typed.command)
        self._op = last_op(said) or self._op
        lines = shown(said)
        assert matches(typed.expected, lines), "\n".join([f"$ {typed.command}", *lines])

    def _run(self, command: str) -> str:
        """Everything that a command shows, on a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", re.sub(r"\bOP\b", self._op, command)],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.folder, env=self._environ,
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while part := _read(ours):
            said += part
        os.close(ours)
        process.wait(PATIENCE_S)
        assert b"Traceback" not in said, said.decode()
        return re.sub(r"\x1b\[[0-9;]*m", "", said.decode())

    def _serve(self, command: str) -> str:
        """What a device says when it listens; it stays."""
        running = Running(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self._environ)
        self._running.append(running)
        assert running.out is not None
        return running.out.wait_for("listening")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last of the other side has closed it
        return b""
