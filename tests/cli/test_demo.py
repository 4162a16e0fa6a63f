"""`ackonce demo`: what it shows, that it is true, that it can fail, and that it leaves nothing behind."""

import io
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.cli import demo, output
from agent.cli.demo import losses, page, policies, stand_ins, work
from agent.cli.demo.naive import NaiveClient
from agent.cli.demo.page import Comparison
from agent.cli.demo.stand_ins import Counted, CountsMissing, DemoFailed, StandIn
from agent.cli.demo.tally import Account, Said
from agent.cli.exit_codes import Exit
from agent.cli.main import run
from agent.store.database import StoreError
from agent.store.sqlite import FILE_NAME
from logs.picture import Picture, Row, Way
from simulator.fault_kinds import TEXT
from simulator.faults import TEXT_MAX, parse
from tests.cli.live_text import LiveText
from tests.cli.process_rig import COMMAND, Running
from tests.cli.project import Ended
from tests.cli.readme import README

PATIENT = "0.3s"
"""A silence time that a busy machine does not exceed, so that no loss comes on top of the planned ones."""
FEW = ("ADJUST offset +5", "ROTATE log")
PROMPT_S = 0.1


# --- whole runs, as typed ---------------------------------------------------------------------------------------------


def test_the_default_run(tmp_path: Path) -> None:
    """Blind resends double effects; the agent none, with repeats recognised, a value read back and one doubt."""
    ended = _start(tmp_path, "--timeout", PATIENT).end()
    assert ended.code == 0
    assert not any("\x1b" in line or "\t" in line or len(line) > 80 for line in ended.lines)
    head, *rows = [line.split() for line in ended.lines if line and line[0].isalpha()][:7]
    assert head == ["command", "asked", *["says", "did"] * 3]
    counted = {" ".join(row[:2]) if row[0] != "BEEP" else "BEEP": row for row in rows}
    assert counted["ROTATE log"][2:] == ["2", "ok", "3", "+1", "applied", "2", "applied", "2"]
    assert counted["BEEP"][1:] == ["1", "ok", "2", "+1", "in", "doubt", "1", "applied", "1"]
    said = " ".join(ended.out.split())
    assert "Blind resends: 8 of 8 ok; 3 effects more than that, offset 23 instead of 18." in said
    assert "ackonce: no effect too many, and every word is true by the devices' own counts." in said
    assert "1 by reading the value back (plain text); 3 by the device, which knew the repeat (LSQ1)" in said
    assert "1 in doubt: BEEP (plain text;" in said
    assert "Nobody can know, so it is not sent again; a person looks." in said
    assert "ack: duplicate, not" in ended.out
    assert "ackonce init" in ended.err
    assert "│ a session " in ended.out  # its number is drawn, and would differ from run to run
    assert max(map(len, ended.err.splitlines())) <= 80
    shown = README.read_text().partition("blind resends   ackonce")[2].partition("```")[0]
    assert shown.splitlines()[1:] == ended.out.partition("blind resends   ackonce")[2].splitlines()[1:13]
    _nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGINT, "1 of 3"),
        (signal.SIGTERM, "1 of 3"),
        (signal.SIGHUP, "2 of 3"),
        (signal.SIGINT, "2 of 3"),
    ],
)
def test_an_interruption(tmp_path: Path, number: signal.Signals, phase: str) -> None:
    """Ctrl-C, and whatever else asks the demo to end, ends the devices too: exit 130, nothing is left."""
    running = _start(tmp_path, "--json", "--timeout", PATIENT)
    assert running.err is not None
    running.err.wait_for(phase)
    running.signal(number)
    ended = running.end()
    [failure] = ended.records
    assert (ended.code, failure["op"]) == (130, None)
    assert "interrupted; the simulated devices are switched off" in ended.err
    _nothing_is_left(tmp_path)


