"""What does `ackonce simulate` offer on the command line?

`device` serves one simulated device with a ledger on a TCP port until it is told to stop. stdout carries
where it listens and, at the end, the device's own counts; stderr one line per fault, execution and boot.
Everything heavy is imported inside the command, because `ackonce` loads this file on every run.
"""

from pathlib import Path
from typing import Annotated

import typer

from simulator.fault_kinds import KINDS, MEANINGS, USUAL_S

SECONDS_MAX = 31 * 86_400.0

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

_EPILOG = "\n".join(
    [
        "A fault plan says what goes wrong with which message:\n",
        "\b",
        '  --faults "cmd 1: drop_ack; cmd 2-3: delay 0.8; any 5: cut; nop *: drop_request"',
        '  --faults "seed 7: drop_ack 0.2, drop_request 0.1"    (each with this probability)',
        f"\nMessages: {', '.join(KINDS)}, any. Faults (S: seconds):\n",
        "\b",
        *(f"  {fault + (' S' if fault in USUAL_S else ''):<18} {text}" for fault, text in MEANINGS.items()),
    ]
)


@app.callback()
def simulate() -> None:
    """Stand-ins for equipment, with ledgers of what really happened."""


@app.command(epilog=_EPILOG)
def device(
    tcp: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any free one.")
    ] = "127.0.0.1:0",
    profile: Annotated[str, typer.Option(metavar="NAME", help="Which machine.")] = "demo/controller",
    serial: Annotated[str, typer.Option(metavar="TEXT", help="The serial that it reports.")] = "SIM-1",
    model: Annotated[str, typer.Option(metavar="TEXT", help="The model that it reports.")] = "demo",
    tier: Annotated[int, typer.Option(min=0, max=2, help="What it remembers across boots.")] = 1,
    unit: Annotated[int, typer.Option(min=1, max=247, help="Its address.")] = 1,
    faults: Annotated[str, typer.Option(metavar="PLAN", help="What goes wrong; see below.")] = "",
    seed: Annotated[int, typer.Option(help="Repeats the noise of junk and bit_flip.")] = 0,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One JSON line per effect, on the disk at once.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What it knows after this process was killed.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, max=SECONDS_MAX, help="Stop after so many seconds.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing but errors on stderr.")] = False,
) -> None:
    """Serve one LSQ1 device on a TCP port.

    SIGINT and SIGTERM stop it; it then prints its own counts. SIGHUP reboots the device: connections, the
    running command and whatever its tier does not keep are lost.
    """
    import secrets
    from functools import partial

    from simulator import report
    from simulator.host import Setup, SimulateError, serve, switch_on

    def observe(word: str, line: str) -> None:
        if not quiet:
            typer.echo(f"{word}: {report.plain(line)}", err=True)

    setup = Setup(tcp, profile, serial, model, tier, unit, faults, seed, ledger, state, seconds)
    try:
        simulated = switch_on(setup, partial(secrets.randbits, 32), observe)
        serve(setup, simulated, partial(report.announce, setup, as_json=json))
    except SimulateError as problem:
        report.complain(problem, as_json=json)
        raise typer.Exit(problem.code) from None
    report.show(simulated, as_json=json)
