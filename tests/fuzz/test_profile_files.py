"""Is a damaged profile ever anything but a profile that can be used, or problems with their places?"""

import io
from pathlib import Path

import pytest
from hypothesis import given
from ruamel.yaml import YAML

from agent.operation import Terms
from agent.policy import next_step
from agent.terms import terms_for
from devices.calls import resolve
from devices.catalog import choose
from devices.lint import lint
from devices.loader import SHIPPED, load
from devices.problems import UsageProblem
from devices.profile import Profile
from devices.samples import values_of
from tests.devices.test_loader import LOGGER
from tests.fuzz.damage import Edit, Turn, damaged, edits, turned, turns
from tests.fuzz.seeded import fuzz
from tests.fuzz.told import loaded_or_told

SHAPES = ("demo/controller", "demo/controller-line", "generic/modbus")
"""One of each dialect that has keys of its own; more of them would take longer and find the same."""
SOURCES = {name: (SHIPPED / f"{name}.yaml").read_text() for name in SHAPES} | {"logger": LOGGER}
sources = pytest.mark.parametrize("source", SOURCES)


def use(profile: Profile) -> None:
    """Whatever loads can be looked at, chosen from, and asked for."""
    lint(profile)
    for command in profile.commands:
        choice = choose(profile, command)
        words = [*command.name.split(), *((values_of(arg) or ("x",))[0] for arg in command.args)]
        try:
            call = resolve(profile, words)
        except UsageProblem:
            continue  # two commands whose words mean each other, or a value that is none
        terms = terms_for(profile, call, choice.policy, reply_s=1.0, attempts=3, survives_reopen=False)
        assert Terms.from_json(terms.to_json()) == terms
        assert next_step(terms, []) is not None


@sources
@fuzz(25)
@given(how=turns)
def test_a_profile_that_means_something_else(source: str, how: list[Turn], tmp_path: Path) -> None:
    """Parts lost, doubled, exchanged, renamed or senseless: it loads and can be used, or says where it is wrong."""
    yaml = YAML(typ="safe")
    yaml.width = 10_000
    text = io.StringIO()
    yaml.dump(turned(yaml.load(SOURCES[source]), how), text)
    path = tmp_path / "profile.yaml"
    path.write_text(text.getvalue(), encoding="utf-8")
    profile = loaded_or_told(load, path)
    if profile is not None:
        use(profile)


@sources
@fuzz(40)
@given(how=edits)
def test_a_profile_with_other_bytes(source: str, how: list[Edit], tmp_path: Path) -> None:
    """Bytes lost, inserted and replaced, also such that are no text."""
    path = tmp_path / "profile.yaml"
    path.write_bytes(damaged(SOURCES[source].encode(), how))
    profile = loaded_or_told(load, path)
    if profile is not None:
        use(profile)
