"""Does a secret reach the device, and nothing else? Whatever was printed or written is searched for it."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent import secrets
from agent.secrets import NoSecret, Veil, look_up
from simulator.equipment import Controller
from simulator.equipment.machine import Result, Verdict
from tests.cli import live_device, live_text
from tests.cli.bench import Bench
from tests.cli.live_text import TextBench, quick_profile
from tests.cli.project import Ended, Project
from tests.devices.files import complaints

VALUE = "Hunter2-Zu°"
COMMANDS = """
  - name: UNLOCK
    kind: absolute
    args: [{name: password, type: text, secret: true}]
    send: "UNLOCK {password}"
  - name: KNOCK
    kind: trigger
    args: [{name: user, type: text}, {name: password, type: text, secret: true}]
    send: "KNOCK {user}/{password}"
  - name: SAY
    kind: trigger
    args: [{name: user, type: text}, {name: password, type: text, secret: true}]
    send: "SAY {user}/{password}"
    verify: {setting: said, expect: user}
  - name: TURN
    kind: trigger
    args: [{name: password, type: text, secret: true}]
    send: "TURN {password}"
    verify: {setting: log_files, expect: "before + 1"}
"""
SAID = 'said: {type: text, read: "GET said", durable: true}'
LOG_FILES = 'log_files: {type: int, read: "GET log_files", durable: true, clamps: false}'
SETTINGS = f"settings:\n  {SAID}\n  {LOG_FILES}\n"
LSQ = f"profile: test/lock\ndialect: lsq\ntiming: {{reply_s: 0.3}}\n{SETTINGS}commands:{COMMANDS}"
UNLOCK = ("UNLOCK", "env:METER_PW")
MARKED = "UNLOCK {env:METER_PW}"


class Lock(Controller):
    """A controller with a lock, which repeats the password in each answer."""

    said = "nothing yet"

    def execute(self, text: str) -> Result:
        """Open, and say with what; refuse a knock, and say what for; note what was said."""
        word, _, rest = text.partition(" ")
        match word:
            case "UNLOCK":
                return Result(Verdict.OK, f"open with {rest}")
            case "KNOCK":
                return Result(Verdict.REFUSED, f"no such user: {rest.upper()}")
            case "TURN":
                return super().execute("ROTATE log")
            case "SAY":
                self.said = rest
                return Result(Verdict.OK, "")
        return super().execute(text)

    def read(self, text: str) -> Result:
        """Tell what was said last."""
        return Result(Verdict.OK, self.said) if text == "GET said" else super().read(text)


@pytest.fixture(autouse=True)
def lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every device of these tests has a lock, and every command knows its password."""
    monkeypatch.setattr(live_device, "Controller", Lock)
    monkeypatch.setattr(live_text, "Controller", Lock)
    monkeypatch.setenv("METER_PW", VALUE)


@pytest.fixture
def lsq(bench: Bench) -> Bench:
    """A project for LSQ1 devices with a lock."""
    bench.project.put("profiles/lock.yaml", LSQ)
    return bench


def switch_on(bench: Bench, faults: str = "") -> live_device.LiveDevice:
    """The first device of a bench."""
    live = bench.device(faults)
    bench.enter("d1", f'{{profile: test/lock, url: "{live.url}", timeout: 0.3s}}')
    return live


@pytest.fixture
def line(text_bench: TextBench) -> TextBench:
    """A project for text devices with a lock."""
    text_bench.profile(quick_profile(("settings:\n", f"settings:\n  {SAID}\n")) + COMMANDS)
    return text_bench


def everything(project: Project, *ended: Ended) -> str:
    """All that was printed, and all that stands in the files of the store and of the project."""
    files = [
        path
        for folder in (Path(os.environ["ACKONCE_HOME"]), project.folder)
        for path in folder.rglob("*")
        if path.is_file()
    ]
    assert any(path.name == "journal.db" for path in files)
    texts = [path.read_bytes().decode(errors="backslashreplace") for path in files]
    return "\n".join([*(each.out + each.err for each in ended), *texts])


