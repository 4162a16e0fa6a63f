"""What the tests of links share."""

from collections.abc import Iterator

import pytest

from tests.links.pty_port import PtyPort


@pytest.fixture
def port() -> Iterator[PtyPort]:
    """A serial port with equipment behind it."""
    built = PtyPort()
    yield built
    built.cut()
