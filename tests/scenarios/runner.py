"""How is a story played? Step by step in virtual time; then everything late arrives, and the ledger is asked."""

import asyncio
import tempfile
from pathlib import Path
from unittest.mock import patch

from agent import leases
from simulator.loop import run
from tests.agent.replay import assert_replays
from tests.scenarios.deeds import do
from tests.scenarios.setup import setup_of
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story, read
from tests.scenarios.truth import judge, ledgers

LATE_S = 120.0
"""After so long whatever was on its way has arrived."""


def played(path: Path) -> str:
    """Play a story and write it as it went. Raises StoryError, and AssertionError where a word was not true."""
    story = read(path)
    with tempfile.TemporaryDirectory(prefix="ackonce-") as folder:
        return run(lambda: _play(story, Path(folder)))


async def _play(story: Story, folder: Path) -> str:
    stage = Stage(setup_of(story, folder), folder)
    told: list[list[str]] = []
    with patch.object(leases, "is_gone", stage.is_gone):
        try:
            for step in story.steps:
                await do(stage, step)
                told.append(stage.take())
            await asyncio.sleep(LATE_S)
            judge(stage)
        finally:
            await stage.end()
    told[-1] += stage.take()
    for home in {agent.home for agent in stage.agents.values()}:
        assert_replays(home)
    return story.write(told, ledgers(stage))
