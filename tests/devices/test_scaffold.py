"""What new profiles start from: they load, they lint, and they say what to edit."""

from pathlib import Path

import pytest

from devices.lint import lint
from devices.loader import SHIPPED, available
from devices.scaffold import DIALECTS, lines_to_edit, scaffold
from tests.devices.files import loaded, write

UNSURE = {"line": ["identity"], "exec": ["identity", "run"], "lsq": [], "modbus": ["identity"]}
"""What nobody can say beforehand: how the equipment is asked who it is; and the program is not there yet."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_scaffold_is_a_profile(tmp_path: Path, dialect: str) -> None:
    """It loads under its new name with no error of the lint, as it stands."""
    profile = loaded(tmp_path, scaffold("acme/logger", dialect))
    assert (profile.name, profile.dialect) == ("acme/logger", dialect)
    findings = lint(profile)
    assert [(each.level, each.where) for each in findings] == [
        ("warning", where) for where in UNSURE[dialect]
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_three_lines_are_marked(dialect: str) -> None:
    """The lines to edit first are three, in their order, and hold the reading and the sending."""
    text = scaffold("acme/logger", dialect)
    marked = [text.splitlines()[number - 1] for number in lines_to_edit(text)]
    assert [line.partition("# EDIT ")[2][0] for line in marked] == ["1", "2", "3"]
    reads, sends = ("table:", "write:") if dialect == "modbus" else ("read:", "send:")
    assert reads in marked[1]
    assert sends in marked[2]


@pytest.mark.parametrize("dialect", ["line", "exec", "modbus"])
def test_commented_keys_are_keys(tmp_path: Path, dialect: str) -> None:
    """What stands commented out can be switched on by taking the # away."""
    lines = scaffold("acme/logger", dialect).splitlines(keepends=True)
    keys = ("busy:", "notice:", "boot:", "prompt:", "echo:", "identity:", "boot_read:", "boot_reply:")
    switched = [line.replace("# ", "", 1) if line.lstrip(" #").startswith(keys) else line for line in lines]
    assert switched != lines
    profile = loaded(tmp_path, "".join(switched))
    write(tmp_path, "#!/bin/sh\n", "push.sh").chmod(0o755)
    assert lint(profile) == []
    assert profile.identity is not None


def test_scaffolds_are_no_profiles_of_anybody() -> None:
    """No inventory finds a scaffold by name."""
    assert "vendor/model" not in [name for name, _, _ in available([SHIPPED])]
