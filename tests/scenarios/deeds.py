"""What can be typed in a story, and what can happen? Two tables of words.

Typed, as at a shell (`&` at the end: in the background):
    send COMMAND [--key KEY] [--attempts N] [--policy POLICY] · get SETTING... · probe [--take-over --reason TEXT]
    doubt list · doubt check OP · doubt resolve OP --applied|--not-applied --reason TEXT

Happening (`the agent` may be any process by its name):
    N s pass · from now on: FAULTS · from now on: nothing goes wrong · the device boots · somebody sets NAME to N
    the device is unplugged · the device is plugged in again · another device stands there: SERIAL · our device is back
    the agent is killed · the agent stops once its copy is on record · the agent has its word · Ctrl-C · Ctrl-C again
    the agent stands still for N s once its copy is on record
    the clock is set forward|back by N s · the store is copied · the copy is put back
"""

import asyncio
import re
import shlex
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from agent.cli.exit_codes import Exit
from agent.cli.wording import CUT_OFF, exit_code
from agent.links.link import Unreachable
from agent.operation import Result
from agent.registry import WrongDevice
from agent.service import KeyClash
from devices.catalog import Policy
from simulator.faults import parse
from tests.scenarios.stage import Agent, Stage
from tests.scenarios.story import Step, StoryError, one_of

_WITH_VALUE = {"--key": str, "--attempts": int, "--policy": Policy, "--reason": str}
_FLAGS = ("--applied", "--not-applied", "--take-over")


async def do(stage: Stage, step: Step) -> None:
    """Do one step of a story. Raises StoryError."""
    if step.typed:
        await _type(stage, step)
        return
    for pattern, happens in _HAPPENINGS.items():
        found = re.fullmatch(pattern, step.text)
        if found is not None:
            await happens(stage, **found.groupdict())
            return
    raise StoryError(f"{step.where}: nobody knows how this happens: {step.text}")


# --- typed ------------------------------------------------------------------------------------------------------------


async def _type(stage: Stage, step: Step) -> None:
    words, options = _parsed(step)
    background = words[-1] == "&"
    command, *rest = words[:-1] if background else words
    agent = stage.agent(step.who)
    task = stage.start(
        agent.life, _TYPED[one_of(step.where, "command", command, _TYPED)](agent, rest, options)
    )
    if not background:
        await asyncio.wait({task})
        await task
        if agent.crasher is not None and agent.crasher.dead:
            agent.kill()
            stage.tell(step.who, "= no word: the process is gone")


def _parsed(step: Step) -> tuple[list[str], dict[str, Any]]:
    words: list[str] = []
    options: dict[str, Any] = {}
    given = iter(shlex.split(step.text))
    for word in given:
        if word in _WITH_VALUE:
            options[word[2:]] = _WITH_VALUE[word](next(given))
        elif word in _FLAGS:
            options[word[2:]] = True
        else:
            words.append(word)
    return words, options


async def _send(agent: Agent, words: list[str], options: dict[str, Any]) -> None:
    operation = agent.ordered(" ".join(words), **options)
    try:
        report = await agent.service.send(agent.here(), operation)
    except KeyClash as clash:
        agent.stage.forget(operation.op)
        agent.stage.tell(agent.name, f"= exit {Exit.FILE}: {clash}")
        return
    if report.operation.op != operation.op or not report.recorded:
        agent.stage.forget(operation.op)
    op = report.operation.op if report.recorded else None
    _tell_word(agent, op, report.result, ", done before" if report.skipped else "")


def _tell_word(agent: Agent, op: str | None, result: Result, more: str = "") -> None:
    stage, front = agent.stage, "="
    if op is not None:
        stage.words.setdefault(op, []).append(result)
        front = f"= {op}"
    proof = f" ({result.proof})" if result.proof is not None else ""
    said = f"{result.outcome}{proof}{more}, exit {exit_code(result)}: {result.message}"
    stage.tell(agent.name, f"{front} {said}")


async def _get(agent: Agent, words: list[str], _: dict[str, Any]) -> None:
    try:
        answers = await agent.service.get(agent.here(), [agent.profile.setting(name) for name in words])
    except (Unreachable, WrongDevice) as problem:
        agent.stage.tell(agent.name, f"= nothing was read, exit {Exit.NOT_SENT}: {problem}")
        return
    for name, answer in zip(words, answers, strict=True):
        agent.stage.tell(agent.name, f"= {name} {answer.value or answer.problem or 'does not answer'}")


