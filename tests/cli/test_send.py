"""`ackonce send`: the JSON fields and exit codes that scripts rely on, for every way in which a command can end."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bench import Bench
from tests.cli.process_rig import COMMAND

FIELDS: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "op": (str, type(None)),
    "run": (type(None),),
    "device": (str,),
    "command": (str,),
    "class": (str,),
    "kind": (str,),
    "policy": (str,),
    "outcome": (str,),
    "evidence": (str, type(None)),
    "seq": (int, type(None)),
    "attempts": (int,),
    "before": (str, type(None)),
    "expected": (str, type(None)),
    "value": (str, type(None)),
    "route": (str,),
    "elapsed_s": (float, type(None)),
    "message": (str,),
}
"""CLI.md 2, in its order."""

BOOTS_AFTER = "cmd 1: reboot_after"
"""Effect, then a boot that takes the memory of it: in doubt on tier 1."""
DEAF = "cmd *: drop_ack; nop *: drop_request; hello 3-99: drop_request"
"""The first command takes effect, and then nothing is answered any more."""


def assert_shape(record: dict[str, Any]) -> None:
    """The fields of CLI.md 2, all of them and no other, in its order and with its types."""
    record = {name: value for name, value in record.items() if name != "skipped"}
    assert list(record) == list(FIELDS)
    for name, value in record.items():
        assert isinstance(value, FIELDS[name]), name


def test_applied(bench: Bench) -> None:
    """A confirmed command is `applied` by `ack`, with the device's value as a string, exit 0."""
    device = bench.device(timeout="5s")
    code, record = bench.send("d1", "ADJUST", "offset", "+5")
    assert_shape(record)
    assert (code, device.executed) == (0, ["ADJUST offset +5"])
    assert len(record.pop("op")) == 26
    assert record.pop("elapsed_s") > 0
    assert record == {
        "schema": 1,
        "run": None,
        "device": "d1",
        "command": "ADJUST offset +5",
        "class": "cumulative",
        "kind": "relative",
        "policy": "resend",
        "outcome": "applied",
        "evidence": "ack",
        "seq": 1,
        "attempts": 1,
        "before": None,
        "expected": None,
        "value": "15",
        "route": device.url,
        "message": "the device confirmed it",
    }


def test_lost_ack(bench: Bench) -> None:
    """After a lost ack the second copy is answered from memory: `duplicate_ack`, two attempts, one effect."""
    device = bench.device("cmd 1: drop_ack")
    code, record = bench.send("d1", "ADJUST", "offset", "+5")
    assert (code, record["outcome"], record["evidence"], record["attempts"]) == (
        0,
        "applied",
        "duplicate_ack",
        2,
    )
    assert (device.executed, len(device.copies)) == (["ADJUST offset +5"], 2)


def test_refused(bench: Bench) -> None:
    """A command that the device turns down is `refused`, exit 1, and stderr says that it had no effect."""
    bench.device("cmd 1: refuse", timeout="5s")
    ended = bench.type("send", "d1", "BEEP", "--yes", "--json")
    [record] = ended.records
    assert_shape(record)
    assert (ended.code, record["outcome"], record["evidence"]) == (1, "refused", None)
    assert "d1: 'BEEP' was sent and had no effect" in ended.err


def test_not_applied(bench: Bench) -> None:
    """Copies that never arrive, and a number burnt afterwards: `not_applied` by `settled`, exit 1."""
    device = bench.device("cmd *: drop_request", timeout="0.1s")
    code, record = bench.send("d1", "BEEP", "--attempts", "2")
    assert (code, record["outcome"], record["evidence"], record["attempts"]) == (
        1,
        "not_applied",
        "settled",
        2,
    )
    assert device.executed == []


def test_in_doubt(bench: Bench) -> None:
    """Silence to everything after a copy has left is `in_doubt`, exit 5; stderr names what to type next."""
    bench.device(DEAF, timeout="0.05s")
    ended = bench.type("send", "d1", "BEEP", "--yes", "--json")
    [record] = ended.records
    assert_shape(record)
    assert (ended.code, record["outcome"], record["evidence"], record["value"]) == (5, "in_doubt", None, None)
    assert f"ackonce doubt check {record['op']}" in ended.err


def test_held_by_a_doubt(bench: Bench) -> None:
    """What a doubt holds back is `not_sent`, exit 6, and the message names the operation in doubt."""
    device = bench.device(BOOTS_AFTER, timeout="0.2s")
    _, doubt = bench.send("d1", "BEEP")
    code, record = bench.send("d1", "SET", "interval", "30")
    assert_shape(record)
    assert (code, record["outcome"], record["attempts"], record["seq"]) == (6, "not_sent", 0, None)
    assert doubt["op"] in record["message"]
    assert set(device.copies) == {"BEEP"}


def test_unreachable(bench: Bench) -> None:
    """A refused connection is `not_sent`, exit 7, after no copy at all."""
    bench.device().unplug()
    code, record = bench.send("d1", "SET", "interval", "30")
    assert_shape(record)
    assert (code, record["outcome"], record["attempts"]) == (7, "not_sent", 0)
    assert "refuses connections" in record["message"]


