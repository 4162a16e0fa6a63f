"""What does `ackonce simulate` offer on the command line?

`device` serves one simulated device with a ledger, `proxy` stands in front of anything real; both until they
are told to stop. stdout carries where they listen and, at the end, what they have counted; stderr one line per
fault, execution and boot. Everything heavy is imported inside the commands, because `ackonce` loads this file
on every run.
"""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from simulator.fault_kinds import DEVICE, LSQ, MODBUS, TEXT
from simulator.fault_terms import Vocabulary
from simulator.proxy.faults import PROXY

SECONDS_MAX = 31 * 86_400.0

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
for _point in entry_points(group="ackonce.simulate"):
    app.command(_point.name)(_point.load())


_DRAWN = (
    "Behind `seed N:` each fault is drawn: its probability stands first, then its values, so that `delay 0.1 0.8` makes"
    " one message in ten 0.8 s late."
)


def _epilog(vocabulary: Vocabulary, notes: str, *examples: str) -> str:
    """What a fault plan may say; the empty lines and marks keep the layout."""
    return "\n".join(
        [
            "\b",
            "Examples:",
            *(f"  ackonce simulate {example}" for example in examples),
            f"\nA fault plan says what goes wrong with which message. {_DRAWN}",
            f"{notes} Faults:\n",
            "\b",
            *vocabulary.help_lines(),
        ]
    )


def _unknown() -> str:
    """Which faults mean nothing to which tongue."""
    return "; ".join(
        f"not of {tongue.of}: {', '.join(fault for fault in DEVICE.faults if fault not in tongue.faults)}"
        for tongue in (LSQ, TEXT, MODBUS)
    )


_DEVICE_EPILOG = _epilog(
    DEVICE,
    f"Messages: {', '.join(LSQ.kinds)} (plain text and Modbus: {', '.join(TEXT.kinds)}), any. S: seconds."
    f" N: a code. {_unknown()}.",
    "device --tcp 127.0.0.1:7001",
    'device --faults "cmd 1: drop_ack; any 2-3: delay 0.8"',
    'device --faults "seed 7: drop_ack 0.2, delay 0.1 0.8"',
    "device --profile demo/adder-modbus --pty --unit 1,3",
)
_PROXY_EPILOG = _epilog(
    PROXY,
    "Messages: to (the device), from (the device), any; counted over all connections. S, GAP: seconds. N: bytes."
    " HEX: bytes such as ff00.",
    'proxy --to tcp://10.3.0.31:7000 --faults "from *: dup"',
    'proxy --to tcp://gw:7000 --faults "seed 7: delay 0.1 0.8"',
)


@app.callback()
def simulate() -> None:
    """Stand-ins for equipment, with ledgers of what really happened."""


