"""What does a program of somebody else's say of a device, and what not? Real programs, real processes.

Each script keeps its own ledger: what it really did is read from there.
"""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent.dialects.exec import SAID_MAX
from agent.links.link import Unreachable
from agent.operation import Cause, Outcome, Proof
from agent.station import ReadAnswer
from logs.events import from_json
from logs.place import LOG_FILE
from protocol.line import LINE_MAX
from tests.agent.exec_place import SCRIPT, Place, opens


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder of its own."""
    return Place(tmp_path)


def test_exit_0_is_an_ack(place: Place) -> None:
    """The program runs once, with device and command as two words, and its output is the value."""
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.ACK, "done")
    assert place.ledger() == ["d1|beep"]


def test_another_exit_is_a_refusal_with_the_programs_words(place: Place) -> None:
    """What the program said on stderr is the reason."""
    place.end_with("echo first >&2; echo 'no [such] device' >&2; exit 4")
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.message) == (Outcome.REFUSED, "the device refused: no [such] device")


def test_a_failure_that_may_follow_the_effect_is_no_refusal(place: Place) -> None:
    """Where the profile says that the program may fail after it sent, a failure leaves a doubt."""
    place.end_with("exit 4")
    assert asyncio.run(place.send("start")).outcome is Outcome.IN_DOUBT
    assert place.ledger() == ["d1|start"]


@pytest.mark.parametrize(
    ("ending", "how"),
    [
        ("kill -9 $$", "was ended by signal 9"),
        ("exit 126", "ended with exit 126"),
        ("no-such-command 2>/dev/null; exit $?", "ended with exit 127"),
        ("exit 143", "ended with exit 143"),
        ("exit 255", "ended with exit 255"),
    ],
)
def test_signals_and_shell_troubles_say_nothing(place: Place, ending: str, how: str) -> None:
    """Nobody knows what a program did that was killed, or could not run something itself; how it ended is told."""
    place.end_with(ending)
    result = asyncio.run(place.send("beep"))
    assert result.outcome is Outcome.IN_DOUBT
    assert result.message.startswith(f"no ack (the program {how}), and ")
    assert place.ledger() == ["d1|beep"]


def test_what_a_failing_program_says_is_told(place: Place) -> None:
    """The last line of stderr stands in the word and in the log, on one line; stdout does not."""
    place.end_with("echo gone; echo first >&2; printf 'ssh: \\033[31mrefused\\n' >&2; exit 255")
    result = asyncio.run(place.send("beep"))
    assert r"(the program ended with exit 255: ssh: \x1b[31mrefused)" in result.message
    log = (place.folder / "home" / LOG_FILE).read_text()
    assert log.count(r"exit 255, which says nothing about the device: ssh: \\x1b[31mrefused") == 1
    [lost] = [event for event in map(from_json, log.splitlines()) if event.event == "lost"]
    assert lost.text == r"the program ended with exit 255: ssh: \x1b[31mrefused"


def test_what_is_told_is_short(place: Place) -> None:
    """Whatever a program prints, a sentence repeats only the beginning, and an answer is no longer than a line."""
    place.end_with("yes | head -c 200000 | tr -d '\\n' >&2; exit 9")
    assert asyncio.run(place.send("beep")).message == "the device refused: exit 9"
    place.end_with(f"printf '%0{LINE_MAX}d' 0 >&2; exit 9")
    assert asyncio.run(place.send("beep")).message == f"the device refused: {'0' * (SAID_MAX - 3)}..."
    place.end_with(f"printf '%0{LINE_MAX + 1}d' 0")
    assert asyncio.run(place.send("beep")).value == f"{'0' * (LINE_MAX - 3)}..."
    place.end_with(f"printf '%0{LINE_MAX}d' 0")
    assert asyncio.run(place.send("beep")).value == "0" * LINE_MAX


def test_no_piece_of_a_secret_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is masked before what the program said is cut."""
    monkeypatch.setenv("WORD", "correct-horse-battery")
    place.end_with(f"printf '%0{SAID_MAX - 12}d%s' 0 \"$2\" >&2; exit 9")
    message = asyncio.run(place.send("login env:WORD")).message
    assert message.endswith("0login ***")
    place.end_with(f"printf '%0{LINE_MAX - 12}d%s' 0 \"$2\"")
    assert str(asyncio.run(place.send("login env:WORD")).value).endswith("0login ***")


def test_a_program_that_hangs_is_killed_with_its_children(place: Place) -> None:
    """Silence: the reading decides, and the hanging copy never acts later."""
    place.lose_the_next()
    result = asyncio.run(place.send("level up", 0.3))
    assert (result.outcome, result.attempts, result.value) == (Outcome.APPLIED, 2, "done")
    assert not opens(place.folder / "gate")
    assert place.ledger() == ["d1|level up"]


def test_silence_after_the_effect_is_read_back(place: Place) -> None:
    """The program did it and hung: what it set is read, and it is not run again."""
    place.end_with("sleep 60")
    result = asyncio.run(place.send("level up", 0.3))
    assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.VERIFIED, "6")
    assert place.ledger() == ["d1|level up"]


def test_a_pipe_that_stays_open_does_not_hold_us(place: Place) -> None:
    """Something that the program left behind may keep its output open; the program itself has ended."""
    place.end_with("sleep 60 & exit 0")
    result = asyncio.run(asyncio.wait_for(place.send("beep"), 5.0))
    assert result.outcome is Outcome.APPLIED


