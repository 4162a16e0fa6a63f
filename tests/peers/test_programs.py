"""Is a peer that is missing ever overlooked?"""

import pytest

from tests.peers import programs


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any of the peers, that is no CI."""
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    for name in ("CI", "ACKONCE_CI", "ACKONCE_WITHOUT_PEERS"):
        monkeypatch.delenv(name, raising=False)


def test_a_missing_peer_fails_with_its_package() -> None:
    """The failure names the Debian package, and how to leave the peer out."""
    with pytest.raises(
        pytest.fail.Exception, match="package ser2net, or name ser2net in ACKONCE_WITHOUT_PEERS"
    ):
        programs.program("ser2net")


def test_a_peer_can_be_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is named is skipped, and only that."""
    monkeypatch.setenv("ACKONCE_WITHOUT_PEERS", "mbpoll, ser2net")
    with pytest.raises(pytest.skip.Exception, match="ser2net"):
        programs.program("ser2net")
    with pytest.raises(pytest.fail.Exception, match="package socat"):
        programs.program("socat")


@pytest.mark.parametrize("where", ["CI", "ACKONCE_CI"])
def test_nothing_is_left_out_in_ci(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """In CI a missing peer fails, whatever is left out."""
    monkeypatch.setenv(where, "1")
    monkeypatch.setenv("ACKONCE_WITHOUT_PEERS", "ser2net")
    with pytest.raises(pytest.fail.Exception, match="ser2net is missing"):
        programs.program("ser2net")
