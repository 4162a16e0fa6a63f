"""`ackonce doubt`: the inbox of what nobody can tell, and the ways out of it."""

from typing import Any

import pytest

from tests.cli.bench import Bench

DEAF = "cmd *: drop_ack; nop *: drop_request; hello 3-99: drop_request"
"""The first command takes effect, and then nothing is answered any more."""


@pytest.fixture
def doubt(bench: Bench) -> dict[str, Any]:
    """BEEP on d1 in doubt, although it took effect: the device has fallen silent."""
    bench.device(DEAF, timeout="0.05s")
    code, record = bench.send("d1", "BEEP")
    assert (code, record["outcome"]) == (5, "in_doubt")
    return record


@pytest.fixture
def lasting(bench: Bench) -> dict[str, Any]:
    """BEEP on d1 in doubt for good: the device restarted after the effect and remembers nothing."""
    bench.device("cmd 1: reboot_after", timeout="0.2s")
    _, record = bench.send("d1", "BEEP")
    assert record["outcome"] == "in_doubt"
    return record


def test_nothing(bench: Bench) -> None:
    """An empty inbox is an empty stdout, exit 0, and a word on stderr; with --json and -q not even that."""
    ended = bench.type("doubt", "list")
    assert (ended.code, ended.out, ended.err) == (0, "", "Nothing is in doubt.\n")
    assert bench.type("doubt", "list", "-q").err == ""


def test_list(bench: Bench, doubt: dict[str, Any]) -> None:
    """The operation object of `send`, with `since`; as text one line with id, device and command."""
    [record] = bench.type("doubt", "list", "--json").records
    assert record.pop("since").endswith("Z")
    unlike = {name for name in doubt if record[name] != doubt[name]}
    assert unlike <= {"elapsed_s"}
    [line] = bench.type("doubt", "list").lines
    assert line.split("\t")[:3] == [doubt["op"], "d1", "BEEP"]


def test_show(bench: Bench, doubt: dict[str, Any]) -> None:
    """The whole story and what to type next; a unique beginning of the id, in any case, will do."""
    [other] = bench.type("doubt", "list", "--json").records
    ended = bench.type("doubt", "show", other["op"][:20].lower())
    assert (ended.code, ended.lines[0]) == (0, f"{doubt['op']}  d1  BEEP  in_doubt")
    assert "cmd=BEEP attempt=1 sent" in ended.out
    assert "attempt=1 timeout" in ended.out
    assert f"ackonce doubt check {doubt['op']}" in ended.out
    assert bench.type("doubt", "show", doubt["op"], "--json").records[0]["op"] == doubt["op"]


@pytest.mark.parametrize("verb", ["show", "check"])
def test_beginnings(bench: Bench, doubt: dict[str, Any], verb: str) -> None:
    """A beginning of several ids, or of none, is a usage error that says so."""
    bench.device(timeout="5s")
    bench.send("d2", "BEEP")
    several = bench.type("doubt", verb, doubt["op"][:3])
    assert (several.code, "several operations begin with" in several.err) == (2, True)
    told = [line.split()[:3] for line in several.err.splitlines() if line.startswith("  ")]
    assert [words[1:] for words in told] == [["d2", "BEEP"], ["d1", "BEEP"]]
    assert told[1][0] == doubt["op"]
    none = bench.type("doubt", verb, "ZZZ")
    assert (none.code, "no operation ZZZ in this store" in none.err) == (2, True)


def test_check_while_it_is_silent(bench: Bench, doubt: dict[str, Any]) -> None:
    """No answer leaves the doubt: exit 5, nothing is sent, and the way out is named."""
    bench.devices[0].unplug()
    ended = bench.type("doubt", "check", doubt["op"])
    assert ended.code == 5
    when = f"d1 could not be asked now. When it can: ackonce doubt check {doubt['op']}"
    assert when in ended.err
    assert "Nothing that can be read tells" not in ended.err
    assert "it could not be asked: " in bench.type("doubt", "show", doubt["op"]).lines[-5]
    assert f"ackonce doubt resolve {doubt['op']} --applied|--not-applied --reason TEXT" in ended.err
    assert len(bench.type("doubt", "list").lines) == 1


