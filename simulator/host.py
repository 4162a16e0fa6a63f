"""How does a process serve a simulated device, or several on one line?

SIGHUP reboots them, SIGUSR1 pulls the plug of a serial port or puts it back. The process also stops, with
the cause, when the device itself fails: an oracle that goes on after its disk has refused would lie.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence

from simulator.bus import Bus, Served
from simulator.effects import DiskError
from simulator.lifetime import Lifetime
from simulator.makers import Device
from simulator.pty_server import serve_pty
from simulator.server import serve_tcp, url_of
from simulator.setup import Setup, SimulateError

DISK_FAILED, NOT_LISTENING = 1, 7


def serve(setup: Setup, devices: Sequence[Device], listening: Callable[[str], None]) -> None:
    """Serve until a signal, the limit or a failure.

    Args:
        setup: Where, and how long.
        devices: What `switch_on` made of it.
        listening: Called with the URL, and again each time a plug was put back.

    Raises:
        SimulateError: The device cannot be served there, or the disk refused.
    """
    try:
        asyncio.run(_serve(setup, devices[0] if len(devices) == 1 else Bus(devices), listening))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise SimulateError(f"Cannot listen on {setup.place}: {why}.", NOT_LISTENING) from problem
    except DiskError as problem:
        raise SimulateError(f"Stopped: {problem}.", DISK_FAILED) from problem


async def _serve(setup: Setup, device: Served, listening: Callable[[str], None]) -> None:
    lifetime = Lifetime(setup.limit_s)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, device.reboot)
    close: Callable[[], None]
    if setup.pty:
        port = serve_pty(device, setup.link, listening)
        loop.add_signal_handler(signal.SIGUSR1, port.toggle_plug)
        close, url = port.close, port.url
    else:
        server = await serve_tcp(device, *setup.address)
        close, url = server.close, url_of(server)
    try:
        listening(url)
        await lifetime.over()
    finally:
        close()
        device.hang_up()
    lifetime.blame()