def _start(folder: Path, *words: str) -> Running:
    """Start the demo of a user who has a store and a folder for temporary files."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ACKONCE_")}
    environ |= {"ACKONCE_HOME": str(folder / "home"), "TMPDIR": str(folder), "PYTHONWARNINGS": "error"}
    return Running([COMMAND, "demo", *words], cwd=folder, env=environ)


def _nothing_is_left(folder: Path) -> None:
    """Neither a file nor a process of the run."""
    assert list(folder.iterdir()) == []
    mark = f"TMPDIR={folder}\0".encode()
    assert [pid for pid, environ in _environs() if mark in environ] == []


def _environs() -> Iterator[tuple[str, bytes]]:
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                yield process.name, (process / "environ").read_bytes()
            except OSError:
                continue  # somebody else's, or just gone


# --- whole runs, within the test's own process ------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Short":
    """A demo with little to do."""
    return Short(monkeypatch, capsys)


class Short:
    """Type `ackonce demo`, with the commands of FEW, or others, and with other losses where wanted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self._capsys = capsys
        self.do(FEW)

    def do(self, commands: tuple[str, ...]) -> None:
        """Let these be the work."""
        for module in (demo, policies):
            self.monkeypatch.setattr(module, "WORK", commands)

    def suffer(self, plan: str) -> None:
        """Let the devices behave by this plan."""
        self.monkeypatch.setattr(demo, "fault_plan", lambda *_: plan)

    def type(self, *words: str) -> Ended:
        """Run it."""
        code = run(["demo", *words])
        return Ended(code, *self._capsys.readouterr())


def test_nothing_lost(short: Short) -> None:
    """Without losses everybody is right; the one JSON object says so per device and command."""
    short.do(work.WORK)
    ended = short.type("--loss", "0", "--json", "-q")
    [found] = ended.records
    assert (ended.code, ended.err, found["true"], found["loss"]) == (0, "", True, 0)
    assert [(d["client"], d["device"], d["lost"], d["values"]["offset"]) for d in found["devices"]] == [
        ("blind resends", "plain text", 0, "18"),
        ("ackonce", "plain text", 0, "18"),
        ("ackonce", "LSQ1", 0, "18"),
    ]
    for device in found["devices"]:
        word = "ok" if device["client"] == "blind resends" else "applied"
        assert {c["command"] for c in device["commands"]} == set(work.WORK)
        for told in device["commands"]:
            asked = work.WORK.count(told["command"])
            assert (told["asked"], told["said"], told["executed"]) == (asked, {word: asked}, asked)


@pytest.mark.parametrize(("seed", "loss", "commands"), [(5, 40, FEW), (2, 75, ("BEEP",))])
def test_any_seed_is_true(short: Short, seed: int, loss: int, commands: tuple[str, ...]) -> None:
    """Whatever gets lost, every word of the agent is true, and the demo raises no false alarm."""
    short.do(commands)
    ended = short.type("--seed", str(seed), "--loss", str(loss), "--json", "-q")
    [found] = ended.records
    assert (ended.code, found["true"]) == (0, True), (seed, loss, found)
    assert found["devices"][0]["lost"] > 0


@pytest.mark.parametrize(
    ("plan", "mark"),
    [("cmd 2: duplicate_request", "2 +1"), ("cmd 2: ignore", "0 -1"), ("cmd 1: other_writer", "16 +1")],
    ids=["does it twice", "acks and does nothing", "somebody else moves the value"],
)
def test_the_demo_can_fail(short: Short, plan: str, mark: str) -> None:
    """Where a device did otherwise than the agent says, the verdict is no, names the seed, and the exit code is 70."""
    short.suffer(plan)
    ended = short.type("--seed", "11")
    assert ended.code == Exit.INTERNAL
    said = " ".join(ended.out.split())
    assert "what it says is NOT what the devices count" in said
    assert "report this, with the seed: ackonce demo --seed 11 --loss 30" in said
    assert "every word is true" not in said
    assert any(mark in line for line in ended.lines[:12])
    assert "attempt 1" not in ended.err  # nobody asked for them
    assert "[INFO]" not in ended.err


