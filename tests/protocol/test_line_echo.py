"""Is our own line ever taken for an answer, and is an answer behind a prompt found?"""

from dataclasses import replace

import pytest

from protocol.line import Grammar, Ignored, LineRequester
from tests.protocol.line_events import CONSOLE, ECHOING, GRAMMAR, asking, briefly, heard

# --- echo is expected -------------------------------------------------------------------------------------------------


def test_right_echo_is_nothing() -> None:
    """The echo is stripped without a word, and the answer behind it counts."""
    assert heard(b"GET offset\r\nOK 15\r\n", ECHOING) == ["value 15"]


def test_blanks_and_ends_do_not_damage_an_echo() -> None:
    """Blank lines before it, blanks and NULs around it and another line end leave an echo right."""
    assert heard(b"\r\n \tGET offset \0\rOK 15\n", ECHOING) == ["value 15"]


@pytest.mark.parametrize(
    "echo",
    [b"GET offse", b"ET offset", b"GET 0ffset", b"GET offsett", b"get offset", b"GET\xffoffset", b"x", b"OK"],
)
def test_damaged_echo_makes_everything_unbelievable(echo: bytes) -> None:
    """Partial, damaged, foreign: the device may have heard another command, so no answer to this one counts (B38)."""
    requester = asking(ECHOING)

    assert requester.receive(echo + b"\n")[0] == Ignored(
        "collision", echo.decode(errors="backslashreplace"), echo
    )
    assert briefly(requester.receive(b"OK 15\nERR x\nBUSY\n")) == ["collision"] * 3


def test_right_echo_behind_a_damaged_one_is_too_late() -> None:
    """After a collision not even the right echo makes an answer believable, up to the next request (B38)."""
    requester = asking(ECHOING)

    assert briefly(requester.receive(b"GET o\nGET offset\nOK 15\n")) == ["collision", "echo", "collision"]
    requester.ask("GET level")
    assert briefly(requester.receive(b"GET level\nOK 3\n")) == ["value 3"]


def test_late_echo_of_the_request_before() -> None:
    """An echo that comes after the wait is compared with the next request, and does not make it right (B38)."""
    requester = asking(ECHOING)
    requester.abandon()
    requester.ask("GET level")

    assert briefly(requester.receive(b"GET offset\nGET level\nOK 3\n")) == ["collision", "echo", "collision"]


@pytest.mark.parametrize("line", [b"OK 15", b"ERR no", b"BUSY"])
def test_answer_without_its_echo_is_not_believed(line: bytes) -> None:
    """Where the equipment echoes, what comes without the echo answers something else."""
    assert heard(line + b"\n", ECHOING) == ["collision"]


@pytest.mark.parametrize(("line", "word"), [(b"# hot", "notice"), (b"READY", "started")])
def test_news_may_come_before_the_echo(line: bytes, word: str) -> None:
    """Notices and starts before the echo are told, and spoil nothing."""
    assert heard(line + b"\nGET offset\nOK 15\n", ECHOING) == [word, "value 15"]


def test_noise_may_come_before_the_echo() -> None:
    """Noise that ends in a line end by chance is no other line than ours; noise glued to the echo comes off (B35)."""
    assert heard(b"\xff\x00 \xfe\r\x00\xffGET offset\nOK 15\n", ECHOING) == ["junk", "value 15"]


def test_noise_is_no_answer_before_the_echo() -> None:
    """Not even where the ack takes everything."""
    assert heard(b"\xff\n", Grammar("^(?P<value>.*)$", echo=True)) == ["junk"]


def test_end_of_an_older_line_is_no_collision() -> None:
    """A late answer that began before the request is told as what it is, and the echo may still come."""
    requester = LineRequester(ECHOING)
    requester.receive(b"OK 1")
    requester.ask("GET offset")

    assert briefly(requester.receive(b"0\nGET offset\nOK 15\n")) == ["answer", "value 15"]


