"""What does `ackonce simulate world` offer on the command line?

stdout carries what was found: without violations the coverage, else the story of the first failing world and how to
play it again; with an inventory, what `own/command.py` says. Exit code 0 where every world was true, 1 where one was
not, 2 for usage.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from worlds.campaign import Campaign
    from worlds.plan import Cut, Limits
    from worlds.run import Run

FAILED, USAGE = 1, 2
app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def world(
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many worlds, from --first on.")] = 200,
    first: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Only the world of this seed, with its story.")
    ] = None,
    devices: Annotated[int, typer.Option(min=1, max=20, help="At most so many devices in a world.")] = 3,
    agents: Annotated[int, typer.Option(min=1, max=8, help="At most so many agents at the same time.")] = 2,
    faults: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Only these kinds of faults, with commas between them."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="CUT", help="With --seed: only these parts, as --shrink prints them."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Make a failing world as small as possible.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many processes share the work.  [one per core]")
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            "-i",
            "--inventory",
            metavar="FILE",
            help="Play your own profiles instead, each command --seeds times.",
        ),
    ] = None,
    profile_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With -i: where your profiles are looked for first.")
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(min=0, max=50, metavar="PERCENT", help="With -i: how many answers are lost.  [20]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Run the real agent against simulated equipment in many seeded worlds in which anything may go wrong.

    Each world is judged by what really happened: no command took effect twice, every word was true, and no doubt was
    left that evidence could have settled.
    With -i the equipment is what your profiles claim: which commands would end in doubt how often, and what could be
    added to a profile to have fewer.
    """
    if inventory is not None:
        from worlds.own.command import LOSS_PERCENT, run

        if seed is not None or faults is not None or keep is not None or shrink:
            _misused(
                "-i FILE goes with --seeds, --loss and --profile-dir, not with what says how worlds are made."
            )
        loss = LOSS_PERCENT if loss is None else loss
        if not 0.0 <= loss <= 100.0:  # not a number either
            _misused("--loss: a percentage, from 0 to 100.")
        raise typer.Exit(run(inventory, profile_dir, loss, seeds, as_json=json, quiet=quiet))
    if profile_dir is not None or loss is not None:
        _misused("--profile-dir and --loss go with -i FILE.")
    from worlds.campaign import campaign
    from worlds.plan import Cut, Limits, fault_kinds

    kinds = frozenset(faults.split(",")) if faults is not None else None
    if kinds is not None and (unknown := sorted(kinds - set(fault_kinds()))):
        _misused(
            f"--faults: no kind of fault is called {', '.join(unknown)}. Known: {', '.join(fault_kinds())}."
        )
    limits = Limits(devices, agents, kinds)
    try:
        cut = Cut.parse(keep or "")
    except ValueError as problem:
        _misused(f"--keep: {problem}.")
    if seed is not None:
        _one(seed, limits, cut, make_small=shrink, as_json=json)
        return

    def progress(done: int) -> None:
        if not quiet and done % 100 == 0:
            typer.echo(f"{done} of {seeds} worlds", err=True)

    found = campaign(range(first, first + seeds), limits, processes=processes, progress=progress)
    _show(found, as_json=json)
    if found.failed:
        if not json:
            _one(found.failed[0].seed, limits, cut, make_small=True, as_json=False)
        raise typer.Exit(FAILED)


def _misused(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(USAGE)


def _one(seed: int, limits: "Limits", cut: "Cut", *, make_small: bool, as_json: bool) -> None:
    """Play one world and tell its story."""
    from worlds.run import run_seed

    run = run_seed(seed, limits, cut, keep_story=True)
    if run.violations and make_small:
        from worlds.shrink import shrink

        cut, run = shrink(seed, limits, cut)
    if as_json:
        _print_json(_run_json(run, cut))
    else:
        _tell(run, limits, cut)
    if run.violations:
        raise typer.Exit(FAILED)


def _tell(run: "Run", limits: "Limits", cut: "Cut") -> None:
    from worlds.story import story

    for line in story(run.lines[: _last_violation(run)]):
        typer.echo(line)
    typer.echo(f"seed {run.seed}: {len(run.violations)} violations, trace {run.trace}")
    for violation in run.violations:
        typer.echo(f"  {violation}")
    if run.violations:
        parts = [
            f"ackonce simulate world --seed {run.seed}",
            f"--devices {limits.devices} --agents {limits.agents}",
        ]
        parts += [f"--faults {','.join(sorted(limits.faults))}"] if limits.faults is not None else []
        parts += [f"--keep '{cut}'"] if str(cut) else []
        typer.echo(f"again: {' '.join(parts)}")


def _last_violation(run: "Run") -> int | None:
    """Where the story has told what is wrong; None: only the end of it shows that."""
    from worlds.history import VIOLATION

    seen = [n for n, line in enumerate(run.lines, 1) if line.what == VIOLATION]
    return seen[-1] if len(seen) == len(run.violations) > 0 else None


def _show(found: "Campaign", *, as_json: bool) -> None:
    from worlds.coverage import table, unmet

    if as_json:
        _print_json(
            {
                "worlds": found.worlds,
                "violations": {run.seed: run.violations for run in found.failed},
                "doubts_left": found.left,
                "avoidable_doubts": found.avoidable,
                "requests": found.requests,
                "cpu_s": round(found.cpu_s, 2),
                "counts": dict(sorted(found.counts.items())),
                "unmet": unmet(found.counts),
            }
        )
        return
    for title, met in table(found.counts):
        typer.echo(f"{title}: {met}")
    for name in unmet(found.counts):
        typer.echo(f"never met: {name}")
    typer.echo(
        f"{found.worlds} worlds, {found.requests} requests: {len(found.failed)} with violations, "
        f"{found.left} doubts left to a person, {found.avoidable} of them avoidable; "
        f"{found.requests / max(found.cpu_s, 1e-9):.0f} requests per CPU second"
    )
    for run in found.failed:
        typer.echo(f"seed {run.seed}: {run.violations[0]}")


def _run_json(run: "Run", cut: "Cut") -> dict[str, object]:
    from worlds.story import story

    return {
        "seed": run.seed,
        "keep": str(cut),
        "violations": run.violations,
        "trace": run.trace,
        "story": list(story(run.lines)),
    }


def _print_json(data: dict[str, object]) -> None:
    import json

    typer.echo(json.dumps(data))


if __name__ == "__main__":
    app()
