"""Is every word about plain equipment true, whichever process ended where? The commands, and the judge.

A trial is one keyed command whose process ends somewhere, and what later processes do with the same store and device.
The judge compares the words in the journal with the device's own ledger, after everything late has arrived.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.evidence import Sent
from agent.journal import Entry
from agent.links.link import Unreachable
from agent.operation import Outcome
from agent.registry import WrongDevice
from agent.service import Report
from tests.agent.line_desk import Bench
from tests.agent.line_profiles import LATE_S
from tests.crash.crasher import Crash, Crasher, Point, Stop

KEY = "k"
LONG_S = 60.0
"""After so long whatever was on its way has arrived."""


@dataclass(frozen=True, slots=True)
class Order:
    """One command.

    Attributes:
        words: What is asked for.
        effect: The text that the device is told, as its ledger has it.
        cumulative: A second execution would count.
        newer: A later command for the same value, the value's name, and what it is then; None: there is no such.
        volatile: A boot takes what could be read back.
        blind: Nothing can be read back, so that silence stays in doubt.
    """

    words: str
    effect: str
    cumulative: bool = True
    newer: tuple[str, str, int] | None = None
    volatile: bool = False
    blind: bool = False


SET = Order("SET interval 30", "SET interval 30", cumulative=False, newer=("SET interval 60", "interval", 60))
OFFSET = Order("ADJUST offset +5", "SET offset 15", newer=("SET offset 40", "offset", 40))
LEVEL = Order("ADJUST level +2", "ADJUST level +2", newer=("SET level 1", "level", 1), volatile=True)
RESET = Order("RESET counter", "RESET counter")
ROTATE = Order("ROTATE log", "ROTATE log")
BEEP = Order("BEEP", "BEEP", blind=True)


@dataclass
class Trial:
    """One keyed command on one bench.

    Attributes:
        bench: Agent and device.
        order: The command.
        where: Names the stop, for failures.
        booted: The device may have booted since the command was asked for.
        torn: Half a line lies in the device, and the next line is glued to it.
    """

    bench: Bench
    order: Order
    where: str = ""
    booted: bool = False
    torn: bool = False

    async def run_until(self, stop: Stop | None) -> Crasher:
        """Send the command in a process that ends at the stop, or gets through where there is none."""
        crasher = Crasher(self.bench.desk.service, stop)
        with suppress(Crash):
            await self.ask()
        assert crasher.dead == (stop is not None), self.where
        return crasher

    async def restart(self) -> None:
        """Another process begins. What was torn costs it one question, which changes nothing."""
        desk = self.bench.desk
        desk.restart()
        if self.torn:
            with suppress(WrongDevice, Unreachable):
                await desk.service.get(desk.target(), [desk.profile.setting("interval")])

    async def ask(self) -> Report:
        """Ask for the command under its key, as whoever wants it done does."""
        return await self.bench.desk.send(self.order.words, key=KEY)

    async def send_into_silence(self, other: Order) -> None:
        """Another command gets lost, and is waited for until no answer to anything else can come: none is its ack."""
        desk = self.bench.desk
        self.bench.suffer("cmd *: drop_request")
        operation = desk.operation(other.words, attempts=1)
        patient = replace(operation, terms=replace(operation.terms, reply_s=LATE_S + 1.0))
        result = (await desk.service.send(desk.target(), patient)).result
        assert result.outcome is not Outcome.APPLIED, f"{self.where}: a foreign ack: {result}"
        assert self.bench.count(other.effect) == 0, self.where

    @property
    def executed(self) -> int:
        """How often the command took effect, by the device's own ledger."""
        return self.bench.count(self.order.effect)

    async def judge(self, *, wanted: bool) -> None:
        """Compare the journal's words about the command with the ledger, now and after everything late has arrived.

        `wanted`: somebody has asked for the command again since its process ended.
        """
        outcomes = self._outcomes()
        seen = self.executed
        await self.bench.desk.service.clock.sleep(LONG_S)
        said = f"{self.where}: {outcomes}, executed {seen} times, at last {self.executed} times"
        assert None not in outcomes, f"{said}: left open"
        judge_words(outcomes, self.executed, cumulative=self.order.cumulative, said=said)
        if Outcome.IN_DOUBT in outcomes:
            never_seen = not self.order.cumulative and not wanted and seen == 0
            gone = self.order.volatile and self.booted
            assert self.order.blind or never_seen or gone, f"{said}: an avoidable doubt"
        elif wanted:
            assert Outcome.APPLIED in outcomes, f"{said}: not done"
        self._judge_numbers()

    def _outcomes(self) -> list[Outcome | None]:
        return [entry.result.outcome if entry.result else None for entry in self._entries(self.order.words)]

    def _entries(self, words: str) -> list[Entry]:
        service = self.bench.desk.service
        ops = service.database.read("SELECT op FROM operation WHERE command = ?", (words,))
        return [entry for (op,) in ops for entry in service.journal.find(op)]

    def _judge_numbers(self) -> None:
        """Every copy of an operation has its number, and no two operations that sent anything share one."""
        service = self.bench.desk.service
        drawn: list[int] = []
        for (op,) in service.database.read("SELECT op FROM operation ORDER BY created_utc, op"):
            copies = {fact.seq for _, fact, _ in service.journal.story(op) if isinstance(fact, Sent)}
            assert len(copies) <= 1, f"{self.where}: one command under the numbers {copies}"
            drawn += copies
        assert len(drawn) == len(set(drawn)), f"{self.where}: one number for two commands: {drawn}"


def judge_words(outcomes: Sequence[Outcome | None], executed: int, *, cumulative: bool, said: str) -> None:
    """Every word about one command is true: what is applied was executed, what is in doubt may have been, else not."""
    applied, doubts = outcomes.count(Outcome.APPLIED), outcomes.count(Outcome.IN_DOUBT)
    if cumulative:
        assert executed <= 1, f"{said}: it ran twice"
        assert applied <= executed <= applied + doubts, f"{said}: a false word"
    else:
        assert bool(applied) <= bool(executed) <= bool(applied + doubts), f"{said}: a false word"


def after_the_readings(points: Sequence[Point]) -> int:
    """The first point after all that was read before the first copy."""
    lines = [(number, point.sent) for number, point in enumerate(points, 1) if point.sent is not None]
    copy = next(number for number, line in lines if not line.startswith(b"GET "))
    return 1 + max(number for number, _ in lines if number < copy)
