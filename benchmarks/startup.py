"""How long does the command line take to start, as a multiple of a bare interpreter?

    .venv/bin/python -m benchmarks.startup [--rounds 15]

Each round starts every command once, so that all suffer the same machine; the best of the rounds counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ACKONCE = str(Path(sys.executable).with_name("ackonce"))
BARE = "bare interpreter"
COMMANDS = {
    BARE: [sys.executable, "-c", "pass"],
    "ackonce version": [ACKONCE, "version"],
    "ackonce log": [ACKONCE, "log"],
    "ackonce --help": [ACKONCE, "--help"],
    "ackonce doubt list": [ACKONCE, "doubt", "list"],
    "ackonce send (usage error)": [
        ACKONCE,
        "send",
        "tcp://127.0.0.1:9",
        "--profile",
        "demo/controller",
        "NONE",
    ],
}


def once_ms(command: list[str], home: str) -> float:
    """Milliseconds from start to end of one process."""
    started = time.perf_counter()
    subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env={**os.environ, "ACKONCE_HOME": home},
    )  # fmt: skip
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    os.sched_setaffinity(0, {0})
    best = dict.fromkeys(COMMANDS, float("inf"))
    with tempfile.TemporaryDirectory() as home:
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                best[name] = min(best[name], once_ms(command, home))
    for name, ms in best.items():
        print(f"{name:<28} {ms:7.1f} ms   {ms / best[BARE]:5.1f} x")


if __name__ == "__main__":
    main()
