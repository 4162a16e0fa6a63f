"""Which sequence catches a mutant, and after how many?

`hunt` starts a process with the mutant in place, which plays its setup of the exhaustive suite, the shortest sequences
first, until one breaks a rule. Where a test is named instead the process runs that. Run as a program this file is that
process.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.hook import Breaker
from tests.mutants.mutant import Mutant

LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Caught:
    """`line`: the sequence or test that breaks, None where none does; `played`: how many were played until then."""

    line: str | None
    played: int


def hunt(mutant: Mutant) -> Caught:
    """Play a mutant's setup until it is caught, or run its test. Raises RuntimeError where the process fails."""
    change = (mutant.module, mutant.old, mutant.new)
    command = [sys.executable, "-m", "tests.mutants.hunt", mutant.by, *change]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        cwd=Path(__file__).parents[2],
        env=os.environ
        | {"PYTEST_ADDOPTS": ""},  # workers of a test run would be processes without the mutant
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{mutant.words}: {ended.stderr}")
    return Caught(**json.loads(ended.stdout))


def main(name: str, module: str, old: str, new: str) -> None:
    """Break the module, play the setup or run the test, print what caught it as JSON."""
    sys.meta_path.insert(0, Breaker(module, old, new))
    caught = _test(name) if "::" in name else _play(name)
    if module not in sys.modules:
        raise SystemExit(f"{module} was never imported")
    print(json.dumps(asdict(caught)))


def _test(name: str) -> Caught:
    """Run one test. Raises SystemExit where there is none of that name."""
    import pytest

    with redirect_stdout(sys.stderr):
        ended = pytest.main(["-p", "no:xdist", "-p", "no:randomly", name])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"pytest ended with {ended!r}")
    return Caught(name if ended else None, 1)


def _play(name: str) -> Caught:
    """Play a setup."""
    from tests.exhaustive.bench import Bench
    from tests.exhaustive.runs import Broken, play_all
    from tests.exhaustive.setups import setup_named

    setup = setup_named(name)
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home))
        try:
            caught = Caught(None, play_all(bench, setup).total)
        except Broken as broken:
            caught = Caught(broken.line, broken.played)
        bench.close()
    return caught


if __name__ == "__main__":
    main(*sys.argv[1:])
