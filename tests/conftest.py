"""What every test may use."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only a place without flush costs


@pytest.fixture
def quick_home() -> Iterator[Path]:
    """A folder in memory where there is one: for stores whose processes end, but whose machine never loses power."""
    folder = Path(tempfile.mkdtemp(prefix="ackonce-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