def test_a_failure_in_json(short: Short) -> None:
    """The object says false, too."""
    short.suffer("cmd 2: duplicate_request")
    ended = short.type("--json", "-q")
    assert (ended.code, ended.records[0]["true"]) == (70, False)


def test_attempts_are_shown_on_request(short: Short) -> None:
    """-v shows every attempt of both clients on stderr."""
    short.suffer("cmd 1: drop_ack")
    told = short.type("-v").err
    assert "ADJUST offset +5: attempt 1 timeout\nADJUST offset +5: attempt 2 ok" in told
    assert "[INFO] seq=1 attempt=2 ack (device: duplicate, ignored)" in told


# --- what may prevent it ----------------------------------------------------------------------------------------------


def test_a_device_that_does_not_start(short: Short) -> None:
    """Its own reason is told, that nothing was sent, and what can be typed to see it alone."""
    short.suffer("nonsense")
    ended = short.type("--json")
    assert (ended.code, ended.records[0]["outcome"]) == (7, "not_sent")
    assert "the simulated device (plain text) did not start: --faults: column 1: 'nonsense'" in ended.err
    assert "Nothing was sent to any device of yours.\n" in ended.err
    assert "ackonce simulate device --profile demo/controller-line --pty" in ended.err


def test_no_room_for_the_journal(short: Short, tmp_path: Path) -> None:
    """A full folder for temporary files: named is the one that stays, that nothing was sent, and the way to another."""

    def refuse(_: object, folder: Path, *__: object) -> None:
        where = policies.home_in(folder) / FILE_NAME
        raise StoreError(f"the journal {where} cannot be opened: disk I/O error. The disk is full: make room")

    short.do(())
    short.monkeypatch.setattr(policies, "apply_policies", refuse)
    short.monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = short.type("--json", "-q")
    assert (ended.code, ended.records[0]["outcome"]) == (7, "not_sent")
    assert ended.err.splitlines() == [
        f"ackonce: the journal in {tmp_path} cannot be opened: disk I/O error. The disk is full: make room.",
        "Nothing was sent to any device of yours.",
        "Another folder will do, too: TMPDIR=FOLDER ackonce demo",
    ]


def test_no_way_to_ourselves() -> None:
    """A machine that does not reach its own ports ends the demo with that, not with one word per command."""
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        port = gone.getsockname()[1]
        with pytest.raises(
            DemoFailed, match=f"listens on 127.0.0.1:{port}, but this machine does not"
        ) as failed:
            stand_ins.meet("LSQ1", f"tcp://127.0.0.1:{port}")
    assert "loopback" in failed.value.hint


@pytest.mark.parametrize(
    ("problem", "executed", "code"),
    [
        (output.OutputLost("the output cannot be written: No space left on device"), 1, 7),
        (BrokenPipeError(), 1, 0),
        (output.OutputLost("the output cannot be written: No space left on device"), 2, 70),
        (BrokenPipeError(), 2, 70),
    ],
)
def test_a_verdict_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, problem: Exception, executed: int, code: int
) -> None:
    """What is not shown was not found: exit 7; a reader that went away has what it wanted. A no goes before both."""

    def refuse(_: object) -> None:
        raise problem

    found = _found(_account([_said("BEEP", "applied")], {"BEEP": executed}))
    monkeypatch.setattr(demo, "_compare", lambda *_: found)
    monkeypatch.setattr(output, "put", refuse)
    monkeypatch.setattr(output, "forget_stdout", lambda: None)
    assert run(["demo", "-q"]) == code


def test_more_losses_take_longer(capsys: pytest.CaptureFixture[str]) -> None:
    """The help says so, before somebody waits for it."""
    assert run(["demo", "--help"]) == 0
    assert "More takes longer." in " ".join(capsys.readouterr().out.split())