def assert_hidden(project: Project, *ended: Ended) -> None:
    """The secret is nowhere, in whatever spelling of its letters."""
    text = everything(project, *ended).casefold()
    for form in (VALUE, json.dumps(VALUE)[1:-1], VALUE.encode().decode(errors="backslashreplace")):
        assert form.casefold() not in text
    assert "hunter2" not in text


# --- what is sent, and what is told -----------------------------------------------------------------------------------


def test_an_lsq_device_gets_the_value_and_everybody_else_the_reference(lsq: Bench) -> None:
    """The bytes of the log show `***`, journal and result the reference in braces, though the device repeats it."""
    live = switch_on(lsq, "cmd 1: drop_ack")
    seen = lsq.type("send", "d1", *UNLOCK, "-vv")
    assert (seen.code, live.executed) == (0, [f"UNLOCK {VALUE}"])
    assert "UNLOCK ***" in seen.err
    record = lsq.type("send", "d1", *UNLOCK, "--json", "-vv").records[0]
    assert (record["command"], record["outcome"], record["value"]) == (MARKED, "applied", "open with ***")
    traced = lsq.type("trace", record["op"])
    assert MARKED in traced.out
    assert_hidden(lsq.project, seen, traced, lsq.type("log"))


@pytest.mark.parametrize(
    "faults", ["", "cmd 1: echo", "cmd 1: split", "cmd 1: echo, split", "cmd 1: stale_reply"]
)
def test_a_text_device_that_says_the_secret_is_masked_in_pieces_too(line: TextBench, faults: str) -> None:
    """Echo, ack and refusal may hold the secret, and may come byte by byte."""
    live = line.device(faults)
    seen = line.run("send", "d1", *UNLOCK, "-vv")
    assert live.copies == [f"UNLOCK {VALUE}"]
    assert "UNLOCK ***" in seen.err
    refused = line.run("send", "d1", "KNOCK", "ana", "env:METER_PW", "--yes", "-vv")
    assert refused.code == 1
    assert "no such user: ANA/***" in refused.err
    assert live.copies[-1] == f"KNOCK ana/{VALUE}"
    assert_hidden(line.project, seen, refused, line.run("log"), line.run("doubt", "list"))


def test_a_line_that_nobody_asked_for_is_masked(line: TextBench) -> None:
    """A second answer to a command, which is credited to nothing, is logged without the secret."""
    live = line.device("cmd 1: duplicate; cmd 2: delay 0.4")
    seen = [line.run("send", "d1", *UNLOCK, "-vv") for _ in range(2)]
    assert live.executed[f"UNLOCK {VALUE}"] == 3
    assert_hidden(line.project, *seen, line.run("log"))


def test_a_reading_with_the_secret_in_it_is_no_value(line: TextBench) -> None:
    """A setting that repeats the secret is as good as not read: neither a baseline nor a proof, and not journaled."""
    live = line.device("cmd 1: drop_ack")
    code, record = line.send("d1", "SAY", "ana", "env:METER_PW", "-vv")
    assert (code, record["outcome"], record["before"]) == (5, "in_doubt", "nothing yet")
    assert live.executed[f"SAY ana/{VALUE}"] == 1
    assert line.run("doubt", "resolve", record["op"], "--applied", "--reason", "heard").code == 0
    code, record = line.send("d1", "SAY", "ana", "env:METER_PW", "-vv")
    assert (code, record["outcome"]) == (7, "not_sent")
    assert "the answer holds a secret, so it is not kept" in record["message"]
    assert_hidden(line.project, line.run("trace", record["op"]), line.run("log"))