async def _probe(agent: Agent, _: list[str], options: dict[str, Any]) -> None:
    if "take-over" in options:
        await agent.service.take_over(agent.here(), options["reason"])
        agent.stage.tell(agent.name, "= taken over")
        return
    found = await agent.service.probe(agent.here())
    agent.stage.tell(agent.name, f"= serial {found.identity.serial}")


async def _doubt(agent: Agent, words: list[str], options: dict[str, Any]) -> None:
    stage, service = agent.stage, agent.service
    if words == ["list"]:
        for entry in service.doubts():
            o, why = entry.operation, entry.result.message if entry.result is not None else CUT_OFF
            stage.tell(agent.name, f"= {o.op} '{o.command}' is in doubt: {why}")
        if not service.doubts():
            stage.tell(agent.name, "= nothing is in doubt")
        return
    what, op = words
    [entry] = service.journal.find(op)
    if what == "check":
        result = await service.check(agent.here(), entry)
    else:
        result = service.resolve(entry, applied="applied" in options, reason=options["reason"])
    _tell_word(agent, op, result)


_TYPED: Mapping[str, Callable[[Agent, list[str], dict[str, Any]], Coroutine[Any, Any, None]]] = {
    "send": _send,
    "get": _get,
    "probe": _probe,
    "doubt": _doubt,
}


# --- happening --------------------------------------------------------------------------------------------------------


async def _pass(_: Stage, seconds: str) -> None:
    await asyncio.sleep(float(seconds))


async def _boots(stage: Stage) -> None:
    stage.device.reboot()


async def _unplugged(stage: Stage) -> None:
    stage.unplug()


async def _ours(stage: Stage) -> None:
    stage.put("SIM-1")


async def _another(stage: Stage, serial: str) -> None:
    stage.put(serial)


async def _set(stage: Stage, name: str, value: str) -> None:
    stage.device._effects.put({name: int(value)})


async def _from_now_on(stage: Stage, faults: str) -> None:
    text = "" if faults == "nothing goes wrong" else faults
    stage.device.suffer(parse(text, stage.setup.vocabulary))


async def _killed(stage: Stage, who: str) -> None:
    if stage.agent(_name(who)).kill():
        stage.tell(_name(who), "= no word: the process is gone")


async def _stops(stage: Stage, who: str) -> None:
    stage.agent(_name(who)).stop_before_copy()


async def _stands_still(stage: Stage, who: str, seconds: str) -> None:
    stage.agent(_name(who)).stand_still_before_copy(float(seconds))


async def _has_its_word(stage: Stage, who: str) -> None:
    life = stage.agent(_name(who)).life
    tasks = {task for task, lives in stage.under_way.items() if lives is life}
    if not tasks:
        raise StoryError(f"{who} is at nothing")
    await asyncio.wait(tasks)


async def _interrupt(stage: Stage) -> None:
    stage.agent("").service.executor.give_up("interrupted")


async def _interrupt_again(stage: Stage) -> None:
    stage.agent("").kill()
    stage.tell("", f"= exit {Exit.INTERRUPTED}: a copy may have left")


async def _clock_set(stage: Stage, way: str, seconds: str) -> None:
    stage.ahead_s += float(seconds) * (1 if way == "forward" else -1)


async def _copied(stage: Stage) -> None:
    stage.copy_store()


async def _put_back(stage: Stage) -> None:
    stage.put_copy_back(stage.agent(""))


def _name(who: str) -> str:
    return "" if who == "the agent" else who


_HAPPENINGS: Mapping[str, Callable[..., Coroutine[Any, Any, None]]] = {
    r"(?P<seconds>[0-9.]+) s pass": _pass,
    r"the device boots": _boots,
    r"the device is unplugged": _unplugged,
    r"the device is plugged in again|our device is back": _ours,
    r"another device stands there: (?P<serial>\S+)": _another,
    r"somebody sets (?P<name>\w+) to (?P<value>\d+)": _set,
    r"from now on: (?P<faults>.+)": _from_now_on,
    r"(?P<who>the agent|[a-z]+) is killed": _killed,
    r"(?P<who>the agent|[a-z]+) stops once its copy is on record": _stops,
    r"(?P<who>the agent|[a-z]+) stands still for (?P<seconds>[0-9.]+) s once its copy is on record": _stands_still,
    r"(?P<who>the agent|[a-z]+) has its word": _has_its_word,
    r"Ctrl-C": _interrupt,
    r"Ctrl-C again": _interrupt_again,
    r"the clock is set (?P<way>forward|back) by (?P<seconds>[0-9.]+) s": _clock_set,
    r"the store is copied": _copied,
    r"the copy is put back": _put_back,
}
