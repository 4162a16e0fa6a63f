"""`ackonce report`: a run as a document, made from the journal."""

import csv
import io

import pytest

from tests.cli.bench import Bench
from tests.cli.plan_project import BOOTS_AFTER, apply, objects, put_plan, still, unreachable
from tests.cli.test_output import HOSTILE, speak

MARKDOWN = """\
# Run ID1 of plan night

|  |  |
|---|---|
| plan | night (DIR/p.yaml) |
| text | SHA-256 DIGEST |
| run | ID1 |
| key | n1 |
| state | unfinished |
| who | ana |
| why | CHG-1 |
| begun | WHEN |
| ended | WHEN (T s) |
| where | 2 devices, from shed |

**1 applied, 3 not sent, 1 in doubt, 1 held**
"""


def run_with_trouble(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run with a doubt and a device that is not there; its id."""
    monkeypatch.setenv("ACKONCE_ACTOR", "ana")
    monkeypatch.setenv("ACKONCE_AGENT", "shed")
    bench.device(BOOTS_AFTER, timeout="0.2s")
    unreachable(bench)
    put_plan(bench)
    _, summary = objects(apply(bench, "--json", "--key", "n1", "--reason", "CHG-1"))
    return str(summary["run"])


def test_markdown(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stdout, as Markdown: who, why, when, where; doubts with what to type; devices not reached; the pictures."""
    run = run_with_trouble(bench, monkeypatch)
    ended = bench.type("report", run[:12])
    told = still(bench, ended.out.replace("\\_", "_"))
    assert told.startswith(MARKDOWN)
    assert "* `ackonce doubt check ID2`" in told
    assert "* d2: 127.0.0.1 port PORT2 refuses connections" in told
    assert "### d1: summer: ADJUST offset +5: in doubt\n\n" in told
    assert "seq=2 attempt 1 ──" in told
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("typed", "begins"),
    [
        (["--out", "r.html"], "<!DOCTYPE html>"),
        (["--out", "r.htm"], "<!DOCTYPE html>"),
        (["--out", "r.CSV"], "run,plan,key,"),
        (["--out", "r.md"], "# Run "),
        (["--out", "r.txt", "--format", "csv"], "run,plan,key,"),
        (["--out", "r.HTM", "--format", "html"], "<!DOCTYPE html>"),
    ],
)
def test_into_a_file(bench: Bench, typed: list[str], begins: str) -> None:
    """--out writes the file in the project's folder, in the format of its ending unless told otherwise."""
    bench.device(timeout="5s")
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    ended = bench.type("report", summary["run"], *typed)
    written = bench.project.folder / typed[1]
    assert written.read_bytes().decode().startswith(begins)
    assert (ended.code, ended.out, ended.err) == (0, "", f"Written: {written}\n")
    assert [path.name for path in bench.project.folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["--out", "r.pdf"], "the ending of 'r.pdf' is none of .md, .csv, .html, .htm"),
        (["--out", "r"], "the ending of 'r' is none of"),
        (["--out", "r.html", "--format", "csv"], "--format csv and the ending of 'r.html' do not agree"),
    ],
)
def test_an_ending_that_does_not_tell(bench: Bench, typed: list[str], says: str) -> None:
    """A format that nobody can tell, or that is told twice, is a usage error, and nothing is written."""
    ended = bench.type("report", "X", *typed)
    assert ended.code == 2
    assert says in ended.err
    assert not (bench.project.folder / typed[1]).exists()


@pytest.mark.parametrize("there", ["inventory.yaml", "p.yaml", "r.md", "folder.md", "nowhere.md"])
def test_nothing_is_ever_replaced(bench: Bench, there: str) -> None:
    """Whatever stands under the name, an older report or a link too, stays as it is: exit 3, as of `plan --out`."""
    bench.device(timeout="5s")
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    folder = bench.project.folder
    (folder / "folder.md").mkdir()
    (folder / "nowhere.md").symlink_to("elsewhere")
    bench.project.put("r.md", "mine")
    before = {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}
    ended = bench.type("report", summary["run"], "--out", there, "--format", "md")
    assert ended.code == 3
    assert f"{there}: this is there already. Choose another --out" in ended.err
    assert {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()} == before


def test_json(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """--json has the objects of `runs RUN` and no document; with --out that is in the file."""
    run = run_with_trouble(bench, monkeypatch)
    objects_told = bench.type("runs", run, "--json").records
    assert bench.type("report", run, "--json").records == objects_told
    ended = bench.type("report", run, "--json", "--out", "r.html")
    assert (ended.code, ended.records) == (0, objects_told)
    assert (bench.project.folder / "r.html").read_text().startswith("<!DOCTYPE html>")


def test_a_file_that_cannot_be_written(bench: Bench) -> None:
    """Exit 3 with the path and why."""
    bench.device(timeout="5s")
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    ended = bench.type("report", summary["run"], "--out", "nowhere/r.html")
    assert ended.code == 3
    assert "nowhere/r.html: cannot be written: No such file or directory" in ended.err


def test_csv_on_stdout(bench: Bench) -> None:
    """One row for each step, with lines that end in CR LF on stdout too."""
    bench.device(timeout="5s")
    put_plan(bench)
    _, summary = objects(apply(bench, "--json"))
    told = bench.type("report", summary["run"], "--format", "csv").out
    rows = list(csv.reader(io.StringIO(told, newline="")))
    assert [row[5] for row in rows] == ["command", "SET interval 30", "ADJUST offset +5", "BEEP"]
    assert told.count("\r\n") == told.count("\n") == 4


@pytest.mark.parametrize("form", ["md", "csv", "html"])
def test_device_text_is_never_interpreted(bench: Bench, form: str) -> None:
    """Whatever a device says stands in a report as text."""
    bench.device(timeout="5s")
    put_plan(bench, "steps:\n  - send: BEEP\n")
    speak(bench, HOSTILE + "<script>")
    _, summary = objects(apply(bench, "--json"))
    told = bench.type("report", summary["run"], "--format", form).out
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "\\x1b[2J" in told.replace("\\\\", "\\").replace("\\[", "[")
    assert form == "csv" or "<script>" not in told.replace("\\<", "")


def test_no_such_run(bench: Bench) -> None:
    """An unknown run is a usage error."""
    assert bench.type("report", "X").code == 2
