"""What does one plan on two hundred devices take with losses, as a multiple of the same plan without?

    .venv/bin/python -m benchmarks.night [--devices 200] [--kills 3] [--parallel 50]

LSQ1 and plain text by turns, on real sockets; `ackonce apply` as people run it. With losses every fifth ack and every
twentieth command is lost; in a third run the process is killed as often as asked, and applied again under the same key.
The devices count what they did. Memory and threads are the largest that the kernel told of the process.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ACKONCE = str(Path(sys.executable).with_name("ackonce"))
LOSSES = "cmd drop_ack 0.2, cmd drop_request 0.05"
STEPS = ("SET interval 30", "ADJUST offset +5", "ROTATE log")
ONCE = {"ADJUST offset +5", "SET offset 15", "ROTATE log"}
"""What may take effect once only; SET offset is what the relative command becomes on plain text."""


@dataclass(slots=True)
class Night:
    """One plan that was applied, in however many processes."""

    took_s: float = 0.0
    codes: list[int] = field(default_factory=list)
    summary: dict[str, int] = field(default_factory=dict)
    memory_kb: int = 0
    threads: int = 0
    executed: list[dict[str, int]] = field(default_factory=list)

    def wrong(self) -> list[str]:
        """What the devices did more than once, or not at all."""
        found = []
        for number, counts in enumerate(self.executed):
            offset = counts.get("ADJUST offset +5", 0) + counts.get("SET offset 15", 0)
            if counts.get("SET interval 30", 0) < 1 or offset != 1 or counts.get("ROTATE log", 0) != 1:
                found.append(f"device {number}: {counts}")
        return found


@contextmanager
def site(devices: int, faults: str) -> Iterator[tuple[list[int], IO[str], IO[str]]]:
    """The equipment; yields its ports, and the two ends to ask it what it did."""
    words = [sys.executable, "-m", "benchmarks.peer", str(devices), "mixed", faults]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["devices"], process.stdin, process.stdout
        finally:
            process.stdin.close()


def write(folder: Path, ports: list[int], parallel: int) -> None:
    """The inventory and the plan."""
    tongues = ("demo/controller", "demo/controller-line")
    lines = [
        f'  d{number}: {{profile: {tongues[number % 2]}, url: "tcp://127.0.0.1:{port}", timeout: 300ms}}'
        for number, port in enumerate(ports)
    ]
    (folder / "inventory.yaml").write_text("\n".join(["devices:", *lines, ""]), encoding="utf-8")
    steps = "".join(f"  - send: {step}\n" for step in STEPS)
    text = f'plan: night\ntargets: ["*"]\nlimits: {{parallel: {parallel}}}\nsteps:\n{steps}'
    (folder / "night.yaml").write_text(text, encoding="utf-8")


def apply(folder: Path, night: Night, kill_after_s: float | None) -> None:
    """One process; killed after so many seconds where one is given."""
    words = [ACKONCE, "-C", str(folder), "apply", "night.yaml", "--key", "n1", "--yes", "--json", "-q"]
    started = time.monotonic()
    out = folder / "out.jsonl"
    with out.open("w") as file:
        process = subprocess.Popen(
            words,
            stdout=file,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "ACKONCE_HOME": str(folder / "home")},
        )
        while process.poll() is None:
            note(night, process.pid)
            if kill_after_s is not None and time.monotonic() - started > kill_after_s:
                process.kill()
            time.sleep(0.02)
    night.took_s += time.monotonic() - started
    night.codes.append(process.returncode)
    if process.returncode >= 0:
        night.summary = json.loads(out.read_text(encoding="utf-8").splitlines()[-1])["summary"]


def note(night: Night, pid: int) -> None:
    """What the kernel says of the process now."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return
    told = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    night.memory_kb = max(night.memory_kb, int(told.get("VmHWM", "0 kB").split()[0]))
    night.threads = max(night.threads, int(told.get("Threads", "0")))


def play(options: argparse.Namespace, faults: str, kills: int) -> Night:
    """One night, from a fresh store to its last process."""
    night = Night()
    rng = random.Random(options.seed)
    with (
        tempfile.TemporaryDirectory(dir=options.folder, prefix=".bench-") as place,
        site(options.devices, faults) as (ports, ask, answer),
    ):
        write(Path(place), ports, options.parallel)
        for _ in range(kills):
            apply(Path(place), night, rng.uniform(1.0, 4.0))
        apply(Path(place), night, None)
        print("count", file=ask, flush=True)
        night.executed = [dict(Counter(counts)) for counts in json.loads(answer.readline())]
    return night


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the journal is put")
    options = parser.parse_args()
    plain_s = 0.0
    for name, faults, kills in (
        ("no losses", "", 0),
        ("losses", LOSSES, 0),
        ("losses and kills", LOSSES, options.kills),
    ):
        night = play(options, faults, kills)
        plain_s = plain_s or night.took_s
        wrong = night.wrong()
        print(
            f"{name:>17}: {night.took_s:6.1f} s, {night.took_s / plain_s:4.1f} x, {night.memory_kb / 1024:.0f} MB, "
            f"{night.threads} threads, exits {night.codes}, {night.summary}"
        )
        print("\n".join(f"{'':>19}{each}" for each in wrong) or f"{'':>19}every ledger is right")


if __name__ == "__main__":
    main()
