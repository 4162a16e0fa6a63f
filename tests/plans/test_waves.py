"""Waves and the limits that abort a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.plans.waves import NO_ABORT, REST, Abort, Amount, WaveSize, waves

TEN_PERCENT = Amount(10, percent=True)


@pytest.mark.parametrize(
    ("sizes", "devices", "lengths"),
    [
        ((), 5, [5]),
        ((REST,), 5, [5]),
        ((Amount(1), TEN_PERCENT, REST), 25, [1, 3, 21]),
        ((Amount(1), TEN_PERCENT, REST), 1, [1]),
        ((Amount(2), Amount(2)), 7, [2, 2, 3]),
        ((Amount(9), REST), 4, [4]),
        ((Amount(100, percent=True),), 3, [3]),
        ((Amount(1),), 0, []),
    ],
)
def test_sizes(sizes: tuple[WaveSize, ...], devices: int, lengths: list[int]) -> None:
    """Percentages are of all devices, rounded up; what is left over is one more wave; no wave is empty."""
    assert [len(wave) for wave in waves(sizes, range(devices))] == lengths


AMOUNTS = st.one_of(
    st.builds(Amount, st.integers(1, 300)),
    st.builds(Amount, st.integers(1, 100), percent=st.just(True)),
    st.just(REST),
)


@given(sizes=st.lists(AMOUNTS, max_size=8), devices=st.lists(st.integers(), unique=True, max_size=300))
def test_every_device_is_in_exactly_one_wave(sizes: list[WaveSize], devices: list[int]) -> None:
    """Put together, the waves are the devices, each once and in their order."""
    parts = waves(sizes, devices)
    assert [device for wave in parts for device in wave] == devices
    assert all(parts)


@given(percent=st.integers(1, 100), devices=st.integers(1, 1000))
def test_a_percentage_is_rounded_up(percent: int, devices: int) -> None:
    """The smallest number of devices that is at least the percentage."""
    number = Amount(percent, percent=True).of(devices)
    assert number * 100 >= percent * devices > (number - 1) * 100


@pytest.mark.parametrize(
    ("abort", "failed", "in_doubt", "why"),
    [
        (NO_ABORT, 40, 40, None),
        (Abort(failed=Amount(2)), 1, 9, None),
        (Abort(failed=Amount(2)), 2, 0, "failed on 2 of 40 devices, and the plan allows less than 2"),
        (Abort(in_doubt=Amount(1)), 0, 0, None),
        (Abort(in_doubt=Amount(1)), 0, 1, "in doubt on 1 of 40 devices, and the plan allows less than 1"),
        (Abort(failed=TEN_PERCENT), 3, 0, None),
        (Abort(failed=TEN_PERCENT), 4, 0, "failed on 4 of 40 devices, and the plan allows less than 10%"),
        (Abort(Amount(1), Amount(1)), 1, 1, "in doubt on 1 of 40 devices, and the plan allows less than 1"),
    ],
)  # fmt: skip
def test_a_limit_aborts_when_it_is_reached(abort: Abort, failed: int, in_doubt: int, why: str | None) -> None:
    """Below its limit a run goes on; doubts are told before failures."""
    assert abort.why(failed=failed, in_doubt=in_doubt, devices=40) == why