@app.command(epilog=_DEVICE_EPILOG)
def device(
    tcp: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any free one.  [127.0.0.1:0]"),
    ] = None,
    pty: Annotated[bool, typer.Option("--pty", help="Be a serial port instead.")] = False,
    link: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A name for that port that stays the same.")
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="demo/controller (LSQ1), demo/controller-line (plain text), or Modbus: demo/adder-modbus,"
            " waveshare/modbus-rtu-relay, eastron/sdm630.",
        ),
    ] = "demo/controller",
    serial: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The serial that it reports; of several units the first.  [SIM-1]"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="TEXT", help="LSQ1: the model that it reports.  [demo]")
    ] = None,
    tier: Annotated[
        int | None, typer.Option(min=0, max=2, help="LSQ1: what it remembers across boots.  [1]")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Its address, 1 to 247. Modbus: also several on one line, 1,3; each is a machine with its own"
            " faults and files.  [1]",
        ),
    ] = None,
    framing: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="Modbus: tcp or rtu.  [on a serial port rtu, else as the machine has it]"
        ),
    ] = None,
    faults: Annotated[str, typer.Option(metavar="PLAN", help="What goes wrong; see below.")] = "",
    seed: Annotated[int, typer.Option(help="Repeats the noise of junk and bit_flip.")] = 0,
    echo: Annotated[bool, typer.Option("--echo", help="Everything comes back as it went in.")] = False,
    slots: Annotated[
        int | None, typer.Option(min=1, help="TCP: connections served at a time; more are ended at once.")
    ] = None,
    idle_close: Annotated[
        float | None,
        typer.Option(metavar="S", min=0.0, max=SECONDS_MAX, help="TCP: end a connection silent for so long."),
    ] = None,
    deaf: Annotated[
        float,
        typer.Option(
            metavar="S", min=0.0, max=SECONDS_MAX, help="Ignore what comes in so soon after an opening."
        ),
    ] = 0.0,
    greeting: Annotated[
        str, typer.Option(metavar="TEXT", help="A line for everybody who opens a connection.")
    ] = "",
    opening_boots: Annotated[
        bool,
        typer.Option(
            "--opening-boots",
            help="Opening a connection boots it, as DTR does to some boards. A serial port then loses what is"
            " written at once; with --deaf the boot takes its time.",
        ),
    ] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One JSON line per effect, on the disk at once; of several units FILE-1, FILE-3.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What it knows after this process was killed; as for --ledger."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, max=SECONDS_MAX, help="Stop after so many seconds.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing but errors on stderr.")] = False,
) -> None:
    """Serve a device on a TCP port, or as a serial port.

    SIGINT and SIGTERM stop it; it then prints its own counts. SIGHUP reboots the device: the running command
    and whatever it does not keep are lost, on TCP the connections too. With --pty, SIGUSR1 pulls the plug and
    another one puts it back, at the same --link.
    """
    import secrets
    from functools import partial

    from simulator import report
    from simulator.habits import Habits
    from simulator.host import serve
    from simulator.makers import switch_on
    from simulator.setup import Setup, SimulateError

    def observe(word: str, line: str) -> None:
        if not quiet:
            typer.echo(f"{word}: {report.plain(line)}", err=True)

    said = f"{greeting}\r\n".encode() if greeting else b""
    habits = Habits(slots, idle_close, deaf, said, opening_boots)
    setup = Setup(
        tcp,
        pty,
        link,
        profile,
        serial,
        model,
        tier,
        unit,
        framing,
        faults,
        seed,
        echo,
        habits,
        ledger,
        state,
        seconds,
    )
    try:
        simulated = switch_on(setup, partial(secrets.randbits, 32), observe)
        serve(setup, simulated, partial(report.announce, setup, simulated, as_json=json))
    except SimulateError as problem:
        report.complain(problem, as_json=json)
        raise typer.Exit(problem.code) from None
    report.show(simulated, as_json=json)


@app.command(epilog=_PROXY_EPILOG)
def proxy(
    to: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="What it stands in front of: tcp://HOST:PORT or serial:PATH[?baud=9600&parity=E].",
        ),
    ],
    listen: Annotated[
        str, typer.Option(metavar="URL", help="tcp://HOST:PORT (port 0: any free one) or pty.")
    ] = "tcp://127.0.0.1:0",
    link: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A name for the port of pty that stays the same.")
    ] = None,
    faults: Annotated[str, typer.Option(metavar="PLAN", help="What goes wrong; see below.")] = "",
    frame: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="What one message is: raw (as it was read), line (to a line feed), cr (to a carriage return),"
            " zero (to a 0), mbap or rtu (a Modbus frame, and as it was read what is none).",
        ),
    ] = "raw",
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, max=SECONDS_MAX, help="Stop after so many seconds.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Every message on stderr, too.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing but errors on stderr.")] = False,
) -> None:
    """Stand in front of real equipment and let messages go wrong on their way.

    SIGINT and SIGTERM stop it; it then prints what it has counted.
    """
    from simulator import report
    from simulator.proxy.order import Order, serve_order
    from simulator.setup import SimulateError

    def observe(word: str, line: str, data: bytes) -> None:
        if word in PROXY.kinds:
            if verbose:
                typer.echo(f"{line}: {report.plain_bytes(data)}", err=True)
        elif not quiet:
            typer.echo(f"{word}: {report.plain(line)}", err=True)

    try:
        serve_order(Order(listen, link, to, faults, frame, seconds), observe, as_json=json)
    except SimulateError as problem:
        report.complain(problem, as_json=json)
        raise typer.Exit(problem.code) from None
