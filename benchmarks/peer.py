"""The other end of the benchmarks: N simulated devices of one tongue and one raw echo port, in one process.

Prints one JSON line with the ports, then serves until stdin closes.
"""

import asyncio
import json
import sys

from simulator.device import SimulatedDevice
from simulator.equipment import Controller
from simulator.server import serve_tcp
from simulator.text_device import TextDevice


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every 28 bytes with the same 28 bytes."""
    while data := await reader.read(4096):
        writer.write(data)


async def main(devices: int, tongue: str) -> None:
    """Serve."""
    loop = asyncio.get_running_loop()
    ports = []
    for number in range(devices):
        machine = Controller(f"B-{number}")
        device = TextDevice(machine) if tongue == "line" else SimulatedDevice(machine, serial=f"B-{number}")
        server = await serve_tcp(device, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
    raw = await asyncio.start_server(echo, "127.0.0.1", 0)
    print(json.dumps({"devices": ports, "raw": raw.sockets[0].getsockname()[1]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
