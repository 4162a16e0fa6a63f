"""What tests of the agent share: a store of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.store.sqlite import SqliteDatabase, open_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    """A new store in `tmp_path`."""
    opened = open_database(tmp_path)
    yield opened
    opened.close()