def test_check_when_it_is_back(bench: Bench, doubt: dict[str, Any]) -> None:
    """As soon as the device answers, check settles the doubt by its memory, and sends the command no more."""
    copies = len(bench.devices[0].copies)
    bench.devices[0].suffer("")
    ended = bench.type("doubt", "check", doubt["op"], "--json")
    [record] = ended.records
    assert (ended.code, record["outcome"], record["evidence"]) == (0, "applied", "settled")
    assert len(bench.devices[0].copies) == copies
    assert bench.type("doubt", "list").lines == []
    again = bench.type("doubt", "check", doubt["op"], "--json")
    assert (again.code, again.records[0]["outcome"]) == (0, "applied")


def test_check_where_nothing_tells(bench: Bench, lasting: dict[str, Any]) -> None:
    """A device that answers, remembers nothing and shows nothing: only then is it said that nothing can tell."""
    ended = bench.type("doubt", "check", lasting["op"])
    assert ended.code == 5
    assert "Nothing that can be read tells. Look at the equipment" in ended.err
    assert "could not be asked" not in ended.err


def test_check_after_the_inventory_has_changed(bench: Bench, doubt: dict[str, Any]) -> None:
    """A device that is no longer in the inventory is asked where it was met."""
    bench.devices[0].suffer("")
    bench.project.put("inventory.yaml", "devices:\n  other: {url: 'tcp://127.0.0.1:9'}\n")
    assert bench.type("doubt", "check", doubt["op"], "--timeout", "5s").code == 0


@pytest.mark.parametrize(("word", "outcome"), [("--applied", "applied"), ("--not-applied", "not_applied")])
def test_resolve(bench: Bench, lasting: dict[str, Any], word: str, outcome: str) -> None:
    """A person's word is the outcome, by `person`, with the reason in the message; the device is free again."""
    assert bench.send("d1", "SET", "interval", "30")[0] == 6
    ended = bench.type("doubt", "resolve", lasting["op"], word, "--reason", "I heard it", "--json")
    [record] = ended.records
    assert (ended.code, record["outcome"], record["evidence"]) == (0, outcome, "person")
    assert "I heard it" in record["message"]
    again = "If it is still wanted: ackonce send d1 BEEP\n"
    assert ended.err == (again if outcome == "not_applied" else "")
    assert "(I heard it)" in bench.type("log").out
    assert bench.type("doubt", "list").lines == []
    assert bench.send("d1", "SET", "interval", "30")[0] == 0
    assert bench.devices[0].executed == ["BEEP", "SET interval 30"]


def test_resolve_is_careful(bench: Bench, lasting: dict[str, Any]) -> None:
    """Without a finding, without a reason, or for what is not in doubt: exit 2, and nothing has changed."""
    both = ["--applied", "--not-applied", "--reason", "x"]
    for words in (["--reason", "x"], ["--applied"], ["--applied", "--reason", ""], both):
        assert bench.type("doubt", "resolve", lasting["op"], *words).code == 2
    assert len(bench.type("doubt", "list").lines) == 1
    bench.device(timeout="5s")
    _, done = bench.send("d2", "BEEP")
    ended = bench.type("doubt", "resolve", done["op"], "--not-applied", "--reason", "x")
    assert (ended.code, "is not in doubt: it ended applied" in ended.err) == (2, True)


def test_the_same_key_after_a_persons_word(bench: Bench, lasting: dict[str, Any]) -> None:
    """What a person found applied is done under its key; what was found not applied is due again."""
    bench.type("doubt", "resolve", lasting["op"], "--not-applied", "--reason", "silent")
    bench.devices[0].suffer("cmd 1: reboot_after")
    _, first = bench.send("d1", "BEEP", "--key", "k")
    assert first["outcome"] == "in_doubt"
    bench.type("doubt", "resolve", first["op"], "--applied", "--reason", "heard")
    _, second = bench.send("d1", "BEEP", "--key", "k")
    assert (second["op"], second["outcome"], second["skipped"]) == (first["op"], "applied", True)
    assert bench.devices[0].executed == ["BEEP", "BEEP"]
