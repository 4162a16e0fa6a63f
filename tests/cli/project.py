"""A project folder to type commands in, and the commands themselves."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import run

LINE_PROFILE = """\
profile: test/line
title: A device that numbers nothing
dialect: line
settings:
  offset: {type: int, unit: K, min: -100, max: 100, read: "GET offset", durable: true}
commands:
  - name: SET offset
    kind: absolute
    args: [{name: value, type: int, min: -100, max: 100}]
    send: "SET offset {value}"
    setting: offset
  - name: ADJUST offset
    kind: relative
    args: [{name: delta, type: int, min: -50, max: 50}]
    send: "ADJUST offset {delta:+d}"
    verify: {setting: offset, expect: "before + delta"}
  - name: BEEP
    kind: trigger
    send: "BEEP"
    danger: loud
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one command line ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What stood on stdout, line by line."""
        return self.out.splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        """What stood on stdout, one JSON object a line."""
        return [json.loads(line) for line in self.lines]


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with its own store; `home` does not exist until something is put there."""

    folder: Path
    home: Path
    capsys: pytest.CaptureFixture[str]

    def type(self, *words: str) -> Ended:
        """Run one command line in the folder; commands to type next come back as they read for somebody in there."""
        ended = self.type_afar(*words)
        there = f"ackonce -C {self.folder} "
        return Ended(ended.code, ended.out.replace(there, "ackonce "), ended.err.replace(there, "ackonce "))

    def type_afar(self, *words: str) -> Ended:
        """Run one command line for the folder from elsewhere; what was printed is as it was printed."""
        self.capsys.readouterr()
        code = run([*words, "-C", str(self.folder)])
        out, err = self.capsys.readouterr()
        return Ended(code, out, err)

    def put(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
