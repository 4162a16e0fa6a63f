"""What does `ackonce simulate fleet` offer on the command line?

stdout carries the story with its times, the tables of the real commands, and at the end what the devices counted
themselves. Exit code 0 where everything came as expected, 1 where something did not, or a probe made a device do
something.
"""

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.duration import parse_duration
from devices.problems import FileProblems, UsageProblem
from worlds.fleet.cast import AGENTS_MAX, DEVICES_MAX, EVERYTHING, SITES, Cast, cast_of

if TYPE_CHECKING:
    from worlds.fleet.script import Step
    from worlds.fleet.telling import Teller
    from worlds.fleet.world import World

FAILED = 1
SITES_DEFAULT, AGENTS_DEFAULT, DEVICES_DEFAULT = 3, "2,1", 6

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def fleet(
    sites: Annotated[
        int, typer.Option(min=1, max=len(SITES), metavar="N", help="How many sites there are.")
    ] = SITES_DEFAULT,
    agents: Annotated[
        str,
        typer.Option(
            "--agents-per-site",
            metavar="N,…",
            help="How many agents each has; the last number for all others.",
        ),
    ] = AGENTS_DEFAULT,
    devices: Annotated[
        int, typer.Option(min=1, max=DEVICES_MAX, metavar="N", help="How many devices all look at.")
    ] = DEVICES_DEFAULT,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHO:WHOM", help="Begin with a cut: porto:device-3, porto-1:lisbon; repeatable."
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Play this story instead of the built-in one.")
    ] = None,
    seconds: Annotated[
        str | None,
        typer.Option("--for", metavar="S", help="Go on for so long after the story; with --cut: so long."),
    ] = None,
    probe: Annotated[
        str | None, typer.Option(metavar="S", help="How often each agent probes each target.  [0.2s]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON Lines on stdout.")] = False,
) -> None:
    """Run several real agents at several sites, with simulated devices and ways between them that can be cut.

    Without --cut and --for a story is played: an agent is cut off from a device, then its neighbour too, the way heals,
    and an agent is killed. Sites are loopback addresses, agents are processes, all is in a temporary folder, and
    nothing is sent to any equipment. Ctrl-C ends everything.

    A story of your own (--script) has a step a line: say, cut, heal, kill, start, until, wait, status, show, explain.
    The built-in one is the file worlds/fleet/story.txt.

    \b
    Examples:
      ackonce simulate fleet                         the story, half a minute
      ackonce simulate fleet --cut porto:device-3 --for 30s

    \b
    Exit codes: 0 everything came as expected · 1 something did not · 2 usage
    3 a file is invalid · 7 it cannot be held here · 70 internal error
    130 interrupted
    """  # noqa: D301 - the mark keeps the layout
    cast = cast_of(_agents_of(agents, sites), devices)
    cuts = [_cut_of(each, cast) for each in cut or []]
    for_s = _seconds("--for", seconds)
    steps = _steps_of(script, cast) if script is not None or not (cuts or seconds) else ()
    if for_s is None and steps:
        for_s = 0.0
    raise typer.Exit(_hold(cast, _probe_s(probe), cuts, steps, for_s, as_json=json))


def _hold(
    cast: Cast,
    probe_s: float,
    cuts: Sequence[tuple[str, str]],
    steps: Sequence["Step"],
    for_s: float | None,
    *,
    as_json: bool,
) -> int:
    """Hold a world until its end; the exit code. Raises StoreError, BrokenPipeError, OutputLost, KeyboardInterrupt."""
    from worlds.fleet.telling import Teller
    from worlds.fleet.world import World, WorldFailed

    teller = Teller(as_json=as_json)
    try:
        with _signals_as_ctrl_c(), World(cast, probe_s) as world:
            return _live(world, teller, cuts, steps, for_s)
    except WorldFailed as failed:
        output.fail(Exit.NOT_SENT, f"{failed}.", f"{failed.hint}.", as_json=as_json)


