"""How does a notice leave? Through apprise, which knows mail, webhooks and chats by their URLs.

The only file that knows apprise (extra `notify`), and imports it only where something is to be sent. URLs hold
passwords and tokens, also in the place of hosts and paths: nothing of them is told but their place in [notify] urls and
the word before `://`. What apprise and its transport would log may show more, and goes nowhere.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

SEND_MAX_S = 60.0
"""A service that has not taken a notice by then has not taken it."""
INSTALL = "notices are kept and not sent, as apprise is not installed: pip install 'ackonce[notify]'"
_SCHEMA = re.compile(r"([a-z][a-z0-9]{0,15})://", re.IGNORECASE)
_LOGGERS = ("apprise", "urllib3")


@dataclass(frozen=True, slots=True)
class Letter:
    """What is to go to one URL."""

    url: str
    title: str
    body: str


Send = Callable[[Sequence[Letter]], Awaitable[list[str | None]]]
"""Sends letters, all at once; for each why it was not taken, None where it was. The reasons hold nothing of URLs."""


def label(urls: Sequence[str], place: int) -> str:
    """A URL for people: its place, counted from 0, and its kind; nothing else of it is fit to be seen."""
    schema = _SCHEMA.match(urls[place])
    return f"url {place + 1} of [notify]" + (f" ({schema[1].lower()})" if schema is not None else "")


def is_installed() -> bool:
    """Whether apprise is there, without importing it."""
    return find_spec("apprise") is not None


async def send(letters: Sequence[Letter]) -> list[str | None]:
    """Send letters through apprise, side by side in threads; as `Send` says."""
    return list(await asyncio.gather(*map(_send_one, letters)))


async def _send_one(letter: Letter) -> str | None:
    try:
        return await asyncio.wait_for(asyncio.to_thread(_notify, letter), SEND_MAX_S)
    except TimeoutError:
        return f"took nothing within {SEND_MAX_S:.0f} s"


def _notify(letter: Letter) -> str | None:
    import apprise

    _keep_quiet()
    asset = apprise.AppriseAsset(
        app_id="ackonce",
        app_desc="ackonce",
        async_mode=False,
        secure_logging=True,
        storage_mode=apprise.PersistentStoreMode.MEMORY,  # nothing of ours lands in files of theirs
    )
    service = apprise.Apprise.instantiate(letter.url, asset=asset, suppress_exceptions=True)
    if not isinstance(service, apprise.NotifyBase):
        return "is no URL that apprise understands"
    post = apprise.Apprise(asset=asset)
    post.add(service)
    # Names and words of devices stand in it: no markup, no escapes.
    taken = post.notify(
        body=letter.body,
        title=letter.title,
        body_format=apprise.NotifyFormat.TEXT,
        interpret_escapes=False,
    )
    return None if taken else "did not take it"


def _keep_quiet() -> None:
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