def test_wrong_serial(bench: Bench) -> None:
    """Another serial than the inventory's: `not_sent`, exit 7, and the device has seen no command and no session."""
    device = bench.device(entry="serial: OTHER")
    code, record = bench.send("d1", "SET", "interval", "30")
    assert (code, record["outcome"]) == (7, "not_sent")
    assert "SN-1" in record["message"]
    assert "OTHER" in record["message"]
    assert (device.copies, device.device.counts["open"]) == ([], 0)


def test_used_by_another_store(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A device whose epoch another store has drawn is `not_sent`, exit 8, with --take-over named as the way."""
    device = bench.device(timeout="5s")
    for _ in range(2):
        device.reboot()
        bench.send("d1", "BEEP")
    monkeypatch.setenv("ACKONCE_HOME", str(tmp_path / "another"))
    code, record = bench.send("d1", "BEEP")
    assert (code, record["outcome"]) == (8, "not_sent")
    assert "ackonce probe TARGET --take-over" in record["message"]


def test_nothing_twice_under_one_key(bench: Bench) -> None:
    """The second `send --key K` of the same words, however typed, does nothing and answers with the first outcome."""
    device = bench.device(timeout="5s")
    _, first = bench.send("d1", "ADJUST", "offset", "+5", "--key", "k")
    code, second = bench.send("d1", "ADJUST", "offset", "delta=5", "--key", "k")
    assert code == 0
    assert second == first | {"skipped": True}
    assert device.executed == ["ADJUST offset +5"]


def test_in_doubt_under_the_key(bench: Bench) -> None:
    """The same key over a doubt that stays answers with that operation, `skipped`, exit 5, and sends nothing new."""
    bench.device(BOOTS_AFTER, timeout="0.2s")
    _, first = bench.send("d1", "BEEP", "--key", "k")
    assert first["outcome"] == "in_doubt"
    code, second = bench.send("d1", "BEEP", "--key", "k")
    assert (code, second["op"], second["outcome"], second["skipped"]) == (5, first["op"], "in_doubt", True)
    assert bench.devices[0].executed == ["BEEP"]


def test_other_words_under_a_used_key(bench: Bench) -> None:
    """Other words under a used key: exit 3, nothing sent, and the message names the command that used it."""
    device = bench.device(timeout="5s")
    bench.send("d1", "ADJUST", "offset", "+5", "--key", "k")
    code, record = bench.send("d1", "ADJUST", "offset", "+6", "--key", "k")
    assert_shape(record)
    assert (code, record["op"], record["outcome"]) == (3, None, "not_sent")
    assert "'ADJUST offset +5'" in record["message"]
    assert device.copies == ["ADJUST offset +5"]


def test_a_used_key_on_one_of_several_devices(bench: Bench) -> None:
    """A clash on one device neither hides nor stops the others: each has its own true word."""
    first, second = bench.device(timeout="5s"), bench.device(timeout="5s")
    bench.send("d1", "SET", "interval", "20", "--key", "k")
    ended = bench.type("send", "d*", "SET", "interval", "30", "--key", "k", "--json")
    assert [(record["device"], record["outcome"]) for record in ended.records] == [
        ("d1", "not_sent"),
        ("d2", "applied"),
    ]
    assert ended.code == 3
    assert (first.executed, second.executed) == (["SET interval 20"], ["SET interval 30"])


def test_raw_words(bench: Bench) -> None:
    """--raw sends what no catalog knows as it stands: cumulative, no-retry, once, even after silence."""
    device = bench.device(DEAF, timeout="0.05s")
    code, record = bench.send("d1", "--raw", "FROB", "the", "knob", "--hard")
    assert (code, record["command"], record["class"], record["policy"]) == (
        5,
        "FROB the knob --hard",
        "cumulative",
        "no-retry",
    )
    assert device.copies == ["FROB the knob --hard"]


def test_a_command_longer_than_the_device_takes(bench: Bench) -> None:
    """Words that no frame of the device can hold are `not_sent`, exit 7, and reach no device."""
    device = bench.device(timeout="5s")
    code, record = bench.send("d1", "--raw", "X" * 5_000)
    assert (code, record["outcome"], len(record["command"])) == (7, "not_sent", 5_000)
    assert "5000 bytes" in record["message"]
    assert device.copies == []


def test_words_that_are_not_ascii(bench: Bench) -> None:
    """UTF-8 arguments travel and come back unharmed."""
    device = bench.device(timeout="5s")
    code, record = bench.send("d1", "--raw", "LABEL", "Küche 温度")
    assert (code, record["outcome"], record["command"]) == (1, "refused", "LABEL Küche 温度")
    assert device.copies == ["LABEL Küche 温度"]


def test_words_that_are_no_text(bench: Bench) -> None:
    """Bytes that are not UTF-8 are a usage error, since the journal keeps text."""
    device = bench.device(timeout="5s")
    code, record = bench.send("d1", "--raw", "LABEL", "\udcff")
    assert (code, record["op"]) == (2, None)
    assert "not text in UTF-8" in record["message"]
    assert device.connections == 0


def test_the_installed_command_says_the_same(bench: Bench) -> None:
    """The console script prints exactly the object that the program in this process prints, and nothing else."""
    bench.device(timeout="10s")
    words = [COMMAND, "send", "d1", "SET", "interval", "30", "--json", "-C", str(bench.project.folder)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    _, record = bench.send("d1", "SET", "interval", "30")
    assert (ended.returncode, ended.stderr, ended.stdout.count("\n")) == (0, "", 1)
    assert set(json.loads(ended.stdout)) == set(record)
