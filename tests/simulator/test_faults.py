"""Fault plans: what a text means, which texts are refused and where, and that seeds repeat."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.fault_kinds import DEVICE, FAULTS, LSQ, MODBUS, ONLY, TEXT, Fault
from simulator.fault_terms import Vocabulary
from simulator.faults import FaultPlan, FaultTextError, parse
from simulator.proxy.faults import PROXY


def said(plan: FaultPlan, *kinds: str) -> list[str]:
    """The faults of these messages, in order, as texts."""
    return [str(plan.next(kind)) for kind in kinds]


def test_names_the_kth_message_of_a_kind() -> None:
    """Messages of other kinds do not count."""
    plan = parse("cmd 2: drop_ack; nop 1: drop_request; hello 2: cut")
    assert said(plan, "hello", "cmd", "nop", "cmd", "cmd", "hello") == [
        "", "", "drop_request", "drop_ack", "", "cut",
    ]  # fmt: skip


def test_any_counts_every_message() -> None:
    """`any 3` is the third message of whatever kind."""
    assert said(parse("any 3: cut"), "hello", "open", "cmd", "cmd") == ["", "", "cut", ""]


def test_ranges_and_stars() -> None:
    """`2-3` is both ends and what is between, `*` is all."""
    assert said(parse("cmd 2-3: cut"), *["cmd"] * 4) == ["", "cut", "cut", ""]
    assert said(parse("read *: cut"), "read", "cmd", "read") == ["cut", "", "cut"]


def test_clauses_add_up_and_the_last_seconds_hold() -> None:
    """Several clauses about one message arm all their faults."""
    plan = parse("cmd *: delay 0.8, duplicate; cmd 1: delay 2; any 1: echo")
    assert said(plan, "cmd", "cmd") == ["delay 2, duplicate, echo", "delay 0.8, duplicate"]


def test_faults_of_executions_strike_commands_only() -> None:
    """`any` and seeds never make a read busy."""
    plan = parse("any *: busy 1, cut; seed 1: refuse 1")
    assert said(plan, "read", "cmd") == ["cut", "busy 1, cut, refuse"]


@pytest.mark.parametrize("text", ["", "  ", ";", "cmd 1:cut;", " cmd  1 :\n cut ;; "])
def test_spaces_and_empty_clauses_mean_nothing(text: str) -> None:
    """Layout is free."""
    assert said(parse(text), "cmd") == ["cut" if "cut" in text else ""]


@pytest.mark.parametrize(
    "vocabulary", [LSQ, TEXT, MODBUS, DEVICE, PROXY], ids=["lsq", "text", "modbus", "device", "proxy"]
)
def test_every_fault_has_a_text_and_a_meaning(vocabulary: Vocabulary) -> None:
    """Each fault can be written as its own text and is explained in the help, in lines that are not too wide."""
    examples = {float: "0.5", int: "3", bytes: "00ff"}
    for fault, entry in vocabulary.faults.items():
        text = " ".join((fault, *(examples[type(parameter.usual)] for parameter in entry.parameters)))
        kind = vocabulary.only.get(fault, vocabulary.kinds[0])
        assert str(parse(f"{kind} 1: {text}", vocabulary).next(kind)) == text
        assert entry.meaning
    lines = vocabulary.help_lines()
    assert [line.split()[0] for line in lines if line[2] != " "] == list(vocabulary.faults)
    assert max(map(len, lines)) <= 78


def test_a_tongue_has_no_faults_that_mean_nothing_to_it() -> None:
    """Text has neither units nor stored answers, LSQ1 and Modbus say nothing unasked, exceptions are of Modbus."""
    exceptions = {"exception", "exception_after"}
    assert set(FAULTS) - set(TEXT.faults) == {"long_reply", "indeterminate", "wrong_unit"} | exceptions
    assert set(FAULTS) - set(LSQ.faults) == {"notice"} | exceptions
    assert set(FAULTS) - set(MODBUS.faults) == {"notice", "long_reply", "indeterminate"}
    with pytest.raises(FaultTextError, match="'notice' is not a fault"):
        parse("cmd 1: notice", LSQ)
    with pytest.raises(FaultTextError, match="'nop' is not a kind of message"):
        parse("nop 1: cut", TEXT)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("cmd 1: drop_akc", 8, "Did you mean 'drop_ack'?"),
        ("comand 1: cut", 1, "'comand' is not a kind of message"),
        ("cmd: cut", 4, "which message"),
        ("cmd 0: cut", 5, "counted from 1"),
        ("cmd 3-2: cut", 5, "counted from 1"),
        ("cmd 1.5: cut", 5, "which message"),
        ("cmd 1 cut", 7, "'cut' instead of ':'"),
        ("cmd 1: cut 2", 12, "cut takes no value"),
        ("cmd 1: delay 1 2", 16, "delay takes S"),
        ("cmd 1: delay", 13, "seconds of delay, as in 'delay 1.5', are missing before the end"),
        ("cmd 1: delay -1", 14, "the seconds of delay, as in 'delay 1.5', cannot be below 0"),
        ("cmd 1: delay -x", 14, "the seconds of delay, as in 'delay 1.5', are missing before '-'"),
        ("cmd -1: cut", 5, "counted from 1"),
        ("seed 7: cut -0.1", 13, "probability of cut, 0 to 1, cannot be below 0"),
        ("cmd 1: delay 3601", 14, "at most 3600"),
        ("cmd 1: cut drop_ack", 12, "'drop_ack' instead of ';'"),
        ("read 1: busy 1", 9, "busy concerns cmd messages, not read"),
        ("cmd 1:", 7, "the end of the text is not a fault"),
        ("cmd 1: cut,", 12, "the end of the text is not a fault"),
        ("cmd 1: exception", 17, "the code of exception, as in 'exception 4', is missing before the end"),
        ("cmd 1: exception 0", 18, "the code of exception is 1 to 255"),
        ("cmd 1: exception 256", 18, "the code of exception is 1 to 255"),
        ("read 1: exception_after 4", 9, "exception_after concerns cmd messages, not read"),
        ("seed x: cut 1", 6, "a seed is missing"),
        ("seed 7: cut", 12, "probability of cut, 0 to 1, is missing"),
        ("seed 7: cut 1.5", 13, "at most 1"),
        ("seed 7: cut 0.1 2", 17, "cut takes no value"),
        ("seed 7: read busy 1", 14, "busy concerns cmd messages, not read"),
        ("seed 7: cmd 1", 13, "'1' is not a fault"),
        ("cmd 1: cut; ?", 13, "'?' has no meaning here"),
        ("cmd 1: cut\n\t!", 13, "'!' has no meaning here"),
        (f"cmd {'9' * 10}: cut", 5, "more than 9 digits"),
        ("x" * 10_001, 10_001, "at most 10000 characters"),
    ],
)
def test_mistakes_are_named_where_they_are(text: str, column: int, part: str) -> None:
    """Every complaint carries the column of the token that does not fit."""
    with pytest.raises(FaultTextError) as caught:
        parse(text)
    assert caught.value.column == column
    assert part in str(caught.value)
    assert str(caught.value).startswith(f"column {column}: ")


@settings(derandomize=True, max_examples=300)
@given(st.text(alphabet="cmd anyse:;,*-0123456789._delaybusy \n", max_size=40))
def test_any_text_is_a_plan_or_a_named_mistake(text: str) -> None:
    """No text makes the parser fail in another way, and the column lies within the text or at its end."""
    columns = []
    try:
        parse(text)
    except FaultTextError as problem:
        columns.append(problem.column)
    assert all(1 <= column <= len(text) + 1 for column in columns)


def test_a_seed_repeats_exactly() -> None:
    """Two plans of one text agree on every message; another seed does not."""
    kinds = [LSQ.kinds[k % len(LSQ.kinds)] for k in range(200)]
    text = "seed 7: drop_ack 0.2, delay 0.1 3, busy 0.3"
    assert said(parse(text), *kinds) == said(parse(text), *kinds)
    assert said(parse(text), *kinds) != said(parse(text.replace("7", "8")), *kinds)


def test_probabilities_hold_roughly() -> None:
    """A fault of probability 0.2 strikes about a fifth of the messages; 0 never and 1 always."""
    plan = parse("seed 3: drop_ack 0.2, cut 0, echo 1")
    struck = Counter(fault for _ in range(2_000) for fault in plan.next("cmd").armed)
    assert 340 < struck[Fault.DROP_ACK] < 460
    assert (struck[Fault.CUT], struck[Fault.ECHO]) == (0, 2_000)


def test_one_chance_does_not_shift_another() -> None:
    """Which messages lose their ack does not depend on the probability of the faults beside it."""
    one, two = parse("seed 5: echo 0.1, drop_ack 0.3"), parse("seed 5: echo 0.9, drop_ack 0.3")
    for _ in range(200):
        assert (Fault.DROP_ACK in one.next("cmd")) == (Fault.DROP_ACK in two.next("cmd"))


def test_seeds_use_the_usual_seconds_unless_told() -> None:
    """`delay 1` in a seed clause is a probability, and `delay 1 3` a probability and three seconds."""
    assert said(parse("seed 1: delay 1"), "cmd") == ["delay 1.5"]
    assert said(parse("seed 1: delay 1 3"), "cmd") == ["delay 3"]


def test_chances_may_concern_one_kind_alone() -> None:
    """A kind in front of a fault of a seed clause leaves the other messages in peace."""
    assert said(parse("seed 1: read cut 1, echo 1"), "cmd", "read") == ["echo", "cut, echo"]


def test_faults_of_one_kind_are_known() -> None:
    """Clauses for other kinds refuse exactly these."""
    for fault, entry in FAULTS.items():
        text = f"nop 1: {fault}{' 1' * len(entry.parameters)}"
        if fault in ONLY:
            with pytest.raises(FaultTextError):
                parse(text)
        else:
            parse(text)


def test_values_of_the_proxy_are_read_by_their_sort() -> None:
    """Bytes are hexadecimal digits, lengths whole numbers from 1, and several values follow one another."""
    plan = parse("from 1: junk FF007f, split 4 0.2, trunc 2; to 1: replace 00", PROXY)
    assert plan.next("from").armed == {"junk": (b"\xff\x00\x7f",), "split": (4, 0.2), "trunc": (2,)}
    assert plan.next("to").armed == {"replace": (b"\x00",)}
    assert parse("seed 1: to split 1", PROXY).next("to").armed == {"split": (4, 0.2)}


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("from 1: junk", 13, "the bytes of junk, as in 'junk ff00', are missing before the end"),
        ("from 1: junk fff", 14, "the bytes of junk"),
        ("from 1: junk xy", 14, "the bytes of junk"),
        (f"from 1: junk {'00' * 257}", 14, "at most 256"),
        ("from 1: trunc 0", 15, "trunc counts bytes from 1"),
        ("from 1: trunc 1.5", 15, "the bytes of trunc, as in 'trunc 1', are missing"),
        ("from 1: trunc -1", 15, "the bytes of trunc, as in 'trunc 1', cannot be below 0"),
        ("from 1: split 4", 16, "the seconds of split"),
        ("from 1: split 4 0.2 1", 21, "split takes N GAP"),
        ("cmd 1: drop", 1, "'cmd' is not a kind of message of the proxy. Known: to, from, any, seed"),
        ("to 1: drop_ack", 7, "'drop_ack' is not a fault of the proxy. Known: cut, rst"),
        ("to 1: dorp", 7, "'dorp' is not a fault. Did you mean 'drop'?"),
    ],
)
def test_mistakes_in_plans_of_the_proxy_are_named(text: str, column: int, part: str) -> None:
    """The proxy's plans are refused in the same words and with their column."""
    with pytest.raises(FaultTextError) as caught:
        parse(text, PROXY)
    assert (caught.value.column, part in str(caught.value)) == (column, True), str(caught.value)
