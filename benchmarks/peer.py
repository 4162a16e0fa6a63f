"""The other end of the benchmarks: N simulated devices and one raw echo port, in one process.

    python -m benchmarks.peer DEVICES lsq|line|mixed [FAULTS]

FAULTS are chances such as `drop_ack 0.2`, thrown for each device by its own seed. Prints one JSON line with the ports;
each further line on stdin is answered with one JSON line: by device, what was executed how often. Ends with stdin.
"""

import asyncio
import json
import sys
from collections import Counter
from typing import Any

from simulator.base_device import BaseDevice
from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.fault_kinds import LSQ, TEXT
from simulator.faults import parse
from simulator.server import serve_tcp
from simulator.text_device import TextDevice


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every 28 bytes with the same 28 bytes."""
    while data := await reader.read(4096):
        writer.write(data)


def device(number: int, tongue: str, faults: str) -> BaseDevice[Any]:
    """The device of that number; of a mixed lot every second one speaks plain text."""
    machine, plan = Controller(f"B-{number}"), f"seed {number}: {faults}" if faults else ""
    if tongue == "line" or (tongue == "mixed" and number % 2):
        return TextDevice(machine, plan=parse(plan, TEXT))
    return SimulatedDevice(machine, serial=f"B-{number}", plan=parse(plan, LSQ))


async def main(count: int, tongue: str, faults: str) -> None:
    """Serve."""
    loop = asyncio.get_running_loop()
    devices = [device(number, tongue, faults) for number in range(count)]
    servers = [await serve_tcp(each, "127.0.0.1", 0) for each in devices]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    raw = await asyncio.start_server(echo, "127.0.0.1", 0)
    print(json.dumps({"devices": ports, "raw": raw.sockets[0].getsockname()[1]}), flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(
            json.dumps([Counter(entry.text for entry in each.ledger.entries) for each in devices]), flush=True
        )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
