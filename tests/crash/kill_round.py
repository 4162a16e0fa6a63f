"""What happens in one round of `kill -9`, and who judges it?

The sender of a keyed command, a process of the real command, is killed: when the device acts, at a line of its own
output, or after a random part of its usual time. Then the device may be switched off and on, or its own process killed
and started again. Whoever asks again under the same key (in this process, which starts faster) gets a true word. The
ledger is the judge.
"""

import asyncio
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent import settings
from agent.operation import Outcome
from agent.orders import order_for
from agent.service import Report, Service
from agent.targets import reachable_targets
from tests.cli.process_rig import ProcessRig, Running
from tests.cli.project import Ended
from tests.crash.plain import judge_words

ASKED_MAX = 8
"""Asking again this often without a word that stays means that something is stuck."""


@dataclass(slots=True)
class Round:
    """One keyed command whose sender is killed, and everybody who asks for it afterwards.

    Attributes:
        rig: Project, store and device.
        dice: Luck.
        words: The command.
        effect: How the texts begin under which the ledger has it.
        key: The round's own.
        usual_s: How long an undisturbed sender takes.
        where: Names the round, with its seed, for failures.
        cumulative: A second execution would count.
        blind: Nothing can be read back, so that silence stays in doubt.
        forgetful: A boot takes the evidence.
    """

    rig: ProcessRig
    dice: random.Random
    words: str
    effect: str
    key: str
    usual_s: float
    where: str
    cumulative: bool = True
    blind: bool = False
    forgetful: bool = False
    _booted: bool = False
    _before: int = 0
    _executed: int = 0
    _decided: bool = False

    def play(self) -> None:
        """Kill, disturb, ask again, judge."""
        self._before = self._ever()
        moment = self.dice.choice([self._when_the_device_acts, self._at_a_line, self._after_a_while])
        self.where += f", {self.words}, {moment.__name__.strip('_')}"
        self._judge_the_killed(moment())
        self._disturb()
        for _ in range(ASKED_MAX):
            report = asyncio.run(self._ask_here())
            outcome = report.result.outcome
            self._judge(outcome, report.result.message)
            if outcome is Outcome.APPLIED:
                return
            if outcome is Outcome.IN_DOUBT and (self.blind or (self._booted and self.forgetful)):
                asyncio.run(self._resolve(report.operation.op))
                return
        raise AssertionError(f"{self.where}: stuck")

    def judge_again(self) -> None:
        """What has the agent's word does not happen later; no later round may have sent the same.

        A person may have looked while a copy was still on its way, and a SET may arrive twice.
        """
        stays = self.cumulative and not self._decided
        assert not stays or self._ever() - self._before == self._executed, f"{self.where}: it came later"

    def _ever(self) -> int:
        return sum(n for text, n in self.rig.device.executed.items() if text.startswith(self.effect))

    def _start(self, on_error_line: Callable[[str], None] | None = None) -> Running:
        """Start a sender of the round's command under the round's key."""
        words = ["send", "d1", *self.words.split(), "--key", self.key, "--yes", "--json", "-vv"]
        return self.rig.start(*words, on_error_line=on_error_line)

    # --- moments ------------------------------------------------------------------------------------------------------

    def _when_the_device_acts(self) -> Ended:
        """Killed as soon as the device tells that the command took effect, or that a fault struck."""
        sign = self.dice.choice([f"command: {self.effect}", "fault:"])
        senders: list[Running] = []

        def kill(line: str) -> None:
            if sign in line and senders:
                senders[0].process.kill()

        stream = self.rig.device.running.err
        assert stream is not None
        stream.on_line = kill
        senders.append(self._start())
        ended = senders[0].end()
        stream.on_line = None
        return ended

    def _at_a_line(self) -> Ended:
        """Killed when it has printed so many lines about its bytes and attempts."""
        left = self.dice.randint(1, 10)
        senders: list[Running] = []

        def kill(_line: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0 and senders:
                senders[0].process.kill()

        senders.append(self._start(kill))
        return senders[0].end()

    def _after_a_while(self) -> Ended:
        """Killed after a part of the time that an undisturbed run takes, or a little later."""
        sender = self._start()
        try:
            sender.process.wait(self.dice.uniform(0.3, 1.2) * self.usual_s)
        except subprocess.TimeoutExpired:
            sender.process.kill()
        return sender.end()

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def _disturb(self) -> None:
        """In some rounds the device restarts before anybody asks again."""
        match self.dice.choice(["nothing", "nothing", "reboot", "power cut"]):
            case "reboot":
                self.rig.device.reboot()
                self._booted = True
            case "power cut":
                self.rig.device.die()
                self.rig.device.start()
                self._booted = True

    async def _ask_here(self) -> Report:
        with successor(self.rig) as (known, service):
            [chosen] = reachable_targets(known, ["d1"], None)
            operation = order_for(known, chosen, self.words.split(), key=self.key)
            return await service.send(chosen.target, operation)

    def _judge_the_killed(self, ended: Ended) -> None:
        """What was killed may have said its word before."""
        if ended.lines and ended.out.endswith("\n"):
            [record] = ended.records
            self._judge(Outcome(record["outcome"]), record["message"])

    def _judge(self, word: Outcome, message: str) -> None:
        """Compare a word with the ledger."""
        self._executed = executed = self._ever() - self._before
        said = f"{self.where}: {word}, executed {executed} times: {message}"
        judge_words([word], executed, cumulative=self.cumulative, said=said)
        assert word not in (Outcome.REFUSED, Outcome.UNCHANGED), said

    async def _resolve(self, op: str) -> None:
        """A person looks at the equipment and says what the ledger says."""
        self._decided = True
        with successor(self.rig) as (_, service):
            [entry] = service.journal.find(op)
            service.resolve(entry, applied=self._ever() > self._before, reason="looked")


@contextmanager
def successor(rig: ProcessRig) -> Iterator[tuple[settings.Settings, Service]]:
    """The agent in this process, in the project of a rig and with its store."""
    known = settings.resolve(project=rig.folder, environ=rig.environ)
    service = Service(known)
    try:
        yield known, service
    finally:
        service.close()
