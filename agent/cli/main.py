"""Where does `ackonce` start, and how does every run end?

Each command ends with a documented exit code. Whatever nobody expected becomes code 70 with a report in a file, never a
traceback at the user.
"""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from agent.cli import output
from agent.cli.examples import add_examples
from agent.cli.exit_codes import EPILOG, Abandoned, Exit
from agent.cli.options import TAKES_VALUE
from agent.store.database import StoreError
from devices.problems import FileProblems, UsageProblem, did_you_mean

GROUPS = ("config", "doubt", "fleet", "job", "profile", "simulate")
_MODULES = {
    "send": "send",
    "set": "set",
    "get": "device_commands",
    "explain": "device_commands",
    "probe": "device_commands",
    "devices": "device_commands",
    "plan": "plan",
    "apply": "apply",
    "resume": "apply",
    "runs": "runs",
    "report": "report",
    "job": "job",
    "serve": "serve",
    "fleet": "fleet",
    "doubt": "doubt",
    "log": "log",
    "trace": "trace",
    "profile": "profiles",
    "init": "init",
    "config": "config",
    "ports": "ports",
    "doctor": "doctor",
    "demo": "demo",
    "version": "version",
}
"""The module of `agent.cli` that registers each command: only the one that is asked for is loaded."""
_SENDING = frozenset({"send", "set", "plan", "apply", "resume"})
"""Commands of which people wonder whether anything was sent, when they end with a failure."""
_ASKING = frozenset({"get", "probe"})
"""Those that send questions, and none before their words and files are understood."""
_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]  # typer does not export its own click's base


def build(verb: str) -> typer.Typer:
    """The command line as far as a verb needs it: all of it for help, mistakes and commands from outside."""
    app = typer.Typer(
        add_completion=verb not in _MODULES,
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
    add_examples(app)
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a terminal that lacks a character is no error of ours
    if "_ACKONCE_COMPLETE" in os.environ:  # the shell asks, for somebody who pressed Tab
        from agent.cli.completion import answer

        sys.exit(answer(build, verb_first))
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    words = verb_first(argv)
    output.work_in(None, None)
    try:
        code = _carry_out(words)
    except typer.Exit as end:
        code = end.exit_code
    except (UsageProblem, FileProblems) as problem:
        code = _wrong_input(problem, words)
    except _CLICK_ERROR as problem:
        code = _wrong_words(problem, words)
    except StoreError as problem:
        code = _no_store(problem, words)
    except output.OutputLost as problem:
        _say_unsent(words, str(problem))
        code = Exit.NOT_SENT
    except (KeyboardInterrupt, typer.Abort):
        _say_unsent(words, "interrupted; nothing is under way")
        code = Exit.INTERRUPTED
    except Abandoned:
        _say_unsent(words, "interrupted; what was under way is in the journal: ackonce doubt list")
        code = Exit.INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:  # typer turns a reader that has gone into SystemExit(1)
        if not isinstance(end, SystemExit) or end.code:
            output.forget_stdout()
        code = Exit.OK
    except OSError as problem:
        code = _no_such_name(problem, words)
    except Exception as bug:  # noqa: BLE001 - the outermost edge
        code = _report(bug, words)
    finally:
        output.work_in(None, None)  # what is said from here on is of no command
    return int(code) if isinstance(code, int) else 0


def _carry_out(words: Sequence[str]) -> object:
    """Do what was typed; what the command returned, which is its exit code where it ended early."""
    _insist_on_text(words)
    if words and words[0].endswith("-completion"):
        from agent.cli.completion import name_the_shell

        name_the_shell(words)
    code: object = build(words[0] if words else "")(words, prog_name="ackonce", standalone_mode=False)
    if code == Exit.INTERRUPTED and not isinstance(code, Exit):
        raise KeyboardInterrupt  # of which typer makes a 130 of its own, without a word
    return code


def _insist_on_text(words: Sequence[str]) -> None:
    """Whatever is typed may end in the journal, which keeps text. Raises UsageProblem."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageProblem(f"'{word}' is not text in UTF-8") from None


def _wrong_input(problem: UsageProblem | FileProblems, words: Sequence[str]) -> Exit:
    _say_unsent(words, str(problem))
    if words and words[0] in _ASKING:
        output.say("Nothing was sent.")
    return Exit.USAGE if isinstance(problem, UsageProblem) else Exit.FILE


def _no_store(problem: StoreError, words: Sequence[str]) -> Exit:
    from agent.cli.store_words import mending

    _say_unsent(words, str(problem))
    advice = mending(problem)
    if advice is not None:
        output.say(advice)
    return Exit.NOT_SENT


def _no_such_name(problem: OSError, words: Sequence[str]) -> Exit:
    """A name that no file can have was typed, or no file can be opened any more; all else that gets here is a bug."""
    if problem.filename is None and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        output.forget_stdout()  # typer writes help on its own
        _say_unsent(words, f"the output cannot be written: {problem.strerror}")
        return Exit.NOT_SENT
    if problem.errno in (errno.EMFILE, errno.ENFILE):
        _say_unsent(words, f"{problem.strerror}: this process may not open more of them (ulimit -n)")
        return Exit.NOT_SENT
    if problem.errno != errno.ENAMETOOLONG:
        return _report(problem, words)
    _say_unsent(words, f"no file can have this name: {problem.filename}")
    return Exit.USAGE


def _wrong_words(problem: Exception, words: Sequence[str]) -> Exit:
    message = problem.format_message() if hasattr(problem, "format_message") else str(problem)
    unknown = (
        message.startswith("No such command") and "Did you mean" not in message and words[0] not in GROUPS
    )
    hint = did_you_mean(words[0], (*_MODULES, *GROUPS)) if unknown else None
    context = getattr(problem, "ctx", None)
    if message.startswith("Usage:"):  # a group without a verb: its help is the answer
        output.say(message)
        return Exit.USAGE
    _say_unsent(words, message if hint is None else f"{message} {hint}")
    if context is not None:
        output.say(f"Try: {context.command_path} --help")
    return Exit.USAGE


def _say_unsent(words: Sequence[str], message: str) -> None:
    """Say why a run ended without a result, as an object too where asked; of `_SENDING` also that nothing was sent."""
    if "--json" in words:
        output.put_json_failure(message)
    output.say(f"ackonce: {message}")
    if words and words[0] in _SENDING:
        output.say("Nothing was sent.")


def _report(bug: Exception, words: Sequence[str]) -> Exit:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(bug))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="ackonce-report-", suffix=".txt", delete=False) as file:
            file.write(text)
        where = f"A report is in {Path(file.name)}"
    except OSError:
        where = "No report could be written"
    if "--json" in words:
        output.put_json_failure(f"internal error ({type(bug).__name__}: {bug})")
    output.say(f"ackonce: internal error ({type(bug).__name__}: {bug}). {where}.")
    output.say("Commands that had left are in the journal: ackonce doubt list")
    return Exit.INTERNAL
