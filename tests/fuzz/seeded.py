"""How many examples are tried, and which? As many as are asked for, from ACKONCE_SEED; a failure prints it."""

import os
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, seed, settings

Test = TypeVar("Test", bound=Callable[..., Any])

SEED = os.environ.get("ACKONCE_SEED", "1")
TIMES = 30 if os.environ.get("ACKONCE_FUZZ") == "long" else 1


def fuzz(examples: int) -> Callable[[Test], Test]:
    """A test with that many examples, or many times more where ACKONCE_FUZZ is `long`."""
    shared_files = [HealthCheck.function_scoped_fixture]  # every example has names of its own
    how = settings(
        max_examples=examples * TIMES, deadline=None, database=None, suppress_health_check=shared_files
    )

    def seeded(test: Test) -> Test:
        return how(seed(zlib.crc32(SEED.encode()))(test))

    return seeded
