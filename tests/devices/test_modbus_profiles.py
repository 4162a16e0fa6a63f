"""The shipped Modbus profiles: what leaves is what the makers' documents show, and nothing is sent twice that may not.

The bytes are those of the sources: frames that users and drivers quote from the makers' texts, without unit and CRC.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from devices.calls import resolve
from devices.catalog import Policy, call_to_set, choose
from devices.kinds import EffectClass
from devices.loader import find
from devices.problems import UsageProblem
from devices.profile import Argument, Command, Profile
from devices.samples import outcomes
from devices.templates import render
from devices.values import enum_values, plain
from protocol.modbus.requests import Request, request_of

NAMES = ("waveshare/modbus-rtu-relay", "eastron/sdm630", "generic/modbus")


@cache
def shipped(name: str) -> Profile:
    """A profile, read once."""
    return find(name, [])


@pytest.fixture(scope="module")
def board() -> Profile:
    """The relay board."""
    return shipped("waveshare/modbus-rtu-relay")


@pytest.fixture(scope="module")
def meter() -> Profile:
    """The energy meter."""
    return shipped("eastron/sdm630")


def on_the_wire(text: str) -> str:
    """The PDU of a request in hex, put together by the Modbus specification and by nothing of ours."""
    request = request_of(text)
    place = f"{request.function:02X}{request.address:04X}"
    return place + _rest(request)


def _rest(request: Request) -> str:
    if request.function in (5, 6, 22):
        return request.data.hex().upper()
    count = f"{request.count:04X}"
    return count if not request.data else f"{count}{len(request.data):02X}{request.data.hex().upper()}"


@pytest.mark.parametrize(
    ("words", "frame"),
    [
        ("SET relay 1 on", "05 0000 FF00"),  # 01 05 00 00 FF 00 8C 3A
        ("SET relay 1 off", "05 0000 0000"),  # 01 05 00 00 00 00 CD CA
        ("SET relay 4 on", "05 0003 FF00"),  # 01 05 00 03 FF 00 7C 3A
        ("SET relay 3 off", "05 0002 0000"),  # 01 05 00 02 00 00 6C 0A
        ("SET relays 255", "0F 0000 0008 01 FF"),  # 01 0F 00 00 00 08 01 FF BE D5
        ("SET relays 3", "0F 0000 0008 01 03"),  # 07 0F 00 00 00 08 01 03 BE D3
        ("TOGGLE relay 1", "05 0000 5500"),  # 01 05 00 00 55 00 F2 9A
        ("TOGGLE relay 2", "05 0001 5500"),  # 01 05 00 01 55 00 A3 5A
        ("TOGGLE all", "05 00FF 5500"),  # 01 05 00 FF 55 00 C2 AA
        ("FLASH relay 1 0.7", "05 0200 0007"),  # 01 05 02 00 00 07 8D B0
        ("FLASH relay 2 0.8", "05 0201 0008"),  # 01 05 02 01 00 08 9C 74
        ("FLASH relay off 1 0.7", "05 0400 0007"),
        ("FLASH relay 8 3276.7", "05 0207 7FFF"),
        ("SET unit 1", "06 4000 0001"),  # 00 06 40 00 00 01 5C 1B
        ("SET unit 2", "06 4000 0002"),  # 00 06 40 00 00 02 1C 1A
    ],
)
def test_frames_of_the_board(board: Profile, words: str, frame: str) -> None:
    """Each command of the board is the frame that users quote from the maker's text."""
    assert on_the_wire(resolve(board, words.split()).text) == frame.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("relays", "01 0000 0008"),  # 01 01 00 00 00 08 3D CC
        ("relay_8", "01 0007 0001"),
        ("unit", "03 4000 0001"),  # 00 03 40 00 00 01 90 1B
        ("version", "03 8000 0001"),
    ],
)
def test_readings_of_the_board(board: Profile, name: str, frame: str) -> None:
    """Each setting of the board is read by the frame of the maker's text."""
    assert on_the_wire(board.setting(name).read or "") == frame.replace(" ", "")


