"""What can one type? Examples of every verb, as its help shows them.

A test types each of them as it stands here, in the project that `ackonce init` writes. `OP` and `RUN` stand for the id
of an operation or of a run, or its beginning.
"""

from collections.abc import Mapping

import typer

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "send": (
        "ackonce send pump-1 ADJUST offset +5",
        "ackonce send group:pumps SET offset 3",
        "ackonce send pump-1 ROTATE log --key rotate-1207 --yes",
    ),
    "set": ("ackonce set logger-1 interval=30 offset=-2", "ackonce set tag:north offset=3 --json"),
    "get": ("ackonce get logger-1 offset interval", "ackonce get '*' offset --json"),
    "explain": ("ackonce explain pump-1 ADJUST offset +5",),
    "probe": (
        "ackonce probe '*'",
        'ackonce probe pump-1 --take-over --reason "the laptop is lost"',
    ),
    "devices": ("ackonce devices", "ackonce devices --json"),
    "plan": ("ackonce plan plans/night.yaml", "ackonce plan plans/night.yaml pump-1 --out night.saved"),
    "apply": (
        "ackonce apply plans/night.yaml",
        "ackonce apply plans/night.yaml --key night-2026-11-29 --yes",
    ),
    "resume": ("ackonce resume", "ackonce resume RUN --yes"),
    "runs": ("ackonce runs", "ackonce runs RUN"),
    "report": ("ackonce report RUN", "ackonce report RUN --out night.html"),
    "job add": ('ackonce job add night plans/night.yaml --cron "30 2 * * 1-5" --tz UTC',),
    "job list": ("ackonce job list",),
    "job next": ("ackonce job next night --count 3",),
    "job run": ("ackonce job run night",),
    "job export": ("ackonce job export night --systemd",),
    "job remove": ("ackonce job remove night",),
    "fleet status": ("ackonce fleet status", "ackonce fleet status --exit-code --json"),
    "fleet agents": ("ackonce fleet agents",),
    "fleet show": ("ackonce fleet show pump-1",),
    "fleet explain": ("ackonce fleet explain pump-1",),
    "fleet messages": ("ackonce fleet messages",),
    "fleet reference": ('ackonce fleet reference gw-1 --reason "it stands where the users are"',),
    "fleet disable": ('ackonce fleet disable pump-1 --reason "out for repair"',),
    "fleet enable": ("ackonce fleet enable pump-1",),
    "serve": ("ackonce serve --once",),
    "doubt list": ("ackonce doubt list",),
    "doubt show": ("ackonce doubt show OP",),
    "doubt check": ("ackonce doubt check OP",),
    "doubt resolve": ('ackonce doubt resolve OP --applied --reason "read on its display"',),
    "log": ("ackonce log --device pump-1 --since 2h", "ackonce log --retried --json"),
    "trace": ("ackonce trace OP", "ackonce trace"),
    "profile list": ("ackonce profile list",),
    "profile show": ("ackonce profile show demo/controller",),
    "profile lint": ("ackonce profile lint demo/controller-line",),
    "profile new": ("ackonce profile new acme/logger",),
    "profile import": ("ackonce profile import map.csv --name acme/meter",),
    "config show": ("ackonce config show", "ackonce config show --timeout 2s --json"),
    "init": ("ackonce init field-site",),
    "ports": ("ackonce ports",),
    "doctor": ("ackonce doctor",),
    "demo": ("ackonce demo", "ackonce demo --seed 7"),
    "version": ("ackonce version",),
}
"""By the verb, of a group with its own verb."""


def add_examples(app: typer.Typer) -> None:
    """Put the examples into the help of every command that is registered, before what its help ends with."""
    groups = [(f"{group.name} ", group.typer_instance) for group in app.registered_groups]
    for front, part in [("", app), *groups]:
        for command in part.registered_commands if part is not None else ():
            examples = EXAMPLES.get(f"{front}{command.name}")
            if examples is not None:
                shown = "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
                command.epilog = f"{shown}\n\n{command.epilog}" if command.epilog else shown