def test_a_number_is_a_value_though_it_looks_like_the_secret(
    line: TextBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short code must not take the evidence away."""
    monkeypatch.setenv("METER_PW", "3")
    live = line.device("cmd 1: drop_ack")
    _, record = line.send("d1", "TURN", "env:METER_PW")
    assert (record["outcome"], record["evidence"], record["before"]) == ("applied", "verified", "3")
    assert live.executed["TURN 3"] == 1


def test_a_program_gets_the_value(text_bench: TextBench) -> None:
    """The words of a program's run, and what it prints, are masked too."""
    folder = text_bench.project.folder
    script = text_bench.project.put(
        "profiles/push.sh", '#!/bin/sh\necho "$1" >&2; echo "did $1"; echo "$1" >"$2"\n'
    )
    script.chmod(0o755)
    told = folder.parent / "told"
    text_bench.profile(
        f'profile: test/quick\ndialect: exec\nrun: ["./push.sh", "{{command}}", "{told}"]\n'
        f"{SETTINGS}commands:{COMMANDS}"
    )
    text_bench.enter("d1", "tcp://127.0.0.1:1")
    seen = text_bench.run("send", "d1", *UNLOCK, "-vv", "--json")
    assert (seen.code, seen.records[0]["value"]) == (0, "did UNLOCK ***")
    assert told.read_text() == f"UNLOCK {VALUE}\n"
    lint = text_bench.run("profile", "lint", "test/quick")
    assert lint.out.count("its arguments are shown to everybody on the machine (ps)") == COMMANDS.count(
        "secret"
    )
    assert_hidden(text_bench.project, seen)


def test_a_plan_keeps_its_secrets(lsq: Bench) -> None:
    """Plan, saved plan, apply, report and explanation show the reference; a file may hold the value too."""
    live = switch_on(lsq)
    key = lsq.project.folder.parent / "meter.key"
    key.write_text(f"{VALUE}\n", encoding="utf-8")
    lsq.project.put(
        "p.yaml",
        f"plan: p\ntargets: [d1]\nsteps:\n  - send: UNLOCK file:{key}\n  - send: UNLOCK env:METER_PW\n",
    )
    seen = [
        lsq.type("plan", "p.yaml", "--out", "saved.json"),
        lsq.type("apply", "saved.json", "--yes", "-vv"),
        lsq.type("explain", "d1", *UNLOCK),
        lsq.type("explain", "d1", *UNLOCK, "--json"),
        lsq.type("runs", "--json"),
    ]
    assert [each.code for each in seen] == [0] * 5
    seen += [lsq.type(verb, seen[-1].records[0]["run"]) for verb in ("report", "runs")]
    assert live.executed == [f"UNLOCK {VALUE}"] * 2
    assert f"UNLOCK {{file:{key}}}" in seen[1].out
    assert_hidden(lsq.project, *seen)


def test_what_only_looks_like_a_reference_is_sent_as_it_is(line: TextBench) -> None:
    """Braces in an argument that is no secret mean nothing, unless they would be taken for the secret."""
    line.profile(
        quick_profile(("settings:\n", f"settings:\n  {SAID}\n")) + COMMANDS.replace(", secret: true", "", 1)
    )
    live = line.device()
    assert line.run("send", "d1", "UNLOCK", "{env:METER_PW}").code == 0
    assert live.copies == ["UNLOCK {env:METER_PW}"]
    ended = line.run("send", "d1", "KNOCK", "{env:METER_PW}", "env:METER_PW", "--yes")
    assert (ended.code, len(live.copies)) == (2, 1)
    assert "{env:METER_PW} may stand only where the secret does" in ended.err


# --- what is refused --------------------------------------------------------------------------------------------------

LITERALS = ["S3cret!", "env:S3cret!", "file:S3cret!", "env:", "S3cret!\n", "password=S3cret!"]


@pytest.mark.parametrize("literal", LITERALS)
def test_a_typed_secret_is_refused_and_not_repeated(lsq: Bench, literal: str) -> None:
    """Exit 2 from a command line, 3 from a plan at the step's place, and nobody reads it again."""
    live = switch_on(lsq)
    typed = [lsq.type(verb, "d1", "UNLOCK", literal, "--yes") for verb in ("send", "explain")]
    typed.append(lsq.type("send", "d1", "KNOCK", "ana", literal, "--yes"))
    assert [each.code for each in typed] == [2, 2, 2]
    lsq.project.put(
        "p.yaml", f"plan: p\ntargets: [d1]\nsteps:\n  - send: {json.dumps(f'UNLOCK {literal!r}')}\n"
    )
    planned = [lsq.type("apply", "p.yaml", "--yes"), lsq.type("plan", "p.yaml", "--json")]
    assert [each.code for each in planned] == [3, 3]
    assert "p.yaml:4:" in planned[0].err
    for each in (*typed, *planned):
        assert "S3cret" not in each.out + each.err
        assert "secret" in each.err or "control" in each.err
    assert live.connections == 0


@pytest.mark.parametrize(
    "words", [("UNLOK", "S3cret!"), ("OPEN", "S3cret!"), ("UNLOCK", "S3cret!", "S3cret!")]
)
def test_mistyped_words_are_not_repeated_where_secrets_are_typed(lsq: Bench, words: tuple[str, ...]) -> None:
    """A misspelt command, or too many arguments: what may be the secret is not quoted."""
    switch_on(lsq)
    ended = lsq.type("send", "d1", *words)
    assert (ended.code, "S3cret" in ended.err) == (2, False)
    assert "UNLOCK" in ended.err


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("env:NOBODY_SET_IT", "env:NOBODY_SET_IT: this environment variable is not set"),
        ("env:EMPTY", "env:EMPTY is empty"),
        ("env:LINES", "env:LINES holds a line end or another character that a command cannot carry"),
        ("env:NO_TEXT", "env:NO_TEXT holds a line end or another character"),
        ("file:/DIR/gone", "gone cannot be read: No such file"),
        ("file:/DIR", "is not a file"),
        ("file:/DIR/binary", "binary is not text in UTF-8"),
        ("file:/DIR/long", "long is longer than 1024 bytes"),
        ("file:/DIR/two-lines", "two-lines holds a line end"),
    ],
)
def test_a_secret_that_cannot_be_found_is_told_before_anything_is_connected(
    lsq: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, why: str
) -> None:
    """Exit 2, with the reference; the device is not connected to."""
    live = switch_on(lsq)
    for name, value in (("EMPTY", ""), ("LINES", f"{VALUE}\nBEEP"), ("NO_TEXT", f"{VALUE}\udc80")):
        monkeypatch.setenv(name, value)
    (tmp_path / "binary").write_bytes(b"Hunter2\xff")
    (tmp_path / "long").write_text("x" * 2000)
    (tmp_path / "two-lines").write_text(f"{VALUE}\nBEEP\n")
    ended = lsq.type("send", "d1", "UNLOCK", reference.replace("/DIR", str(tmp_path)), "--json")
    assert (ended.code, live.connections) == (2, 0)
    assert why in ended.err
    assert "Nothing was sent." in ended.err
    assert "Hunter2" not in ended.out + ended.err