def test_no_place_for_temporary_files(short: Short) -> None:
    """Without a folder for the journal nothing starts, and the way to name one is told."""

    def refuse(**_: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    short.monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    ended = short.type()
    assert (ended.code, ended.out) == (7, "")
    assert "No usable temporary directory found." in ended.err
    assert "TMPDIR=FOLDER ackonce demo" in ended.err


@pytest.mark.parametrize("typed", ["soon", "61s"])
def test_no_such_patience(short: Short, typed: str) -> None:
    """A silence time that is none, or too long for a demo, is a usage error before anything starts."""
    ended = short.type("--timeout", typed)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("ackonce: --timeout: ")


def test_a_device_without_counts() -> None:
    """A device that was killed has no counts, and nobody makes them up."""
    with StandIn("LSQ1", "demo/controller", "", PROMPT_S) as device:
        device.url()
        device._process.kill()
        with pytest.raises(CountsMissing, match="ended without its counts"):
            device.end()


def test_a_device_nobody_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose demo was killed ends by itself."""
    monkeypatch.setattr(stand_ins, "LIFE_S", 0)
    monkeypatch.setattr(stand_ins, "LIFE_PER_SILENCE", 0)
    with StandIn("LSQ1", "demo/controller", "", PROMPT_S) as device:
        assert device._process.stdout is not None
        assert "listening" in device._process.stdout.readline()
        assert device._process.wait(30) == 0


def test_no_such_machine() -> None:
    """What the simulator says about it is passed on."""
    refused = pytest.raises(DemoFailed, match="no machine 'demo/toaster' is simulated")
    with StandIn("toaster", "demo/toaster", "", PROMPT_S) as device, refused:
        device.url()


# --- the naive client -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "believes", "effects"),
    [
        ("", True, 1),
        ("cmd 1: drop_request", True, 1),
        ("cmd 1-2: drop_ack", True, 3),
        ("cmd *: drop_ack", False, work.COPIES_MAX),
    ],
)
def test_the_naive_client(tmp_path: Path, faults: str, *, believes: bool, effects: int) -> None:
    """It sends until something says OK, at most COPIES_MAX times; the device does whatever arrives."""
    attempts: list[str] = []
    with LiveText(faults, port=tmp_path / "port") as device:
        with NaiveClient(str(tmp_path / "port"), PROMPT_S, attempts.append) as client:
            assert client.send("ROTATE log") is believes
        assert device.executed["ROTATE log"] == effects
    assert attempts[-1].endswith("ok" if believes else "timeout")


# --- the same losses --------------------------------------------------------------------------------------------------


def test_the_same_fate_for_the_same_command() -> None:
    """The k-th command meets the same fate, whatever else is asked in between and by whatever tongue."""
    few, many = (parse(losses.fault_plan(7, 30, kinds)) for kinds in (losses.TEXT_KINDS, losses.LSQ1_KINDS))
    fates = []
    for k in range(losses.MESSAGES_MAX["cmd"]):
        for _ in range(k % 4):
            few.next("read")
        fates.append((list(few.next("cmd").armed), list(many.next("cmd").armed)))
    assert all(one == other for one, other in fates)
    assert len({str(one) for one, _ in fates}) == 3


def test_as_many_losses_as_asked_for() -> None:
    """Half as many requests as acks are drawn, and an ack can only get lost where the request arrived."""
    plan = parse(losses.fault_plan(1, 40, ("read",)))
    drawn = [fault for _ in range(losses.MESSAGES_MAX["read"]) for fault in plan.next("read").armed]
    assert drawn.count("drop_request") == pytest.approx(0.2 * 400, rel=0.25)
    assert drawn.count("drop_ack") == pytest.approx(0.4 * 0.8 * 400, rel=0.25)


def test_more_losses_are_lost_besides() -> None:
    """What gets lost at a lower percentage gets lost at a higher one too."""
    some, more = (parse(losses.fault_plan(9, loss, ("cmd",)), TEXT) for loss in (20, 60))
    fates = [(len(some.next("cmd").armed), len(more.next("cmd").armed)) for _ in range(100)]
    assert all(one <= other for one, other in fates)
    assert fates.count((0, 0)) < 60


def test_no_losses() -> None:
    """0 percent: no plan at all."""
    assert losses.fault_plan(1, 0, losses.LSQ1_KINDS) == ""


def test_every_plan_can_be_read() -> None:
    """The longest plans fit into what a device takes."""
    for seed in range(40):
        for loss in (30, 60, 90):
            for kinds in (losses.TEXT_KINDS, losses.LSQ1_KINDS):
                assert len(losses.fault_plan(seed, loss, kinds)) <= TEXT_MAX, (seed, loss)


# --- words against ledgers --------------------------------------------------------------------------------------------


def _said(command: str, word: str, *texts: str, absolute: bool = False) -> Said:
    return Said(command, word, frozenset(texts or {command}), absolute)


def _account(said: list[Said], executed: Mapping[str, int], offset: int = 10) -> Account:
    return Account(
        "ackonce", "plain text", "serial line", said, Counted(executed, {"offset": str(offset)}, {})
    )


@pytest.mark.parametrize(
    ("words", "executed", "difference"),
    [
        (["applied"], 1, 0),
        (["applied"], 2, 1),
        (["applied"], 0, -1),
        (["applied", "applied"], 2, 0),
        (["applied", "applied"], 1, -1),
        (["in_doubt"], 0, 0),
        (["in_doubt"], 1, 0),
        (["in_doubt"], 2, 1),
        (["applied", "in_doubt"], 2, 0),
        (["applied", "in_doubt"], 0, -1),
        (["applied", "in_doubt"], 3, 1),
        (["not_applied"], 0, 0),
        (["not_applied"], 1, 1),
        (["not_sent"], 1, 1),
        (["refused"], 1, 1),
        (["ok", "ok"], 3, 1),
        (["failed"], 2, 2),
    ],
)
def test_a_command_that_counts(words: list[str], executed: int, difference: int) -> None:
    """It took effect as often as it was said to; each doubt may be one more."""
    account = _account([_said("ROTATE log", word) for word in words], {"ROTATE log": executed})
    [line] = account.lines
    assert (line.asked, line.executed, line.difference) == (len(words), executed, difference)
    assert (account.unknown, account.missing) == (max(0, difference), max(0, -difference))
    assert account.true is (difference == 0)


@pytest.mark.parametrize(
    ("word", "executed", "difference"),
    [("applied", 3, 0), ("applied", 0, -1), ("in_doubt", 3, 0), ("in_doubt", 0, 0), ("not_applied", 1, 1)],
)
def test_a_command_that_sets(word: str, executed: int, difference: int) -> None:
    """More often is harmless, never is not, and neither is to have run against the word."""
    account = _account([_said("SET interval 30", word, absolute=True)], {"SET interval 30": executed})
    assert account.lines[0].difference == difference


def test_the_absolute_form_counts_for_its_command() -> None:
    """What was sent in place of ADJUST is what the ledger is asked for."""
    said = [
        _said("ADJUST offset +5", "applied", "SET offset 15", absolute=True),
        _said("ADJUST offset +5", "applied", "SET offset 20", absolute=True),
    ]
    account = _account(said, {"SET offset 15": 1, "SET offset 20": 1}, offset=20)
    assert (account.lines[0].executed, account.true) == (2, True)
    assert not _account(said, {"SET offset 15": 1}, offset=15).true


def test_what_nobody_asked_for() -> None:
    """An effect of a text that the client never wrote makes its words untrue, and is shown."""
    account = _account([_said("BEEP", "applied")], {"BEEP": 1, "RESET counter": 2})
    assert (account.unasked, account.unknown, account.true) == ({"RESET counter": 2}, 2, False)
    [row] = [line for line in page.lines(_found(account)) if line.startswith("RESET counter")]
    assert row.split() == ["RESET", "counter", "0", "0", "2", "+2"]


@pytest.mark.parametrize(
    ("words", "offset", "true"),
    [
        (("applied", "applied"), 13, True),
        (("applied", "applied"), 15, False),
        (("applied", "not_sent"), 15, True),
        (("applied", "in_doubt"), 15, True),
        (("applied", "in_doubt"), 13, True),
    ],
)
def test_the_value(words: tuple[str, str], offset: int, *, true: bool) -> None:
    """The value stands where the words say, also where each command ran once; a doubt leaves it open."""
    commands = [("ADJUST offset +5", "SET offset 15"), ("ADJUST offset -2", "SET offset 13")]
    said = [
        _said(command, word, text, absolute=True)
        for (command, text), word in zip(commands, words, strict=True)
    ]
    executed = {text: int(word != "not_sent") for (_, text), word in zip(commands, words, strict=True)}
    assert _account(said, executed, offset).true is true


# --- the page ---------------------------------------------------------------------------------------------------------


def _found(account: Account, picture: Picture | None = None) -> Comparison:
    naive = Account("blind resends", "plain text", "TCP", account.said[:1], Counted({}, {"offset": "10"}, {}))
    return Comparison(3, 30, naive, [account], picture)


def test_eighty_columns() -> None:
    """The longest words on both devices fit, sentences are wrapped, and nothing is drawn where nothing was lost."""
    said = [_said(command, "not_applied") for command in work.WORK]
    account = _account(said, {})
    found = Comparison(999_999_999, 90, account, [account, account], None)
    lines = list(page.lines(found))
    assert max(map(len, lines)) <= page.WIDTH
    assert not any("as ackonce trace draws it" in line for line in lines)
    assert "8 not applied: SET interval 30," in " ".join(lines)


def test_which_link_each_device_has() -> None:
    """Over every pair of columns stands who spoke, what, and over which kind of link."""
    heads = [line.split("  ") for line in page.lines(_found(_account([_said("BEEP", "applied")], {})))][:3]
    assert [[cell.strip() for cell in head if cell] for head in heads] == [
        ["blind resends", "ackonce"],
        ["plain text", "plain text"],
        ["TCP", "serial line"],
    ]
    assert "Plain text runs on a serial line (a pty of this machine), LSQ1 on TCP." in demo.HEAD


@pytest.mark.parametrize(
    ("words", "settled"),
    [(("applied", "held"), True), (("in_doubt", "held"), False), (("applied", "held", "in_doubt"), True)],
)
def test_a_doubt_that_held_something_back(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], *, settled: bool
) -> None:
    """Where no doubt is left before what was held back, nobody is sent to look for one."""
    held = Said("BEEP", "not_sent", frozenset(), absolute=False, why="held back by a doubt")
    made: Any = [held if word == "held" else _said("BEEP", word) for word in words]
    monkeypatch.setattr(policies, "_said", lambda _, report: report)
    service: Any = None
    why = policies._all_said(service, made)[1].why
    assert why == (
        "held back by a doubt, which has been settled since" if settled else "held back by a doubt"
    )


def test_several_words_of_one_command() -> None:
    """Where one command has several words, the table tells how many took effect, and the sentences the rest."""
    account = _account([_said("BEEP", "applied"), _said("BEEP", "not_sent")], {"BEEP": 1})
    lines = list(page.lines(_found(account)))
    assert any("1 of 2  1" in line for line in lines)
    assert any(line.startswith("1 not sent: BEEP (plain text") for line in lines)


def test_a_plain_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stdout cannot carry the lines of the picture, it is drawn without them."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    rows = (Row(0.0, Way.COPY, "BEEP", "attempt 1"), Row(0.2, Way.SILENCE, "0.2 s silence"))
    lines = list(
        page.lines(_found(_account([_said("BEEP", "applied")], {"BEEP": 1}), Picture("d", rows, "end")))
    )
    assert "\n".join(lines).isascii()
    assert any("attempt 1 --" in line for line in lines)


def test_json_is_one_line_of_plain_values() -> None:
    """The object survives JSON as it is."""
    found = page.as_json(_found(_account([_said("BEEP", "in_doubt")], {"BEEP": 1})))
    assert json.loads(json.dumps(found)) == found
    assert found["devices"][1]["commands"] == [
        {"command": "BEEP", "asked": 1, "said": {"in_doubt": 1}, "executed": 1}
    ]
