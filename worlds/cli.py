"""What does `ackonce simulate world` offer on the command line?

stdout carries what was found: without violations the coverage, else the story of the first failing world and how to
play it again; with an inventory, what `own/command.py` says. Exit code 0 where every world was true, 1 where one was
not, whoever listens; 2 for usage. Which options go together stands in `usage.py`.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from devices.problems import UsageProblem
from worlds import usage

if TYPE_CHECKING:
    from worlds.campaign import Campaign
    from worlds.plan import Cut, Limits
    from worlds.run import Run

FAILED = 1
LOSS_MAX_PERCENT = 50
PROGRESS_WORLDS = 100
SEEDS_MAX = 100_000_000
"""Years of playing."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def world(
    context: typer.Context,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=SEEDS_MAX,
            metavar="N",
            help="How many worlds, from --first on. With -i: runs per command.",
        ),
    ] = 200,
    first: Annotated[int, typer.Option(min=0, metavar="N", help="The first seed.")] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only the world of this seed, with its story.")
    ] = None,
    devices: Annotated[
        int, typer.Option(min=1, max=20, metavar="N", help="At most so many devices in a world.")
    ] = 3,
    agents: Annotated[
        int, typer.Option(min=1, max=8, metavar="N", help="At most so many agents at the same time.")
    ] = 2,
    faults: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Only these kinds of faults, with commas between them."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="CUT", help="With --seed: only these parts, as 'again:' shows them."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="With --seed: make a failing world as small as possible.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=64, metavar="N", help="How many processes share the work.  [one per core]"),
    ] = None,
    inventory: Annotated[
        Path | None, typer.Option("-i", "--inventory", metavar="FILE", help="Play your own profiles instead.")
    ] = None,
    profile_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With -i: where your profiles are looked for first.")
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(
            min=0, max=LOSS_MAX_PERCENT, metavar="PERCENT", help="With -i: how many answers are lost.  [20]"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Run the real agent against simulated equipment in many seeded worlds in which anything may go wrong.

    Each world is judged by what really happened: no command took effect twice, every word was true, and no doubt was
    left that evidence could have settled. Nothing is sent to any equipment.

    With -i the equipment is what your profiles claim: how often each command would end in doubt, and what could be
    added to a profile or changed in it to have fewer doubts.

    \b
    Examples:
      ackonce simulate world --seeds 1000       many worlds, one story at most
      ackonce simulate world --seed 7           one of them again, with its story
      ackonce simulate world --seed 7 --shrink  as little of it as still fails
      ackonce simulate world -i inventory.yaml  your own profiles

    \b
    Exit codes: 0 every world was true · 1 a violation: a bug of ackonce · 2 usage
    3 a file is invalid · 7 the output could not be written · 70 internal error
    130 interrupted
    """  # noqa: D301 - the mark keeps the layout
    usage.insist_that_they_go_together(_given(context))
    if inventory is not None:
        from worlds.own.command import LOSS_PERCENT, run

        loss = LOSS_PERCENT if loss is None else loss
        if not 0 <= loss <= LOSS_MAX_PERCENT:  # no number is larger or smaller than nan
            raise UsageProblem(f"--loss: '{loss}' is no percentage from 0 to {LOSS_MAX_PERCENT}")
        raise typer.Exit(run(inventory, profile_dir, loss, seeds, as_json=json, quiet=quiet))
    from worlds.plan import Limits

    limits = Limits(devices, agents, usage.faults_of(faults))
    if seed is not None:
        cut = usage.cut_of(keep, seed, limits)
        failed = _one(seed, limits, cut, make_small=shrink, as_json=json)
    else:
        failed = _many(range(first, first + seeds), limits, processes, as_json=json, quiet=quiet)
    if failed:
        raise typer.Exit(FAILED)


def _given(context: typer.Context) -> set[str]:
    """The options that were typed."""
    names = {"-i": "inventory"} | {option: option[2:].replace("-", "_") for option in usage.EFFECTIVE}
    sources = {option: context.get_parameter_source(name) for option, name in names.items()}
    return {
        option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"
    }


def _many(seeds: range, limits: "Limits", processes: int | None, *, as_json: bool, quiet: bool) -> bool:
    """Play the worlds of many seeds and tell of the first one that fails, small; whether one failed."""
    from worlds.campaign import campaign

    def progress(done: int) -> None:
        if not quiet and done % PROGRESS_WORLDS == 0:
            output.say(f"{done} of {len(seeds)} worlds")

    found = campaign(seeds, limits, processes=processes, progress=progress)
    # A violation ends with its code, whoever listens.
    with output.whoever_listens() if found.failed else nullcontext():
        _show(found, limits, as_json=as_json)
    if found.failed and not as_json:
        from worlds.plan import NOTHING_CUT

        failing = found.failed[0].seed
        if not quiet:
            output.say(f"looking for the smallest part of the world of seed {failing} that still fails")
        _one(failing, limits, NOTHING_CUT, make_small=True, as_json=False)
    return bool(found.failed)


def _one(seed: int, limits: "Limits", cut: "Cut", *, make_small: bool, as_json: bool) -> bool:
    """Play one world and tell its story; whether it failed."""
    from worlds.run import run_seed

    run = run_seed(seed, limits, cut, keep_story=True)
    if run.violations and make_small:
        from worlds.shrink import shrink

        cut, run = shrink(seed, limits, cut)
    with output.whoever_listens() if run.violations else nullcontext():
        if as_json:
            output.put_json(_run_json(run, cut))
        else:
            _tell(run, limits, cut)
    return bool(run.violations)


def _tell(run: "Run", limits: "Limits", cut: "Cut") -> None:
    from worlds.story import story

    output.put(f"the world of seed {run.seed}{', as much of it as is kept' if str(cut) else ''}:")
    for line in story(run.lines[: _last_violation(run)]):
        output.put(line)
    many = len(run.violations)
    output.put(f"seed {run.seed}: {many} violation{'s' * (many != 1)}, trace {run.trace}")
    for violation in run.violations:
        output.put(f"  {violation}")
    if run.violations:
        parts = [
            f"ackonce simulate world --seed {run.seed}",
            f"--devices {limits.devices} --agents {limits.agents}",
        ]
        parts += [f"--faults {','.join(sorted(limits.faults))}"] if limits.faults is not None else []
        parts += [f"--keep '{cut}'"] if str(cut) else []
        output.put(f"again: {' '.join(parts)}")


def _last_violation(run: "Run") -> int | None:
    """Where the story has told what is wrong; None: only the end of it shows that."""
    from worlds.history import VIOLATION

    seen = [n for n, line in enumerate(run.lines, 1) if line.what == VIOLATION]
    return seen[-1] if len(seen) == len(run.violations) > 0 else None


def _show(found: "Campaign", limits: "Limits", *, as_json: bool) -> None:
    from worlds.coverage import table, unmet

    if as_json:
        output.put_json(
            {
                "worlds": found.worlds,
                "violations": {run.seed: run.violations for run in found.failed},
                "doubts_left": found.left,
                "avoidable_doubts": found.avoidable,
                "requests": found.requests,
                "cpu_s": round(found.cpu_s, 2),
                "counts": dict(sorted(found.counts.items())),
                "unmet": unmet(found.counts, limits),
            }
        )
        return
    if not found.failed:
        for title, met in table(found.counts, limits):
            output.put(f"{title}: {met}")
        never: dict[str, list[str]] = {}
        for name in unmet(found.counts, limits):
            title, _, what = name.partition(": ")
            never.setdefault(title, []).append(what)
        for title, names in never.items():
            output.put(f"never met, {title}: {', '.join(names)}")
    output.put(
        f"{found.worlds} worlds, {found.requests} requests: {len(found.failed)} with violations, "
        f"{found.left} doubts left to a person, {found.avoidable} of them avoidable; "
        f"{found.requests / max(found.cpu_s, 1e-9):.0f} requests per CPU second"
    )
    for run in found.failed:
        output.put(f"seed {run.seed}: {run.violations[0]}")


def _run_json(run: "Run", cut: "Cut") -> dict[str, object]:
    from worlds.story import story

    return {
        "seed": run.seed,
        "keep": str(cut),
        "violations": run.violations,
        "trace": run.trace,
        "story": list(story(run.lines)),
    }


if __name__ == "__main__":
    app()
