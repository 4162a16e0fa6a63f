"""Records to test with: valid ones, of which a test names only what it is about."""

from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from logs.events import LEVELS, Event, EventName, Level
from logs.place import LOG_FILE
from logs.writer import LogWriter

TS = "2026-11-29T22:48:03.120Z"

_numbers = count(1)


def sample(event: EventName = "note", level: Level = "INFO", **fields: Any) -> Event:
    """A record with the given fields; every sample differs from every other by its `op`."""
    return Event(**{"ts": TS, "op": f"op-{next(_numbers)}", "level": level, "event": event} | fields)


def write_log(home: Path, *events: Event) -> None:
    """Let the agent's own writer put records into the log of the store in `home`."""
    home.mkdir(exist_ok=True)
    writer = LogWriter(home / LOG_FILE)
    for event in events:
        writer.write(event)
    writer.close()
    assert writer.problem is None


_texts = st.none() | st.text(max_size=8)
_counts = st.none() | st.integers(min_value=0, max_value=2**32 - 1)

events: st.SearchStrategy[Event] = st.builds(
    Event,
    ts=st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds") + "Z"),
    level=st.sampled_from(LEVELS),
    event=st.sampled_from(["sent", "timeout", "late_ack", "in_doubt", "ignored", "note"]),
    op=_texts,
    run=_texts,
    device=_texts,
    agent=_texts,
    policy=_texts,
    session=_counts,
    seq=_counts,
    cmd=_texts,
    setting=_texts,
    attempt=_counts,
    text=_texts | st.integers(100, 600).map("\x1b…".__mul__),
    elapsed_s=st.none() | st.floats(min_value=0, allow_infinity=False),
    bytes=_texts,
    route=_texts,
)