def test_echo_begun_before_the_request_is_not_its_echo() -> None:
    """Our own earlier line that ends after the same request was made again does not vouch for it."""
    requester = LineRequester(ECHOING)
    requester.receive(b"GET off")
    requester.ask("GET offset")

    assert briefly(requester.receive(b"set\nOK 14\n")) == ["echo", "collision"]


@pytest.mark.parametrize("text", ["BUSY?", "# comment", "READY", "OK", "ERR clear"])
def test_echo_that_looks_like_something(text: str) -> None:
    """A request whose text fits a pattern is an echo all the same, and not busy, news or an answer."""
    assert heard(f"{text}\nOK 15\n".encode(), ECHOING, text) == ["value 15"]


def test_second_echo_is_named() -> None:
    """One echo is expected; another one is told, and the wait goes on."""
    assert heard(b"GET offset\nGET offset\nOK 15\n", ECHOING) == ["echo", "value 15"]


def test_echo_alone_is_silence() -> None:
    """A cut bus with a local echo answers nothing (B38, case 47)."""
    assert heard(b"GET offset\n", ECHOING) == []


def test_every_request_needs_its_own_echo() -> None:
    """That the last one came back right says nothing of this one."""
    requester = asking(ECHOING)
    requester.receive(b"GET offset\nOK 15\n")
    requester.ask("GET level")

    assert briefly(requester.receive(b"OK 3\n")) == ["collision"]


@pytest.mark.parametrize("before", [b"GET offset\n", b"x\n", b""])
def test_nobody_waits_for_an_echo_any_more(before: bytes) -> None:
    """After the wait an echo is named and an answer is one that nobody asked for."""
    requester = asking(ECHOING)
    requester.receive(before)
    requester.abandon()

    assert briefly(requester.receive(b"GET offset\nOK 15\n")) == ["echo", "answer"]


# --- echo is not expected ---------------------------------------------------------------------------------------------


def test_unexpected_echo_is_named() -> None:
    """An adapter that sends our line back is told, and the answer behind it counts (B38, case 47)."""
    assert heard(b"GET offset\nOK 15\n") == ["echo", "value 15"]


@pytest.mark.parametrize("noise", [b"", b"> ", b"\x00\xff", b"\xff\xfb\x01"])
def test_echo_is_no_ack_even_if_it_fits(noise: bytes) -> None:
    """Our own line is never an answer, even where the ack pattern fits it: a cut bus is not 100 % success (B38)."""
    grammar = Grammar(".*", prompt="^> ?$")

    assert heard(noise + b"RELAY ON\n", grammar, "RELAY ON")[-1] == "echo"


def test_echo_with_a_control_character_in_front() -> None:
    """Our own line is known before anything is taken off it, so that the rest of it is no ack."""
    assert heard(b"\x02OK\n", text="\x02OK") == ["echo"]


def test_blanks_around_a_request_are_not_compared() -> None:
    """A device that echoes without the blanks around our text echoes right."""
    assert heard(b"GET offset\nOK 15\n", ECHOING, " GET offset ") == ["value 15"]


@pytest.mark.parametrize("nak", ["RELAY", "ON"])
def test_echo_is_no_refusal_either(nak: str) -> None:
    """Our own line behind a prompt is no refusal though the pattern finds one in it."""
    assert heard(b"> RELAY ON\n", replace(GRAMMAR, nak=nak, prompt="^> ?$"), "RELAY ON") == ["echo"]


def test_echo_after_the_answer_is_named() -> None:
    """An echo is known as long as no other request was made."""
    assert heard(b"OK 15\nGET offset\n") == ["value 15", "echo"]


# --- prompts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"> OK 15\n",
        b">OK 15\n",
        b"router> OK 15\n",
        b"> > router> OK 15\n",
        b"\r\n> \r\nOK 15\n",
        b"\x07> OK 15\n",
        b"> \x00\xffOK 15\n",
    ],
)
def test_answer_behind_prompts(data: bytes) -> None:
    """Prompts in front of an answer, on lines of their own or amid noise come off."""
    assert heard(data, replace(CONSOLE, echo=False)) == ["value 15"]


