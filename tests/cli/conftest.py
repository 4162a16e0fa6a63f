"""What the tests of the command line share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent import retry
from tests.cli.bench import Bench
from tests.cli.live_text import TextBench, TextRig, quick_profile
from tests.cli.process_rig import ProcessRig, make_rig, make_shell
from tests.cli.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    """An empty project folder, apart from whatever this machine's user has configured."""
    for name in [name for name in os.environ if name.startswith("ACKONCE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ACKONCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder, tmp_path / "home", capsys)


@pytest.fixture
def bench(project: Project, quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A project with live devices, and a store in memory."""
    monkeypatch.setenv("ACKONCE_HOME", str(quick_home / "home"))
    built = Bench(Project(project.folder, quick_home / "home", project.capsys))
    yield built
    built.close()


@pytest.fixture
def start_rig(tmp_path: Path, quick_home: Path) -> Iterator[Callable[..., ProcessRig]]:
    """Start a device process with a fault plan, and a project for it: `start_rig(faults, tier=1, timeout="0.3s")`."""
    rigs: list[ProcessRig] = []

    def start(faults: str = "", *, tier: int = 1, timeout: str = "0.3s") -> ProcessRig:
        rigs.append(rig := make_rig(tmp_path / f"rig-{len(rigs)}", quick_home, faults, tier=tier))
        rig.set_up(timeout=timeout)
        return rig

    yield start
    for rig in rigs:
        rig.close()


@pytest.fixture
def text_bench(project: Project, quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TextBench]:
    """A project for text devices that answer by the profile QUICK; opening is tried again without long waits."""
    monkeypatch.setenv("ACKONCE_HOME", str(quick_home / "home"))
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    built = TextBench(make_shell(project.folder, quick_home), project=project)
    built.profile(quick_profile())
    yield built
    built.close()


@pytest.fixture
def start_text_rig(tmp_path: Path, quick_home: Path) -> Iterator[Callable[[], TextRig]]:
    """Start a project for text devices, as many as are wanted side by side."""
    rigs: list[TextRig] = []

    def start() -> TextRig:
        name = f"text-{len(rigs)}"
        rigs.append(rig := TextRig(make_shell(tmp_path / name, quick_home / name)))
        rig.profile(quick_profile())
        return rig

    yield start
    for rig in rigs:
        rig.close()
