"""Is a register that adds moved once, whatever is lost on the way? Both servers, on everything that carries Modbus.

How often it was moved is asked of the adder's ledger, how many writes crossed of the relay.
"""

import pytest

from tests.peers.adders import PLACES, Carrier, Server
from tests.peers.bench import Bench, TypingBench
from tests.peers.conftest import StartAdder

ADD_5 = bytes.fromhex("06 0001 0005")
"""Write single register: 5 into register 1, whose content is added to the total."""
TOTAL_5 = bytes.fromhex("10 0000 0001 02 0005")
"""Write multiple registers: 5 into one register from 0 on, the total itself."""
LAMP_ON = bytes.fromhex("05 0000 FF00")

everywhere = pytest.mark.parametrize(
    ("server", "carrier"), PLACES, ids=[", ".join(place) for place in PLACES]
)


@everywhere
def test_a_lost_reply_is_read_back(bench: Bench, start: StartAdder, server: Server, carrier: Carrier) -> None:
    """What can be read back is sent once: the total tells that it was added."""
    adder = start(server, carrier, lose_replies={1})
    code, record = bench.send("ADD", "5")
    assert (code, record["outcome"], record["evidence"]) == (0, "applied", "verified"), record
    assert adder.relay.writes == [ADD_5]
    assert adder.executed == [(6, 1, 5)]
    assert adder.total == 5


@everywhere
def test_a_lost_write_is_sent_again(
    typing_bench: TypingBench, start: StartAdder, server: Server, carrier: Carrier
) -> None:
    """Where the total has not moved, a second copy goes out; that one counts."""
    adder = start(server, carrier, lose_writes={1})
    code, record = typing_bench.send("ADD", "5")
    assert (code, record["outcome"], record["attempts"]) == (0, "applied", 2), record
    assert adder.relay.writes == [ADD_5] * 2
    assert adder.executed == [(6, 1, 5)]
    assert adder.total == 5


@everywhere
@pytest.mark.parametrize(
    ("lost", "copies"), [("lose_replies", 1), ("lose_writes", 2)], ids=["reply", "write"]
)
def test_an_absolute_form_is_one_target(
    typing_bench: TypingBench, start: StartAdder, server: Server, carrier: Carrier, lost: str, copies: int
) -> None:
    """With an absolute form each copy writes the same target, computed once: one where it was reached, else two."""
    adder = start(server, carrier, **{lost: {1}})
    code, record = typing_bench.send("RAISE", "5")
    assert (code, record["outcome"], record["policy"]) == (0, "applied", "read-then-set"), record
    assert adder.relay.writes == [TOTAL_5] * copies
    assert adder.executed == [(16, 0, 5)]
    assert adder.total == 5


@everywhere
def test_without_a_way_to_verify_it_is_sent_once(
    typing_bench: TypingBench, start: StartAdder, server: Server, carrier: Carrier
) -> None:
    """What nothing reads back is sent once, and a lost reply leaves it in doubt: exit 5."""
    adder = start(server, carrier, lose_replies={1})
    code, record = typing_bench.send("PUSH", "5")
    assert (code, record["outcome"], record["attempts"]) == (5, "in_doubt", 1), record
    assert adder.relay.writes == [ADD_5]
    assert adder.executed == [(6, 1, 5)]
    assert adder.total == 5


@everywhere
def test_a_toggle_ends_in_the_wanted_state(
    typing_bench: TypingBench, start: StartAdder, server: Server, carrier: Carrier
) -> None:
    """A toggle is a reading and its opposite: a lost reply does not turn the lamp off again."""
    adder = start(server, carrier, lose_replies={1})
    code, record = typing_bench.send("FLIP", "lamp")
    assert (code, record["outcome"]) == (0, "applied"), record
    assert set(adder.relay.writes) == {LAMP_ON}
    assert adder.ledger[-1]["lamp"] == 1
    assert typing_bench.value("lamp") == "true"
