"""What does `ackonce.toml` say of this agent's place in the fleet, and of whom notices go to?

    [fleet]
    site = "porto"                          # where it stands
    vantage = "pt"                          # from where it looks; the site unless it is said
    uplink = "isp-a"                        # its way out: agents that share one have one vote
    listen = "tcp://0.0.0.0:7077"           # where it answers other agents
    advertise = "tcp://gw1.example:7077"    # where they find it; needed where `listen` is not what they can dial
    probe = "5s"                            # how often it probes each device and agent

    [notify]
    urls = ["mailto://…"]

A table without keys is one too: its agent has no site, and nobody probes it.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.address import Address, parse_url
from agent.duration import parse_duration
from agent.settings import Entry, Settings
from devices.problems import FileProblem, FileProblems

PROBE_S = 5.0
PROBE_MIN_S = 0.2
WORD_MAX = 200
URLS_MAX = 50
_ANYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The table `[fleet]`. `listen`: None where it answers nobody; `advertise`: the URL that others dial then."""

    site: str = ""
    vantage: str = ""
    uplink: str = ""
    listen: Address | None = None
    advertise: str | None = None
    probe_s: float = PROBE_S


def fleet_settings(settings: Settings) -> FleetSettings | None:
    """This agent's place in the fleet, None where no file has a table `[fleet]`. Raises FileProblems."""
    table = settings.tables.get("fleet")
    if table is None:
        return None
    reader = _Reader(table)
    site = reader.word("site")
    made = FleetSettings(
        site=site,
        vantage=reader.word("vantage") or site,
        uplink=reader.word("uplink"),
        listen=reader.address("listen"),
        probe_s=reader.duration("probe", PROBE_S, PROBE_MIN_S),
    )
    said = reader.address("advertise")
    if said is not None and made.listen is None:
        reader.refuse("advertise", 'nothing listens there: write listen = "tcp://0.0.0.0:PORT" too')
    reader.insist()
    return replace(made, advertise=said.url if said is not None else _dialled(made.listen))


def notify_urls(settings: Settings) -> tuple[str, ...]:
    """Where notices go, as the table `[notify]` has it. They hold passwords. Raises FileProblems."""
    reader = _Reader(settings.tables.get("notify", {}))
    urls = reader.words("urls")
    reader.insist()
    return urls


def _dialled(listen: Address | None) -> str | None:
    """Where others find an agent that listens there and says no more."""
    if listen is None or listen.host not in _ANYWHERE:
        return listen.url if listen is not None else None
    return f"tcp://{socket.gethostname()}:{listen.port}"


class _Reader:
    """Reads one table, and gathers what is wrong in it."""

    def __init__(self, table: Mapping[str, Entry]) -> None:
        self._table = table
        self._problems: list[FileProblem] = []

    def refuse(self, key: str, message: str) -> None:
        """The value of a key makes no sense."""
        entry = self._table[key]
        self._problems.append(FileProblem(entry.path, entry.line, None, f"{key}: {message}"))

    def insist(self) -> None:
        """Nothing was wrong. Raises FileProblems."""
        if self._problems:
            raise FileProblems(self._problems)

    def word(self, key: str) -> str:
        """A text, "" where the key is not there."""
        entry = self._table.get(key)
        if entry is None:
            return ""
        if _is_word(entry.value):
            return str(entry.value)
        self.refuse(key, f"must be text in quotes, printable, and of 1 to {WORD_MAX} characters")
        return ""

    def words(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where the key is not there."""
        value = self._table[key].value if key in self._table else []
        if (
            isinstance(value, list)
            and len(value) <= URLS_MAX
            and all(isinstance(each, str) for each in value)
        ):
            return tuple(value)
        self.refuse(key, f"must be a list of texts in quotes, {URLS_MAX} at most")
        return ()

    def address(self, key: str) -> Address | None:
        """A URL `tcp://HOST:PORT`."""
        text = self.word(key)
        if not text:
            return None
        try:
            address = parse_url(text)
        except ValueError as problem:
            self.refuse(key, str(problem))
            return None
        if address.scheme != "tcp":
            self.refuse(key, f"'{text}' must be tcp://HOST:PORT")
            return None
        return address

    def duration(self, key: str, default_s: float, min_s: float) -> float:
        """Seconds of a text such as `5s`, or of a number."""
        entry = self._table.get(key)
        if entry is None:
            return default_s
        value = entry.value
        try:
            seconds = parse_duration(str(value) if _is_number(value) or isinstance(value, str) else "")
        except ValueError as problem:
            self.refuse(key, str(problem))
            return default_s
        if seconds < min_s:
            self.refuse(key, f"'{value}' must be at least {min_s:g} s")
        return seconds


def _is_word(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= WORD_MAX and value.isprintable()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