@pytest.mark.parametrize(
    ("prompt", "line"), [("^sw#? ?$", b"sw# OK 15"), ("^>$", b"> OK 15"), ("^>$", b">\t> OK 15")]
)
def test_prompt_is_taken_off_whole(prompt: str, line: bytes) -> None:
    """The longest beginning that is a prompt comes off, and the blanks behind it."""
    assert heard(line + b"\n", replace(GRAMMAR, prompt=prompt)) == ["value 15"]


def test_prompt_alone_is_nothing() -> None:
    """A prompt is no event and no answer (B25)."""
    assert heard(b"> \nrouter>\n> ", replace(CONSOLE, echo=False)) == []


def test_console_talk() -> None:
    """A console prompts, echoes, answers and prompts; every request is answered by its own line (B25)."""
    requester = LineRequester(CONSOLE)
    heard_all = briefly(requester.receive(b"Welcome\r\n\r\nsh> "))
    for number in range(3):
        requester.ask(f"GET {number}")
        heard_all += briefly(requester.receive(f"GET {number}\r\nOK {number}\r\nsh> ".encode()))

    assert heard_all == ["junk", "value 0", "value 1", "value 2"]


@pytest.mark.parametrize("cut", range(len(b"router> ")))
def test_request_cuts_a_prompt(cut: int) -> None:
    """A prompt that is under way when the request is made spoils neither the echo nor the answer."""
    requester = LineRequester(CONSOLE)
    requester.receive(b"router> "[:cut])
    requester.ask("GET offset")

    assert briefly(requester.receive(b"router> "[cut:] + b"GET offset\nOK 15\n")) == ["value 15"]


def test_prompt_before_the_request_leaves_a_refusal_fresh() -> None:
    """A refusal counts behind a prompt that was there before the request, though its pattern is not bound."""
    requester = LineRequester(replace(GRAMMAR, nak="ERR", prompt="^> ?$"))
    requester.receive(b"> ")
    requester.ask("BEEP")

    assert briefly(requester.receive(b"ERR 5\n")) == ["refused ERR 5"]


def test_request_that_begins_like_a_prompt() -> None:
    """Our own line is known with the prompt that it begins with, and with another one in front."""
    assert heard(b"a> b\nOK\n", CONSOLE, "a> b") == ["done"]
    assert heard(b"> a> b\nOK\n", CONSOLE, "a> b") == ["done"]


@pytest.mark.parametrize(
    ("line", "word"),
    [(b"# OK 15", "notice"), (b"#OK 15", "value 15"), (b"#ERR x", "refused x")],
)
def test_prompt_that_looks_like_a_notice(line: bytes, word: str) -> None:
    """A line that is no yes as it stands is not made one by taking a prompt off it."""
    assert heard(line + b"\n", replace(GRAMMAR, prompt="^# ?$")) == [word]


@pytest.mark.parametrize(("line", "word"), [(b"READY> OK", "started"), (b"# > ERR x", "notice")])
def test_first_that_is_no_yes_counts(line: bytes, word: str) -> None:
    """What a line is with more of its prompts is not undone by taking off another."""
    assert heard(line + b"\n", replace(GRAMMAR, prompt=r"^(?:[#>]|\w+>) ?$")) == [word]


def test_refusal_that_looks_like_a_prompt() -> None:
    """A refusal stays one, though its beginning might be a prompt and its end an ack."""
    assert heard(b"ERR not allowed> OK\n", replace(GRAMMAR, prompt="^.*> ?$")) == ["refused not allowed> OK"]


def test_no_prompt_declared_none_taken_off() -> None:
    """Without a prompt in the profile nothing is taken off a line."""
    assert heard(b"> OK 15\n") == ["junk"]


def test_no_more_prompts_than_anybody_sends() -> None:
    """Prompts come off up to a number, so that a line full of them costs little."""
    grammar = replace(GRAMMAR, prompt="^>$")

    assert heard(b">" * 64 + b"OK 15\n", grammar) == ["value 15"]
    assert heard(b">" * 4000 + b"OK 15\n", grammar) == ["junk"]