def test_a_file_ends_with_one_line_end(tmp_path: Path) -> None:
    """As editors write it, also those of another system; further ones are part of the value, and refused."""
    for text in (b"pw", b"pw\n", b"pw\r\n"):
        (tmp_path / "key").write_bytes(text)
        assert look_up(f"file:{tmp_path}/key") == "pw"
    (tmp_path / "key").write_bytes(b"pw\n\n")
    with pytest.raises(NoSecret):
        look_up(f"file:{tmp_path}/key")


# --- a value that changes, or is gone ---------------------------------------------------------------------------------


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What each look at a secret finds: at the words, when the operation begins, for each copy. None: it is gone."""

    def script(*found: str | None) -> None:
        looks: Iterator[str | None] = iter(found)

        def look(reference: str) -> str:
            value = next(looks)
            if value is None:
                raise NoSecret(f"{reference}: this environment variable is not set")
            return value

        monkeypatch.setattr(secrets, "look_up", look)
        monkeypatch.setattr("agent.orders.look_up", look)

    return script


OTHERS = ["another value", None]


@pytest.mark.parametrize("second", OTHERS)
@pytest.mark.parametrize(
    ("fault", "executed", "outcome"), [("drop_request", 0, "not_applied"), ("drop_ack", 1, "applied")]
)
def test_no_second_copy_of_another_value_to_an_lsq_device(
    lsq: Bench, values: Callable[..., None], second: str | None, fault: str, executed: int, outcome: str
) -> None:
    """The number of the first copy is settled instead: it never ran, or it did."""
    live = switch_on(lsq, f"cmd 1: {fault}")
    values(VALUE, VALUE, VALUE, second)
    _, record = lsq.send("d1", *UNLOCK)
    assert (record["outcome"], record["evidence"], record["attempts"]) == (outcome, "settled", 1)
    assert live.executed == [f"UNLOCK {VALUE}"] * executed


@pytest.mark.parametrize("second", OTHERS)
def test_no_second_copy_of_another_value_to_a_text_device(
    line: TextBench, values: Callable[..., None], second: str | None
) -> None:
    """Without numbers, and with nothing to read, it is in doubt, though a copy of the same bytes could do no harm."""
    live = line.device("cmd 1: drop_request")
    values(VALUE, VALUE, VALUE, second)
    code, record = line.send("d1", *UNLOCK)
    assert (code, record["outcome"], record["attempts"], len(live.copies)) == (5, "in_doubt", 1, 1)
    assert_hidden(line.project)


def test_a_copy_of_the_same_value_is_sent(line: TextBench, values: Callable[..., None]) -> None:
    """An absolute command with a secret is repeated as any other while its bytes are the same."""
    live = line.device("cmd 1: drop_request")
    values(VALUE, VALUE, VALUE, VALUE)
    assert line.send("d1", *UNLOCK)[0] == 0
    assert live.copies == [f"UNLOCK {VALUE}"] * 2


@pytest.mark.parametrize("first", [None, "x" * 600])
def test_a_secret_that_is_gone_or_does_not_fit_when_it_is_needed(
    lsq: Bench, values: Callable[..., None], first: str | None
) -> None:
    """What changes between the look before connecting and the first copy: nothing was sent."""
    live = switch_on(lsq)
    values(VALUE, VALUE, first)
    code, record = lsq.send("d1", *UNLOCK)
    assert (code, record["outcome"], record["attempts"], live.executed) == (7, "not_sent", 0, [])
    assert "not set" in record["message"] or "bytes long" in record["message"]


def test_a_secret_that_is_gone_when_the_operation_begins(lsq: Bench, values: Callable[..., None]) -> None:
    """What was there when the words were looked at may be gone by then: nothing is sent."""
    live = switch_on(lsq)
    values(VALUE, None)
    code, record = lsq.send("d1", *UNLOCK)
    assert (code, record["outcome"], live.copies) == (7, "not_sent", [])


def test_taken_up_by_another_process_no_copy_follows(line: TextBench) -> None:
    """Nobody knows any more what the first copy was: under the same key it stays in doubt, and is not sent again."""
    live = line.device("cmd 1: drop_request")
    first = line.send("d1", *UNLOCK, "--key", "k", "--attempts", "1")
    again = line.send("d1", *UNLOCK, "--key", "k")
    assert [(code, record["outcome"]) for code, record in (first, again)] == [(5, "in_doubt")] * 2
    assert (len(live.copies), first[1]["op"]) == (1, again[1]["op"])


# --- profiles ---------------------------------------------------------------------------------------------------------

GUARDED = """
profile: test/guarded
dialect: line
settings:
  code: {type: text, read: "GET code"}
  level: {type: int, read: "GET level"}
