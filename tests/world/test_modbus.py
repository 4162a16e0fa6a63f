"""Are Modbus worlds read rightly, off bytes that others have published and off the machine itself?"""

from dataclasses import replace

import pytest

from simulator.equipment import Adder
from simulator.fault_kinds import MODBUS, Fault
from tests.world.test_checker import LIES, LIMITS, played
from worlds.exceptions import EXCEPTIONS, LATE, armed
from worlds.plan import Limits, plan_of
from worlds.run import run_seed
from worlds.sorts import sorts
from worlds.targets import target_of
from worlds.tongues import Modbus

SWITCH_ON = bytes.fromhex("01050000FF008C3A")
"""Waveshare, Modbus RTU Relay: relay 0 on; its answer is the same."""
PRESET = bytes.fromhex("11100001000204000A0102C6F0")
PRESET_DONE = bytes.fromhex("1110000100021298")
"""Simply Modbus, function 16: two registers, and the answer."""
RTU, ECHOING, TCP = Modbus("rtu"), Modbus("rtu", echoes=True), Modbus("tcp")
OVER_TCP = bytes.fromhex("1501 0000 0006 01 06 0001 0005")


def test_a_request_is_read_in_the_words_of_the_ledger() -> None:
    """What is written stands there as on the wire, in either framing, and so does what the journal calls it."""
    assert RTU.text(SWITCH_ON) == "fc05 0x0000 raw FF00" == RTU.entered("fc05 0x0000 raw FF00")
    assert RTU.text(PRESET) == "fc16 0x0001 raw 000A0102"
    assert TCP.text(OVER_TCP) == "fc06 0x0001 raw 0005" == TCP.entered("fc06 0x0001 s16 5")
    assert TCP.entered("fc06 0x0001 s16 -5") == "fc06 0x0001 raw FFFB"


def test_a_question_is_told_from_a_command() -> None:
    """Only writes are copies, and only reads ask for a setting; half a frame asks for nothing."""
    total = bytes.fromhex("1501 0000 0006 01 03 0000 0001")
    assert (TCP.changes(OVER_TCP), TCP.setting(OVER_TCP)) == (True, None)
    assert (TCP.changes(total), TCP.setting(total)) == (False, "total")
    assert TCP.setting(total[:6]) is None


def test_an_echo_is_no_ack() -> None:
    """Where the road echoes, the request has to come back twice; an ack that differs from it is always one."""
    assert RTU.confirms(SWITCH_ON, SWITCH_ON)
    assert not ECHOING.confirms(SWITCH_ON, SWITCH_ON)
    assert ECHOING.confirms(SWITCH_ON, SWITCH_ON * 2)
    assert ECHOING.confirms(PRESET, PRESET + PRESET_DONE)
    assert not RTU.confirms(PRESET, PRESET)


def test_a_gateway_that_found_no_way_is_heard() -> None:
    """Exception 10 under the transaction of a copy turns it back; another code or transaction does not."""
    assert TCP.turns_back(OVER_TCP, bytes.fromhex("1501 0000 0003 01 86 0A"))
    assert not TCP.turns_back(OVER_TCP, bytes.fromhex("1501 0000 0003 01 86 0B"))
    assert not TCP.turns_back(OVER_TCP, bytes.fromhex("1502 0000 0003 01 86 0A"))


@pytest.mark.parametrize("fault", EXCEPTIONS)
def test_an_exception_is_made_of_faults_that_the_device_has(fault: str) -> None:
    """Its code is in its name, and an effect that is promised comes."""
    faults = armed(fault, 2.0)
    assert faults.keys() <= MODBUS.faults.keys()
    code = int(fault.split("_")[1])
    assert (code,) in (faults.get(Fault.EXCEPTION), faults.get(Fault.EXCEPTION_AFTER))
    assert (fault in LATE) is (faults.get(Fault.APPLY_LATE) == (2.0,))
    assert Fault.EXCEPTION_AFTER in faults or code != 5


@pytest.mark.parametrize(
    ("command", "order", "setting"),
    [
        ("SET setpoint 7", "fc06 0x0002 raw 0007", "setpoint"),
        ("ADD -5", "fc06 0x0001 raw FFFB", "total"),
        ("TOGGLE relay", "fc05 0x0000 raw FF00", "relay"),
    ],
)
def test_a_target_is_what_the_machine_does(command: str, order: str, setting: str) -> None:
    """What is expected of a setting is what a machine of its own shows after the command."""
    machine = Adder()
    before = machine.values()[setting]
    machine.execute(order)
    assert target_of(command, before, stops=False) == machine.values()[setting]
    assert target_of("RAISE setpoint -3", 10, stops=False) == 7


@pytest.mark.parametrize(
    "complaint",
    [
        "took effect 2 times",
        "nobody sent",
        "refused was said",
        "a copy had left",
        "the log tells of 0 copies",
        "with the proof 'duplicate_ack', and the wire has",
        "with 7 attempts, and 1 left",
    ],
)
def test_a_lie_about_modbus_is_seen(complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of the checker hold for equipment whose ledger has only bytes."""
    monkeypatch.setattr("worlds.plan.sorts", lambda: [each for each in sorts() if each.name == "modbus-rtu"])
    assert plan_of(1, LIMITS).devices[0].sort.name == "modbus-rtu"
    assert any(complaint in each for each in played(LIES[complaint], 1))


def test_what_never_reached_the_device_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds with a gateway that finds no way are true, though copies left; told of as copies they would not be."""
    monkeypatch.setattr("worlds.plan.sorts", lambda: [each for each in sorts() if each.name == "modbus-tcp"])
    limits = Limits(devices=1, agents=1, faults=frozenset({"exception_10"}))
    seed = next(seed for seed in range(30) if _not_sent_though_a_copy_left(seed, limits))
    assert run_seed(seed, limits).violations == []
    monkeypatch.setattr(Modbus, "turns_back", lambda *_: False)
    assert any("a copy had left" in each for each in run_seed(seed, limits).violations)


def _not_sent_though_a_copy_left(seed: int, limits: Limits) -> bool:
    run = run_seed(seed, limits)
    return any(name.startswith("d0.cmd") for name in run.hits) and any(
        name.endswith("not_sent") for name in run.counts
    )


def test_adding_machines_differ_in_nothing_but_their_road() -> None:
    """One profile, shipped beside the worlds, in both framings; RTU does not say who it is."""
    tcp, rtu, echoing = (each.profile for each in sorts() if each.name.startswith("modbus"))
    assert rtu == echoing == replace(tcp, modbus=rtu.modbus, identity=None)
