import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.cli import log, places
from agent.service import Service
from agent.settings import Settings
from logs.events import Event, dated, human
from logs.place import LOG_FILE, previous_path
from tests.cli.project import Project
from tests.logs.samples import sample, write_log

HEAVY = ("asyncio", "sqlite3", "construct", "pydantic", "rich", "ruamel.yaml")
"""What `log` must not load: a third of a second on a small computer."""

STORY = (
    sample(
        "sent", op="01JAAA", device="pump-7", seq=12, cmd="ADJUST", attempt=1, ts="2026-11-29T22:48:03.120Z"
    ),
    sample("timeout", "WARN", op="01JAAA", device="pump-7", seq=12, attempt=1, ts="2026-11-29T22:48:05.120Z"),
    sample(
        "connected", "DEBUG", op="01JAAA", device="pump-7", text="session 1", ts="2026-11-29T22:48:05.121Z"
    ),
    sample(
        "ack", op="01JABB", device="pump-8", seq=3, attempt=1, bytes="15\\r\\n", ts="2026-11-29T23:00:00.000Z"
    ),
)
SHOWN = [event for event in STORY if event.level != "DEBUG"]


def _with_id(event: Event) -> str:
    return f"{event.op:<26} {dated(event)}"


@pytest.fixture
def logged(project: Project) -> Project:
    """A project whose log tells `STORY`."""
    write_log(project.home, *STORY)
    return project


def test_the_log_is_read_where_the_agent_writes_it(tmp_path: Path) -> None:
    """What the agent's service logs stands in the file that the command reads."""
    settings = Settings(tmp_path, tmp_path, None, None, None, "ana")
    service = Service(settings)
    service.log.write(sample())
    service.close()
    assert places.log_path(settings).read_text().count("\n") == 1


def test_lines_have_time_and_device_in_front(logged: Project) -> None:
    """A person sees when and on which device, and nothing of the agent's inner life."""
    ended = logged.type("log")
    assert ended.lines == [dated(event) for event in SHOWN]
    assert (ended.code, ended.err) == (0, "")


def test_plain_is_exactly_the_human_line(logged: Project) -> None:
    """--plain gives the lines of the contract, letter by letter."""
    assert logged.type("log", "--plain").lines == [human(event) for event in SHOWN]


def test_json_gives_the_records(logged: Project) -> None:
    """--json gives whole records, also of what the human line leaves out."""
    assert logged.type("log", "--json").records == [json.loads(event.to_json()) for event in SHOWN]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--device", "pump-8"], [3]),
        (["--seq", "12"], [0, 1]),
        (["--op", "01JABB"], [3]),
        (["--op", "01jab"], [3]),
        (["--since", "2026-11-29T22:48:04Z"], [1, 3]),
        (["--level", "warn"], [1]),
        (["--level", "DEBUG"], [0, 1, 2, 3]),
        (["--device", "pump-7", "--level", "WARN"], [1]),
    ],
)
def test_filters_choose_records(logged: Project, words: list[str], wanted: list[int]) -> None:
    """Each filter lets through what it names, several only what fits all of them."""
    assert logged.type("log", *words).lines == [dated(STORY[index]) for index in wanted]


def test_an_age_is_counted_from_now(logged: Project) -> None:
    """`--since 10m` leaves out what is older than ten minutes."""
    assert logged.type("log", "--since", "10m").lines == []


def test_the_id_stands_in_front_on_demand(logged: Project) -> None:
    """-v shows every record with the operation's id in front, by which `trace` draws it; --plain stays as it is."""
    assert logged.type("log", "-v").lines == [_with_id(event) for event in STORY]
    assert logged.type("log", "-v", "--level", "INFO").lines == [_with_id(event) for event in SHOWN]
    assert logged.type("log", "-v", "--plain").lines == [human(event) for event in STORY]


def test_a_record_of_no_operation_has_no_id(project: Project) -> None:
    """What belongs to no operation has a dash where the id stands, so that the lines stay aligned."""
    write_log(project.home, sample("note", op=None, text="hello"))
    [line] = project.type("log", "-v").lines
    assert line.startswith(f"{'-':<26} 20")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--device", "nope"], "No record matches --device nope."),
        (["--seq", "99", "--json"], "No record matches --seq 99."),
        (["--since", "2099-01-01T00:00Z"], "No record matches --since 2099-01-01T00:00Z."),
        (["--op", "01JABB", "--level", "ERROR"], "No record matches --op 01JABB --level ERROR."),
    ],
)
def test_no_record_is_said(logged: Project, words: list[str], says: str) -> None:
    """Where no record fits, one sentence on stderr says so; exit 0, and -q says nothing."""
    ended = logged.type("log", *words)
    assert (ended.code, ended.out, ended.err) == (0, "", f"{says}\n")
    assert logged.type("log", *words, "-q").err == ""


def test_a_log_of_nothing_urgent(project: Project) -> None:
    """A log that has records, and none that is shown without -v, is not called empty."""
    write_log(project.home, STORY[2])
    assert project.type("log").err == "No record in this log is as urgent as INFO.\n"


def test_bytes_are_shown_on_demand(logged: Project) -> None:
    """-vv puts the bytes behind the line, where the record has them."""
    first, *_, last = logged.type("log", "-vv").lines
    assert first == _with_id(STORY[0])
    assert last == f"{_with_id(STORY[3])} | 15\\r\\n"


