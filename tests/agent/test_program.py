"""What is known of a program that was run, or was not? Real programs, real processes, real ledgers."""

import asyncio
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.dialects.program import OUTPUT_MAX, Ended, NotStarted, run

LIMIT_S = 5.0


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What programs write to `$LEDGER`."""
    path = tmp_path / "ledger"
    monkeypatch.setenv("LEDGER", str(path))
    return path


def _program(folder: Path, text: str | bytes) -> str:
    path = folder / "program"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(0o755)
    return str(path)


def _run(folder: Path, shell: str, limit_s: float = LIMIT_S) -> Ended:
    return asyncio.run(run([_program(folder, f"#!/bin/sh\n{shell}\n")], limit_s))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "echo ran >$LEDGER\n",
            "it does not begin with '#!' and an interpreter, such as #!/bin/sh (Exec format error)",
        ),
        ("", "it does not begin with '#!' and an interpreter, such as #!/bin/sh (Exec format error)"),
        ("#!/no/such/shell -e\necho ran >$LEDGER\n", "its interpreter /no/such/shell does not exist"),
        (
            "#!/bin/sh\r\necho ran >$LEDGER\r\n",
            r"its first line ends in CR LF, and no interpreter is called '/bin/sh\r': save it with LF alone",
        ),
        (b"\x7fELF of another machine", "Exec format error"),
    ],
)
def test_what_cannot_be_started(tmp_path: Path, ledger: Path, text: str | bytes, why: str) -> None:
    """Where the system refuses a program nothing of it ran, and the reason says what to mend in it."""
    path = _program(tmp_path, text)
    with pytest.raises(NotStarted) as refused:
        asyncio.run(run([path], LIMIT_S))
    assert str(refused.value) == f"{path} cannot be started: {why}"
    assert not ledger.exists()


def test_what_is_not_there(tmp_path: Path) -> None:
    """A program that has vanished, or a machine without room for another one, says so in the system's words."""
    with pytest.raises(NotStarted, match=r"gone cannot be started: No such file or directory$"):
        asyncio.run(run([str(tmp_path / "gone")], LIMIT_S))
    with pytest.raises(NotStarted, match=r"cannot be started: Argument list too long$"):
        asyncio.run(run([_program(tmp_path, "#!/bin/sh\n"), "x" * 4_000_000], LIMIT_S))


def test_no_room_to_listen(tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its output could not be taken, the program is not started."""
    path = _program(tmp_path, "#!/bin/sh\necho ran >$LEDGER\n")

    async def without_room() -> None:
        def full() -> tuple[int, int]:
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(os, "pipe", full)
        try:
            with pytest.raises(NotStarted, match="Too many open files"):
                await run([path], LIMIT_S)
        finally:
            monkeypatch.undo()

    asyncio.run(without_room())
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("shell", "status", "how"),
    [
        ("exit 0", 0, "ended with exit 0"),
        ("exit 127", 127, "ended with exit 127"),
        ("kill -15 $$", -15, "was ended by signal 15"),
        ("exec >&- 2>&-; /bin/sleep 0.02; exit 3", 3, "ended with exit 3"),
    ],
)
def test_how_it_ends(tmp_path: Path, shell: str, status: int, how: str) -> None:
    """Exit codes and signals are told, of a program that closes its output, too."""
    ended = _run(tmp_path, shell)
    assert (ended.status, ended.how) == (status, how)


def test_it_cannot_ask(tmp_path: Path) -> None:
    """Its stdin is empty, whatever ours is: nobody's answer is taken from it, and it waits for none."""
    never, mine = os.pipe()
    before = os.dup(0)
    os.dup2(never, 0)
    try:
        ended = _run(tmp_path, "cat; exit 4", 1.0)
    finally:
        os.dup2(before, 0)
        for descriptor in (never, mine, before):
            os.close(descriptor)
    assert (ended.status, ended.out) == (4, "")


def test_what_it_prints_lies_on_no_disk(tmp_path: Path) -> None:
    """Both streams are pipes, and are told apart."""
    ended = _run(tmp_path, "readlink /proc/$$/fd/1; readlink /proc/$$/fd/2 >&2")
    assert ended.out.startswith("pipe:[")
    assert ended.err.startswith("pipe:[")
    assert ended.out != ended.err


def test_a_flood_is_dropped(tmp_path: Path) -> None:
    """A program that prints much never waits; of stdout the first whole lines are kept, of stderr the last ones."""
    flood = "yes 1234567 | head -c 400000"
    ended = _run(tmp_path, f"echo first; {flood}; {{ {flood}; echo last; }} >&2")
    assert (ended.status, ended.cut) == (0, True)
    assert set(ended.out.splitlines()) == {"first", "1234567"}
    assert set(ended.err.splitlines()) == {"1234567", "last"}
    assert ended.err.endswith("\nlast")
    assert OUTPUT_MAX - 8 <= len(ended.out) <= OUTPUT_MAX
    assert OUTPUT_MAX - 8 <= len(ended.err) <= OUTPUT_MAX


def test_a_line_without_an_end(tmp_path: Path) -> None:
    """Of one line that is longer than is kept nothing is told: its beginning would look like all of it."""
    ended = _run(tmp_path, f"head -c {OUTPUT_MAX + 1} /dev/zero; head -c {OUTPUT_MAX + 1} /dev/zero >&2")
    assert (ended.status, ended.out, ended.err, ended.cut) == (0, "", "", True)
    whole = _run(tmp_path, f"head -c {OUTPUT_MAX} /dev/zero")
    assert (len(whole.out), whole.cut) == (OUTPUT_MAX, False)


def test_what_it_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    """It has ended when its process has, even if something that it started goes on printing, for ever."""
    ended = _run(tmp_path, "echo done; yes & exit 0")
    assert (ended.status, ended.out.splitlines()[0]) == (0, "done")


def test_one_that_takes_too_long(tmp_path: Path, ledger: Path) -> None:
    """It is killed with what it started, whatever signals it ignores and however much it prints."""
    ended = _run(tmp_path, "trap '' TERM INT HUP\nsleep 60 &\necho $! >$LEDGER\nyes\n", 0.3)
    assert (ended.status, ended.how) == (None, "did not end within 0.3 s and was killed")
    assert _dies(int(ledger.read_text()))


def _dies(pid: int) -> bool:
    """Whether a process has ended, or does so now."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([process], [], [], LIMIT_S)
    os.close(process)
    return bool(ended)


def test_nobody_waits_any_more(tmp_path: Path, ledger: Path) -> None:
    """A program whose run is cancelled is killed: it must not act when nobody expects it any more."""
    path = _program(tmp_path, "#!/bin/sh\necho $$ >$LEDGER; exec sleep 60\n")
    os.mkfifo(ledger)
    heard = os.open(ledger, os.O_RDONLY | os.O_NONBLOCK)

    async def cancelled() -> None:
        started = asyncio.Event()
        asyncio.get_running_loop().add_reader(heard, started.set)
        running = asyncio.ensure_future(run([path], LIMIT_S))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert _dies(int(os.read(heard, 100)))
    os.close(heard)


@pytest.fixture
def nobody_is_told() -> Iterator[None]:
    """Whoever started us ignores SIGCHLD, so that the system forgets every exit code."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("nobody_is_told")
def test_an_exit_code_that_nobody_knows_is_none(tmp_path: Path) -> None:
    """Where the system does not keep exit codes for this process, an end is not taken for exit 0."""
    ended = _run(tmp_path, "exit 3")
    assert ended.status is None
    assert "not told how" in ended.how
