"""`ackonce send`: what people type, and what they mistype. Every mistake is found before any connection."""

from pathlib import Path

import pytest

from tests.cli.bench import Bench

LINK_PROFILE = """\
profile: test/linked
dialect: lsq
settings:
  offset: {type: int, read: "GET offset"}
commands:
  - {name: SET baud, kind: link, args: [{name: rate, type: int}], send: "SET baud {rate}"}
  - {name: RESET counter, kind: reset, send: "RESET counter"}
"""


@pytest.mark.parametrize(
    "words",
    [
        "--json --yes send d1 ADJUST offset -5",
        "-y send --json d1 ADJUST offset -5",
        "send d1 --json ADJUST --yes offset -5",
        "send d1 ADJUST offset -5 --json -y",
        "send d1 ADJUST offset delta=-5 --json -y",
        "--timeout=5s --json send d1 -y ADJUST offset -5",
    ],
)
def test_options_stand_anywhere(bench: Bench, words: str) -> None:
    """Common options work before the verb, behind it and between; an argument may begin with a dash."""
    device = bench.device(timeout="5s")
    ended = bench.type(*words.split())
    [record] = ended.records
    assert (ended.code, record["command"], record["value"]) == (0, "ADJUST offset -5", "5")
    assert device.executed == ["ADJUST offset -5"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("SET intervall 30", "Did you mean 'SET interval'?"),
        ("set interval 30", "Did you mean 'SET interval'?"),
        ("SET", "Did you mean 'SET interval' or 'SET offset'?"),
        ("SET offset=3", "Did you mean 'SET offset'? Or: ackonce set d1 offset=3"),
        ("offset=3 interval=20", "Or: ackonce set d1 offset=3 interval=20"),
        ("ADJUST offse +5", "Did you mean 'ADJUST offset'?"),
        ("SET interval", "takes 1 argument, 0 given"),
        ("SET interval 3 4", "takes 1 argument, 2 given"),
        ("SET interval valeu=3", "Type: SET interval <value: int"),
        ("SET interval 0", "must be 1 to 3600 s, not 0"),
        ("SET interval 9999", "must be 1 to 3600 s, not 9999"),
        ("SET interval 1.5", "is not a whole number"),
        ("ADJUST offset +51", "must be -50 to 50"),
        ("SET interval 3 --yess", "no such option: --yess"),
        ("SET interval 3 --attempts 0", "--attempts"),
        ("SET interval 3 --timeout soon", "--timeout"),
        ("SET interval 3 --policy never", "Known: resend"),
        ("BEEP --policy get-verify", "get-verify is refused"),
        ("", "Missing argument"),
    ],
)
def test_mistyped_words(bench: Bench, words: str, part: str) -> None:
    """Exit 2 with what is wrong and what was meant; one object with `op` null; no connection was made."""
    device = bench.device()
    ended = bench.type("send", "d1", *words.split(), "--json")
    [record] = ended.records
    assert (ended.code, record["op"], record["outcome"]) == (2, None, "not_sent")
    assert part in record["message"]
    assert part in ended.err
    assert "Nothing was sent." in ended.err
    assert device.connections == 0


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ("d12 BEEP", 2, "Did you mean 'd1'?"),
        ("nobody BEEP", 2, "unknown device 'nobody'"),
        ("group:north BEEP", 2, "unknown group 'north'"),
        ("tcp://127.0.0.1:9 BEEP", 2, "Give it with --profile NAME"),
        ("tcp://127.0.0.1 BEEP --profile demo/controller", 2, "names no port"),
        ("tcp://127.0.0.1:9 BEEP --profile demo/controler", 3, "Did you mean 'demo/controller'?"),
    ],
)
def test_targets_that_are_none(bench: Bench, words: str, code: int, part: str) -> None:
    """A target that means no device is a usage error; a profile that is not there an invalid file."""
    bench.device()
    ended = bench.type("send", *words.split(), "--yes", "--json")
    assert (ended.code, ended.records[0]["op"]) == (code, None)
    assert part in ended.err


def test_a_url_with_a_profile(bench: Bench) -> None:
    """A URL needs no inventory, only --profile; its name is the URL."""
    device = bench.device()
    bench.project.put("inventory.yaml", "devices: {}\n")
    code, record = bench.send(device.url, "--profile", "demo/controller", "SET", "interval", "30")
    assert (code, record["device"], device.executed) == (0, device.url, ["SET interval 30"])


