"""How many sequences were played? A line for each setup at the end of a run, and the total.

Workers of xdist print nothing, but what a test records with `record_property` reaches whoever writes the summary.
"""

import pytest

TALLY = "sequences"
"""The property under which a test records its setup, how many sequences were played, and in words which."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write what was recorded."""
    tallies = sorted(
        value
        for report in terminalreporter.getreports("passed")
        for name, value in getattr(report, "user_properties", ())
        if name == TALLY
    )
    if not tallies:
        return
    terminalreporter.section("sequences played, by their faults")
    for setup, _, words in tallies:
        terminalreporter.write_line(f"{setup}: {words}")
    total = sum(count for _, count, _ in tallies)
    terminalreporter.write_line(f"{total} sequences of {len(tallies)} setups, none twice, every rule kept")