@pytest.mark.parametrize(
    ("words", "frame"),
    [
        ("SET demand_period 60", "10 0002 0002 04 42700000"),  # 60.0 of IEEE 754 is 42 70 00 00
        ("SET demand_period 5", "10 0002 0002 04 40A00000"),
        ("SET system_type 3", "10 000A 0002 04 40400000"),
        ("RESET max_demand", "10 F010 0001 02 0000"),  # two bytes, not a float
        ("SET node 1", "10 0014 0002 04 3F800000"),
        ("SET node 247", "10 0014 0002 04 43770000"),
    ],
)
def test_frames_of_the_meter(meter: Profile, words: str, frame: str) -> None:
    """The meter gets floats with the high word first, by function 16, one parameter in each request."""
    assert on_the_wire(resolve(meter, words.split()).text) == frame.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("voltage_1", "04 0000 0002"),  # 30001
        ("power", "04 0034 0002"),  # 30053
        ("max_demand", "04 0056 0002"),  # 30087
        ("demand_period", "03 0002 0002"),  # 40003
        ("unlocked", "03 000E 0002"),  # 40015
        ("serial", "03 FC00 0002"),  # 464513
    ],
)
def test_readings_of_the_meter(meter: Profile, name: str, frame: str) -> None:
    """The meter is asked for even numbers of registers, in the table of the manual."""
    assert on_the_wire(meter.setting(name).read or "") == frame.replace(" ", "")


def test_the_password_is_nowhere(meter: Profile) -> None:
    """It is given by reference, and what stands in the journal becomes a float only when it leaves."""
    call = resolve(meter, ["UNLOCK", "env:METER_PASSWORD"])
    assert (call.text, call.secrets) == ("fc16 0x0018 f32 {env:METER_PASSWORD}", ("env:METER_PASSWORD",))
    with pytest.raises(UsageProblem, match="never typed"):
        resolve(meter, ["UNLOCK", "1000"])
    assert on_the_wire(call.text.replace("{env:METER_PASSWORD}", "1000")) == "1000180002" + "04447A0000"


def test_what_is_protected_needs_the_open_lock(meter: Profile) -> None:
    """The lock is read before the wiring is sent."""
    mode = meter.command("SET system_type").mode
    assert mode is not None
    assert (mode.setting, mode.value, meter.setting("unlocked").read) == ("unlocked", "1", "fc03 0x000E f32")


