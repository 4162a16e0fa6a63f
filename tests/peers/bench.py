"""The agent's side: `ackonce` in a project with the adder's profile and a store of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.cli.exit_codes import Exit
from tests.cli.process_rig import Running, Shell
from tests.cli.project import Ended, Project
from tests.peers.relay import Framing

PROFILE = Path(__file__).with_name("adder.yaml")


@dataclass(slots=True)
class Bench:
    """A project in which each command line is a process of its own; `enter` makes it know an adder."""

    shell: Shell

    def profile(
        self, framing: Framing, *, word_order: str = "big", byte_order: str = "big", late_max_s: float = 0.6
    ) -> None:
        """Write the profile peers/adder."""
        text = PROFILE.read_text()
        orders = ("WORD_ORDER", word_order), ("BYTE_ORDER", byte_order)
        for old, new in (("FRAMING", framing), *orders, ("LATE_MAX_S", str(late_max_s))):
            assert old in text
            text = text.replace(old, new)
        folder = self.shell.folder / "profiles"
        folder.mkdir(exist_ok=True)
        (folder / "adder.yaml").write_text(text)

    def enter(self, url: str, more: str = "", *, profile: str = "peers/adder") -> None:
        """Make d1 the device at `url`. `more`: further fields, in YAML flow style."""
        entry = f'{{profile: {profile}, url: "{url}"{more}}}'
        (self.shell.folder / "inventory.yaml").write_text(f"devices:\n  d1: {entry}\n")

    def start(self, *words: str, environ: Mapping[str, str] | None = None) -> Running:
        """Start `ackonce WORDS --json` as a process."""
        return self.shell.start(*words, "--json", environ=environ)

    def run(self, *words: str, environ: Mapping[str, str] | None = None) -> Ended:
        """Run `ackonce WORDS --json` to its end."""
        return self.start(*words, environ=environ).end()

    def send(self, *words: str, environ: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Run `ackonce send d1 WORDS --yes --json`; returns exit code and the one object."""
        ended = self.run("send", "d1", *words, "--yes", environ=environ)
        [record] = ended.records
        return ended.code, record

    def resolve(self, op: str) -> None:
        """A person says that the command in doubt took effect."""
        ended = self.run("doubt", "resolve", op, "--applied", "--reason", "heard it")
        assert ended.code == 0, ended

    def get(self, *settings: str) -> Ended:
        """Run `ackonce get d1 SETTINGS --json`."""
        return self.run("get", "d1", *settings)

    def value(self, setting: str) -> str | None:
        """One setting's value."""
        [record] = self.get(setting).records
        value: str | None = record["value"]
        return value


@dataclass(slots=True, kw_only=True)
class TypingBench(Bench):
    """As Bench, but what is run is typed within the test's own process, which is much faster."""

    project: Project

    def run(self, *words: str, environ: Mapping[str, str] | None = None) -> Ended:
        """Run `ackonce WORDS --json` to its end."""
        assert environ is None
        ended = self.project.type(*words, "--json")
        assert "Traceback" not in ended.out + ended.err
        assert ended.code != Exit.INTERNAL, ended.err
        return ended