def test_reading(place: Place) -> None:
    """What is printed is the value; nothing printed and a failure are none, and say what was wrong."""
    settings = [place.profile.setting(name) for name in ("level", "nothing", "error")]
    answers = asyncio.run(place.service.get(place.target(5.0), settings))
    assert answers == [
        ReadAnswer("5"),
        ReadAnswer(None, "the program printed nothing"),
        ReadAnswer(None, "the program ended with exit 3: no such value"),
    ]


def _interrupt_when_told(place: Place) -> None:
    """On the running loop: a person interrupts as soon as the script says that it waits."""
    told = place.folder / "told"
    os.mkfifo(told)
    heard = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        loop.remove_reader(heard)
        os.close(heard)
        place.service.executor.give_up("interrupted")

    loop.add_reader(heard, interrupt)


def test_an_interruption_ends_a_reading(place: Place) -> None:
    """Where nothing was sent the program is not waited for: a command is not sent, and nothing else is read."""
    place.answer("get level", "echo it waits >told; sleep 60")
    place.answer("get nothing", "echo asked >>ledger; exit 0")

    async def send() -> None:
        _interrupt_when_told(place)
        result = await asyncio.wait_for(place.send("level up", 60.0), 5.0)
        assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.INTERRUPTED)

    async def get() -> None:
        _interrupt_when_told(place)
        settings = [place.profile.setting(name) for name in ("level", "nothing")]
        answers = await asyncio.wait_for(place.service.get(place.target(60.0), settings), 5.0)
        assert answers == [ReadAnswer(None, "interrupted")] * 2

    asyncio.run(send())
    (place.folder / "told").unlink()
    place.service.executor.stop = None
    asyncio.run(get())
    assert place.ledger() == []


def test_after_an_interruption_a_copy_comes_to_its_word(place: Place) -> None:
    """The reading that it hits is read again: the effect is there, and nobody needs to doubt it."""
    place.answer(
        "get level", "[ -f ledger ] && [ -p told ] && mv told heard && { echo it waits >heard; sleep 60; }"
    )
    place.end_with("sleep 60")

    async def play() -> None:
        _interrupt_when_told(place)
        result = await asyncio.wait_for(place.send("level up", 0.5), 5.0)
        assert (result.outcome, result.proof, result.value) == (Outcome.APPLIED, Proof.VERIFIED, "6")
        assert place.service.executor.stopping()

    asyncio.run(play())
    assert place.ledger() == ["d1|level up"]


def test_whoever_stops_before_asking_is_answered(place: Place) -> None:
    """An interruption that came first is no reason to leave a reading."""
    place.service.executor.give_up("interrupted")
    [answer] = asyncio.run(place.service.get(place.target(5.0), [place.profile.setting("level")]))
    assert answer == ReadAnswer("5")


def test_too_much_to_read(place: Place) -> None:
    """The beginning of a flood is no value; one that stands in it on a line of its own is."""
    flood = "yes 7 | head -c 90000"
    place.answer("get level", f"{flood}; exit 0")
    place.answer("get nothing", f"echo 'nothing=12'; {flood}; echo 'nothing=13'; exit 0")
    found = replace(place.profile.setting("nothing"), reply="^nothing=(?P<value>.*)$")
    unfound = replace(found, reply="^error=(?P<value>.*)$")
    answers = asyncio.run(
        place.service.get(place.target(5.0), [place.profile.setting("level"), found, unfound])
    )
    problem = "the program printed more than 65536 bytes, and no value is found in the first of them"
    assert answers == [ReadAnswer(None, problem), ReadAnswer("12"), ReadAnswer(None, problem)]


def test_a_program_that_cannot_be_started(place: Place) -> None:
    """What the system refuses to start has sent nothing, and says so for a reading too; mended, it works at once."""
    script = place.folder / "push.sh"
    script.write_text(SCRIPT.partition("\n")[2])
    why = f"{script} cannot be started: it does not begin with '#!'"
    for words in ("beep", "set level 7"):
        result = asyncio.run(place.send(words))
        assert (result.outcome, result.cause, result.attempts) == (Outcome.NOT_SENT, Cause.UNREACHABLE, 0)
        assert result.message.startswith(f"it never reached the device: {why}")
    unread = asyncio.run(place.send("level up"))
    assert (unread.outcome, unread.attempts) == (Outcome.NOT_SENT, 0)
    assert unread.message.startswith(f"could not read level before the command: {why}")
    [answer] = asyncio.run(place.service.get(place.target(5.0), [place.profile.setting("level")]))
    assert str(answer.problem).startswith(why)
    with pytest.raises(Unreachable, match="cannot be started"):
        asyncio.run(place.service.probe(place.target(5.0)))
    assert place.ledger() == []
    script.write_text(SCRIPT)
    asyncio.run(place.send("beep"))
    assert place.ledger() == ["d1|beep"]
    log = (place.folder / "home" / LOG_FILE).read_text()
    assert '"waiting"' not in log  # nothing was under way that a command would have to wait for


def test_the_address_says_what_the_program_calls_the_device(place: Place) -> None:
    """With `exec:NAME` the program is told NAME, whatever the inventory calls the device; it is asked so, too."""
    place.url = "exec:rack-1/psu"
    asyncio.run(place.send("beep"))
    assert place.ledger() == ["rack-1/psu|beep"]


def test_no_such_program(place: Place) -> None:
    """A missing program, or one without the right to run, is certainly nothing sent."""
    (place.folder / "push.sh").chmod(0o644)
    result = asyncio.run(place.send("beep"))
    assert (result.outcome, result.cause) == (Outcome.NOT_SENT, Cause.UNREACHABLE)
    assert "nothing was run" in result.message
    with pytest.raises(Unreachable):
        asyncio.run(place.service.probe(place.target(5.0)))
    assert place.ledger() == []
