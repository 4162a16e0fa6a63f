"""What every test may use."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile(
    "ackonce", deadline=None
)  # how long an example takes says nothing on a busy machine
settings.load_profile("ackonce")

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only a place without flush costs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test starts first, so that the workers end together."""
    items.sort(key=lambda item: "test_kill" not in item.nodeid)


@pytest.fixture
def quick_home() -> Iterator[Path]:
    """A folder in memory where there is one: for stores whose processes end, but whose machine never loses power."""
    folder = Path(tempfile.mkdtemp(prefix="ackonce-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
