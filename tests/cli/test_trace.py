"""`ackonce trace`: one operation as a picture of agent, wire and device."""

import io
import json
import sys
from typing import Any

import pytest

from agent.cli import output
from logs.picture import Way
from tests.cli.bench import Bench


@pytest.fixture
def retried(bench: Bench) -> dict[str, Any]:
    """An operation whose first ack was lost, and whose repeat the device recognised."""
    bench.device("cmd 1: drop_ack", timeout="0.2s")
    code, record = bench.send("d1", "ADJUST", "offset", "+5")
    assert (code, record["evidence"]) == (0, "duplicate_ack")
    return record


@pytest.fixture
def doubtful(bench: Bench) -> dict[str, Any]:
    """An operation in doubt: the device has fallen silent for good."""
    bench.device("cmd *: drop_ack; nop *: drop_request; hello 3-99: drop_request", timeout="0.05s")
    code, record = bench.send("d1", "BEEP")
    assert code == 5
    return record


def test_the_picture(bench: Bench, retried: dict[str, Any]) -> None:
    """Two copies, the silence between them, the device's recognition, and the word with what it stands on."""
    ended = bench.type("trace", retried["op"])
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0] == f"{retried['op']}  d1  ADJUST offset +5"
    assert "relative (cumulative), policy resend" in ended.lines[1]
    lanes = [[lane.strip() for lane in line.split("│")] for line in ended.lines if "│" in line]
    assert lanes[0] == ["time", "agent", "wire", "device"]
    copies = [lane[2] for lane in lanes if lane[1] == "ADJUST offset +5"]
    assert [copy.rstrip("─►") for copy in copies] == ["seq=1 attempt 1 ", "seq=1 attempt 2 "]
    assert [lane[2].startswith("… 0.2") for lane in lanes].count(True) == 1
    assert any(lane[3].startswith("ack: duplicate") for lane in lanes)
    assert any(line.startswith("applied (duplicate_ack), 2 copies sent, ") for line in ended.lines)
    assert ended.lines[-1].startswith("Where silence is drawn, either way may have been lost")
    assert max(map(len, ended.lines[3:])) <= 100


def test_a_beginning_will_do(bench: Bench, retried: dict[str, Any]) -> None:
    """The id may be cut short, in any case, as in `doubt show`; one of nothing is a usage error."""
    assert bench.type("trace", retried["op"][:22].lower()).code == 0
    none = bench.type("trace", "ZZZ")
    assert (none.code, none.out) == (2, "")
    assert "no operation ZZZ in this store. See the ids of all: ackonce log -v" in none.err


def test_without_an_id_it_is_the_newest(bench: Bench, retried: dict[str, Any]) -> None:
    """`trace` alone draws what was entered last; before the first operation it says what to do."""
    _, last = bench.send("d1", "SET", "interval", "30")
    assert last["op"] != retried["op"]
    assert bench.type("trace").lines[0] == f"{last['op']}  d1  SET interval 30"
    (bench.project.home / "journal.db").unlink()
    (bench.project.home / "log.jsonl").unlink()
    none = bench.type("trace")
    assert (none.code, "there is no operation in this store yet" in none.err) == (2, True)


def test_no_time_where_it_is_not_that_of_the_picture(bench: Bench, doubtful: dict[str, Any]) -> None:
    """After `doubt check` the word has no duration: that of the check is not that of the whole story."""
    bench.devices[0].suffer("")
    assert bench.type("doubt", "check", doubtful["op"]).code == 0
    [word] = [line for line in bench.type("trace", doubtful["op"]).lines if line.startswith("applied")]
    assert " sent: " in word
    assert " s: " not in word


def test_an_answered_operation_has_no_word_on_silence(bench: Bench) -> None:
    """Where everything was answered, nobody is told about losses."""
    bench.device(timeout="5s")
    _, record = bench.send("d1", "BEEP")
    ended = bench.type("trace", record["op"])
    assert "silence" not in ended.out
    assert "1 copy sent" in ended.lines[-1]