def test_equipment_of_another_kind(bench: Bench) -> None:
    """Equipment that this version cannot work with is said before anything is sent to anybody."""
    device = bench.device()
    bench.project.put(
        "profiles/printer.yaml",
        "profile: test/printer\ndialect: line\n"
        "sequence: {wrap: \"N{seq} {command}\", reply: '^ok (?P<seq>[0-9]+) (?P<rest>.*)$'}\ncommands:\n"
        '  - {name: SET interval, kind: absolute, args: [{name: value, type: int}], send: "SET {value}"}\n',
    )
    bench.enter("d2", '{profile: test/printer, url: "tcp://127.0.0.1:502"}')
    ended = bench.type("send", "d*", "SET", "interval", "30")
    assert (ended.code, device.connections) == (2, 0)
    assert "d2: equipment that numbers its lines ('sequence') is not supported" in ended.err


def test_a_broken_inventory(bench: Bench) -> None:
    """A file that cannot be read is exit 3 with file, line and column."""
    device = bench.device()
    path = bench.project.put("inventory.yaml", "devices:\n  d1: {profile: demo/controller, urll: x}\n")
    ended = bench.type("send", "d1", "BEEP", "--yes", "--json")
    assert (ended.code, ended.records[0]["op"], device.connections) == (3, None, 0)
    assert f"{path}:2:" in ended.err
    assert "urll" in ended.err


def test_where_the_inventory_comes_from(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """-i beats ACKONCE_INVENTORY, which beats ./inventory.yaml."""
    bench.device(timeout="5s")
    text = (bench.project.folder / "inventory.yaml").read_text()
    for name in ("option", "variable"):
        (tmp_path / f"{name}.yaml").write_text(text.replace("d1", name))
    monkeypatch.setenv("ACKONCE_INVENTORY", str(tmp_path / "variable.yaml"))
    assert bench.send("variable", "SET", "interval", "3")[0] == 0
    assert bench.send("option", "SET", "interval", "3", "-i", str(tmp_path / "option.yaml"))[0] == 0
    assert bench.type("send", "d1", "SET", "interval", "3").code == 2


def test_what_the_environment_says(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """ACKONCE_TIMEOUT sets the silence time and ACKONCE_ACTOR the name in the journal; --timeout wins."""
    bench.device("cmd 1-2: drop_ack", timeout="600s")
    monkeypatch.setenv("ACKONCE_TIMEOUT", "50ms")
    monkeypatch.setenv("ACKONCE_ACTOR", "night-job")
    _, record = bench.send("d1", "BEEP")
    assert record["evidence"] == "duplicate_ack"
    assert "by night-job" in bench.type("doubt", "show", record["op"]).out
    monkeypatch.setenv("ACKONCE_TIMEOUT", "nonsense")
    assert bench.type("send", "d1", "SET", "interval", "3").code == 2
    assert bench.type("send", "d1", "SET", "interval", "3", "--timeout", "5s").code == 0


def test_no_one_to_ask(bench: Bench) -> None:
    """Without a terminal and without --yes: exit 4 with an object for each device, before any connection."""
    devices = [bench.device(), bench.device()]
    ended = bench.type("send", "d*", "BEEP", "--json")
    assert (ended.code, [record["op"] for record in ended.records]) == (4, [None, None])
    assert "give --yes" in ended.err
    assert [device.connections for device in devices] == [0, 0]


def test_idempotent_commands_need_no_yes(bench: Bench) -> None:
    """An absolute command is sent without a question."""
    bench.device(timeout="5s")
    assert bench.type("send", "d1", "SET", "interval", "3").code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("d1 SET baud 9600 --yes", 4),
        ("d1 SET baud 9600 --confirm d2", 4),
        ("d1 SET baud 9600 --confirm d1", 1),
        ("d* RESET counter --yes", 4),
        ("d* RESET counter --confirm d*", 0),
        ("d1 RESET counter --yes", 0),
    ],
)
def test_what_wants_the_name_typed(bench: Bench, words: str, code: int) -> None:
    """Link kinds and resets of several devices want --confirm with the very name; --yes is not enough."""
    bench.project.put("profiles/linked.yaml", LINK_PROFILE)
    devices = [bench.device(timeout="5s"), bench.device(timeout="5s")]
    ended = bench.type("send", *words.split(), "--profile", "test/linked")
    assert ended.code == code
    if code == 4:
        assert "--confirm d" in ended.err
        assert [device.connections for device in devices] == [0, 0]


def test_an_unknown_verb(bench: Bench) -> None:
    """A mistyped verb is exit 2 with the likely one."""
    ended = bench.type("sned", "d1", "BEEP")
    assert (ended.code, ended.out) == (2, "")
    assert "Did you mean 'send'?" in ended.err
