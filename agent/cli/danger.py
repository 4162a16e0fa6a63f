"""What counts as a yes before something is done that cannot be taken back?

What has to be answered is `agent/plans/consent.py`'s business; here it is asked. `--yes` answers y/N, only `--confirm`
answers a name that is to be typed. Where nobody can be asked the answer is no. All of it before any connection
(CLI.md 1).
"""

import sys

from agent.cli import output
from agent.cli.exit_codes import Exit
from agent.cli.options import Common
from agent.plans.consent import Consent


class NotAllowed(Exception):  # noqa: N818 - it reads as what happened
    """Somebody said no, or nobody could be asked. `code`: the exit code of the run."""

    def __init__(self, why: str, code: Exit = Exit.NOT_ALLOWED) -> None:
        super().__init__(why)
        self.code = code


def ask(common: Common, wanted: Consent, name: str, *, confirm: str | None, question: str) -> None:
    """Let a person allow what is to be sent. Returns where it is allowed, asked or not.

    Args:
        common: `yes` allows what asks y/N; `no_input` forbids every question.
        wanted: what has to be answered (`agent.plans.consent.needed`).
        name: what is typed where a name is wanted: the target's or the plan's.
        confirm: the name given with `--confirm`.
        question: what is asked, with its question mark; how it is answered is said behind it.

    Raises:
        NotAllowed: nothing may be sent.
    """
    if wanted is Consent.NAME:
        if confirm == name:
            return
        if not _can_ask(common):
            raise NotAllowed(f"this needs --confirm {name}")
        if _answer(f"{question} Type {name} to do it:") != name:
            raise NotAllowed("not confirmed")
        return
    if common.yes or wanted is Consent.NOTHING:
        return
    if not _can_ask(common):
        raise NotAllowed(_NOBODY_TO_ASK["input" if common.no_input else "terminal"])
    if _answer(f"{question} [y/N]").lower() not in ("y", "yes"):
        raise NotAllowed("you said no")


_NOBODY_TO_ASK = {
    "input": "this kind of command asks first, and --no-input forbids it: give --yes",
    "terminal": "this kind of command asks first, and there is no terminal: give --yes",
}


def _can_ask(common: Common) -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and not common.no_input


def _answer(question: str) -> str:
    try:
        return output.ask(question)
    except KeyboardInterrupt:
        output.say("")
        raise NotAllowed("interrupted", Exit.INTERRUPTED) from None