def test_a_doubt_names_the_way_on(bench: Bench, doubtful: dict[str, Any]) -> None:
    """A picture that ends in doubt says so and what to type next."""
    ended = bench.type("trace", doubtful["op"])
    assert "in_doubt, " in ended.out
    assert ended.lines[-1] == f"Next: ackonce doubt show {doubtful['op']}"


def test_mermaid(bench: Bench, retried: dict[str, Any]) -> None:
    """--mermaid prints the diagram and nothing else."""
    ended = bench.type("trace", retried["op"], "--mermaid")
    assert ended.lines[:4] == [
        "sequenceDiagram",
        "    participant agent",
        "    participant wire",
        "    participant device as d1",
    ]
    assert any("agent->>device: " in line and line.endswith("seq=1 attempt 2") for line in ended.lines)
    assert ended.lines[-1].startswith("    Note over agent,device: applied (duplicate_ack)")


def test_json(bench: Bench, retried: dict[str, Any]) -> None:
    """--json is the operation object with `since` and the story as rows."""
    [record] = bench.type("trace", retried["op"], "--json").records
    assert {name: record[name] for name in retried} == retried
    assert record["since"].endswith("Z")
    copies = [row for row in record["story"] if row["way"] == Way.COPY]
    assert [(row["text"], row["label"]) for row in copies] == [
        ("ADJUST offset +5", "seq=1 attempt 1"),
        ("ADJUST offset +5", "seq=1 attempt 2"),
    ]
    assert all(set(row) == {"at_s", "way", "text", "label"} for row in record["story"])
    assert any(row["label"] is None for row in record["story"])


def test_mermaid_and_json_exclude_each_other(bench: Bench) -> None:
    """One form at a time: exit 2, with the failure as an object."""
    ended = bench.type("trace", "01J", "--mermaid", "--json")
    assert (ended.code, json.loads(ended.out)["op"]) == (2, None)
    assert "exclude each other" in ended.err


def test_a_cut_off_operation_is_open(bench: Bench, retried: dict[str, Any]) -> None:
    """An operation without a word is open; nobody claims an outcome for it."""
    _forget_the_word(bench, retried["op"])
    ended = bench.type("trace", retried["op"])
    assert "open: the process ended before the device's word was known" in ended.lines
    assert ended.lines[-1] == f"Next: ackonce doubt show {retried['op']}"


def test_an_operation_under_way_names_its_process(
    bench: Bench, retried: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process works on it, the picture says who."""
    _forget_the_word(bench, retried["op"])
    monkeypatch.setattr("agent.leases.Leases.holder_of", lambda *_: "agent b, process 7 on there")
    assert (
        "open: under way, agent b, process 7 on there has the device"
        in bench.type("trace", retried["op"]).lines
    )


def _forget_the_word(bench: Bench, op: str) -> None:
    import sqlite3

    database = sqlite3.connect(bench.project.home / "journal.db")
    with database:
        database.execute("UPDATE operation SET outcome = NULL WHERE op = ?", (op,))
    database.close()


@pytest.mark.parametrize(
    ("encoding", "carries"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("no-such", False)]
)
def test_an_output_that_lacks_the_lines(
    encoding: str, carries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain characters draw the picture where stdout's encoding has no lines."""
    monkeypatch.setattr(sys, "stdout", _Output(encoding))
    assert output.can_show("─►…") is carries


def test_plain_characters_on_a_plain_output(
    bench: Bench, retried: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole picture is ASCII where it has to be."""
    monkeypatch.setattr("agent.cli.output.can_show", lambda _: False)
    out = bench.type("trace", retried["op"]).out
    assert out.isascii()
    assert "... 0.2" in out


class _Output(io.StringIO):
    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._named = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute in the stubs
        return self._named
