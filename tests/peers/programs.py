"""Where is a program that somebody else wrote, and what if it is not there?

An absent peer fails its tests with the package that brings it. ACKONCE_WITHOUT_PEERS names those that are left out on
purpose, such as `ser2net,mbpoll`; then their tests are skipped and the end of the run says so. Never in CI.
"""

import os
import shutil
from pathlib import Path

import pytest

PACKAGES = {
    "gcc": "gcc",
    "libmodbus": "libmodbus-dev",
    "mbpoll": "mbpoll",
    "ser2net": "ser2net",
    "socat": "socat",
}
"""Peer to Debian package."""
LEFT_OUT = "left out by ACKONCE_WITHOUT_PEERS: "
LIBMODBUS_HEADER = Path("/usr/include/modbus/modbus.h")


def program(peer: str) -> str:
    """The path of the program `peer`; ends the test where it is missing."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    found = shutil.which(peer, path=path)
    if found is None or peer in _left_out():
        _miss(peer)
    assert found is not None
    return found


def need_libmodbus() -> None:
    """Ends the test where libmodbus cannot be compiled against."""
    if not LIBMODBUS_HEADER.exists() or "libmodbus" in _left_out():
        _miss("libmodbus")


def _left_out() -> set[str]:
    if os.environ.get("CI") or os.environ.get("ACKONCE_CI"):
        return set()
    return {name.strip() for name in os.environ.get("ACKONCE_WITHOUT_PEERS", "").split(",")}


def _miss(peer: str) -> None:
    if peer in _left_out():
        pytest.skip(LEFT_OUT + peer)
    pytest.fail(
        f"{peer} is missing: install the Debian package {PACKAGES[peer]}, or name {peer} in ACKONCE_WITHOUT_PEERS to "
        "leave its tests out (not in CI)",
        pytrace=False,
    )
