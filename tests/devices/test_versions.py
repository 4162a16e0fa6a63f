"""Which firmware is within the limits of a profile?"""

import pytest

from devices.versions import fits


@pytest.mark.parametrize(
    ("limits", "version", "within"),
    [
        (">=1.2", "1.2", True),
        (">=1.2", "1.2.0", True),
        (">=1.2", "1.10", True),
        (">=1.2", "1.1.9", False),
        (">=1.2,<2", "1.99", True),
        (">=1.2,<2", "2", False),
        (">=1.2, <2", "2.0", False),
        ("==1.4.0", "1.4", True),
        ("==1.4", "1.4.1", False),
        (">1.4", "1.4", False),
        ("<=1.4", "1.4", True),
        (">=1.4,<2", "v1.5", True),
        (">=1.4b", "1.4c", True),
        ("<1.4b10", "1.4b9", True),
    ],
)
def test_limits(limits: str, version: str, within: bool) -> None:
    """Parts are compared by number where they are numbers; a missing part is 0."""
    assert fits(limits, version) is within
