"""What the tests against foreign peers share."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from agent import retry
from tests.cli.process_rig import make_shell
from tests.cli.project import Project
from tests.peers.adders import Adder, Carrier, Server, adder_at
from tests.peers.bench import Bench, TypingBench
from tests.peers.programs import LEFT_OUT, need_libmodbus, program
from tests.peers.relay import Mishap

SOURCE = Path(__file__).with_name("adder.c")


class StartAdder(Protocol):
    """Starts an adder, which the project then knows as d1; see `adder_at`."""

    def __call__(self, server: Server, carrier: Carrier, *faults: str, **mishap: Any) -> Adder:
        """`faults` of the libmodbus adder; `mishap`: fields of `Mishap`."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which peers were left out, since a skip alone is easily overlooked."""
    skips = [report.longrepr for report in terminalreporter.stats.get("skipped", ())]
    texts = {str(skip[2]) for skip in skips if isinstance(skip, tuple)}
    for peer in sorted(text.partition(LEFT_OUT)[2] for text in texts if LEFT_OUT in text):
        terminalreporter.write_line(f"LEFT OUT: everything with {peer} (ACKONCE_WITHOUT_PEERS)", yellow=True)


@pytest.fixture(scope="session")
def adder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled adder is put."""
    return tmp_path_factory.mktemp("adder")


@pytest.fixture
def bench(tmp_path: Path, quick_home: Path) -> Iterator[Bench]:
    """A project with a store in memory; each command is a process."""
    built = Bench(make_shell(tmp_path / "project", quick_home))
    yield built
    built.shell.close()


@pytest.fixture
def typing_bench(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> TypingBench:
    """The same project, for tests that look at one device at a time and need no process; opening is not waited for."""
    for name in [name for name in os.environ if name.startswith("ACKONCE_")]:
        monkeypatch.delenv(name)
    for name in ("ACKONCE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, bench.shell.environ[name])
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    return TypingBench(bench.shell, project=Project(bench.shell.folder, bench.shell.home, capsys))


@pytest.fixture
def start(tmp_path: Path, adder_folder: Path, bench: Bench) -> Iterator[StartAdder]:
    """Start adders; they are switched off after the agent's processes."""
    with ExitStack() as started:

        def start_one(server: Server, carrier: Carrier, *faults: str, **mishap: Any) -> Adder:
            binary = _compiled(adder_folder) if server == "libmodbus" else adder_folder
            place = adder_at(tmp_path / "adder", server, carrier, binary, faults, Mishap(**mishap))
            adder = started.enter_context(place)
            bench.profile(adder.framing)
            bench.enter(adder.url)
            return adder

        yield start_one
        bench.shell.close()


def _compiled(folder: Path) -> Path:
    """The libmodbus adder; compiled once in a session."""
    need_libmodbus()
    binary = folder / "adder"
    if not binary.exists():
        subprocess.run([program("gcc"), "-std=gnu11", "-O1", "-o", binary, SOURCE, "-lmodbus"], check=True)
    return binary