def _live(
    world: "World",
    teller: "Teller",
    cuts: Sequence[tuple[str, str]],
    steps: Sequence["Step"],
    for_s: float | None,
) -> int:
    from worlds.fleet.player import Player

    cast, player = world.cast, Player(world, teller)
    done = False
    try:
        teller.tell(
            "began",
            f"{len(cast.sites)} sites, {len(cast.agents)} agents, {len(cast.devices)} devices; every agent probes each "
            f"of the others every {world.probe_s:g} s. To look yourself: ackonce fleet status -C {world.folder}",
            folder=str(world.folder),
            agents=world.pids(),
        )
        if not steps:
            player.until(EVERYTHING, "healthy")
        for who, whom in cuts:
            player.cut(who, whom)
        player.play(steps)
        done = for_s is None  # from here on Ctrl-C is how it ends
        if for_s != 0:
            player.watch(for_s)
        done = True
    except KeyboardInterrupt:
        pass
    return _end(world, teller, player.missed, interrupted=not done)


def _end(world: "World", teller: "Teller", missed: int, *, interrupted: bool) -> int:
    """End everything in good order and let the devices say what was done to them; the exit code."""
    unclean = world.end()
    said = f"; {', '.join(unclean)} had to be killed" if unclean else ""
    teller.tell(
        "ended", f"the agents have ended{said}. What the devices counted themselves:", unclean=unclean
    )
    accounts = world.accounts()
    teller.account(accounts)
    asked = sum(sum(each.messages.values()) for each in accounts)
    executed = sum(len(each.executed) for each in accounts)
    done = (
        "none made a device do anything" if not executed else f"{executed} made a device do something: a bug"
    )
    teller.tell("sum", f"{asked} questions of probes, {done}.", asked=asked, executed=executed, missed=missed)
    if executed or missed or unclean:
        return FAILED
    return Exit.INTERRUPTED if interrupted else Exit.OK


# --- what was typed ---------------------------------------------------------------------------------------------------


def _agents_of(text: str, sites: int) -> list[int]:
    """How many agents each site has. Raises UsageProblem."""
    if not re.fullmatch(r"[1-9]\d?(,[1-9]\d?)*", text, re.ASCII):
        raise UsageProblem(f"--agents-per-site: '{text}' is no number, nor several such as {AGENTS_DEFAULT}")
    numbers = [int(each) for each in text.split(",")]
    if len(numbers) > sites:
        raise UsageProblem(f"--agents-per-site: '{text}' is for {len(numbers)} sites, and there are {sites}")
    numbers += [numbers[-1]] * (sites - len(numbers))
    if sum(numbers) > AGENTS_MAX:
        raise UsageProblem(f"{sum(numbers)} agents are more than {AGENTS_MAX}, each of which is a process")
    return numbers


def _cut_of(text: str, cast: Cast) -> tuple[str, str]:
    """The two of `WHO:WHOM`. Raises UsageProblem."""
    who, colon, whom = text.partition(":")
    if not colon:
        raise UsageProblem(f"--cut: '{text}' is not WHO:WHOM", "For example: --cut porto:device-3")
    cast.ways(who, whom)
    return who, whom


def _seconds(option: str, text: str | None) -> float | None:
    """A duration, None where none was typed. Raises UsageProblem."""
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise UsageProblem(f"{option}: {problem}") from None


def _probe_s(text: str | None) -> float:
    """Raises UsageProblem."""
    from worlds.fleet.project import PROBE_S

    probe_s = _seconds("--probe", text) or PROBE_S
    if probe_s < PROBE_S:
        raise UsageProblem(f"--probe: '{text}' must be at least {PROBE_S:g} s, as for any agent")
    return probe_s


def _steps_of(script: Path | None, cast: Cast) -> tuple["Step", ...]:
    """The steps of a script, or of the built-in story. Raises FileProblems, UsageProblem."""
    from worlds.fleet.script import STORY, read

    if script is not None:
        return read(script, cast)
    try:
        return read(STORY, cast)
    except FileProblems:
        raise UsageProblem(
            "the built-in story needs two agents at the first site, a second site, and three devices",
            "Leave the options out, or write a story of your own: --script FILE",
        ) from None


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Let whatever asks this process to end do it as Ctrl-C does, so that it ends the agents too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    app()
