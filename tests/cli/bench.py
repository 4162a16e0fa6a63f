"""An inventory of live devices, and command lines typed at them within the test's own process.

Every run is checked for what no run may ever do: print a traceback, or end with the code of an internal error.
"""

from dataclasses import dataclass, field
from typing import Any

from agent.cli.exit_codes import Exit
from tests.cli.live_device import LiveDevice
from tests.cli.project import Ended, Project

SILENCE = "0.25s"


@dataclass(slots=True)
class Bench:
    """Devices d1, d2, ... of one project."""

    project: Project
    devices: list[LiveDevice] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)

    def device(
        self, faults: str = "", *, timeout: str = SILENCE, entry: str = "", **settings: Any
    ) -> LiveDevice:
        """Switch a further device on and enter it into the inventory.

        Args:
            faults: a fault plan.
            timeout: the silence time in the inventory.
            entry: further fields of its inventory entry, in YAML flow style.
            settings: arguments of `LiveDevice`.
        """
        number = len(self.devices) + 1
        settings = {"serial": f"SN-{number}"} | settings
        live = LiveDevice(faults, **settings)
        self.devices.append(live)
        more = f", {entry}" if entry else ""
        self.enter(f"d{number}", f'{{profile: demo/controller, url: "{live.url}", timeout: {timeout}{more}}}')
        return live

    def enter(self, name: str, entry: str) -> None:
        """Add or change an entry of the inventory."""
        self.extra[name] = entry
        lines = "".join(f"  {name}: {entry}\n" for name, entry in self.extra.items())
        self.project.put("inventory.yaml", f"devices:\n{lines}")

    def type(self, *words: str) -> Ended:
        """Run one command line."""
        ended = self.project.type(*words)
        assert "Traceback" not in ended.out + ended.err
        assert ended.code != Exit.INTERNAL, ended.err
        return ended

    def send(self, *words: str) -> tuple[int, dict[str, Any]]:
        """`ackonce send WORDS --json --yes`; exactly one object must come back."""
        ended = self.type("send", *words, "--json", "--yes")
        [record] = ended.records
        return ended.code, record

    def close(self) -> None:
        """Switch everything off."""
        for live in self.devices:
            live.close()
