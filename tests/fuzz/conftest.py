"""What the fuzz tests share."""

import pytest

from tests.fuzz.seeded import SEED


@pytest.fixture(autouse=True)
def _which_seed() -> None:
    """Printed where a test fails."""
    print(f"ACKONCE_SEED={SEED}")
