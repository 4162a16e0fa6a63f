"""`ackonce demo`: the same work and the same losses, with blind resends and with the policies; the devices count.

No files, no hardware: three simulated devices are processes of their own, reached over real ports and sockets, and the
agent keeps a real journal in a temporary folder. Nothing of the user is read or touched. `naive.py` and `policies.py`
are the two clients, `losses.py` is what they suffer, `tally.py` says whether their words are true.
"""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import output
from agent.cli.demo.losses import LSQ1_KINDS, TEXT_KINDS, fault_plan
from agent.cli.demo.naive import NaiveClient
from agent.cli.demo.page import Comparison, as_json, lines
from agent.cli.demo.stand_ins import CountsMissing, DemoFailed, StandIn
from agent.cli.demo.tally import Account, Said
from agent.cli.demo.work import SILENCE_MAX_S, SILENCE_S, WORK
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command
from agent.duration import parse_duration
from agent.store.database import StoreError
from devices.problems import UsageProblem

SEED = 1972
"""Shows each way out in few seconds: repeats recognised, a value read back, a doubt. Any other is as true."""
SEED_MAX = 999_999_999
LOSS, LOSS_MAX = 30, 90

HEAD = f"""\
{len(WORK)} commands for each of three simulated devices, which lose acks and requests.
Plain text runs on a serial line (a pty of this machine), LSQ1 on TCP."""

NEXT = """\

Next, with equipment of your own:
  ackonce init my-site            a sample project: inventory, profile, settings
  ackonce ports                   the serial ports here, and who holds them
  ackonce explain NAME COMMAND    what each loss would lead to; sends nothing
More of this: ackonce demo -v (every attempt), --seed N, --loss PERCENT"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo")(demo)


def demo(
    common: Common,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Decides which messages get lost.")] = SEED,
    loss: Annotated[
        int,
        typer.Option(
            min=0, max=LOSS_MAX, help="Percent of acks lost; of requests half as many. More takes longer."
        ),
    ] = LOSS,
) -> None:
    """Blind resends against policies, on simulated devices that lose acks; ends with the devices' own counts."""
    silence_s = _silence_s(common)
    try:
        with _folder() as folder:
            found = _compare(common, Path(folder), silence_s, seed, loss)
    except DemoFailed as problem:
        code = Exit.INTERNAL if isinstance(problem, CountsMissing) else Exit.NOT_SENT
        output.fail(
            code, f"{problem}.", "Nothing was sent to any device of yours.", problem.hint, as_json=common.json
        )
    except KeyboardInterrupt:
        output.fail(
            Exit.INTERRUPTED, "interrupted; the simulated devices are switched off.", as_json=common.json
        )
    # What it found is all that came of it: where that cannot be written, nothing was shown. Only a no goes before.
    with nullcontext() if found.true else output.whoever_listens():
        if common.json:
            output.put_json(as_json(found))
        else:
            _tell(common, "")
            for line in lines(found):
                output.put(line)
            _tell(common, NEXT)
    raise typer.Exit(Exit.OK if found.true else Exit.INTERNAL)


def _compare(common: Common, folder: Path, silence_s: float, seed: int, loss: int) -> Comparison:
    """Start the devices, let both clients work, and ask the devices what they counted.

    Raises DemoFailed, KeyboardInterrupt.
    """
    with ExitStack() as running:
        with _signals_as_ctrl_c():
            _tell(common, HEAD)
            victim, *ours = [running.enter_context(device) for device in _devices(seed, loss, silence_s)]
            from agent.cli.demo.policies import apply_policies  # 300 ms, in which the devices start

            _tell(common, f"1 of 3: blind resends, {victim.title}")
            believed = _resend_blindly(common, victim, silence_s)

        def begin(number: int, title: str) -> None:
            _tell(common, f"{number + 2} of 3: ackonce, {title}")

        try:
            ended = apply_policies(common, folder, silence_s, ours, begin)
        except StoreError as problem:
            raise _no_journal(folder, problem) from problem
        with _signals_as_ctrl_c():
            return Comparison(
                seed=seed,
                loss=loss,
                naive=Account("blind resends", victim.title, victim.way, believed, victim.end()),
                ours=[
                    Account("ackonce", each.title, each.way, ended.said[each.title], each.end())
                    for each in ours
                ],
                picture=ended.picture,
            )


def _devices(seed: int, loss: int, silence_s: float) -> Iterator[StandIn]:
    """The device of the naive client, then those of the agent: all fresh, all with the same losses."""
    text, numbered = (fault_plan(seed, loss, kinds) for kinds in (TEXT_KINDS, LSQ1_KINDS))
    yield StandIn("plain text", "demo/controller-line", text, silence_s, "--pty", "--serial", "DEMO-1")
    yield StandIn("plain text", "demo/controller-line", text, silence_s, "--pty", "--serial", "DEMO-2")
    yield StandIn("LSQ1", "demo/controller", numbered, silence_s, "--serial", "DEMO-3")


def _resend_blindly(common: Common, device: StandIn, silence_s: float) -> list[Said]:
    """The work as a naive client does it, and what it believes. Raises DemoFailed."""

    def tell(attempt: str) -> None:
        if common.verbose:
            _tell(common, attempt)

    path = device.url().removeprefix("serial:")
    try:
        with NaiveClient(path, silence_s, tell) as client:
            return [
                Said(
                    text, "ok" if client.send(text) else "failed", frozenset({text}), text.startswith("SET ")
                )
                for text in WORK
            ]
    except OSError as problem:
        raise DemoFailed(
            f"the port {path} cannot be used: {problem.strerror or problem}", "Try again: ackonce demo"
        ) from problem


def _silence_s(common: Common) -> float:
    """As `--timeout` has it. Raises UsageProblem."""
    if common.timeout is None:
        return SILENCE_S
    try:
        silence_s = parse_duration(common.timeout)
    except ValueError as problem:
        raise UsageProblem(f"--timeout: {problem}") from None
    if silence_s > SILENCE_MAX_S:
        raise UsageProblem(f"--timeout: the demo waits at most {SILENCE_MAX_S:g} s for an answer")
    return silence_s


def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Where journal and log of the demo are. Raises DemoFailed."""
    try:
        return tempfile.TemporaryDirectory(prefix="ackonce-demo-", ignore_cleanup_errors=True)
    except OSError as problem:
        raise DemoFailed(
            f"the demo needs a temporary folder for its journal: {problem.strerror or problem}",
            "Name a folder that can be written: TMPDIR=FOLDER ackonce demo",
        ) from problem


def _no_journal(folder: Path, problem: StoreError) -> DemoFailed:
    """What keeps the journal from being written; its own folder goes with the demo, so the one above is named."""
    from agent.cli.demo.policies import home_in
    from agent.store.sqlite import FILE_NAME

    why = str(problem).replace(str(home_in(folder) / FILE_NAME), f"in {folder.parent}")
    return DemoFailed(
        why.rstrip("."),
        "Another folder will do, too: TMPDIR=FOLDER ackonce demo",
    )


def _tell(common: Common, text: str) -> None:
    """Progress, unless nobody wants it."""
    if not common.quiet:
        output.say(text)


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Let whatever asks this process to end do it as Ctrl-C does, so that it ends the devices too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
