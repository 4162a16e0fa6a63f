"""Does an answer that comes too late ever become another register's value, or another command's ack?

RTU has no numbers: the answer to a reading says neither what was read nor when it was asked, and the ack of a write is
the write itself. Here the late answer comes at the worst moment: right after the next request, before its own answer.
Only for an agent that does not wait, though; else it comes while nobody asks.
"""

from dataclasses import dataclass

import pytest

from tests.peers.adders import Adder, Carrier, Server
from tests.peers.bench import Bench, TypingBench
from tests.peers.conftest import StartAdder

LATE_MAX_S = 2.5
HOLD_MAX_S = 2.1
"""Later than the agent waits, earlier than LATE_MAX_S."""
OTHER = {"ACKONCE_AGENT": "another-agent"}
SURVIVES = ", survives_reopen: true"
"""A TCP port in front of a serial line: reopening does not cut that, which only a person can know."""
HELD = {"first": "1111", "second": "2222"}
READ = {"first": bytes.fromhex("03 0003 0001"), "second": bytes.fromhex("03 0004 0001")}
ADD_5 = bytes.fromhex("06 0001 0005")
RTU: tuple[tuple[Server, Carrier], ...] = (
    ("libmodbus", "rtu on a port"),
    ("libmodbus", "rtu over tcp"),
    ("pymodbus", "rtu on a port"),
    ("pymodbus", "rtu over tcp"),
)
everywhere = pytest.mark.parametrize(("server", "carrier"), RTU, ids=[", ".join(place) for place in RTU])


@dataclass(frozen=True, slots=True)
class Late:
    """Starts an adder one of whose answers is late."""

    start: StartAdder
    bench: Bench

    def answer(self, server: Server, carrier: Carrier, to: bytes, until: bytes, **mishap: set[int]) -> Adder:
        """The answer `to` a request comes when the request `until` has crossed, or before it is too late to come."""
        adder = self.start(server, carrier, hold=to, until=until, hold_max_s=HOLD_MAX_S, **mishap)
        self.bench.profile("rtu", late_max_s=LATE_MAX_S)
        self.bench.enter(adder.url, SURVIVES)
        return adder


@pytest.fixture
def late(start: StartAdder, bench: Bench) -> Late:
    """Adders with a late answer."""
    return Late(start, bench)


@everywhere
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")], ids=" then ".join)
def test_a_late_answer_never_becomes_another_registers_value(
    bench: Bench,
    typing_bench: TypingBench,
    late: Late,
    server: Server,
    carrier: Carrier,
    order: tuple[str, str],
) -> None:
    """One process gives up; the next one reads the other register, and gets what that holds."""
    slow, next_one = order
    late.answer(server, carrier, READ[slow], READ[next_one])
    ended = typing_bench.get(slow)
    assert (ended.code, ended.records[0]["value"]) == (7, None), ended
    assert bench.value(next_one) == HELD[next_one]


@everywhere
def test_the_answer_to_a_killed_process(bench: Bench, late: Late, server: Server, carrier: Carrier) -> None:
    """One process is killed while it waits; what it was owed is not the next one's."""
    adder = late.answer(server, carrier, READ["first"], READ["second"])
    asker = bench.start("get", "d1", "first")
    adder.relay.wait_for(READ["first"])
    asker.stop()
    assert bench.value("second") == HELD["second"]


@everywhere
def test_a_late_ack_never_acknowledges_the_same_command_again(
    bench: Bench, typing_bench: TypingBench, late: Late, server: Server, carrier: Carrier
) -> None:
    """The same write twice, byte for byte: the first one's ack is late, the second one is lost, and stays in doubt."""
    adder = late.answer(server, carrier, ADD_5, ADD_5, lose_writes={2})
    code, doubt = typing_bench.send("PUSH", "5")
    assert (code, doubt["outcome"]) == (5, "in_doubt"), doubt
    typing_bench.resolve(doubt["op"])
    code, record = bench.send("PUSH", "5", environ=OTHER)
    assert (code, record["outcome"]) == (5, "in_doubt"), record
    assert adder.relay.writes == [ADD_5] * 2
    assert adder.executed == [(6, 1, 5)]


@pytest.mark.parametrize("carrier", ["tcp", "rtu on a port", "rtu over tcp"])
def test_a_slow_device_within_one_process(
    typing_bench: TypingBench, start: StartAdder, carrier: Carrier
) -> None:
    """Both registers are asked for at once, and the device does one thing after the other: no value is another's."""
    slow = (
        1 if carrier == "tcp" else 2
    )  # on RTU the agent opens with a reading that shows whether the line echoes
    start("libmodbus", carrier, f"read {slow} delay 450")
    ended = typing_bench.get("first", "second")
    values = {record["setting"]: record["value"] for record in ended.records}
    assert values["first"] in (None, HELD["first"]), ended
    assert values["second"] in (None, HELD["second"]), ended
