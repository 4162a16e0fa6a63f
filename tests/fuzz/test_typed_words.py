"""Does any command line end otherwise than agreed: with a documented code, no traceback, and JSON where asked for?

The real command line runs in this process. Nothing is reached: every address refuses. Left out are the commands that
run for ever or for long by their nature (`simulate`, `demo`, `log --follow`).
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent.service
from agent import retry
from agent.cli.exit_codes import Exit
from agent.cli.main import run
from agent.links.link import Link, Unreachable
from agent.stations import Target
from tests.fuzz.seeded import fuzz

INVENTORY = """\
groups: {pumps: {profile: demo/controller, tags: [north]}}
lines: {bus: {url: "serial:/dev/ttyNONE0"}}
devices:
  pump-7: {group: pumps, url: "tcp://127.0.0.1:1", timeout: 10ms}
  plain: {profile: demo/controller-line, line: bus, serial: "7", timeout: 10ms}
  strange: {profile: nobody/knows, url: "rfc2217://127.0.0.1:1"}
  bare: {url: "tcp://127.0.0.1:2"}
"""
BEGINNINGS = (
    ("send",), ("get",), ("explain",), ("probe",), ("devices",), ("log",), ("trace",), ("init",),
    ("ports",), ("doctor",), ("version",), ("doubt", "list"), ("doubt", "show"), ("doubt", "check"),
    ("doubt", "resolve"), ("profile", "list"), ("profile", "show"), ("profile", "lint"), ("profile", "new"),
    ("doubt",), ("profile",), ("sned",), (), ("send", "pump-7", "BEEP", "--yes"), ("send", "pump-7", "--raw", "--yes"),
    ("send", "plain", "ADJUST", "level"), ("send", "group:pumps", "SET", "interval"), ("get", "pump-7"),
    ("explain", "plain", "ADJUST"), ("send", "p*", "SET", "offset", "5"), ("log", "--json"),
)  # fmt: skip
OPTIONS = (
    "--json", "-q", "--quiet", "-v", "-vv", "--no-input", "-y", "--yes", "--plain", "--retried", "--raw",
    "--applied", "--not-applied", "--take-over", "--help", "--nonsense", "-x", "--", "--json=1", "--all",
)  # fmt: skip
WITH_VALUE = (
    "--timeout", "--reason", "--key", "--policy", "--attempts", "--confirm", "--profile", "--since",
    "--device", "--seq", "--op", "--setting", "--level", "-i", "-C", "--dir",
)  # fmt: skip
WORDS = (
    "pump-7", "plain", "strange", "bare", "p*", "group:pumps", "tag:north", "@devices.txt", "@none",
    "tcp://127.0.0.1:1", "tcp://127.0.0.1:0", "serial:/dev/ttyNONE1", "ADJUST", "offset", "+5", "-5", "SET",
    "interval", "30", "value=30", "BEEP", "level", "1e400", "NaN", "01", "01JOP", "demo/controller",
    "demo/controller-line", "inventory.yaml", "broken.yaml", "no-retry", "resend", "get-verify", "2s",
    "10m", "0", "-1", "99999999999999999999", "2026-11-29T22:48Z", "", " ", "*", "?", "[", "é", "\x1b[31m",
    "a\nb", "\udc80", "[/red]", "x" * 200, "sub", "nothing/here", "{value}", "%s", "=", ":", "@",
)  # fmt: skip
"""Of files and folders only such as stand, or may be made, in the folder of the test."""

words = st.one_of(st.sampled_from(WORDS), st.text(alphabet="ab-+=:@[]{}* 0\u2028", max_size=6))
pairs = st.tuples(st.sampled_from(WITH_VALUE), words)
lines = st.tuples(
    st.sampled_from(BEGINNINGS),
    st.lists(
        st.one_of(words.map(lambda word: (word,)), st.sampled_from(OPTIONS).map(lambda o: (o,)), pairs),
        max_size=6,
    ),
    st.booleans(),
    st.integers(0, 6),
)


async def refuses(target: Target) -> Link:
    """What every address does."""
    raise Unreachable(f"{target.url} refuses connections")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to work in, with a store and a log beside it that grow as the lines are typed."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "inventory.yaml").write_text(INVENTORY)
    (folder / "broken.yaml").write_text("profile: [\n")
    (folder / "devices.txt").write_text("pump-7\nplain\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ACKONCE_HOME", str(folder / "home"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setattr(agent.service, "open_link", refuses)
        patch.setattr(retry, "FIRST_WAIT_S", 0.0)
        patch.setattr(tempfile, "tempdir", str(folder))  # reports of bugs, if there are any
        yield folder


@fuzz(200)
@given(typed=lines)
def test_any_words(
    typed: tuple[tuple[str, ...], list[tuple[str, ...]], bool, int],
    project: Path,  # noqa: ARG001 - the folder it runs in
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever is typed, the run ends with a code of the contract, and says so without a traceback."""
    beginning, rest, as_json, at = typed
    groups = [*rest[:at], ("--json",), *rest[at:]] if as_json else rest
    argv = [*beginning, *(word for group in groups for word in group)]
    capsys.readouterr()
    code = run(argv)
    out, err = capsys.readouterr()

    assert code in set(Exit) - {Exit.INTERNAL, Exit.INTERRUPTED}, (argv, code, err)
    assert "Traceback" not in out + err, argv
    assert "internal error" not in err, argv
    if code not in (Exit.OK, Exit.REFUSED, Exit.IN_DOUBT):
        assert (out + err).strip(), f"{argv} failed in silence"
    if "--json" in argv and "--help" not in argv and "--" not in argv:
        for line in out.splitlines():
            assert isinstance(json.loads(line), dict), (argv, line)


TOO_LONG = "x" * 300
"""No file system takes such a name."""


@pytest.mark.parametrize(
    "argv",
    [
        ["devices", "-C", TOO_LONG],
        ["send", "pump-7", "BEEP", "--yes", "-C", TOO_LONG],
        ["init", TOO_LONG],
        ["profile", "new", "a/b", "--dir", TOO_LONG],
    ],
    ids=lambda argv: argv[0],
)
def test_a_name_that_no_file_can_have(argv: list[str], project: Path) -> None:  # noqa: ARG001 - see above
    """A name that is too long is a mistake of whoever typed it."""
    assert run(argv) in (Exit.USAGE, Exit.FILE)


@pytest.mark.parametrize(
    "argv",
    [
        ["devices", "-i", TOO_LONG],
        ["get", f"@{TOO_LONG}", "offset"],
        ["profile", "lint", TOO_LONG],
        ["profile", "new", f"{TOO_LONG}/b"],
    ],
    ids=lambda argv: argv[0],
)
def test_a_name_that_no_file_has(argv: list[str], project: Path) -> None:  # noqa: ARG001 - see above
    """Where a file is read such a name is just not there."""
    assert run(argv) in (Exit.USAGE, Exit.FILE)
