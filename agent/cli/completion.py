"""What may come next on a command line that somebody is typing?

The shells' part is typer's: `--install-completion` puts a script in place that asks us, through the environment. Rules:
an answer takes no parser of files (`skim.py`) and no event loop; what cannot be found is not offered, and nothing is
ever said about it: whoever presses Tab wants no error in their line.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agent.cli.options import TAKES_VALUE
from agent.cli.skim import Names, Words, names_in, words_in
from devices import problems

if TYPE_CHECKING:
    from agent.settings import Settings

ASKED_BY = "_ACKONCE_COMPLETE"
"""The variable by which the shell's script asks."""
OPTIONS = ("--install-completion", "--show-completion")
NEWEST = 50
"""So many runs and operations are offered."""
PLAN_BYTES_MAX = 65_536
_PLAN = re.compile(r'^plan:|^\{"saved_plan"', re.MULTILINE)

Given = Mapping[str, Any]
"""The parameters that are typed already, by their names."""


def name_the_shell(words: Sequence[str]) -> None:
    """Let typer take the shell that was named behind one of `OPTIONS`, where it would look for the one around us."""
    if words[0] in OPTIONS and len(words) > 1:
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"


def answer(build: Callable[[str], typer.Typer], verb_first: Callable[[Sequence[str]], list[str]]) -> int:
    """Answer to the shell's script that asks, on stdout. Returns the exit code.

    Args:
        build: the command line as far as a verb needs it.
        verb_first: moves the common options behind the verb.
    """
    try:
        answered = _answer(build, verb_first)
    except Exception:  # noqa: BLE001 - nobody who presses Tab wants to read of it
        return 0
    print(answered)
    return 0


def _answer(build: Callable[[str], typer.Typer], verb_first: Callable[[Sequence[str]], list[str]]) -> str:
    from typer import _completion_classes
    from typer._click.shell_completion import get_completion_class
    from typer.main import get_command

    _completion_classes.completion_init()
    # Our help has no markup, and rich, which typer would take it off with, takes long to import.
    _completion_classes._sanitize_help_text = lambda text: text
    kind = get_completion_class(os.environ[ASKED_BY].removeprefix("complete_"))
    if kind is None:
        return ""
    shell: Any = kind(get_command(typer.Typer(callback=lambda: None)), {}, "ackonce", ASKED_BY)
    typed, incomplete = shell.get_completion_args()
    front = ""
    if kind.name == "bash":
        typed, incomplete, front = _colons_joined(typed, incomplete)
    words = verb_first(typed)
    if words and words[0].startswith("-"):
        if TAKES_VALUE.get(typed[-1], False):
            return ""  # a folder, a file, a time: the shell's own business
        words = []
    shell.cli = get_command(build(words[0] if words else ""))
    _teach(shell.cli)
    shell.get_completion_args = lambda: (words, incomplete)
    return "\n".join(line.removeprefix(front) for line in shell.complete().split("\n"))


def _colons_joined(typed: Sequence[str], incomplete: str) -> tuple[list[str], str, str]:
    """Bash takes `group:meters` for three words, and replaces the last: what stands before it is not to be repeated."""
    words: list[str] = []
    glue = False
    for word in (*typed, incomplete):
        if words and (glue or word == ":"):
            words[-1] += word
        else:
            words.append(word)
        glue = word == ":"
    return words[:-1], words[-1], words[-1][: words[-1].rfind(":") + 1]


def _teach(command: Any) -> None:  # noqa: ANN401 - typer does not export what its commands are
    """Give every argument its completer, by what the help calls it."""
    for each in getattr(command, "commands", {}).values():
        _teach(each)
    for param in command.params:
        if param.param_type_name != "argument":
            continue
        offered = _OFFERED.get((command.name, param.metavar)) or _OFFERED.get((None, param.metavar))
        if offered is not None:
            param.shell_complete = partial(_items, offered)


def _items(offered: "Offered", context: Any, incomplete: str) -> list[Any]:  # noqa: ANN401
    from typer._click.shell_completion import CompletionItem

    words = [word for word in offered(context.params, incomplete) if word.startswith(incomplete)]
    return [CompletionItem(word) for word in dict.fromkeys(words)]


# --- what is offered --------------------------------------------------------------------------------------------------

Offered = Callable[[Given, str], Iterable[str]]
"""What may stand there, given what is typed and how the word begins."""


