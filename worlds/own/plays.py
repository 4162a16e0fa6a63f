"""How often does each command of a profile end in doubt where messages are lost?

Each play has a fresh device and is one command, sent by the whole agent under virtual time. Its seed decides what is
lost, so that another profile can be played under the same seeds. What the word is worth is asked of the device's
ledger, after everything late has arrived.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice, product
from pathlib import Path

from agent.operation import Operation, Outcome, Result, Terms
from agent.processes import Holder
from agent.service import Service
from agent.settings import Settings
from agent.stations import Target
from agent.terms import terms_for
from devices.calls import Call
from devices.catalog import choose, resolve
from devices.kinds import Policy
from devices.problems import UsageProblem
from devices.profile import Command, Profile
from devices.samples import TRIES_MAX, values_of
from devices.values import plain, same
from logs.events import Event
from simulator.loop import VirtualLoop
from worlds.disk import Disk
from worlds.own.equipment import Losses, Way, device_of
from worlds.own.machine import ClaimedMachine, start_values
from worlds.world import WorldClock

SAMPLES_MAX = 8
LONG_S = 60.0
"""After so long, and what the profile allows, whatever was on its way has arrived."""
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?: s)?(?![\w.])")
_PLAY = re.compile(r"(?:tcp://)?play-\d+(?::1)?")
_NOTHING_RAN = (Outcome.NOT_APPLIED, Outcome.NOT_SENT, Outcome.REFUSED)


@dataclass(slots=True)
class Tally:
    """What the plays of one command came to.

    Attributes:
        words: How often it ended with which word.
        doubts: Why it ended in doubt, how often; numbers in the sentences are left out.
        left: How often `ackonce doubt check` could not settle the doubt once nothing was lost any more.
        unsent: Why nothing was sent, how often.
        wrong: Words that were false, and effects that happened twice: bugs of the agent.
    """

    words: Counter[Outcome] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    left: int = 0
    unsent: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def plays(self) -> int:
        """How many there were."""
        return self.words.total()

    @property
    def sent(self) -> int:
        """In how many of them something was sent. Only among these there can be doubts."""
        return self.plays - self.words[Outcome.NOT_SENT]

    def percent(self, times: int) -> float:
        """So many runs of a hundred."""
        return 100 * times / self.plays if self.plays else 0.0

    @property
    def doubt_percent(self) -> float:
        """Of a hundred commands that were sent, how many ended in doubt."""
        return 100 * self.words[Outcome.IN_DOUBT] / self.sent if self.sent else 0.0

    @property
    def left_percent(self) -> float:
        """Of a hundred commands that were sent, how many left a doubt to a person."""
        return 100 * self.left / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True)
class Weather:
    """How much is lost (0 to 1: of the answers), in how many plays."""

    loss: float
    plays: int


def policy_of(target: Target, command: Command) -> Policy:
    """By which policy a command would be sent."""
    return choose(target.profile, command).policy


def terms_of(target: Target, call: Call) -> Terms:
    """The terms of a command as `ackonce send` would fix them."""
    return terms_for(
        target.profile, call, policy_of(target, call.command), reply_s=target.timeout_s,
        attempts=target.attempts, survives_reopen=target.survives_reopen,
    )  # fmt: skip


def samples(profile: Profile, command: Command) -> list[Call]:
    """Calls with sample arguments; those whose effect can be seen, where there are any."""
    machine = ClaimedMachine(profile, "", start := start_values(profile, command))
    calls = list(islice(_calls(profile, command), TRIES_MAX))
    shown = [call for call in calls if _shows(profile, machine, start, call)]
    return (shown or calls)[:SAMPLES_MAX]


def _calls(profile: Profile, command: Command) -> Iterator[Call]:
    for values in product(*(values_of(argument) for argument in command.args)):
        try:
            yield resolve(profile, [*command.name.split(), *values])
        except UsageProblem:
            continue  # between the steps of the argument, or finer than its format


def _shows(profile: Profile, machine: ClaimedMachine, start: dict[str, str], call: Call) -> bool:
    after = machine.foretold(call.command, dict(call.args))
    settings = profile.settings
    inside = (text not in _limits(profile, name) for name, text in after.items())
    moved = (
        not same(settings[name].type, text, start[name], settings[name].step) for name, text in after.items()
    )
    return bool(after) and all(inside) and all(moved)


def _limits(profile: Profile, name: str) -> set[str]:
    setting = profile.settings[name]
    return {plain(limit) for limit in (setting.min, setting.max) if limit is not None}


class Stage:
    """One loop and one store for the plays of one command. Close it."""

    def __init__(self) -> None:
        self._loop = VirtualLoop()
        self._loop.set_exception_handler(self._failed)
        self._disk = Disk(1)
        self._database = self._disk.open()
        self._clock = WorldClock()
        self._numbers = count(1)
        self._failures: list[str] = []

    def close(self) -> None:
        """No more plays; what an interrupted one still had to do is given up, without a word."""
        for task in asyncio.all_tasks(self._loop):
            with suppress(BaseException):
                task.get_coro().close()
        self._loop.close()
        self._disk.close()

    def play_all(self, target: Target, command: Command, weather: Weather) -> Tally:
        """All plays of a command; none where no sample argument fits it."""
        tally = Tally()
        calls = samples(target.profile, command)
        terms = [terms_of(target, call) for call in calls]
        for number in range(weather.plays if calls else 0):
            n = number % len(calls)
            self._loop.run_until_complete(self._play(target, calls[n], terms[n], number, weather.loss, tally))
        return tally

    async def _play(
        self, target: Target, call: Call, terms: Terms, number: int, loss: float, tally: Tally
    ) -> None:
        profile = target.profile
        n = next(self._numbers)
        name = f"play-{n}"
        start = start_values(profile, call.command)
        machine = ClaimedMachine(profile, name, start, call)
        after = machine.foretold(call.command, dict(call.args))
        moves = any(text != start[setting] for setting, text in after.items())
        losses = Losses(random.Random(f"{call.command.name} {number}"), loss, profile.timing.late_s)
        # Each play has a device of its own: another serial number, or its doubt would hold up the next play.
        here = replace(target, name=name, url=f"tcp://{name}:1", serial=name if target.serial else None)
        device = device_of(here, name, machine, losses, number)
        service = self._service(Way(device, stays=target.survives_reopen))
        operation = Operation(
            op=f"OP{n:08}", device=name, command=call.text, kind=call.command.kind.value, terms=terms,
            profile=profile.name, profile_digest="", route=here.url, submitted_by="",
        )  # fmt: skip
        result = (await service.send(here, operation)).result
        _count(tally, result)
        await asyncio.sleep(LONG_S + terms.late_max_s)
        problems = [*self._failures, *judged(result, terms, len(device.ledger), moves=moves)]
        if result.outcome is Outcome.IN_DOUBT:
            losses.calm = True
            [entry] = service.journal.find(operation.op)
            checked = await service.check(here, entry)
            tally.left += checked.outcome is Outcome.IN_DOUBT
            problems += judged(checked, terms, len(device.ledger), moves=moves)
        tally.wrong += [f"play {number}, '{call.text}': {problem}" for problem in problems]
        self._failures.clear()

    def _service(self, way: Way) -> Service:
        holder = Holder("own", "machine", 1, "", "boot", f"instance-{next(self._numbers)}")
        service = Service(
            Settings(Path(), Path(), None, None, "own", ""),
            clock=self._clock, dial=way.dial, holder=holder, database=self._database,
        )  # fmt: skip
        service.executor.tell = _untold
        service.log.write = _untold  # type: ignore[method-assign, assignment]
        return service

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        self._failures.append(f"{context['message']}: {context.get('exception')!r}")


def _untold(_: Event) -> None:
    """Nobody reads the log."""


def _count(tally: Tally, result: Result) -> None:
    tally.words[result.outcome] += 1
    if result.outcome is Outcome.IN_DOUBT:
        tally.doubts[_NUMBER.sub("…", _PLAY.sub("device", result.message))] += 1
    elif result.outcome is Outcome.NOT_SENT:
        tally.unsent[_NUMBER.sub("…", _PLAY.sub("device", result.message))] += 1


def judged(result: Result, terms: Terms, ran: int, *, moves: bool) -> Iterator[str]:
    """What is wrong with a word, seen from the ledger.

    Args:
        result: the word.
        terms: of the command.
        ran: how often it took effect.
        moves: its effect can be seen, so that a value which stood there before is no excuse.
    """
    repeatable = terms.idempotent or terms.policy is Policy.READ_THEN_SET
    if ran > 1 and not repeatable:
        yield f"it took effect {ran} times"
    if result.outcome is Outcome.APPLIED and not ran and (moves or not repeatable):
        yield "the word is applied, and it never took effect"
    if result.outcome in _NOTHING_RAN and ran:
        yield f"the word is {result.outcome}, and it took effect"
