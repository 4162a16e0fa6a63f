"""What is to happen in a world, in which order? A script: one step a line, as `story.txt` shows.

Every step is checked against the cast before anything is started, and what is wrong has its line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent.duration import parse_duration
from agent.fleet.verdict import Status
from devices.problems import FileProblem, FileProblems, UsageProblem, did_you_mean
from worlds.fleet.cast import EVERYTHING, Cast

STORY = Path(__file__).with_name("story.txt")
STEPS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a verb, and its words as they were typed."""

    verb: str
    words: tuple[str, ...]


def read(path: Path, cast: Cast) -> tuple[Step, ...]:
    """The steps of a file. Raises FileProblems."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text in UTF-8"
        raise FileProblems([FileProblem(str(path), None, None, f"cannot be read: {why}")]) from problem
    steps, problems = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            steps.append(_step(line, cast))
        except UsageProblem as problem:
            problems.append(FileProblem(str(path), number, None, problem.message, problem.hint))
    if len(steps) > STEPS_MAX:
        problems.append(FileProblem(str(path), None, None, f"more than {STEPS_MAX} steps"))
    if problems:
        raise FileProblems(problems)
    return tuple(steps)


def _step(line: str, cast: Cast) -> Step:
    verb, *words = line.split()
    if verb not in _VERBS:
        raise UsageProblem(
            f"unknown step '{verb}'", did_you_mean(verb, _VERBS) or f"Known: {', '.join(_VERBS)}"
        )
    shape, check = _VERBS[verb]
    if verb == "say":
        words = [" ".join(words)]
    if len(words) != len(shape.split()) and (verb, words) != ("heal", [EVERYTHING]):
        raise UsageProblem(f"a step of this kind reads: {f'{verb} {shape}'.strip()}")
    check(cast, words)
    return Step(verb, tuple(words))


def _anything(_cast: Cast, _words: list[str]) -> None:
    pass


def _ways(cast: Cast, words: list[str]) -> None:
    cast.ways(*words)


def _healed(cast: Cast, words: list[str]) -> None:
    if words != [EVERYTHING]:
        cast.ways(*words)


def _agent(cast: Cast, words: list[str]) -> None:
    cast.agent(*words)


def _target(cast: Cast, words: list[str]) -> None:
    cast.target(*words)


def _status(cast: Cast, words: list[str]) -> None:
    name, word = words
    known = [status.value for status in Status]
    if word not in known:
        raise UsageProblem(
            f"unknown status '{word}'", did_you_mean(word, known) or f"Known: {', '.join(known)}"
        )
    if name != EVERYTHING:
        cast.target(name)


def _wait(_cast: Cast, words: list[str]) -> None:
    try:
        parse_duration(words[0])
    except ValueError as problem:
        raise UsageProblem(str(problem)) from None


_VERBS: Mapping[str, tuple[str, Callable[[Cast, list[str]], None]]] = MappingProxyType(
    {
        "say": ("TEXT", _anything),
        "cut": ("WHO WHOM", _ways),
        "heal": ("WHO WHOM", _healed),
        "kill": ("AGENT", _agent),
        "start": ("AGENT", _agent),
        "until": ("TARGET STATUS", _status),
        "wait": ("DURATION", _wait),
        "status": ("", _anything),
        "show": ("TARGET", _target),
        "explain": ("TARGET", _target),
    }
)
"""Each verb with the words that follow it, and what checks them."""