def _targets(given: Given, incomplete: str) -> Iterator[str]:
    if incomplete.startswith("@"):
        yield from (f"@{path}" for path, _ in _paths(incomplete[1:]))
        return
    names = _names(given)
    yield from (each.name for each in names.devices)
    yield from (f"group:{name}" for name in names.groups)
    yield from (f"tag:{tag}" for tag in sorted({tag for each in names.devices for tag in each.tags}))


def _commands(given: Given, _: str) -> Iterator[str]:
    """The next word of the commands that begin with the words that are there."""
    typed = list(given.get("words") or ())
    for words in _profiles(given):
        for command in words.commands:
            parts = command.split()
            if parts[: len(typed)] == typed:
                yield from parts[len(typed) : len(typed) + 1]


def _settings(given: Given, _: str) -> Iterator[str]:
    return (name for words in _profiles(given) for name in words.settings)


def _assignments(given: Given, incomplete: str) -> Iterator[str]:
    return (f"{name}=" for name in _settings(given, incomplete))


def _plans(_given: Given, incomplete: str) -> Iterator[str]:
    """Folders, and files that are plans or saved ones."""
    for name, path in _paths(incomplete):
        if path.is_dir():
            yield name
        elif path.suffix in (".yaml", ".yml", ".json"):
            with path.open(encoding="utf-8", errors="replace") as file:
                if _PLAN.search(file.read(PLAN_BYTES_MAX)):
                    yield name


def _runs(given: Given, _: str) -> list[str]:
    return _asked(given, f"SELECT run FROM run ORDER BY begun_utc DESC LIMIT {NEWEST}")  # noqa: S608


def _doubts(given: Given, _: str) -> list[str]:
    return _asked(given, "SELECT op FROM operation WHERE outcome IS NULL OR outcome = 'in_doubt' ORDER BY op")


def _operations(given: Given, _: str) -> list[str]:
    return _asked(given, f"SELECT op FROM operation ORDER BY created_utc DESC LIMIT {NEWEST}")  # noqa: S608


_OFFERED: Mapping[tuple[str | None, str], Offered] = {
    (None, "TARGET"): _targets,
    (None, "TARGET..."): _targets,
    (None, "[TARGET]..."): _targets,
    (None, "COMMAND..."): _commands,
    (None, "SETTING..."): _settings,
    (None, "SETTING=VALUE..."): _assignments,
    (None, "FILE"): _plans,
    (None, "PLAN"): _plans,
    (None, "RUN"): _runs,
    (None, "[RUN]"): _runs,
    (None, "OP"): _doubts,
    ("trace", "[OP]"): _operations,
}
"""What is offered for an argument: by the verb, or None for all, and what the help calls the argument."""


def _settings_of(given: Given) -> "Settings":
    from agent.settings import resolve

    project, inventory = given.get("project"), given.get("inventory")
    return resolve(
        project=Path(project) if project else None, inventory=Path(inventory) if inventory else None
    )


def _names(given: Given) -> Names:
    inventory = _settings_of(given).inventory
    return names_in(inventory) if inventory is not None else Names()


def _profiles(given: Given) -> Iterator[Words]:
    """The words of each profile that the target means."""
    from agent.profile_folders import profile_roots

    profile = given.get("profile")
    wanted = (
        [profile] if profile else [each.profile for each in _names(given).meant(given.get("target") or "")]
    )
    shipped = (
        Path(problems.__file__).parent / "profiles"
    )  # as the loader has it, which takes too long to import
    folders = [*profile_roots(_settings_of(given)), shipped]
    for name in dict.fromkeys(wanted):
        if name is not None:
            yield words_in(name, folders)


def _paths(begun: str) -> Iterator[tuple[str, Path]]:
    """What may be meant by the beginning of a path: as it is typed, folders with a slash, and where it is."""
    folder, slash, start = begun.rpartition("/")
    for path in sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir()):
        if path.name.startswith(start) and (start or not path.name.startswith(".")):
            yield f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}", path


def _asked(given: Given, sql: str) -> list[str]:
    """The first column of a query of the store, which is only looked at."""
    from agent.store.sqlite import FILE_NAME

    store = (_settings_of(given).home / FILE_NAME).absolute()
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as database:
        return [str(row[0]) for row in database.execute(sql)]
