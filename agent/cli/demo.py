"""`ackonce demo`: the main job on a simulated device that loses acks and requests, ending with the device's own counts.

The device is a process of its own, reached over a real socket; the agent keeps a real journal in a temporary folder.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common, command

if TYPE_CHECKING:
    from agent.service import Report, Service

WORK = (
    "SET interval 30",
    "ADJUST offset +5",
    "ADJUST offset +5",
    "ROTATE log",
    "RESET counter",
    "ADJUST offset -2",
    "BEEP",
)
FAULTS = "cmd 2: drop_ack; cmd 4: drop_request; cmd 6: cut; seed {seed}: drop_ack 0.2, drop_request 0.1"
SILENCE = "300ms"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo")(demo)


def demo(
    common: Common,
    seed: Annotated[int, typer.Option(help="Which messages get lost besides the planned ones.")] = 7,
) -> None:
    """Push seven commands to a simulated device that loses acks; see that each took effect once."""
    with tempfile.TemporaryDirectory(prefix="ackonce-demo-") as folder:
        device = _start_device(seed)
        try:
            listening = json.loads(_line(device.stdout))["listening"]
            output.say(
                f"A simulated device listens on {listening}. It loses some requests and some acks on the way.\n"
            )
            reports = _push(common, Path(folder), listening)
        finally:
            device.terminate()
            said = device.communicate(timeout=10)[0]
    counts = json.loads(said.strip().splitlines()[-1])["executed"]
    executed = {text: counts.get(text, 0) for text in Counter(WORK)}
    raise typer.Exit(_verdict(common, reports, executed))


def _start_device(seed: int) -> subprocess.Popen[str]:
    plan = FAULTS.format(seed=seed)
    words = [sys.executable, "-m", "agent.cli.start", "simulate", "device", "--json", "-q", "--faults", plan]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)  # noqa: S603 - ourselves


def _line(stream: IO[str] | None) -> str:
    line = stream.readline() if stream is not None else ""
    if not line:
        output.fail(Exit.INTERNAL, "the simulated device did not start")
    return line


def _push(common: Common, folder: Path, url: str) -> list["Report"]:
    from agent.cli.orders import order_for
    from agent.cli.running import run_agent
    from agent.cli.targets import choose_targets
    from agent.settings import resolve

    environ = {
        "ACKONCE_HOME": str(folder / "state"),
        "ACKONCE_ACTOR": "demo",
        "HOME": os.environ.get("HOME", "/"),
    }
    settings = resolve(project=folder, timeout=SILENCE, environ=environ)
    [chosen] = choose_targets(settings, [url], "demo/controller")

    async def work(service: "Service") -> list["Report"]:
        reports = []
        for words in WORK:
            if service.executor.stopping():
                break
            reports.append(await service.send(chosen.target, order_for(settings, chosen, words.split())))
        return reports

    from dataclasses import replace

    return run_agent(replace(common, verbose=max(1, common.verbose)), settings, work)


def _verdict(common: Common, reports: list["Report"], executed: dict[str, int]) -> Exit:
    """Compare the agent's words with the device's own count: the claim that the demo makes."""
    asked = Counter(WORK)
    applied = Counter(r.operation.command for r in reports if r.result.outcome.value == "applied")
    unclear = {r.operation.command for r in reports if r.result.outcome.value == "in_doubt"}
    true = all(executed[text] == applied[text] for text in asked if text not in unclear)
    again = sum(report.result.attempts for report in reports) - len(reports)
    if common.json:
        output.put_json(
            {"asked": asked, "applied": applied, "executed": executed, "sent_again": again, "true": true}
        )
        return Exit.OK if true else Exit.INTERNAL
    output.say("")
    output.put(f"{'command':<20}{'asked for':>10}{'agent says':>12}{'device counts':>15}")
    for text in asked:
        output.put(f"{text:<20}{asked[text]:>10}{applied[text]:>12}{executed[text]:>15}")
    if true:
        output.put(
            f"\n{again} copies went out again, and no command took effect more often than the agent says."
        )
    else:
        output.put("\nThe counts differ: please report this, with the seed.")
    output.say(
        "Next: ackonce simulate device --help, or your own device: ackonce send URL --profile NAME COMMAND"
    )
    return Exit.OK if true else Exit.INTERNAL