def test_a_whole_id_is_meant_even_where_it_begins_another(project: Project) -> None:
    """An id that is also the beginning of another one stands for itself."""
    write_log(project.home, sample(op="X1"), sample(op="X12"))
    assert len(project.type("log", "--op", "x1").lines) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--op", "01JA"], "2 operations begin with '01JA'. Such as 01JAAA, 01JABB"),
        (["--op", "99"], "begins with '99'"),
        (["--since", "yesterday"], "--since: not a time: 'yesterday'"),
        (["--level", "loud"], "'loud'"),
        (["--plain", "--json"], "exclude each other"),
        (["--retried", "--follow"], "--retried looks back"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(logged: Project, words: list[str], says: str) -> None:
    """A typing error must not look like an empty log: exit 2, the mistake named, no record on stdout."""
    ended = logged.type("log", *words)
    assert ended.code == 2
    assert says in ended.err
    assert ("not_sent" in ended.out) if "--json" in words else not ended.out


def test_no_log_yet_is_empty_output_and_a_sentence(project: Project) -> None:
    """Before the first command there is nothing to print, and no error; -q says nothing at all."""
    ended = project.type("log")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"There is no log yet: {project.home / 'log.jsonl'}\n"
    assert project.type("log", "-q").err == ""


def test_what_a_rotation_set_aside_is_still_the_log(logged: Project) -> None:
    """Right after a rotation the older records are printed, and nobody says that there is no log."""
    (logged.home / LOG_FILE).rename(previous_path(logged.home / LOG_FILE))
    ended = logged.type("log")
    assert (len(ended.lines), ended.err) == (len(SHOWN), "")


def test_lines_that_are_no_records_are_counted(logged: Project) -> None:
    """Damage in the file is passed over and said, on stderr."""
    with (logged.home / LOG_FILE).open("a") as file:
        file.write("torn\n")
    ended = logged.type("log")
    assert len(ended.lines) == len(SHOWN)
    assert "skipped: 1" in ended.err
    assert logged.type("log", "-q").err == ""


def test_a_log_that_cannot_be_read_is_said(project: Project) -> None:
    """A folder in the log's place is exit 3 with a reason, not an internal error."""
    (project.home / LOG_FILE).mkdir(parents=True)
    ended = project.type("log")
    assert (ended.code, ended.out) == (3, "")
    assert "cannot be read" in ended.err


def test_text_of_a_device_is_never_markup(project: Project) -> None:
    """Brackets that a device sends stand as they came."""
    write_log(project.home, sample("refused", text="[bold]x[/bold]"))
    assert project.type("log", "--plain").lines == ["[INFO] refused: [bold]x[/bold]"]


def test_follow_goes_on_with_what_comes(logged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """--follow prints what is there, then what is written later, and obeys the filters throughout."""
    late = sample("ack", device="pump-7", seq=13, attempt=1)
    monkeypatch.setattr(log, "_pause", _pauses(lambda: write_log(logged.home, sample(device="pump-8"), late)))
    ended = logged.type("log", "--follow", "--device", "pump-7")
    assert ended.lines == [dated(event) for event in (*SHOWN[:2], late)]
    assert ended.code == 0


def _pauses(first: Callable[[], None]) -> Callable[[], bool]:
    """A pause that does something once and then sees the reader go."""

    def steps() -> Iterator[bool]:
        first()
        yield True
        yield False

    going_on = steps()
    return lambda: next(going_on)


def test_ctrl_c_ends_following_without_a_word(logged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is how a person ends --follow: exit 130 as from tail, and no complaint."""

    def interrupt() -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(log, "_pause", interrupt)
    ended = logged.type("log", "--follow")
    assert (ended.code, ended.err) == (130, "")
    assert len(ended.lines) == len(SHOWN)


def _started(home: Path, *words: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "from agent.cli.main import main; main()", "log", *words]
    environ = os.environ | {"ACKONCE_HOME": str(home)}
    return subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def test_a_real_process_follows_until_its_reader_goes(logged: Project) -> None:
    """Following ends by itself, with exit 0 and no complaint, once the pipe behind it is closed."""
    with _started(logged.home, "--follow") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline().decode().strip() for _ in SHOWN]
        assert lines == [dated(event) for event in SHOWN]
        process.stdout.close()
        assert (process.wait(timeout=10), process.stderr.read()) == (0, b"")


def test_following_without_an_output_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With stdout closed from the start there is nothing to wait for."""
    monkeypatch.setattr(sys, "stdout", None)
    assert log._pause() is False


def test_a_real_process_ends_on_ctrl_c(logged: Project) -> None:
    """The interrupt of a terminal ends it with 130 and leaves stderr empty."""
    with _started(logged.home, "--follow") as process:
        assert process.stdout is not None
        for _ in SHOWN:
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10) == (b"", b"")
        assert process.returncode == 130


def test_a_reader_that_goes_early_is_no_error(project: Project) -> None:
    """`ackonce log | head -1` ends with exit 0 although most lines find no reader."""
    write_log(project.home, *(sample(text="x" * 400) for _ in range(400)))
    with _started(project.home) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(timeout=10), process.stderr.read()) == (0, b"")


def test_it_starts_without_what_it_does_not_need(logged: Project) -> None:
    """Reading the log loads neither the event loop nor the store, the parsers or the table printer."""
    script = (
        "import sys; from agent.cli.main import run; code = run(['log', '--op', '01JAAA', '--since', '2026-01-01']);"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    environ = os.environ | {"ACKONCE_HOME": str(logged.home)}
    out = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, timeout=30
    )
    assert out.stdout.splitlines()[-1] == "0 []", out.stderr
