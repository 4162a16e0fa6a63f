"""Several real processes append to one log at once."""

import subprocess
import sys
from pathlib import Path

from logs.reader import read

PROCESSES = 3
RECORDS = 400

WORKER = """
import sys
from pathlib import Path
from logs.events import Event
from logs.writer import LogWriter

path, name, records = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
writer = LogWriter(path)
print("ready", flush=True)
sys.stdin.readline()
for n in range(records):
    urgent = n % 7 == 0
    writer.write(Event(ts="2026-01-01T00:00:00.000Z", level="WARN" if urgent else "INFO", event="note",
                       device=name, seq=n, bytes=name[-1] * 2_000))
writer.close()
sys.exit(writer.lost)
"""


def test_lines_of_processes_never_mix(tmp_path: Path) -> None:
    """Every record of every process is there once, whole, and in the order of its process."""
    path = tmp_path / "log"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), f"device-{n}", str(RECORDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for n in range(PROCESSES)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
    for worker in workers:
        worker.communicate(b"go\n", timeout=20)
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    records = read(path)
    seen: dict[str | None, list[int | None]] = {}
    for event in records:
        seen.setdefault(event.device, []).append(event.seq)
    assert seen == {f"device-{n}": list(range(RECORDS)) for n in range(PROCESSES)}
    assert records.skipped == 0
