"""What does one command cost? CPU time per durable, logged command, beside a raw socket loop in the same run.

    .venv/bin/python -m benchmarks.commands [--commands 2000] [--rounds 3] [--tongue lsq|line]

Both ends run on one core, because there only CPU time repeats well. The journal must be on a disk: the benchmark says
what a flush costs there, and marks the run where that is too little to be a disk.
"""

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ulid import ULID

from agent.operation import Operation, Terms
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.store.sqlite import open_database
from agent.terms import terms_for
from devices.catalog import choose, resolve
from devices.loader import find
from devices.profile import Profile

PROFILES = {"lsq": "demo/controller", "line": "demo/controller-line"}
COMMANDS = {"lsq": "RESET counter", "line": "SET interval 30"}
"""Without numbers an absolute command is the one that needs no readings."""
FRAME = bytes(28)
DISK_FLUSH_MIN_US = 20


def cpu_s() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def peer(devices: int, tongue: str) -> Iterator[tuple[list[int], int]]:
    """The other end, on the same core; yields the devices' ports and the raw port."""
    words = [sys.executable, "-m", "benchmarks.peer", str(devices), tongue]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ports = json.loads(process.stdout.readline())
        try:
            yield ports["devices"], ports["raw"]
        finally:
            process.stdin.close()


def raw_us(port: int, exchanges: int) -> float:
    """CPU microseconds of one exchange over a plain blocking socket."""
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = cpu_s()
        for _ in range(exchanges):
            link.sendall(FRAME)
            link.recv(64)
        return (cpu_s() - started) / exchanges * 1e6


def flush_us(folder: Path) -> float:
    """The median time of a small durable write in the journal's folder, in microseconds."""
    times = []
    with (folder / "flush").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(bytes(160))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def terms(tongue: str, profile: Profile) -> Terms:
    """The terms of the benchmarked command."""
    call = resolve(profile, COMMANDS[tongue].split())
    policy = choose(profile, call.command).policy
    return terms_for(profile, call, policy, reply_s=10.0, attempts=3, survives_reopen=False)


async def push(service: Service, profile: Profile, port: int, commands: int, fixed: Terms) -> None:
    """One session: so many commands one after the other."""
    url = f"tcp://127.0.0.1:{port}"
    target = Target(url, url, 1, None, profile, 10.0, 3, 60.0, 0.0, False)
    with service.hold(target) as station:
        for _ in range(commands):
            operation = Operation(
                op=str(ULID()), device=url, command=fixed.text, kind="reset", terms=fixed, route=url,
                profile=profile.name, profile_digest="", submitted_by="bench",
            )  # fmt: skip
            report = await service.send_on(station, operation)
            assert report.result.outcome.value == "applied", report.result


def agent_us(folder: Path, tongue: str, ports: list[int], commands: int) -> tuple[float, float, float]:
    """CPU microseconds, wall microseconds and flushes per command, over all sessions at once."""
    profile = find(PROFILES[tongue], [])
    fixed = terms(tongue, profile)
    database = open_database(folder)
    service = Service(Settings(folder, folder, None, None, None, "bench"), database=database)
    each = max(1, commands // len(ports))

    async def run() -> tuple[float, float, float]:
        await asyncio.gather(*(push(service, profile, port, 1, fixed) for port in ports))
        flushes, started, wall = database.flushes, cpu_s(), time.perf_counter()
        await asyncio.gather(*(push(service, profile, port, each, fixed) for port in ports))
        done = each * len(ports)
        cpu, took = cpu_s() - started, time.perf_counter() - wall
        return cpu / done * 1e6, took / done * 1e6, (database.flushes - flushes) / done

    try:
        return asyncio.run(run())
    finally:
        service.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the journal is put")
    parser.add_argument("--tongue", choices=tuple(PROFILES), default="lsq")
    options = parser.parse_args()
    os.sched_setaffinity(0, {0})
    with tempfile.TemporaryDirectory(dir=options.folder, prefix=".bench-") as folder:
        flush = flush_us(Path(folder))
        note = "" if flush >= DISK_FLUSH_MIN_US else "  (no disk: not comparable)"
        print(f"flush {flush:.0f} us{note}")
        for sessions in (1, 100):
            ratios, ours, raws, walls, flushes = [], [], [], [], []
            for number in range(options.rounds):
                with peer(sessions, options.tongue) as (ports, raw_port):
                    raw = raw_us(raw_port, options.commands)
                    cpu, wall, flushed = agent_us(
                        Path(folder) / f"{sessions}-{number}", options.tongue, ports, options.commands
                    )
                ratios.append(cpu / raw)
                ours.append(cpu)
                raws.append(raw)
                walls.append(wall)
                flushes.append(flushed)
            print(
                f"{sessions:>4} sessions: {statistics.median(ours):7.1f} us CPU per command, raw socket "
                f"{statistics.median(raws):5.1f} us, ratio {statistics.median(ratios):5.1f}, wall "
                f"{statistics.median(walls):7.1f} us, flushes per command {statistics.median(flushes):.2f}"
            )


if __name__ == "__main__":
    main()
