"""How does a project begin? `ackonce init [DIR]`: inventory, plan, a profile of one's own, settings; with comments.

What it writes works as it stands against two simulated devices. Rules: nothing is overwritten; every command that is
printed works as typed.
"""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import output
from agent.cli.new_files import write_new
from agent.cli.options import Common, command
from agent.profile_folders import FOLDER
from agent.settings import INVENTORY_FILE, PROJECT_FILE
from devices.problems import UsageProblem

OWN_PROFILE = "site/controller"
NUMBERED, PLAIN = "127.0.0.1:7001", "127.0.0.1:7002"
"""Where the sample inventory expects the simulated devices."""

SETTINGS = f"""\
# Marks the folder of a project: commands typed in a folder below it find its inventory. Options and variables of the
# environment (ACKONCE_TIMEOUT, ...) come before what stands here.

inventory = "{INVENTORY_FILE}"
# timeout = "2s"            # silence time of one exchange, whatever the inventory says
# home = "state"            # journal, leases and log in this folder instead of the user's own
# actor = "night-push"      # the name in the journal instead of the login
"""

INVENTORY = f"""\
# Which devices there are, where they are, and which profile describes each.
# Profiles of your own are found in {FOLDER}/ beside this file, by the name that stands in them.

defaults: {{attempts: 3}}     # copies that may end in silence, where a second copy is safe at all

groups:
  pumps: {{profile: {OWN_PROFILE}, tags: [north]}}

# url:     tcp://HOST:PORT, or serial:/dev/serial/by-id/NAME?baud=9600&parity=E
# serial:  who must answer there; another device is never written to
# timeout: how long one answer may take before it counts as silence
devices:
  # A device that numbers its commands (LSQ1) and so knows a repeat when it sees one. To have one here:
  #   ackonce simulate device --tcp {NUMBERED}
  pump-1: {{group: pumps, url: "tcp://{NUMBERED}", serial: SIM-1, timeout: 1s}}
  # A plain device that does whatever arrives, as often as it arrives:
  #   ackonce simulate device --tcp {PLAIN} --profile demo/controller-line --serial SIM-2
  logger-1: {{profile: demo/controller-line, url: "tcp://{PLAIN}", serial: SIM-2, timeout: 1s}}
"""

PLAN_FILE = Path("plans") / "night.yaml"
PLAN = """\
# What is to be done on many devices. Look first: ackonce plan plans/night.yaml
# Then do it:              ackonce apply plans/night.yaml --key night-1 --reason "why"
# The same key again does nothing twice; what had no turn, or was not done for sure, is done then.

plan: night
targets: ["group:pumps", logger-1]        # names, globs, group:NAME, tag:NAME, @FILE with a name per line
waves: [1, "10%", rest]       # one device first, then a tenth of them, then all others
limits:
  parallel: 8                 # devices worked with side by side; those on one line take turns
  abort_after: {failed: 2, in_doubt: 1}     # so many devices, or "5%" of them: then nothing new begins
# window: {from: "02:00", to: "04:30", tz: Europe/Lisbon}     # nothing begins outside of it
steps:
  - set: {interval: 30}       # make it so: read, and written only where it has another value
    devices: [logger-1]       # of the targets; without it all of them
  - send: ADJUST offset +5
    id: summer-offset         # a step keeps its id when its words change, and a used id refuses other words
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "init")(init)


def init(
    common: Common,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to; default: the current folder.")
    ] = None,
) -> None:
    """Write a working sample project.

    An inventory, a plan, a profile of one's own and settings; nothing is overwritten.
    """
    from devices.scaffold import scaffold

    root = (common.project or Path()) / (folder or Path())
    if root.exists() and not root.is_dir():
        raise UsageProblem(f"{root} is no folder", "Give another one: ackonce init DIR")
    files = {
        root / PROJECT_FILE: SETTINGS,
        root / INVENTORY_FILE: INVENTORY,
        root / PLAN_FILE: PLAN,
        root / FOLDER / f"{OWN_PROFILE}.yaml": scaffold(OWN_PROFILE, "lsq"),
    }
    write_new(files, "Start in an empty folder: ackonce init DIR")
    steps = _next(root)
    if common.json:
        output.put_json({"files": [str(path) for path in files], "next": [step for _, step in steps]})
        return
    for path in files:
        output.put(str(path))
    if not common.quiet:
        for why, step in steps:
            output.say(f"{why}:\n  {step}")
        output.say(f"Then put your own devices into {root / INVENTORY_FILE}.")


def _next(root: Path) -> tuple[tuple[str, str], ...]:
    """Return (why, command line) of what to type next."""
    there = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    return (
        (
            "In another terminal, start a device that loses its first ack",
            f'ackonce simulate device --tcp {NUMBERED} --faults "cmd 1: drop_ack"',
        ),
        (
            "Then see one number, two copies, one effect",
            f"ackonce send pump-1 ADJUST offset +5 --yes -v{there}",
        ),
    )