commands:
"""


HIDDEN_P = "args: [{name: p, type: text, secret: true}]"
PLAIN_FORM = """\
  - {name: S, kind: absolute, args: [{name: p, type: text}, {name: v, type: int}], send: "S {p} {v}", setting: level}
  - {name: C, kind: relative, args: [{name: p, type: text, secret: true}, {name: d, type: int}], send: "C {p} {d}",
     absolute_form: {command: S, value: "before + d", equivalent: true}}"""
SHOWN = {
    f'  - {{name: C, kind: absolute, {HIDDEN_P}, send: "C {{p}}", setting: code}}': "'code' would be read back",
    f'  - {{name: C, kind: trigger, {HIDDEN_P}, send: "C {{p}}", verify: {{setting: code, expect: p}}}}': (
        "the secret 'p' cannot be part of it"
    ),
    f'  - {{name: C, kind: link, {HIDDEN_P}, send: "C {{p}}", confirm: {{at: a, read: "GET {{p}}", expect: x}}}}': (
        "the secret 'p' cannot be part of it"
    ),
    '  - {name: C, kind: absolute, args: [{name: p, type: int, secret: true}], send: "C {p}"}': (
        "a secret is of type text, not int"
    ),
    PLAIN_FORM: "'p' of 'S' is secret in one of the two commands only",
}


@pytest.mark.parametrize(("command", "message"), SHOWN.items(), ids=SHOWN.values())
def test_a_profile_that_would_show_a_secret_is_refused(tmp_path: Path, command: str, message: str) -> None:
    """What is read back, computed with or looked for is journaled, so none of it can be secret."""
    assert any(message in each for each in complaints(tmp_path, f"{GUARDED}{command}\n"))


# --- the veil alone ---------------------------------------------------------------------------------------------------


@pytest.fixture
def veil() -> Veil:
    """A veil over the secret."""
    veil = Veil()
    assert veil.begin(["env:METER_PW"]) is None
    return veil


@pytest.mark.parametrize("size", range(1, 9))
def test_bytes_are_masked_in_pieces_of_any_size(veil: Veil, size: int) -> None:
    """However the answer is cut, and even where two secrets follow each other."""
    told: list[bytes] = []
    watch = veil.watch(lambda _, data: told.append(data))
    data = f"Hu {VALUE}{VALUE.upper()} Hunter\r\n".encode()
    for at in range(0, len(data), size):
        watch("<", data[at : at + size])
    assert b"".join(told) == b"Hu ****** Hunter\r\n"


def test_the_beginning_of_a_secret_is_held_back(veil: Veil) -> None:
    """What nothing follows is not told, and does not come with the next answer."""
    told: list[tuple[str, bytes]] = []
    watch = veil.watch(lambda way, data: told.append((way, data)))
    for way, data in (("<", b"say Hunt"), (">", b"GET x\n"), ("<", b"er2-\n")):
        watch(way, data)
    assert told == [("<", b"say "), (">", b"GET x\n"), ("<", b"er2-\n")]


def test_a_long_frame_is_masked(veil: Veil) -> None:
    """LSQ1 puts a byte of its own after each 254 bytes, which may fall into the secret."""
    from cobs import cobs

    told: list[bytes] = []
    for before in range(240, 256):
        veil.watch(lambda _, data: told.append(data))(
            ">", cobs.encode(b"x" * before + VALUE.encode() + b"y" * 9)
        )
    assert all(b"***" in data and not any(part in data for part in (b"Hu", b"ter", b"Zu")) for data in told)


def test_texts_are_lifted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that looks like a reference is sent as it is."""
    monkeypatch.setenv("A", "{env:B}")
    monkeypatch.setenv("B", "c\\d")
    veil = Veil()
    veil.begin(["env:A", "env:B"])
    assert veil.lift("X {env:A} {env:B}") == r"X {env:B} c\d"
    assert veil.mask(f"{{env:B}} and {'C' + chr(92) + 'd'!r} or c\\d") == "*** and '***' or ***"


def test_what_was_written_for_one_command_is_nothing_to_the_next(veil: Veil) -> None:
    """A further copy of a command that another process began is not let through by what this one wrote before."""
    assert veil.before_copy(MARKED, first=True) is None
    assert veil.before_copy(MARKED, first=False) is None
    veil.begin(["env:METER_PW"])
    assert "only the process that sent the first copy" in (veil.before_copy(MARKED, first=False) or "")
