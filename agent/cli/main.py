"""Where does `ackonce` start, and how does every run end?

Each command ends with a documented exit code. Whatever nobody expected becomes code 70 with a report in a file, never a
traceback at the user.
"""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from agent.cli import output
from agent.cli.exit_codes import EPILOG, Exit
from agent.cli.options import TAKES_VALUE
from devices.problems import FileProblems, UsageProblem

GROUPS = ("doubt", "profile", "simulate")
_MODULES = {
    "send": "send",
    "get": "device_commands",
    "explain": "device_commands",
    "probe": "device_commands",
    "devices": "device_commands",
    "doubt": "doubt",
    "log": "log",
    "profile": "profiles",
    "demo": "demo",
    "version": "version",
}
"""The module of `agent.cli` that registers each command: only the one that is asked for is loaded."""
_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]  # typer does not export its own click's base


def build(verb: str) -> typer.Typer:
    """The command line as far as a verb needs it: all of it for help, mistakes and commands from outside."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog=EPILOG,
    )

    @app.callback()
    def ackonce() -> None:
        """Configure field equipment: no command takes effect twice, and nothing untrue is said."""

    wanted = [_MODULES[verb]] if verb in _MODULES else dict.fromkeys(_MODULES.values())
    for name in wanted:
        importlib.import_module(f"agent.cli.{name}").register(app)
    if verb not in _MODULES:
        from importlib.metadata import entry_points

        for point in entry_points(group="ackonce.commands"):
            app.add_typer(point.load(), name=point.name)
    return app


def verb_first(argv: Sequence[str]) -> list[str]:
    """Move common options that stand before the verb behind it (and behind the second verb of a group)."""
    words, moved = list(argv), []
    while words and words[0].partition("=")[0] in TAKES_VALUE:
        option = words.pop(0)
        moved.append(option)
        if TAKES_VALUE[option.partition("=")[0]] and "=" not in option and words:
            moved.append(words.pop(0))
    if not words or words[0].startswith("-"):
        return [*moved, *words]
    verbs = 2 if words[0] in GROUPS and len(words) > 1 and not words[1].startswith("-") else 1
    return [*words[:verbs], *moved, *words[verbs:]]


def main() -> NoReturn:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    words = verb_first(argv)
    try:
        code = build(words[0] if words else "")(words, prog_name="ackonce", standalone_mode=False)
    except typer.Exit as end:
        code = end.exit_code
    except (UsageProblem, FileProblems) as problem:
        code = _wrong_input(problem, words)
    except _CLICK_ERROR as problem:
        code = _wrong_words(problem)
    except (KeyboardInterrupt, typer.Abort):
        output.say("ackonce: interrupted; nothing is under way")
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        code = Exit.OK
    except Exception as bug:  # noqa: BLE001 - the outermost edge
        code = _report(bug)
    return int(code) if isinstance(code, int) else 0


def _wrong_input(problem: UsageProblem | FileProblems, words: Sequence[str]) -> Exit:
    text = str(problem)
    if "--json" in words and words[:1] == ["send"]:
        output.put_json({"schema": 1, "op": None, "outcome": "not_sent", "message": text})
    output.say(f"ackonce: {text}")
    if words[:1] == ["send"]:
        output.say("Nothing was sent.")
    return Exit.USAGE if isinstance(problem, UsageProblem) else Exit.FILE


def _wrong_words(problem: Exception) -> Exit:
    message = problem.format_message() if hasattr(problem, "format_message") else str(problem)
    context = getattr(problem, "ctx", None)
    output.say(f"ackonce: {message}")
    if context is not None:
        output.say(f"Try: {context.command_path} --help")
    return Exit.USAGE


def _forget_stdout() -> None:
    """Whoever read our output has gone; the interpreter must not complain about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(bug: Exception) -> Exit:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(bug))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="ackonce-report-", suffix=".txt", delete=False) as file:
            file.write(text)
        where = f"A report is in {Path(file.name)}"
    except OSError:
        where = "No report could be written"
    output.say(f"ackonce: internal error ({type(bug).__name__}: {bug}). {where}.")
    output.say("Commands that had left are in the journal: ackonce doubt list")
    return Exit.INTERNAL


if __name__ == "__main__":
    main()
