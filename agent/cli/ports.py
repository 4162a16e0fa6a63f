"""Which serial ports has this machine? `ackonce ports` lists them, with who has them open; it opens none.

The path in `/dev/serial/by-id` stays with the adapter, `/dev/ttyUSB0` does not: after a restart the next adapter may
have that name, and with it somebody else's commands.
"""

from dataclasses import asdict

import typer

from agent.cli import output
from agent.cli.options import Common, command

_HEADINGS = ("port", "USB", "serial number", "description", "held by", "lasting path")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "ports")(ports)


def ports(common: Common) -> None:
    """List the serial ports: path, lasting path, USB ids, who has them open."""
    from agent.links.ports import list_ports

    found = list_ports()
    if common.json:
        for port in found:
            output.put_json(asdict(port))
    elif found:
        output.put_table(
            _HEADINGS, [(p.device, p.usb, p.serial_number, p.description, p.holder, p.by_id) for p in found]
        )
    if common.quiet:
        return
    if not found:
        output.say("No serial ports found. Plug the adapter in, then look again: ackonce ports")
    elif (lasting := next((port.by_id for port in found if port.by_id is not None), None)) is not None:
        output.say(f"In URLs use the lasting path, which stays with the adapter: serial:{lasting}")