POLICIES = {
    "waveshare/modbus-rtu-relay": {
        **{f"TOGGLE relay {number}": Policy.READ_THEN_SET for number in range(1, 9)},
        "TOGGLE all": Policy.READ_THEN_SET,
        "FLASH relay": Policy.NO_RETRY,
        "FLASH relay off": Policy.NO_RETRY,
        "SET unit": Policy.NO_RETRY,
    },
    "eastron/sdm630": {"RESET max_demand": Policy.GET_VERIFY, "SET node": Policy.GET_VERIFY},
    "generic/modbus": {
        "ADJUST setpoint": Policy.READ_THEN_SET,
        "ADD total": Policy.GET_VERIFY,
        "PULSE": Policy.NO_RETRY,
        "SET unit": Policy.NO_RETRY,
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_policies(name: str) -> None:
    """What may not happen twice is never simply sent again; all else is absolute."""
    profile = shipped(name)
    cumulative = {
        command.name: choose(profile, command).policy
        for command in profile.commands
        if command.effect_class is EffectClass.CUMULATIVE
    }
    assert cumulative == POLICIES[name]


def test_a_toggle_sets_the_other_state_of_the_same_coil(board: Profile) -> None:
    """What is sent in the place of each toggle writes the coil that is read, and the state that it had not."""
    for number in range(1, 9):
        toggle = board.command(f"TOGGLE relay {number}")
        assert toggle.absolute_form is not None
        form = board.command(toggle.absolute_form.command)
        setting = board.setting(form.setting or "")
        assert on_the_wire(setting.read or "") == f"01{number - 1:04X}0001"
        flips = outcomes(board, toggle, toggle.absolute_form.value, setting, setting)
        targets = {
            each.before: on_the_wire(render(form.send or "", {"state": each.after or ""})) for each in flips
        }
        assert targets == {"true": f"05{number - 1:04X}0000", "false": f"05{number - 1:04X}FF00"}


def test_toggle_all_writes_the_complement(board: Profile) -> None:
    """All relays in the other state are 255 less what was read, in one write of eight coils."""
    toggle, setting = board.command("TOGGLE all"), board.setting("relays")
    assert toggle.absolute_form is not None
    form = board.command(toggle.absolute_form.command)
    after = {
        each.before: each.after
        for each in outcomes(board, toggle, toggle.absolute_form.value, setting, setting)
    }
    assert (after["0"], after["1"], after["7"]) == ("255", "254", "248")
    assert on_the_wire(render(form.send or "", {"mask": "248"})) == "0F0000000801F8"


def test_a_relay_can_be_set_by_its_setting(board: Profile) -> None:
    """`ackonce set board relay_3=on` finds the one command of that coil, and `relays=5` the one of all."""
    assert call_to_set(board, "relay_3", "on").text == "fc05 0x0002 bool true"
    assert call_to_set(board, "relays", "5").text == "fc15 0x0000 bits(8) 5"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("SET relay 9 on", "Did you mean 'SET relay"),
        ("SET relays 256", "mask must be 0 to 255, not 256"),
        ("FLASH relay 1 0.75", "goes in steps of 0.1 s"),
        ("FLASH relay 0 1", "relay must be 1 to 8, not 0"),
        ("SET unit 248", "unit must be 1 to 247, not 248"),
    ],
)
def test_words_that_the_board_cannot_do(board: Profile, words: str, said: str) -> None:
    """What no register or coil can hold is refused when it is typed."""
    with pytest.raises(UsageProblem) as caught:
        resolve(board, words.split())
    assert said in str(caught.value)


def edges(argument: Argument) -> list[str]:
    """The values at the ends of what an argument may be, as typed."""
    allowed = enum_values(argument.type)
    if allowed is not None:
        return list(allowed)
    if argument.secret:
        return ["env:SECRET"]
    if argument.type == "bool":
        return ["on", "off"]
    assert argument.min is not None, f"{argument.name} has no end"
    assert argument.max is not None, f"{argument.name} has no end"
    return [plain(argument.min), plain(argument.max)]


def edge_words() -> Iterator[tuple[str, Command, list[str]]]:
    """Each command of each profile with each choice of values at the edges."""
    for name in NAMES:
        for command in shipped(name).commands:
            for values in product(*map(edges, command.args)):
                yield name, command, [*command.name.split(), *values]


def test_each_command_can_be_sent_at_the_edges_of_its_arguments() -> None:
    """Whatever a profile lets a person type makes a request that changes something where it says so."""
    tried = 0
    for name, command, words in edge_words():
        call = resolve(shipped(name), words)
        assert call.command == command
        if not call.secrets:
            request = request_of(call.text)
            assert request.changes, call.text
            assert request.data, call.text
            tried += 1
    assert tried > 60


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_can_be_read(name: str) -> None:
    """Every reading is one request that changes nothing and says how its answer is read."""
    for setting in shipped(name).settings.values():
        request = request_of(setting.read or "")
        assert not request.changes
        assert request.cell is not None


@pytest.mark.parametrize("name", NAMES[:2])
def test_shipped_equipment_says_where_it_comes_from(name: str) -> None:
    """The maker's document is named, and that nobody has tried it on the device."""
    profile = shipped(name)
    assert len(profile.sources) > 1
    assert not profile.verified_on_hardware
