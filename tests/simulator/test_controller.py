"""The demo controller's table of commands."""

import pytest

from simulator.equipment import Controller, Result, Verdict

START = {
    "interval": 10,
    "offset": 10,
    "counter": 42,
    "resets": 0,
    "log_files": 3,
    "level": 5,
    "relay": 0,
    "boots": 1,
}


@pytest.mark.parametrize(
    ("text", "answer", "changed"),
    [
        ("SET interval 30", "30", {"interval": 30}),
        ("SET interval 1", "1", {"interval": 1}),
        ("SET interval 3600", "3600", {"interval": 3600}),
        ("SET offset -100", "-100", {"offset": -100}),
        ("SET offset 100", "100", {"offset": 100}),
        ("SET offset 007", "7", {"offset": 7}),
        ("ADJUST offset +5", "15", {"offset": 15}),
        ("ADJUST offset -20", "-10", {"offset": -10}),
        ("ADJUST offset +0", "10", {}),
        ("RESET counter", "0", {"counter": 0, "resets": 1}),
        ("ROTATE log", "4", {"log_files": 4}),
        ("SET level 10", "10", {"level": 10}),
        ("SET level 11", "10", {"level": 10}),
        ("SET level -1", "0", {"level": 0}),
        ("ADJUST level +2", "7", {"level": 7}),
        ("ADJUST level +50", "10", {"level": 10}),
        ("ADJUST level -50", "0", {"level": 0}),
        ("SET relay 1", "1", {"relay": 1}),
        ("SET relay 0", "0", {}),
        ("TOGGLE relay", "1", {"relay": 1}),
        ("BEEP", "", {}),
    ],
)
def test_command_changes_exactly_what_the_table_says(text: str, answer: str, changed: dict[str, int]) -> None:
    """Each command answers with the value after it and touches nothing else."""
    controller = Controller()
    assert controller.execute(text) == Result(Verdict.OK, answer)
    assert controller.values() == START | changed


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("SET interval 0", Verdict.BAD_ARGUMENT),
        ("SET interval 3601", Verdict.BAD_ARGUMENT),
        ("SET offset 101", Verdict.BAD_ARGUMENT),
        ("SET offset -101", Verdict.BAD_ARGUMENT),
        ("SET offset 1.5", Verdict.BAD_ARGUMENT),
        ("SET offset ", Verdict.BAD_ARGUMENT),
        ("SET offset \u0663", Verdict.BAD_ARGUMENT),
        ("SET offset 9999999", Verdict.BAD_ARGUMENT),
        ("ADJUST offset 5", Verdict.BAD_ARGUMENT),
        ("ADJUST offset +91", Verdict.BAD_ARGUMENT),
        ("ADJUST offset -111", Verdict.BAD_ARGUMENT),
        ("SET relay 2", Verdict.BAD_ARGUMENT),
        ("ADJUST level 1", Verdict.BAD_ARGUMENT),
        ("ADJUST relay +1", Verdict.BAD_COMMAND),
        ("TOGGLE level", Verdict.BAD_COMMAND),
        ("SET counter 1", Verdict.BAD_COMMAND),
        ("ADJUST interval +1", Verdict.BAD_COMMAND),
        ("SET offset 1 2", Verdict.BAD_COMMAND),
        ("set offset 1", Verdict.BAD_COMMAND),
        (" BEEP", Verdict.BAD_COMMAND),
        ("BEEP\n", Verdict.BAD_COMMAND),
        ("GET offset", Verdict.BAD_COMMAND),
        ("", Verdict.BAD_COMMAND),
    ],
)
def test_refused_command_changes_nothing(text: str, verdict: Verdict) -> None:
    """What is not exactly a command within its range has no effect at all."""
    controller = Controller()
    assert controller.execute(text).verdict is verdict
    assert controller.values() == START


@pytest.mark.parametrize("name", START)
def test_every_value_can_be_read(name: str) -> None:
    """GET answers every value and changes none."""
    controller = Controller()
    assert controller.read(f"GET {name}") == Result(Verdict.OK, str(START[name]))
    assert controller.values() == START


def test_reads_its_serial() -> None:
    """GET serial answers what the controller was made with."""
    assert Controller("SN-9").read("GET serial") == Result(Verdict.OK, "SN-9")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("GET", Verdict.BAD_COMMAND),
        ("GET tea", Verdict.BAD_ARGUMENT),
        ("SET offset 1", Verdict.BAD_COMMAND),
        ("BEEP", Verdict.BAD_COMMAND),
        ("GET offset 1", Verdict.BAD_COMMAND),
    ],
)
def test_a_query_never_acts(text: str, verdict: Verdict) -> None:
    """Commands sent as queries are refused."""
    controller = Controller()
    assert controller.read(text).verdict is verdict
    assert controller.values() == START


def test_boot_keeps_durable_values_only() -> None:
    """After a boot counter, level and relay start again and everything else stays."""
    controller = Controller()
    for text in (
        "SET interval 30", "SET offset 1", "RESET counter", "ROTATE log", "SET level 9", "TOGGLE relay",
    ):  # fmt: skip
        controller.execute(text)
    controller.boot()
    assert controller.values() == {
        "interval": 30, "offset": 1, "counter": 42, "resets": 1, "log_files": 4, "level": 5, "relay": 0,
        "boots": 2,
    }  # fmt: skip


def test_toggling_twice_is_as_never() -> None:
    """What one copy does, the second undoes."""
    controller = Controller()
    assert [controller.execute("TOGGLE relay").text for _ in range(2)] == ["1", "0"]


@pytest.mark.parametrize(
    ("name", "number", "after"), [("offset", 7, 7), ("offset", 101, 100), ("level", -3, 0)]
)
def test_a_value_can_be_moved_from_outside(name: str, number: int, after: int) -> None:
    """What is no command moves a value as far as its range allows."""
    controller = Controller()
    controller.put(name, number)
    assert controller.values() == START | {name: after}


@pytest.mark.parametrize(
    ("text", "is_query"), [("GET offset", True), ("GET", True), ("GETX 1", False), ("", False)]
)
def test_queries_begin_with_get(text: str, is_query: bool) -> None:
    """Everything else is meant as a command."""
    assert Controller().is_query(text) is is_query


def test_durable_values_move_to_another_process() -> None:
    """What `durable` gives, `restore` takes."""
    one, other = Controller(), Controller()
    one.execute("SET offset 33")
    one.boot()
    other.restore(one.durable())
    assert other.values() == one.values()


@pytest.mark.parametrize("saved", [{}, {"offset": 1}, {**Controller().durable(), "offset": 101}])
def test_impossible_values_are_not_restored(saved: dict[str, int]) -> None:
    """Missing values and values out of range are refused as a whole."""
    controller = Controller()
    with pytest.raises(ValueError, match=r"saves|cannot be"):
        controller.restore(saved)
    assert controller.values() == START
