"""Is every word about plain equipment true, whatever process ended where? The cases, and the judge who asks the ledger.

A trial is one keyed command whose process ends somewhere, and what later processes do with the same store and device.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.evidence import Sent
from agent.journal import Entry
from agent.operation import Cause, Outcome
from agent.service import Report
from tests.agent.line_desk import Bench
from tests.crash.crasher import Crash, Crasher, Point, Stop

KEY = "k"
LONG_S = 60.0
"""After so long whatever was on its way has arrived."""


@dataclass(frozen=True, slots=True)
class Order:
    """One command, what the device is told instead where that is another text, and how it may end.

    `newer`: a later SET of the same value; `final`: the value it leaves, None where nothing can overtake anything.
    `blind`: a lost copy of it stays in doubt where nobody wants it sent again. `volatile`: a boot takes the evidence.
    """

    words: str
    cumulative: bool = True
    told: str = ""
    newer: str = ""
    final: tuple[str, int] | None = None
    blind: bool = False
    volatile: bool = False

    @property
    def effect(self) -> str:
        """The text under which the ledger has it."""
        return self.told or self.words


SET = Order("SET interval 30", cumulative=False, newer="SET interval 60", final=("interval", 60), blind=True)
OFFSET = Order("ADJUST offset +5", told="SET offset 15", newer="SET offset 40", final=("offset", 40))
LEVEL = Order("ADJUST level +2", newer="SET level 1", final=("level", 1), volatile=True)
ROTATE = Order("ROTATE log")
BEEP = Order("BEEP", blind=True)
ORDERS = (SET, OFFSET, LEVEL, Order("RESET counter"), ROTATE, BEEP)


def first_of_the_copies(points: Sequence[Point]) -> int:
    """The first point that comes after all readings before the first copy; the last point where no copy left."""
    lines = [(number, point.sent) for number, point in enumerate(points, 1) if point.sent is not None]
    copy = next((number for number, line in lines if not line.startswith(b"GET ")), len(points))
    return max((number for number, _ in lines if number < copy), default=0) + 1


@dataclass
class Trial:
    """One command on one bench; every judgement names where it was."""

    bench: Bench
    order: Order
    where: str
    booted: bool = False
    reports: list[tuple[Order, Report]] = field(default_factory=list)

    async def run_until(self, stop: Stop | None) -> Crasher:
        """Send the command in a process that ends at the stop, or gets through where there is none."""
        crasher = Crasher(self.bench.desk.service, stop)
        try:
            await self.ask(self.order, key=KEY)
        except Crash:
            pass
        return crasher

    async def ask(self, order: Order, *, key: str | None = None) -> Report:
        """Send a command, and judge what is said of it at the end."""
        report = await self.bench.desk.send(order.words, key=key)
        self.reports.append((order, report))
        return report

    def entries(self, words: str) -> list[Entry]:
        """The operations of a command in the store, oldest first."""
        desk = self.bench.desk
        rows = desk.service.database.read("SELECT op FROM operation WHERE command = ? ORDER BY created_utc, op", (words,))
        return [entry for (op,) in rows for entry in desk.service.journal.find(op)]

    async def judge(self) -> None:
        """Whatever is on its way arrives; then the journal's words are compared with the device's own ledger."""
        await self.bench.desk.service.clock.sleep(LONG_S)
        self.judge_numbers()
        for words in {order.words: order for order, _ in self.reports} | {self.order.words: self.order}:
            self.judge_words(words)
        for order, report in self.reports:
            self.judge_word(order, report.result.outcome)

    def judge_words(self, words: str) -> None: ...
